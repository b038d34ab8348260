"""The role of each column: event name, time, order of ties, or attribute. Decided here only.

A declared event finds its attributes by name. One that is not declared binds by the names of its rules' variables
(`Card` and `card`), or by position if there are exactly as many columns; otherwise nobody can tell which column is
which, and the table is refused with the declaration that would fit. Numbered columns (`a1`, `a2`, ...) are positions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from etalis.data.values import format_atom
from etalis.language.check.spelling import suggest
from etalis.language.rules import (
    attribute_variables,
    declarations,
    event_rules,
    knowledge_changes,
    labelled_rules,
    reaction_rules,
)
from etalis.language.syntax import Isolated
from etalis.language.traversal import postorder
from etalis.temporal.attribute_names import END, RULE, START, name_columns
from etalis.temporal.record import ADDED

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

Kind: TypeAlias = tuple[str, int]

EVENT_COLUMNS = ("event", "type")
TIME_COLUMNS = (("at",), ("start", "end"), ("time",), ("ts",))
_NUMBERED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of event that rules read: its declared attributes, if any, and whether rules make it too.

    `variables` are, by place, those that the rules have there; `by_name` says that attributes have no order of their
    own, because only names in patterns imply them.
    """

    kind: Kind
    attributes: tuple[tuple[str, str], ...] | None
    made: bool = False
    variables: tuple[frozenset[str], ...] = ()
    by_name: bool = False


def signatures_of(program: CompiledProgram) -> tuple[Signature, ...]:
    """Return the kinds of events that rules read, that change facts, or that are declared."""
    return program.once("signatures of", lambda program: _signatures(program, declarations(program.tree)))


def signatures_read(program: CompiledProgram) -> tuple[Signature, ...]:
    """Return the kinds of events that rules read, that change facts, or that disturb what is isolated."""
    return program.once("signatures read", _signatures_read)


def _signatures_read(program: CompiledProgram) -> tuple[Signature, ...]:
    rules = labelled_rules(program.tree)
    patterns = [rule.pattern for rule in (*rules, *reaction_rules(program.tree))]
    isolates = any(isinstance(node, Isolated) for pattern in patterns for node in postorder(pattern))
    return _signatures(program, [(rule.head.name, len(rule.head.args)) for rule in rules] if isolates else ())


def events_received(program: CompiledProgram) -> list[str]:
    """Return the names of the events that rules read and none makes."""
    return list(dict.fromkeys(signature.kind[0] for signature in signatures_read(program) if not signature.made))


def _signatures(program: CompiledProgram, more: Iterable[Kind]) -> tuple[Signature, ...]:
    variables = attribute_variables(program.tree)
    declared = {kind: found.attributes for kind, found in declarations(program.tree).items()}
    made = {(rule.head.name, len(rule.head.args)) for rule in event_rules(program.tree)}
    return tuple(
        Signature(kind, declared.get(kind), kind in made, variables.get(kind, ()), kind[0] in program.implied)
        for kind in dict.fromkeys([*variables, *knowledge_changes(program.tree), *more])
    )


