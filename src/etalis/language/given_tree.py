"""Programs that are given as syntax trees, not as text: what a host builds becomes a tree as the parser makes it.

Every field is held against its declared type, and names, signs and numbers against what a text can say, so that no tree
says more than a text could. Values go into `Const` as they are: nothing is written down and read again. Reactive
clauses and imports are for texts alone.
Law: of what comes back every node is an object of its own, as checks and plans know nodes by identity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from etalis.data.values import to_value
from etalis.errors import EtalisError, Problem, ProgramError, Source, Span
from etalis.language import syntax as s
from etalis.language.attributes import TYPES
from etalis.language.read.reader import MAX_DEPTH
from etalis.temporal.relation import RELATIONS

_ANONYMOUS = re.compile(r"_#[0-9]+")
_TAKEN = (
    s.Rule | s.LabelProperty | s.Clause | s.Trigger | s.EventDeclaration | s.SetFlag | s.Declare
    | s.KnowledgeDeclaration | s.Initially
)  # fmt: skip
_HINT = "build it as etalis.language.syntax says; parse(text) of etalis.language.read.parser shows what texts become"


def read_tree(given: s.Tree | Iterable[s.Item], name: str = "<program>") -> s.Tree:
    """Return a tree of its own nodes, or raise all that is wrong with the one given.

    >>> rule = s.Rule(s.EventPattern("d", (s.Var("X"),)), s.EventPattern("a", (s.Var("X"),)))
    >>> read_tree([rule]).items == (rule,)
    True
    """
    items = given.items if isinstance(given, s.Tree) else tuple(given)
    reading = _Reading(Source(name, ""))
    read = tuple(reading.item(item, f"item {place}") for place, item in enumerate(items, 1))
    if reading.problems:
        raise ProgramError(*reading.problems)
    return s.Tree(read)


@cache
def _types(kind: Any) -> Mapping[str, Any]:
    """Return the types of the fields of a kind of node."""
    known = {name: getattr(s, name) for name in s.__all__} | {"Span": Span}
    return get_type_hints(kind, localns=known)


class _Child(NamedTuple):
    """Stands for a node below another, by its place among the nodes of an item."""

    place: int


class _Plain(NamedTuple):
    """Stands for what is no node."""

    value: Any


class _Reading:
    """Reads items; parents stand before their children, so that the latter are made first, without recursion."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.points = 0
        self.nodes: list[tuple[Any, int]] = []

    def item(self, item: Any, where: str) -> Any:
        """Return an item as nodes of its own; note what is wrong with it."""
        self.nodes = []
        try:
            self._read(item, _TAKEN, where, 0)
            found = []
            for node, depth in self.nodes:  # which grow as they are read
                found.append(self._fields(node, where, depth))
        except _RefusalError as refusal:
            self.problems.append(Problem(refusal.code, refusal.message, hint=refusal.hint))
            return None
        made: list[Any] = [None] * len(found)
        for place in reversed(range(len(found))):
            made[place] = self._make(type(self.nodes[place][0]), {f: _fill(x, made) for f, x in found[place].items()})
        return made[0]

    def _fields(self, node: Any, where: str, depth: int) -> dict[str, Any]:
        """Return what the fields of a node hold, each of its declared type."""
        if depth > MAX_DEPTH:
            hint = "name a part of it: give it a rule or a clause of its own"
            raise _RefusalError(f"{where} is nested deeper than {MAX_DEPTH} levels", hint, "E112")
        kind, found = type(node), {}
        for name, declared in _types(node.__class__).items():
            found[name] = self._read(getattr(node, name), declared, f"{where}, {kind.__name__}.{name}", depth + 1)
        if not _SAYS.get(kind, _anything)(node):
            raise _RefusalError(f"{where}: no text says {_shown(node)}", _HINT)
        return found

    def _read(self, x: Any, declared: Any, where: str, depth: int) -> Any:
        """Return what stands for a field's value, if that is of the declared type."""
        if declared is Any:
            return _Plain(_value(x, where))
        origin = get_origin(declared)
        if origin in (UnionType, Union):
            return self._read_one(x, get_args(declared), where, depth)
        if origin is tuple:
            return self._read_tuple(x, get_args(declared), where, depth)
        if origin is Literal:
            if not (isinstance(x, str) and x in get_args(declared)):
                raise _wrong(x, " or ".join(map(repr, get_args(declared))), where)
            return _Plain(x)
        if type(x) is not declared:
            raise _wrong(x, _named(declared), where)
        if not is_dataclass(x) or declared is Span:
            return _Plain(x)
        self.nodes.append((x, depth))
        return _Child(len(self.nodes) - 1)

    def _read_one(self, x: Any, kinds: tuple[Any, ...], where: str, depth: int) -> Any:
        for kind in kinds:
            if kind is type(x) or (get_origin(kind) is tuple and isinstance(x, tuple)):
                return self._read(x, kind, where, depth)
            if get_origin(kind) is Literal and isinstance(x, str):
                return self._read(x, kind, where, depth)
        raise _wrong(x, "of its kinds" if len(kinds) > 4 else " or ".join(map(_named, kinds)), where)

    def _read_tuple(self, x: Any, kinds: tuple[Any, ...], where: str, depth: int) -> Any:
        if not isinstance(x, tuple):
            raise _wrong(x, "a tuple", where)
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return [self._read(each, kinds[0], where, depth) for each in x]
        if len(x) != len(kinds):
            raise _wrong(x, f"a tuple of {len(kinds)}", where)
        return [self._read(each, kind, where, depth) for each, kind in zip(x, kinds, strict=True)]

    def _make(self, kind: Any, found: dict[str, Any]) -> Any:
        if kind is s.TimePoint and found["span"] is None:  # each is an event of its own, known by its place
            self.points += 1
            found["span"] = Span(self.source, self.points, self.points)
        if kind is s.AnyOf:  # more than there are is all of them, as in texts
            found["count"] = min(found["count"], max(len(found["patterns"]), 1))
        return kind(**found)


