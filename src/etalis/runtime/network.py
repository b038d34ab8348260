"""Entries: the plan's nodes as they are wired for one engine, each with its readers and its stores.

Sub-plans that are equal up to the names of variables become one entry where that cannot change a result: never twice within a rule, and only
if no other leaf of the rule listens to the same events (then an instance meets the leaves in the order of section 2 all the same).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from etalis.plan import algebra as p
from etalis.plan.bindings import Signature, sure


@dataclass(slots=True)
class Entry:
    """One wired node: who reads its matches, where its state is found, what it is sure to bind."""

    node: p.Node
    key: Hashable
    sure: frozenset[str]
    readers: list[Reader] = field(default_factory=list)
    inputs: list[Entry] = field(default_factory=list)
    negated: list[Entry] = field(default_factory=list)
    built: Any = None


@dataclass(slots=True)
class Reader:
    """Who reads an entry: a place of another entry, a head, or the blockers of an absence; with its own names of variables."""

    kind: str
    target: Any
    place: int
    renames: dict[str, str]


@dataclass(frozen=True, slots=True)
class PlannedRule:
    """A rule in an engine: its number, the generation it came in with, and its plan."""

    number: int
    generation: int
    head: p.Head


class Wiring:
    """All entries of a rule set, and the leaves in the order in which they are offered an instance."""

    def __init__(self, rules: list[PlannedRule], sharing: bool) -> None:
        self.sharing = sharing
        self.leaves: list[Entry] = []
        self.entries: list[Entry] = []
        self.shared: dict[Hashable, tuple[Entry, list[str]]] = {}
        for rule in rules:
            self._wire_rule(rule)

    def _wire_rule(self, rule: PlannedRule) -> None:
        listened: dict[tuple[str, int], int] = {}
        for node in p.walk(rule.head.body):
            if isinstance(node, p.Source):
                kind = (node.name, len(node.args))
                listened[kind] = listened.get(kind, 0) + 1
        reader = Reader("head", rule, 0, {})
        self._wire(rule.head.body, rule, (), reader, listened if self.sharing else None)

    def _wire(
        self, node: p.Node, rule: PlannedRule, path: tuple[int, ...], reader: Reader, listened: dict[tuple[str, int], int] | None
    ) -> Entry:
        if listened is not None and not isinstance(node, p.Source | p.Tick) and may_share(node, listened):
            signature = Signature()
            key = ("shared", rule.generation, signature.node(node))
            names = list(signature.numbers)
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
            entry.inputs.append(self._wire(child, rule, (*path, place), Reader("input", entry, place, {}), listened))
        for place, child in enumerate(p.negated(node)):
            negative = Reader("negated", entry, place, {})
            entry.negated.append(self._wire(child, rule, (*path, -1 - place), negative, listened))
        return entry

    def _new(self, node: p.Node, key: Hashable, reader: Reader) -> Entry:
        entry = Entry(node, key, sure(node), [reader])
        self.entries.append(entry)
        if isinstance(node, p.Source | p.Tick):
            self.leaves.append(entry)
        return entry


def may_share(node: p.Node, listened: dict[tuple[str, int], int]) -> bool:
    """Tell whether all leaves of the rule that listen to this part's events are in this part."""
    inside: dict[tuple[str, int], int] = {}
    for part in p.walk(node):
        match part:
            case p.Source(name=name, args=args):
                kind = (name, len(args))
                inside[kind] = inside.get(kind, 0) + 1
            case p.Tick():
                return False
            case _:
                pass
    return all(listened[kind] == count for kind, count in inside.items())


def names_read(reader: Reader, exports: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (name in the entry, name for the reader) of the exported variables."""
    for name in exports:
        yield name, reader.renames.get(name, name)
