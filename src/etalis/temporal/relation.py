"""The temporal relations as data: one row per binary operator (definition 9.3 to 9.12; 000, Fig. 2).

A row is a set of end-point comparisons between A = [a1, a2] and B = [b1, b2], and whose interval the result has.
Everything else (the test, its mirror image, when a waiting instance can be dropped, the tables in the docs) is
derived from the row; no engine tests a relation in any other way.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

Point: TypeAlias = Literal["a1", "a2", "b1", "b2"]
Known: TypeAlias = Literal["at once", "after its stamp", "in its window"]
Comparison: TypeAlias = tuple[Point, Literal["<", "<=", "="], Point]


@dataclass(frozen=True, slots=True)
class Relation:
    """A binary temporal operator: when it holds and the interval it occurs on.

    `sequential`: a part of a sequence, with a gap between its sides. `weakens`: under `interval_relations(weak)` a `<`
    of it is `<=`. `alone`: when it is known that an A, and that a B, has no partner; None where it has no outer form.
    """

    name: str
    comparisons: tuple[Comparison, ...]
    occurs_on: Literal["hull", "a", "b"] = "hull"
    sequential: bool = False
    weakens: bool = False
    alone: tuple[Known, Known] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        first, last = ("b2", "a2") if self.occurs_on == "a" else ("a2", "b2")
        ends = {(first, "<", last), (first, "<=", last), (first, "=", last), (last, "=", first)}
        if self.occurs_on != "hull" and ends.isdisjoint(self.comparisons):
            raise ValueError(f"the relation {self.name} occurs on {self.occurs_on}, which may end before the other")

    def holds(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        """Test the row on two intervals."""
        points = {"a1": a[0], "a2": a[1], "b1": b[0], "b2": b[1]}
        return all(_COMPARE[op](points[x], points[y]) for x, op, y in self.comparisons)

    def interval(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """Return the interval of a pair that holds."""
        if self.occurs_on == "hull":
            return min(a[0], b[0]), max(a[1], b[1])
        return a if self.occurs_on == "a" else b

    def weak(self) -> Relation:
        """Return the row of `interval_relations(weak)`."""
        if not self.weakens:
            return self
        return replace(self, comparisons=tuple((x, "<=" if op == "<" else op, y) for x, op, y in self.comparisons))


_COMPARE = {"<": operator.lt, "<=": operator.le, "=": operator.eq}
RELATIONS: Mapping[str, Relation] = MappingProxyType(
    {
        row.name: row
        for row in (
            Relation("seq", (("a2", "<", "b1"),), sequential=True, alone=("in its window", "at once")),
            Relation("forall_seq", (("a2", "<", "b1"),), sequential=True),
            Relation("follows", (("a2", "<", "b2"),)),
            Relation("and", (), alone=("in its window", "in its window")),
            Relation("par", (("a1", "<", "a2"), ("a1", "<", "b2"), ("b1", "<", "a2"), ("b1", "<", "b2"))),
            Relation("equals", (("a1", "=", "b1"), ("a2", "=", "b2")), alone=("after its stamp", "after its stamp")),
            Relation("meets", (("a2", "=", "b1"),)),
            Relation("during", (("b1", "<", "a1"), ("a2", "<", "b2")), "b", weakens=True),
            Relation("starts", (("a1", "=", "b1"), ("a2", "<", "b2")), "b", weakens=True),
            Relation("finishes", (("b1", "<", "a1"), ("a2", "=", "b2")), "b", weakens=True),
        )
    }
)
WEAK_RELATIONS: Mapping[str, Relation] = MappingProxyType({name: row.weak() for name, row in RELATIONS.items()})


def relations(mode: str) -> Mapping[str, Relation]:
    """Return the table for `interval_relations` strict or weak."""
    return WEAK_RELATIONS if mode == "weak" else RELATIONS
