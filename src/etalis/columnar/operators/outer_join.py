"""Joins of which one part may be missing, over batches: pairs, and rows without a partner, by turn.

Where it is known on arrival who has no partner, a row without one has the turn of that arrival. Else it is judged in a
step of its own, which gets its slot when the steps of all that falls due in a batch are known (`clock`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from etalis.columnar.clock import first_turns
from etalis.columnar.data.ascending import place_in_run
from etalis.columnar.data.columns import Integers
from etalis.columnar.data.instances import Instances, stack
from etalis.columnar.operators.base import Batch, ColumnOperator, in_turn, unbound
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.operators.lone_side import MET, SETTLED, LoneSide


class OuterJoinOperator(ColumnOperator):
    """A join and, of one of its sides, what has no partner; `missing` are the types of what that leaves unbound."""

    def __init__(self, join: JoinOperator, lone: LoneSide, missing: Mapping[str, str], *, is_vague: bool) -> None:
        self.join = join
        self.lone = lone
        self.exports = join.node.exports
        self.missing = missing
        self.is_vague = is_vague

    def process(self, batch: Batch) -> Instances:
        """Return the matches of a batch, where it is known at once who has no partner."""
        assert self.lone.is_at_once, "who has no partner is found before"
        pairs = self.join.process(batch)
        rows = self._alone(self.lone.rows)
        if not len(rows) or not len(pairs):
            return rows if len(rows) else pairs
        order = np.argsort(np.concatenate([*self.lone.pairs, self.lone.places]), kind="stable")
        return stack([pairs, rows], self.exports).take(order)

    def pairs(self, batch: Batch) -> Instances:
        """Return the pairs of a batch, and find what has no partner, which is known later."""
        return self.join.process(batch)

    def with_alone(self, pairs: Instances, steps: Integers) -> Instances:
        """Return pairs, and what was found to have no partner, in the slots of its steps."""
        order = np.argsort(steps, kind="stable")
        turn = first_turns(steps[order])
        rows = self.lone.rows.take(order)
        place = place_in_run(turn)
        rows = Instances(turn + place, rows.start, self.lone.due(rows), rows.blocks)
        return in_turn(pairs, self._alone(rows), self.exports)[1]

    def _alone(self, rows: Instances) -> Instances:
        return rows.with_columns(unbound(self.missing, len(rows), is_vague=self.is_vague))

    def due(self) -> Integers:
        """Return when what waits will be judged."""
        rows = self.join.waiting[self.lone.place]
        return self.lone.due(rows)[rows.column(MET).data < SETTLED]
