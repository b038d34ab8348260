"""The network of one engine: the plan's nodes, each wired to its readers and its stores.

Sub-plans that are equal up to the names of variables become one entry where that cannot change a result: see
plan/sharing.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.sharing import Listened, count_leaves, ends_first, shape_of

NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Wired:
    """One wired node: who reads its matches, where its state is found, what it is sure to bind."""

    node: p.Node
    key: Hashable
    sure: frozenset[str]
    readers: list[WiredReader] = field(default_factory=list)
    inputs: Sequence[Wired] = ()
    negated: Sequence[Wired] = ()
    built: Any = None


@dataclass(slots=True)
class WiredReader:
    """Who reads an entry: a place of another entry, a head, or an absence; with its own names of variables.

    Its number is more than those of the readers before it, and stays when these go.
    """

    kind: str
    target: Any
    place: int
    renames: Mapping[str, str]
    number: int = 0


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A rule in an engine: its number, the generation it came in with, its plan, and whether it shares parts."""

    number: int
    generation: int
    head: p.Head
    shares: bool


class Leaving(NamedTuple):
    """What leaves a wiring with some rules: entries, and readers of entries that stay."""

    entries: list[Wired]
    readers: list[tuple[Wired, WiredReader]]


class Wiring:
    """All entries of a rule set, and the leaves in the order in which they are offered an instance."""

    def __init__(self, rules: list[PlannedRule]) -> None:
        self.leaves: list[Wired] = []
        self.entries: list[Wired] = []
        self.shared: dict[Hashable, tuple[Wired, tuple[str, ...]]] = {}
        self.gone: list[Wired] = []  # kept, so that no other entry is taken for one of them
        self._sure: dict[frozenset[str], frozenset[str]] = {}  # rules that are alike bind the same names
        self._roots: dict[int, Wired] = {}  # the entries that the heads of rules read
        for rule in rules:
            self._wire_rule(rule)
        self.leaves = _with_ends_first(self.leaves)

    def add(self, part: Wiring) -> None:
        """Add entries of rules that were wired by themselves, since they have nothing in common with those here."""
        self.leaves += part.leaves
        self.entries += part.entries
        self.shared.update(part.shared)
        self._roots.update(part._roots)

    def root(self, rule: PlannedRule) -> Wired:
        """Return the entry whose matches become the events of a rule."""
        return self._roots[rule.number]

    def leaving(self, rules: Sequence[PlannedRule]) -> Leaving:
        """Return what leaves with rules: entries that nothing else reads, and readers of entries that stay."""
        numbers, gone, lost = (
            {rule.number for rule in rules},
            dict[int, Wired](),
            dict[int, tuple[Wired, WiredReader]](),
        )
        waiting = [self._roots[number] for number in numbers]
        while waiting:
            entry = waiting.pop()
            goes = [
                r for r in entry.readers if (r.target.number in numbers if r.kind == "head" else id(r.target) in gone)
            ]
            lost.update((id(reader), (entry, reader)) for reader in goes)
            if len(goes) == len(entry.readers) and id(entry) not in gone:
                gone[id(entry)] = entry
                waiting += [*entry.inputs, *entry.negated]
        return Leaving(list(gone.values()), [each for each in lost.values() if id(each[0]) not in gone])

    def remove(self, rules: Sequence[PlannedRule], leaving: Leaving) -> None:
        """Take out what leaves with rules."""
        ids = {id(entry) for entry in leaving.entries}
        for rule in rules:
            del self._roots[rule.number]
        for entry, reader in leaving.readers:
            entry.readers = [other for other in entry.readers if other is not reader]
        self.entries = [entry for entry in self.entries if id(entry) not in ids]
        self.leaves = [leaf for leaf in self.leaves if id(leaf) not in ids]
        for entry in leaving.entries:
            self.shared.pop(entry.key, None)
        self.gone += leaving.entries

    def _wire_rule(self, rule: PlannedRule) -> None:
        reader = WiredReader("head", rule, 0, NO_NAMES)
        listened = count_leaves(rule.head.body) if rule.shares else None
        self._roots[rule.number] = self._wire(rule.head.body, rule, (), reader, listened)

    def _wire(
        self, node: p.Node, rule: PlannedRule, path: tuple[int, ...], reader: WiredReader, listened: Listened | None
    ) -> Wired:
        shape = None if listened is None else shape_of(node, listened)
        if shape is not None:
            key = ("shared", rule.generation, shape.key)
            names = shape.names
            found = self.shared.get(key)
            if found is not None:
                entry, own_names = found
                reader.renames = dict(zip(own_names, names, strict=True))
                reader.number = entry.readers[-1].number + 1
                entry.readers.append(reader)
                return entry
            entry = self._new(node, key, reader)
            self.shared[key] = (entry, names)
        else:
            entry = self._new(node, _key_under(reader, rule, path), reader)
        leaves = [len(self.leaves)]
        for place, child in enumerate(p.children(node)):
            positive = WiredReader("input", entry, place, NO_NAMES)
            entry.inputs = (*entry.inputs, self._wire(child, rule, (*path, place), positive, listened))
            leaves.append(len(self.leaves))
        if ends_first(node):
            self.leaves[leaves[0] :] = [*self.leaves[leaves[1] :], *self.leaves[leaves[0] : leaves[1]]]
        for place, child in enumerate(p.negated(node)):
            negative = WiredReader("negated", entry, place, NO_NAMES)
            entry.negated = (*entry.negated, self._wire(child, rule, (*path, -1 - place), negative, listened))
        return entry

    def _new(self, node: p.Node, key: Hashable, reader: WiredReader) -> Wired:
        names = sure(node)
        entry = Wired(node, key, self._sure.setdefault(names, names), [reader])
        self.entries.append(entry)
        if isinstance(node, p.Source | p.Tick):
            self.leaves.append(entry)
        return entry


