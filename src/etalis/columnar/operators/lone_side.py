"""The side of an outer join that matches alone too: what of it has no partner (definition 9.21 to 9.33).

Whether that is so is known on arrival, or when the time for it has passed. What waits for that waits in the join, with
a mark (`MET`). Law: whatever is a partner has come before the step in which it is missed, so who is in no pair then
has none.
"""

from __future__ import annotations

import numpy as np

from etalis.columnar.clock import DUE, KEYS, LEVEL, SINCE
from etalis.columnar.data.columns import Column, Integers
from etalis.columnar.data.instances import Instances, nothing
from etalis.columnar.kernels.join import Pairs
from etalis.columnar.operators.base import Batch
from etalis.plan import algebra as p
from etalis.plan.retention import window_of

MET = "$met"  # of what waits: `SETTLED`, or below it, the lower the earlier it came, and of equal ones in order of rows
SETTLED = 1  # it has had a partner, or was missed already


class LoneSide:
    """The side of a join that matches alone too: what of it has no partner, and when that is known.

    After a batch, `rows` are those of it that were found to have none, and `pairs` who is in each match of the join.
    """

    def __init__(self, node: p.Join, level: int) -> None:
        assert node.alone is not None
        assert node.relation.alone is not None
        self.place = 0 if node.alone == "left" else 1
        known = node.relation.alone[self.place]
        self.is_at_once = known == "at once"
        self.window = window_of(node.tests) if known == "in its window" else None
        self.by_start = not node.relation.sequential
        self.level = level if self.by_start else 0
        self.marks = () if self.is_at_once else (MET,)
        self.met = np.zeros(0, bool)
        self.pairs: list[Integers] = []
        self.rows = nothing({})
        self.places: Integers = np.zeros(0, np.int64)
        self.keys: Integers = np.zeros((KEYS, 0), np.int64)

    def fresh(self, rows: Instances) -> Instances:
        """Return instances that arrive: without a partner so far."""
        return rows.with_columns({v: Column("int", np.zeros(len(rows), np.int64)) for v in self.marks})

    def settled(self, rows: Instances) -> Instances:
        """Return instances of which it is known whether they have a partner."""
        return rows.with_columns({v: Column("int", np.full(len(rows), SETTLED)) for v in self.marks})

    def begin(self, count: int) -> None:
        """Begin a batch, in which so many instances wait or arrive."""
        self.met = np.zeros(count, bool)
        self.pairs = []

    def meet(self, pairs: Pairs, partners: Integers, matches: Integers) -> None:
        """Note some pairs whose sides are partners, and of which pair each match is."""
        mine = pairs.left if self.place == 0 else pairs.right
        self.met[mine[partners]] = True
        if self.is_at_once:
            self.pairs.append(mine[matches])

    def judge(self, batch: Batch, side: Instances, old: int) -> Instances:
        """Find what has no partner of all that waits, the first `old` of it from before; return all with its marks."""
        if self.is_at_once:
            self.places = np.flatnonzero(~self.met)
            self.rows = side.take(self.places)
            return side
        mark = side.column(MET).data.copy()
        mark[self.met] = SETTLED
        due = self.due(side)
        ripe = np.flatnonzero((mark < SETTLED) & (due < batch.clock.horizon))
        ripe = ripe[np.argsort(mark[ripe], kind="stable")]
        mark[ripe] = SETTLED
        self.rows, self.places = side.take(ripe), ripe
        self._tell_steps(batch, due[ripe], np.where(ripe < old, -1, self.rows.turn))
        return side.with_columns({MET: Column("int", mark)})

    def unmet(self, rows: Instances) -> Instances:
        """Return what will be judged of what waits, in the order in which it came."""
        mark = rows.column(MET).data
        waits = np.flatnonzero(mark < SETTLED)
        return rows.take(waits[np.argsort(mark[waits], kind="stable")])

    def due(self, rows: Instances) -> Integers:
        """Return when it is known of instances whether they have a partner."""
        return rows.end if self.window is None else rows.start + self.window

    def _tell_steps(self, batch: Batch, due: Integers, arrival: Integers) -> None:
        keys = np.zeros((KEYS, len(due)), np.int64)
        keys[DUE], keys[LEVEL] = due, self.level
        keys[SINCE] = -(self.rows.start if self.by_start else self.rows.end)
        self.keys = batch.clock.steps_at(keys, arrival)