class UnboundError(ValueError):
    """The columns of an event's attributes cannot be told: what is wrong, and what to do."""

    def __init__(self, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def bind(signature: Signature, columns: Sequence[str], types: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the columns of an event's attributes, in order; `types` are those that a declaration would give them.

    >>> two = (frozenset({"Card"}), frozenset({"A", "B"}))
    >>> bind(Signature(("w", 2), None, variables=two), ["card", "amount"])
    ('card', 'amount')
    >>> bind(Signature(("w", 2), None, variables=two), ["region", "card", "amount"])
    Traceback (most recent call last):
    etalis.formats.roles.UnboundError: w/2 reads 2 attributes, there are 3 columns: region, card, amount
    """
    if signature.attributes is None:
        return _bind_undeclared(signature, columns, types or {})
    return _bind_declared(signature, [name for name, _ in signature.attributes], columns)


def bind_one_of(signatures: Sequence[Signature], columns: Sequence[str]) -> tuple[Signature, tuple[str, ...]]:
    """Return the one of the signatures of an event that columns fit, and the columns of its attributes."""
    errors: list[UnboundError] = []
    found: list[tuple[Signature, tuple[str, ...]]] = []
    for signature in signatures:
        try:
            found.append((signature, bind(signature, columns)))
        except UnboundError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return max(found, key=lambda each: len(each[1]))


def _bind_declared(signature: Signature, wanted: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    found = find_fields(wanted, columns)
    missing = [name for name, column in found.items() if column is None]
    if not missing:
        return tuple(column for column in found.values() if column is not None)
    all_missing = len(missing) == len(wanted) and not signature.by_name
    if all_missing and (len(columns) == len(wanted) or (are_numbered(columns) and len(columns) > len(wanted))):
        return tuple(columns[: len(wanted)])
    hint = suggest(missing[0], columns, f"the columns for attributes are {', '.join(columns) or 'none'}")
    raise UnboundError(f"no column for {', '.join(missing)} of {signature.kind[0]}", hint)


def find_fields(wanted: Sequence[str], columns: Collection[str]) -> dict[str, str | None]:
    """Return the column of each declared attribute: of its name, or the one that results have, or other capitals.

    >>> find_fields(["card", "start", "x"], ["Card", "start_2"])
    {'card': 'Card', 'start': 'start_2', 'x': None}
    """
    by_name = _by_name(columns)
    found: dict[str, str | None] = {}
    for name, column in zip(wanted, name_columns(tuple(wanted), len(wanted)), strict=True):
        ways = (name, column, by_name.get(name.casefold()), by_name.get(column.casefold()))
        found[name] = next((way for way in ways if way in columns), None)
    return found


def without_added(signatures: Iterable[Signature], columns: Sequence[str], times: Sequence[str]) -> list[str]:
    """Leave out the columns that results have beside their attributes, unless an event has one of their names."""
    if tuple(times) != (START, END) or RULE not in columns:
        return list(columns)
    used = {name.casefold() for s in signatures for name, _ in s.attributes or ()}
    used |= {name.casefold() for s in signatures for names in s.variables for name in names}
    return list(columns) if RULE in used else [c for c in columns if c not in ADDED or c in used]


def _bind_undeclared(signature: Signature, columns: Sequence[str], types: Mapping[str, str]) -> tuple[str, ...]:
    name, count = signature.kind
    if not count:
        return ()
    named = _named_by_variables(signature, columns)
    if all(named):
        return tuple(column for column in named if column is not None)
    if are_numbered(columns) and len(columns) >= count:
        return tuple(columns[:count])
    crossed = any(column is not None and column != columns[i] for i, column in enumerate(named[: len(columns)]))
    if len(columns) == count and not crossed:
        return tuple(columns)
    noun = "attribute" if count == 1 else "attributes"
    several = "is 1 column" if len(columns) == 1 else f"are {len(columns)} columns"
    listed = f": {', '.join(columns)}" if columns else ""
    if count > len(columns):
        hint = "check the rule, or the table"
    else:
        fitting = ", ".join(_declared_as(column, types) for column in _likely(named, columns))
        hint = f"declare the event: :- event({format_atom(name)}({fitting})). or name attributes in the pattern"
    raise UnboundError(f"{name}/{count} reads {count} {noun}, there {several}{listed}", hint)


def _named_by_variables(signature: Signature, columns: Sequence[str]) -> list[str | None]:
    """Return by place the column that a variable of the rules names; None where there is none, or several."""
    by_name = _by_name(columns)
    found = [{by_name[v.casefold()] for v in names if v.casefold() in by_name} for names in signature.variables]
    chosen = [next(iter(each)) if len(each) == 1 else None for each in found]
    chosen += [None] * (signature.kind[1] - len(chosen))
    return [None if column is not None and chosen.count(column) > 1 else column for column in chosen]


def _likely(named: Sequence[str | None], columns: Sequence[str]) -> list[str]:
    """Return a column for every place: the named ones, between them those that follow."""
    free = [column for column in columns if column not in named]
    found: list[str] = []
    for column in named:
        if column is None:
            last = columns.index(found[-1]) if found else -1
            column = next((c for c in free if columns.index(c) > last), free[0])
            free.remove(column)
        found.append(column)
    return found


def _declared_as(column: str, types: Mapping[str, str]) -> str:
    return f"{format_atom(column)}: {types.get(column, 'any')}"


def are_numbered(columns: Sequence[str]) -> bool:
    """Tell whether columns are called by their places.

    >>> are_numbered(["a1", "a2"]), are_numbered(["x0"]), are_numbered(["a1", "b2"]), are_numbered([])
    (True, True, False, False)
    """
    parts = [_NUMBERED.fullmatch(column) for column in columns]
    if not parts or None in parts:
        return False
    stems = {part[1] for part in parts if part is not None}
    numbers = [int(part[2]) for part in parts if part is not None]
    return len(stems) == 1 and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _by_name(columns: Iterable[str]) -> dict[str, str]:
    """Return columns by their names whatever their capitals; of two that differ in these alone, neither."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for column in columns:
        twice |= {column.casefold()} & found.keys()
        found[column.casefold()] = column
    return {name: column for name, column in found.items() if name not in twice}


@dataclass(frozen=True, slots=True)
class Roles:
    """The part of every column: what names the event, tells the time, breaks ties, tells rows apart; others are free.

    `missing` are the columns that were asked for and are not there, each with its part.
    """

    event: str | None
    times: tuple[str, ...]
    order: str | None
    id: str | None
    free: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]


def find_roles(
    columns: Collection[str], *, time: str | Sequence[str] | None = None, event: str | None = None,
    order: str | None = None, id: str | None = None, is_named: bool = False,  # noqa: A002
) -> Roles:  # fmt: skip
    """Find the part of every column; of rows whose event `is_named` otherwise no column names it.

    >>> roles = find_roles(["type", "ts", "card", "n"], order="N", id="row")
    >>> roles.event, roles.times, roles.order, roles.free, roles.missing
    ('type', ('ts',), 'n', ('card',), (('id', 'row'),))
    """
    asked = [("time", name) for name in _listed(time)] + [("order", order), ("id", id)]
    missing = tuple((part, name) for part, name in asked if name is not None and find_column(columns, name) is None)
    times = find_times(columns, time) or ()
    tag = None if is_named else find_event([name for name in columns if name not in times], event)
    rank, key = (None if name is None else find_column(columns, name) for name in (order, id))
    taken = {tag, *times, rank, key}
    return Roles(tag, times, rank, key, tuple(name for name in columns if name not in taken), missing)


def _listed(names: str | Sequence[str] | None) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names or ()


def find_event(columns: Collection[str], asked: str | None) -> str | None:
    """Return the column that names the event: the one asked for, else one of the usual names; None if there is none."""
    if asked is not None:
        return find_column(columns, asked)
    return next((name for name in EVENT_COLUMNS if name in columns), None)


def find_times(columns: Collection[str], asked: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the columns of time: one, or start and end; None if they are not there."""
    if not asked:
        return next((names for names in TIME_COLUMNS if all(name in columns for name in names)), None)
    found = [find_column(columns, name) for name in _listed(asked)]
    return None if None in found else tuple(map(str, found))


def find_column(columns: Collection[str], name: str) -> str | None:
    """Return a column by its name, whatever its capitals if no other is meant."""
    return name if name in columns else _by_name(columns).get(name.casefold())