def _key_under(reader: WiredReader, rule: PlannedRule, path: tuple[int, ...]) -> Hashable:
    """Return where the state of an entry is found that is not shared, but may be a piece of one that is."""
    above = None if reader.kind == "head" else reader.target.key
    is_piece = above is not None and above[0] != "rule"
    return ("piece", above, path[-1]) if is_piece else ("rule", rule.number, path)


def _with_ends_first(leaves: list[Wired]) -> list[Wired]:
    """Return leaves in another order: an event that may begin a pair waits when it has ended those that it ends.

    That is no other match than in the order of the text (definition 6.11), since it cannot follow itself in a sequence;
    but groups are shorter then.
    """
    found = list(leaves)
    for i, (a, b) in enumerate(pairwise(leaves)):
        join = _entered(a, 0)
        if join is not None and join is _entered(b, 1) and _events(a) == _events(b):
            found[i : i + 2] = [b, a]
    return found


def _events(leaf: Wired) -> tuple[str, int] | None:
    return (leaf.node.name, len(leaf.node.args)) if isinstance(leaf.node, p.Source) else None


def _entered(leaf: Wired, place: int) -> Wired | None:
    """Return the sequence that all matches of a leaf come to one side of, meeting nothing that reports on their way."""
    entry = leaf
    while len(entry.readers) == 1 and entry.readers[0].kind == "input":
        reader = entry.readers[0]
        entry = reader.target
        match entry.node:
            case p.Join(relation=relation, policy=policy):
                plain = relation.sequential and policy.keep != "newest" and reader.place == place
                return entry if plain else None
            case p.Filter(tests=tests) if all(isinstance(test, p.Window | p.Prefilter) for test in tests):
                continue
        return None
    return None


def below(entry: Wired) -> Iterator[Wired]:
    """Yield what an entry is made of."""
    waiting = [*entry.inputs, *entry.negated]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += [*found.inputs, *found.negated]


def heads_after(entries: Sequence[Wired]) -> list[PlannedRule]:
    """Return the rules that make events of what follows from matches of entries, or of their absence."""
    found: list[PlannedRule] = []
    waiting, seen = [*entries], set[int]()
    while waiting:
        for reader in waiting.pop().readers:
            if reader.kind == "head":
                found.append(reader.target)
            elif id(reader.target) not in seen:
                seen.add(id(reader.target))
                waiting.append(reader.target)
    return found


def may_double(child: Wired, union: Wired, *, joint: bool) -> bool:
    """Tell whether the event that an alternative matches may match again: there once more, or in another one.

    Where arrivals are `joint`, another one may match another event of the same arrival.
    """
    kinds = p.single_kinds(child.node)
    again = bool(kinds) and p.multiplies(child.node)
    others = [p.single_kinds(other.node) for other in union.inputs if other is not child]
    return again or any(kinds & other or (joint and kinds and other) for other in others)


def own_names(join: Wired) -> tuple[tuple[str, ...], tuple[str, ...]]:
    a, b = p.children(join.node)
    return a.exports, b.exports
