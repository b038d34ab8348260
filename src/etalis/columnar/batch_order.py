"""The order of a batch, put together while what happens between its rows is found.

Time points and what is due after constant delays are known beforehand; alarms set for a time that rows tell are found
in the order of rows alone. Who has no partner is found join by join, inner ones first: each gives its rows without one
a place, and all that was found so far moves on. Law: when a join is looked at, nothing that it reads will move against
other turns that it reads, and nothing will be added to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from etalis.columnar.build import SharedOperator
from etalis.columnar.clock import DUE, Clock, first_turns, timeless
from etalis.columnar.component import ColumnComponent
from etalis.columnar.conditions.changing_facts import ChangingFacts
from etalis.columnar.data.batches import InputBatch
from etalis.columnar.data.columns import Integers, at
from etalis.columnar.operators.base import Batch, EventRows
from etalis.columnar.schedule import Schedule


class BatchOrder:
    """One batch of rows in the making, of components whose operators are given."""

    def __init__(
        self, rows: InputBatch, components: Sequence[ColumnComponent], operators: Collection[SharedOperator],
        schedule: Schedule, now: int, facts: ChangingFacts | None,
    ) -> None:  # fmt: skip
        self.rows = rows
        self.components = components
        self.operators = operators
        self.schedule = schedule
        self.facts = facts
        self.batch = Batch({}, now, timeless(0))
        for component in components:
            component.begin()

    def settle(self, horizon: int, reached: int) -> Batch:
        """Return the batch with all that falls due before a horizon, and time points up to what is reached."""
        told = [component for component in self.components if component.told]
        foreseen: list[Integers] = []
        if told:
            self.batch = self._begun(self.batch.now, timeless(len(self.rows.end)))
            foreseen = [moments for component in told for moments in component.foresee(self.batch)]
        clock = self.schedule.clock(self.rows, horizon, reached, foreseen)
        now = max(self.batch.now, int(clock.moments[-1])) if len(clock.moments) else self.batch.now
        if told:
            self._move(_batch(self.rows, now, clock), clock.rows)
        else:
            self.batch = self._begun(now, clock)
        for component in self.components:
            for join, keys in component.find_alone(lambda: self.batch):
                join.place(self._add_steps(keys))
        return self.batch

    def _begun(self, now: int, clock: Clock) -> Batch:
        """Return the rows as events, and note what facts they change."""
        batch = _batch(self.rows, now, clock)
        if self.facts is not None:
            self.facts.begin()
            for kind in self.facts.learning.changes.keys() & batch.events.keys():
                rows = batch.events[kind]
                self.facts.learn(kind, rows.turn, rows.start, [rows.cells(i, None) for i in range(kind[1])])
        return batch

    def _add_steps(self, keys: Integers) -> Integers:
        """Give what has no partner its steps; return their slots."""
        clock, slots, steps = self.schedule.with_steps(self.batch.clock, keys)
        self._move(self.batch.moved(clock, slots, int(keys[DUE].max())), slots)
        return steps

    def _move(self, after: Batch, slots: Integers) -> None:
        """Let all that was found for the batch be found for another one, in which slots have moved."""
        batches = {id(self.batch): after}
        for component in self.components:
            batches.update(component.move(self.batch, after, slots))
        for operator in self.operators:
            operator.move(batches, slots)
        if self.facts is not None:
            self.facts.move(slots)
        self.batch = after


def _batch(rows: InputBatch, now: int, clock: Clock) -> Batch:
    """Return rows as events that have turns by a clock."""
    received = {}
    for kind, r in rows.events.items():
        start = at(rows.start, r.rows)
        end = start if rows.start is rows.end else at(rows.end, r.rows)
        slot = clock.rows[r.rows] if len(clock.moments) or clock.ticks else r.rows
        numbers = () if rows.numbers is None else (rows.numbers[r.rows],)
        received[kind] = EventRows(first_turns(slot), start, end, r.columns, numbers)
    return Batch(received, now, clock)