def _fill(x: Any, made: list[Any]) -> Any:
    """Return what stands in a field, of the nodes that are made."""
    match x:
        case _Child(place):
            return made[place]
        case _Plain(value):
            return value
        case _:
            return tuple([_fill(each, made) for each in x])


class _RefusalError(Exception):
    """What is wrong with an item."""

    def __init__(self, message: str, hint: str, code: str = "E124") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def _wrong(x: Any, wanted: str, where: str) -> _RefusalError:
    return _RefusalError(f"{where}: {_shown(x)} is not {wanted}", _HINT)


def _shown(x: Any) -> str:
    try:
        text = ascii(x)
    except (RecursionError, ValueError):  # nested deep, or a long number
        text = f"this {type(x).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _value(x: Any, where: str) -> Any:
    try:
        return to_value(x)
    except EtalisError as error:
        raise _RefusalError(f"{where}: {error.problems[0].message}", error.problems[0].hint or _HINT) from None


def _anything(_node: Any) -> bool:
    return True


def _is_variable(node: s.Var) -> bool:
    name = node.name
    if _ANONYMOUS.fullmatch(name):
        return True
    begins = name[:1] == "_" or name[:1].isupper() or name[:1].istitle()
    return begins and name != "_" and all(c == "_" or c.isalnum() for c in name)


def _is_binary(node: s.Binary) -> bool:
    row = RELATIONS.get(node.operator)
    return row is not None and not node.apart and not node.chosen and (node.alone is None or row.alone is not None)


def _is_declaration(node: s.EventDeclaration) -> bool:
    return not node.implied and all(kind in TYPES for _, kind in node.attributes)


def _is_head(node: s.Clause) -> bool:
    return isinstance(node.head, s.Compound) or (isinstance(node.head, s.Const) and isinstance(node.head.value, str))


# What else a text cannot say, where the types of the fields allow more.
_SAYS: Mapping[type, Callable[[Any], bool]] = {
    s.Var: _is_variable,
    s.Compound: lambda node: bool(node.args),
    s.EventPattern: lambda node: not node.names or len(node.names) == len(node.args),
    s.Binary: _is_binary,
    s.Or: lambda node: not node.chosen,
    s.Negation: lambda node: node.operator in ("cnot", "fnot") and node.window is None,
    s.NotWithin: lambda node: node.before is None,
    s.Condition: lambda node: node.kind in ("where", "check", "event_multiply"),
    s.Alarm: lambda node: node.kind in ("after", "at"),
    s.Rule: lambda node: not node.hidden,
    s.Trigger: lambda node: node.kind in ("print_trigger", "external_trigger"),
    s.Declare: lambda node: node.kind in ("table", "dynamic"),
    s.EventDeclaration: _is_declaration,
    s.Clause: _is_head,
}
