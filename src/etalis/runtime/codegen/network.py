"""The network of one engine: the plan's nodes, each wired to its readers and its stores.

Sub-plans that are equal up to the names of variables become one entry where that cannot change a result: see
plan/sharing.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.sharing import Listened, count_leaves, shape_of


@dataclass(slots=True)
class Wired:
    """One wired node: who reads its matches, where its state is found, what it is sure to bind."""

    node: p.Node
    key: Hashable
    sure: frozenset[str]
    readers: list[WiredReader] = field(default_factory=list)
    inputs: list[Wired] = field(default_factory=list)
    negated: list[Wired] = field(default_factory=list)
    built: Any = None


@dataclass(slots=True)
class WiredReader:
    """Who reads an entry: a place of another entry, a head, or an absence; with its own names of variables."""

    kind: str
    target: Any
    place: int
    renames: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A rule in an engine: its number, the generation it came in with, its plan, and whether it shares parts."""

    number: int
    generation: int
    head: p.Head
    shares: bool


class Wiring:
    """All entries of a rule set, and the leaves in the order in which they are offered an instance."""

    def __init__(self, rules: list[PlannedRule]) -> None:
        self.leaves: list[Wired] = []
        self.entries: list[Wired] = []
        self.shared: dict[Hashable, tuple[Wired, tuple[str, ...]]] = {}
        for rule in rules:
            self._wire_rule(rule)

    def _wire_rule(self, rule: PlannedRule) -> None:
        reader = WiredReader("head", rule, 0, {})
        self._wire(rule.head.body, rule, (), reader, count_leaves(rule.head.body) if rule.shares else None)

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
                entry.readers.append(reader)
                return entry
            entry = self._new(node, key, reader)
            self.shared[key] = (entry, names)
        else:
            entry = self._new(node, ("rule", rule.number, path), reader)
        for place, child in enumerate(p.children(node)):
            entry.inputs.append(
                self._wire(child, rule, (*path, place), WiredReader("input", entry, place, {}), listened)
            )
        for place, child in enumerate(p.negated(node)):
            negative = WiredReader("negated", entry, place, {})
            entry.negated.append(self._wire(child, rule, (*path, -1 - place), negative, listened))
        return entry

    def _new(self, node: p.Node, key: Hashable, reader: WiredReader) -> Wired:
        entry = Wired(node, key, sure(node), [reader])
        self.entries.append(entry)
        if isinstance(node, p.Source | p.Tick):
            self.leaves.append(entry)
        return entry


def names_read(reader: WiredReader, exports: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (name in the entry, name for the reader) of the exported variables."""
    for name in exports:
        yield name, reader.renames.get(name, name)


def may_double(child: Wired, union: Wired) -> bool:
    """Tell whether the event that an alternative matches may match again: there once more, or in another one."""
    kinds = p.single_kinds(child.node)
    again = bool(kinds) and p.multiplies(child.node)
    return again or any(kinds & p.single_kinds(other.node) for other in union.inputs if other is not child)


def own_names(join: Wired) -> tuple[tuple[str, ...], tuple[str, ...]]:
    a, b = p.children(join.node)
    return a.exports, b.exports
