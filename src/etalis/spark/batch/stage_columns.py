"""One shard of the first of several stages over columns: its results, and what goes on to later stages.

Nothing derived comes to the first stage, so its rows are all that happens there. Law: an event that goes on has the key
of the row that caused it and its round, as a relay gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from etalis.columnar.component import Made
from etalis.columnar.run import ColumnRun
from etalis.columnar.schedule import MOST_ROUNDS, PLACE, row_of
from etalis.plan.keys import Kind
from etalis.runtime.stage_engine import Step
from etalis.spark.batch import stage_schema as wire
from etalis.spark.batch.columns import ColumnShard
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.stage import Relayed
from etalis.tables.results.encode_columns import encode_made, made_raws
from etalis.tables.sorting import Stretch


class StageShard:
    """A run of the rules of a stage over the stretches of a shard."""

    def __init__(self, relayed: Relayed, run: ColumnRun, schema: Any) -> None:
        self.shard = ColumnShard(relayed.job, run)
        self.run = run
        self.schema = schema
        self.is_last = relayed.is_last
        self.forwards = {forward.kind: forward for forward in relayed.outgoing}

    def results(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take all rows, and yield what they cause, as rows for later stages."""
        for stretch in stretches:
            low = 0
            for batch in self.shard.batches(stretch):
                for piece in self.run.admit(batch):
                    for kind, made in self.run.derived(piece):
                        yield from self._reported(kind, made)
                        yield from self._forwarded(kind, made, stretch, low)
                    low += len(piece.end)

    def _reported(self, kind: Kind, made: Made) -> Iterator[Any]:
        reported = self.run.program.is_reported(*kind)
        if reported is False or kind not in self.shard.asked:
            return
        told = self.run.reported(made, reported)
        if len(told):
            rows = encode_made(kind, told, self.shard.job.output, self.shard.labels)
            yield rows if self.is_last else wire.write_results(rows, self.schema)

    def _forwarded(self, kind: Kind, made: Made, stretch: Stretch, low: int) -> Iterator[Any]:
        """Yield events that go on, each with its step and its round; rows of the piece begin at `low`."""
        forward = self.forwards.get(kind)
        if forward is None:
            return
        steps = self._steps(stretch, row_of(made.turn) + low)
        rounds = ((made.turn >> PLACE) % MOST_ROUNDS).tolist()
        events = made_raws(kind, made, self.shard.labels)
        yield wire.write_derived(list(zip(steps, rounds, events, strict=True)), forward, self.schema)

    def _steps(self, stretch: Stretch, rows: Any) -> list[Step]:
        """Return the steps of some rows of a stretch: equal rows are told apart by how many come before."""
        wanted, places = np.unique(rows, return_inverse=True)
        runs = np.cumsum(~stretch.ties)
        kept = np.flatnonzero(np.isin(runs, runs[wanted]))
        part = Stretch(stretch.table, stretch.places[kept], stretch.start[kept], stretch.end[kept], stretch.ties[kept])
        feed = Feed([part], self.shard.job.rows, self.run.program.signatures)
        found: list[Step] = []
        low = 0
        for chunk in feed.chunks():
            high = low + len(chunk.rows)
            mine = wanted[np.isin(wanted, kept[low:high])]
            numbers = np.searchsorted(kept[low:high], mine)
            found += [Step.of(chunk.key(int(number), feed)) for number in numbers]
            low = high
        return [found[place] for place in places.tolist()]
