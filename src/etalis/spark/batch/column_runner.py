"""Rows of a shard over columns: batches through compiled kernels, rules without kernels event at a time.

Needs numba, and is imported where that is known to be there (`execution_mode`). Law: the rows that come out are those
that one engine gives for the same rows, in whatever order. An event that goes on to later stages has the key of the row
that caused it and its round, as a relay gives them; only the first stage runs here, so its rows are all that happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from etalis.columnar.clock import MOST_ROUNDS, PLACE, slot_of
from etalis.columnar.derived_events import DerivedEvents
from etalis.columnar.run import ColumnRun, InputBatch
from etalis.errors import InputError
from etalis.plan.keys import Kind
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import start_engine
from etalis.runtime.stage_engine import Step
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.job import Job
from etalis.spark.batch.row_runner import RowRunner, Write, naming_rows, written
from etalis.spark.batch.stage_schema import StageWriter
from etalis.tables.read.batches import EventCodes, order_ties, read_batch
from etalis.tables.read.rejected_rows import undeclared
from etalis.tables.results.encode_columns import encode_made, made_raws, received_ids
from etalis.tables.results.row_ids import RowIds
from etalis.tables.sorting import ID, TAG, Stretch

ROWS = 1 << 18  # of a batch


class ColumnRunner:
    """A runner over columns, on an engine of its own, or on one that goes on: then only until all rows are taken."""

    def __init__(self, job: Job, run: ColumnRun, received: Any = None, write: Write | None = None) -> None:
        self.job = job
        self.run = run
        self.goes_on = run.goes_on
        self.rows = RowRunner(job, run.engine, write)
        self.ids = self.rows.ids if isinstance(self.rows.ids, RowIds) else None
        self.writer = StageWriter(job, received)
        self.parts = job.parts
        self.tags = {part.tag: number for number, part in enumerate(self.parts)}
        self.columns = list(dict.fromkeys(name for part in self.parts for name in part.columns))
        self.labels = [head.label for head in run.choice.heads]
        self.asked = dict(job.output.kinds)

    def take(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take rows that follow all taken before; yield results, and what goes on to later stages."""
        for stretch in stretches:
            low = 0
            for batch in self._batches(stretch):
                for piece in self.run.admit(batch):
                    yield from self._take(piece, stretch, low)
                    low += len(piece.end)
            yield from written(self.run.advance(), self.rows.write)
        if self.goes_on:
            self.run.save()

    def advance(self, time: int) -> Iterator[Any]:
        """Let time reach a moment, on an engine that goes on."""
        return self.rows.advance(time)

    def close(self) -> Iterator[Any]:
        """End the stream."""
        if self.goes_on:
            yield from self.rows.close()
            return
        for piece in self.run.release():
            yield from self._take(piece)
        yield from written(self.run.close(), self.rows.write)

    def _take(self, piece: InputBatch, stretch: Stretch | None = None, low: int = 0) -> Iterator[Any]:
        """Take rows that are admitted, which begin at `low` of a stretch, and yield what they cause."""
        for kind, made in self.run.derive(piece):
            reported = self.run.program.is_reported(*kind)
            if reported is not False and kind in self.asked:
                told = self.run.reported(made, reported)
                rows = encode_made(kind, told, self.job.output, self.labels, self.ids)
                yield from self.writer.results(rows)
            if stretch is not None and kind in self.writer.forwards:
                yield self._forwarded(kind, made, stretch, low)
        if self.run.at_a_time:
            yield from written(self.run.process_rows(piece), self.rows.write)

    def _batches(self, stretch: Stretch) -> Iterator[InputBatch]:
        """Yield the rows of a stretch in the order of definition 6.1."""
        table = stretch.table.select(self.columns)
        coded = self._event_codes(stretch.table)
        try:
            places = order_ties(stretch, self.parts, coded)
            is_sorted = bool((np.diff(places) > 0).all())
            for low in range(0, len(places), ROWS):
                part = slice(low, low + ROWS)
                mine = places[part]
                rows = table.slice(low, ROWS) if is_sorted else table.take(pa.array(mine))
                known = None if coded is None else coded.take(mine)
                batch = read_batch(rows, stretch.start[part], stretch.end[part], self.parts, known)
                yield batch if self.ids is None else self._numbered(batch, stretch, mine, self.ids)
        except InputError as error:
            raise self._refused(stretch, error) from None

    def _numbered(self, batch: InputBatch, stretch: Stretch, places: Any, ids: RowIds) -> InputBatch:
        """Return a batch of rows that have numbers, and note what they are called."""
        given = stretch.table[ID].take(pa.array(places)).combine_chunks() if ID in stretch.table.column_names else None
        return replace(batch, numbers=ids.add(received_ids(batch, given)))

    def _event_codes(self, table: Any) -> EventCodes | None:
        """Return of which part each row is; None if all are of the only one."""
        coded = table[TAG].combine_chunks().dictionary_encode()
        known = []
        for tag in coded.dictionary.to_pylist():
            if tag not in self.tags:
                raise undeclared(tag)
            known.append(self.tags[tag])
        if len(self.parts) == 1:
            return None
        return EventCodes(coded.indices.to_numpy(zero_copy_only=False), np.array(known, np.int64))

    def _refused(self, stretch: Stretch, error: InputError) -> InputError:
        """Return what is wrong with the rows of a stretch: said of the row where an engine stops, if it does."""
        program = self.run.program
        feed = Feed([stretch], self.job.rows, program.signatures)
        with naming_rows(feed):
            for _ in start_engine(program, EngineOptions(on_error=lambda _: None)).run(feed):
                pass
        return error

    def _forwarded(self, kind: Kind, made: DerivedEvents, stretch: Stretch, low: int) -> Any:
        """Return events that go on, each with its step and its round."""
        steps = self._steps(stretch, slot_of(made.turn) + low)
        rounds = ((made.turn >> PLACE) % MOST_ROUNDS).tolist()
        events = made_raws(kind, made, self.labels)
        return self.writer.derived(kind, list(zip(steps, rounds, events, strict=True)))

    def _steps(self, stretch: Stretch, rows: Any) -> list[Step]:
        """Return the steps of some rows of a stretch: equal rows are told apart by how many come before."""
        wanted, places = np.unique(rows, return_inverse=True)
        runs = np.cumsum(~stretch.ties)
        kept = np.flatnonzero(np.isin(runs, runs[wanted]))
        part = Stretch(stretch.table, stretch.places[kept], stretch.start[kept], stretch.end[kept], stretch.ties[kept])
        feed = Feed([part], self.job.rows, self.run.program.signatures)
        found: list[Step] = []
        low = 0
        for chunk in feed.chunks():
            high = low + len(chunk.rows)
            mine = wanted[np.isin(wanted, kept[low:high])]
            numbers = np.searchsorted(kept[low:high], mine)
            found += [Step.of(chunk.key(int(number), feed)) for number in numbers]
            low = high
        return [found[place] for place in places.tolist()]
