"""Time points, and absences until a deadline, over batches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from etalis.columnar.clock import first_turns, waiting_step
from etalis.columnar.data.ascending import place_in_run
from etalis.columnar.data.columns import Integers, key_rows
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels.buffers import BlockerIndex
from etalis.columnar.operators.base import Batch, ColumnOperator, OutputTests, TestSequence
from etalis.plan import algebra as p


class TickOperator(ColumnOperator):
    """A time point: one instance, when time reaches it."""

    def __init__(self, node: p.Tick) -> None:
        self.node = node

    def process(self, batch: Batch) -> Instances:
        """Return the moment, if a batch reaches it."""
        row = batch.clock.ticks.get(self.node)
        if row is None:
            return nothing({})
        time = np.array([self.node.time])
        return Instances.of(first_turns(np.array([row])), time, time, {})


class DeadlineOperator(ColumnOperator):
    """Left sides whose deadline is to come (`pending`), and what may block them."""

    def __init__(
        self,
        node: p.Deadline,
        left: ColumnOperator,
        absent: ColumnOperator,
        types: Mapping[str, str],
        tests: TestSequence,
    ) -> None:
        self.node = node
        self.left = left
        self.absent = absent
        self.outcome = OutputTests(node.tests, tests)
        self.pending = nothing({v: types[v] for v in node.left.exports})
        self.blockers = nothing({v: types[v] for v in node.joined})

    def due(self) -> Integers:
        """Return when what waits is due."""
        return self.pending.end + self.node.duration

    def process(self, batch: Batch) -> Instances:
        """Return the left sides whose time has passed and that nothing blocked."""
        rows = stack([self.pending, self.left.process(batch)], self.node.left.exports)
        found = self.absent.process(batch)
        if len(found):
            self.blockers = stack([self.blockers, found.only(self.node.joined)], self.node.joined)
        due = rows.end + self.node.duration
        ripe = np.flatnonzero(due < batch.clock.horizon)
        self.pending = rows.take(np.flatnonzero(due >= batch.clock.horizon)).only(self.node.left.exports)
        fallen = self._fallen(batch, rows.take(ripe[np.argsort(due[ripe], kind="stable")]))
        kept = np.flatnonzero(self.blockers.end >= batch.now - self.node.span)
        if len(kept) < len(self.blockers):
            self.blockers = self.blockers.take(kept).only(self.node.joined)
        return self.outcome.passing(batch, fallen)

    def _fallen(self, batch: Batch, rows: Instances) -> Instances:
        """Return what stands of left sides whose time has passed, in order, on the interval that ends with it."""
        due = rows.end + self.node.duration
        sides = [self.blockers, rows]
        mine, asked = key_rows([[s.column(v) for v in self.node.joined] for s in sides], list(map(len, sides)))
        low = self.node.after(rows.end)
        standing = ~BlockerIndex(mine, self.blockers.start, self.blockers.end).hit(asked, low, due + 1)
        rows, due = rows.take(np.flatnonzero(standing)), due[standing]
        turn = batch.clock.turns(due, batch.clock.layout.absences[waiting_step(self.node)])
        return Instances(turn + place_in_run(turn), rows.start, due, rows.blocks)
