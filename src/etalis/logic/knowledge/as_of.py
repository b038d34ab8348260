"""Goals as of a moment: predicates as a view of an old generation sees them.

Rows stand in the order of their coming, so those that had come by a generation are the first ones, also under each key
of an index; the dead among them are told by their generation. Clauses know their own. What was replaced as a whole
(a reload, a compaction) waits in `Predicate.past`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from etalis.logic.machine.fact_relation import FactRelation, RowHandle
from etalis.logic.machine.machine import Frame, Machine
from etalis.logic.machine.predicate import Predicate
from etalis.logic.machine.resolution import CompiledClause, bound_positions, try_clauses, try_rows
from etalis.logic.terms.unify import Term

Args = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A database as of a moment, all changes of that moment included."""

    time: int
    generation: int

    def enter(self, machine: Machine, predicate: Predicate, args: Args, cont: Frame) -> Frame | None:
        """Call what a predicate was."""
        old = self._version(predicate)
        if old.relation is None:
            clauses = self._clauses(old, args)
            return try_clauses(machine, (predicate.database, clauses, 0, len(clauses), self.generation, args), cont)
        numbers, count = self._rows(old.relation, args)
        return try_rows(machine, (old.relation, numbers, 0, count, self.generation, args), cont)

    def entries(self, predicate: Predicate, args: Args) -> list[tuple[Any, Args, Term]]:
        """Return handle, head arguments and body of every clause there was that may match."""
        if predicate.database.versions is None or predicate.is_state:
            return predicate.entries(args)  # one of the library, which never changes, or state, which has no past
        old = self._version(predicate)
        if old.relation is None:
            return [(c, c.args, c.body) for c in self._clauses(old, args)]
        relation = old.relation
        numbers, count = self._rows(relation, args)
        live = [n for n in numbers[:count] if relation.live(n, self.generation)]
        return [(RowHandle(relation, n), relation.rows[n], "true") for n in live]

    def _version(self, predicate: Predicate) -> Predicate:
        """Return the predicate that has what this view sees, perhaps among other things."""
        place = bisect_right(predicate.past, self.generation, key=itemgetter(0))
        return predicate.past[place][1] if place < len(predicate.past) else predicate

    def _clauses(self, old: Predicate, args: Args) -> list[CompiledClause]:
        return [c for c in old.select(args) if c.born <= self.generation < c.died]

    def _rows(self, relation: FactRelation, args: Args) -> tuple[Sequence[int], int]:
        """Return the numbers of rows that may match, and how many of them had come, the dead among them."""
        positions, key = bound_positions(args)
        if positions is None:
            return (), 0
        return relation.find_at(positions, key, self.generation)
