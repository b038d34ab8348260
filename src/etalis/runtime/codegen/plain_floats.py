"""Which variables may hold a float as it came: an integral one need not be `Real` as long as nothing tells it from 2.

A float is held plainly between the source that declares it and the heads, where it becomes a value, if all that happens
to it on the way is arithmetic and comparison in conditions, which know its type (`logic/inline/scope.py`). A join key,
an absence, an aggregate, a repetition or an action compares it or keeps it: then it is a value from the start. So it is
where several heads take it with nothing asked on the way, each of which would make it a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from etalis.data.values import Real
from etalis.language import syntax as s
from etalis.language.attributes import Signature
from etalis.logic.inline.scope import normal
from etalis.plan import algebra as p
from etalis.runtime.codegen.network import PlannedRule, Wired, WiredReader, Wiring, own_names
from etalis.runtime.codegen.source import Code

Types = Callable[[Wired], Mapping[str, str]]


class PlainFloats:
    """The variables of each entry that may hold plain floats."""

    def __init__(self, wiring: Wiring, types: Types, declared: Mapping[str, Signature]) -> None:
        self._types = types
        self._declared = declared
        self._kept: dict[int, frozenset[str]] = {}
        self._names: dict[frozenset[str], frozenset[str]] = {}  # rules that are alike keep the same ones
        self._exact: dict[tuple[str, int, int], set[int]] = {}  # by kind and place the leaves that need the value
        open_to_all = [leaf for leaf in wiring.leaves if _asks_nothing(leaf.node)]
        taken = Counter(where for leaf in open_to_all for where, name in self._floats(leaf) for _ in _heads(leaf, name))
        self._taken = frozenset(where for where, heads in taken.items() if heads > 1)  # by kind and place, for good
        self.add(wiring)

    def _floats(self, leaf: Wired) -> Iterator[tuple[tuple[str, int, int], str]]:
        """Yield where a leaf has variables of declared floats, which it hands on."""
        if isinstance(leaf.node, p.Source):
            name, args = leaf.node.name, leaf.node.args
            for place, (term, (_, kind)) in enumerate(zip(args, self._declared.get(name, ()), strict=False)):
                if kind == "float" and isinstance(term, s.Var) and term.name in leaf.node.exports:
                    yield (name, len(args), place), term.name

    def add(self, wiring: Wiring) -> None:
        """Look at the leaves of a wiring."""
        for leaf in wiring.leaves:
            for where, name in self._floats(leaf):
                if where not in self._taken:
                    self._keep(leaf, name)
            if isinstance(leaf.node, p.Source):
                for place in range(len(leaf.node.args)):
                    if not self._fits(leaf, place):
                        where = (leaf.node.name, len(leaf.node.args), place)
                        self._exact.setdefault(where, set()).add(id(leaf))

    def remove(self, leaf: Wired) -> None:
        """Forget a leaf that is gone."""
        assert isinstance(leaf.node, p.Source)
        for place in range(len(leaf.node.args)):
            self._exact.get((leaf.node.name, len(leaf.node.args), place), set()).discard(id(leaf))

    def _keep(self, leaf: Wired, name: str) -> None:
        for entry, known_as in self._follow(leaf, name) or ():
            kept = self._kept.get(id(entry), frozenset()) | {known_as}
            self._kept[id(entry)] = self._names.setdefault(kept, kept)

    def fit(self, kind: p.Kind, place: int) -> bool:
        """Tell whether an attribute of a kind of events may come to all leaves as a plain float."""
        return not self._exact.get((*kind, place)) and (*kind, place) not in self._taken

    def _fits(self, leaf: Wired, place: int) -> bool:
        assert isinstance(leaf.node, p.Source)
        match leaf.node.args[place]:
            case s.Var(name=name) as variable:
                alone = leaf.node.args.count(variable) == 1
                return alone and (name not in leaf.node.exports or name in self._kept.get(id(leaf), ()))
            case s.Const(value=value):
                return isinstance(value, float)
        return False

    def write_values(self, code: Code, entry: Wired, reader: WiredReader, names: dict[str, str]) -> dict[str, str]:
        """Return the names of a match with its plain floats as values."""
        for name in self._kept.get(id(entry), ()):
            known_as = reader.renames.get(name, name)
            if known_as in names:
                names[known_as] = _value_of(code, names[known_as])
        return names

    def _follow(self, entry: Wired, name: str) -> list[tuple[Wired, str]] | None:
        """Return where a variable comes to, under which names; None where something must know its exact value."""
        if self._types(entry).get(name) != "float":
            return None
        found = [(entry, name)]
        for reader in entry.readers:
            known_as = reader.renames.get(name, name)
            if reader.kind == "head":
                if reader.target.head.actions or reader.target.head.alarm is not None:
                    return None
                continue
            target: Wired = reader.target
            if reader.kind == "negated" or not _passes(target, known_as):
                return None
            if known_as in target.node.exports:
                further = self._follow(target, known_as)
                if further is None:
                    return None
                found += further
        return found


def _heads(entry: Wired, name: str) -> Iterator[PlannedRule]:
    """Yield the heads that take a variable with nothing asked on the way, each as often as it does."""
    for reader in entry.readers:
        known_as, target = reader.renames.get(name, name), reader.target
        if reader.kind == "head":
            yield from (target for arg in target.head.event.args if isinstance(arg, s.Var) and arg.name == known_as)
        elif reader.kind == "input" and _asks_nothing(target.node) and known_as in target.node.exports:
            yield from _heads(target, known_as)


def _asks_nothing(node: p.Node) -> bool:
    """Tell whether whatever comes to a node, or meets a partner there, matches."""
    match node:
        case p.Source(args=args):
            return all(isinstance(arg, s.Var) for arg in args)
        case p.Join() | p.Filter():
            return not any(isinstance(test, p.GoalTest | p.Absent) for test in p.tests(node))
    return False


def _passes(entry: Wired, name: str) -> bool:
    """Tell whether an operator does nothing with a variable but to ask conditions, and to hand it on."""
    match entry.node:
        case p.Join(keys_on=keys_on):
            both = [name in exports for exports in own_names(entry)]
            return not (all(both) or keys_on) and _are_conditions(p.tests(entry.node), name)
        case p.Filter() | p.Union():
            return _are_conditions(p.tests(entry.node), name)
    return False


def _are_conditions(tests: tuple[p.Test, ...], name: str) -> bool:
    for test in tests:
        match test:
            case p.GoalTest(kind="event_multiply") | p.Action():
                return False
            case p.Absent(joined=joined) if name in joined:
                return False
    return True


def _value_of(code: Code, x: str) -> str:
    if not x.isidentifier():
        return f"{code.constant(normal)}({x})"
    return f"({x} if {x}.__class__ is not float or not {x}.is_integer() else {code.constant(Real)}({x} + 0.0))"
