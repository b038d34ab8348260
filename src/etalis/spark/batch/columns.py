"""A shard over columns: sorted rows in batches through compiled kernels, rules without kernels event at a time beside.

Needs numba, and is imported where that is known to be there (`spark.way`). Law: the rows that come out are those that
one engine gives for the same rows, in whatever order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from etalis.columnar.run import ColumnRun, Input
from etalis.errors import InputError
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import start_engine
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.shard import BATCH, Job, naming_rows
from etalis.spark.execution_mode import parts_of
from etalis.tables.read.batches import Told, order_ties, read_batch
from etalis.tables.read.cells import undeclared
from etalis.tables.results.encode_columns import encode_made
from etalis.tables.results.output import encode
from etalis.tables.sorting import TAG, Stretch
from etalis.temporal.event import Event

ROWS = 1 << 18  # of a batch


class ColumnShard:
    """A run of a program over the stretches of a shard."""

    def __init__(self, job: Job, run: ColumnRun) -> None:
        self.job = job
        self.run = run
        self.parts = parts_of(job)
        self.tags = {part.tag: number for number, part in enumerate(self.parts)}
        self.columns = list(dict.fromkeys(name for part in self.parts for name in part.columns))
        self.labels = [head.label for head in run.choice.heads]
        self.asked = dict(job.output.kinds)

    def results(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take all rows, close the stream, and yield what that caused, as rows."""
        for stretch in stretches:
            yield from self.take(stretch)
        for piece in self.run.remaining():
            yield from self._made(piece)
        yield from self._encoded(self.run.close())

    def take(self, stretch: Stretch) -> Iterator[Any]:
        """Take rows that follow all taken before, and yield what they cause, as rows."""
        for batch in self.batches(stretch):
            for piece in self.run.admit(batch):
                yield from self._made(piece)
        yield from self._encoded(self.run.settle())

    def _made(self, piece: Input) -> Iterator[Any]:
        """Take rows that are admitted, and yield what they cause."""
        for kind, made in self.run.columns(piece):
            if kind in self.asked:
                yield encode_made(kind, made, self.job.output, self.labels)
        if self.run.at_a_time:
            yield from self._encoded(self.run.beside(piece))

    def _encoded(self, events: Iterable[Event]) -> Iterator[Any]:
        found = iter(events)
        while part := list(islice(found, BATCH)):
            yield encode(part, self.job.output)

    def batches(self, stretch: Stretch) -> Iterator[Input]:
        """Yield the rows of a stretch in the order of definition 6.1."""
        table = stretch.table.select(self.columns)
        told = self._told(stretch.table)
        try:
            places = order_ties(stretch, self.parts, told)
            is_sorted = bool((np.diff(places) > 0).all())
            for low in range(0, len(places), ROWS):
                part = slice(low, low + ROWS)
                mine = places[part]
                rows = table.slice(low, ROWS) if is_sorted else table.take(pa.array(mine))
                known = None if told is None else told.take(mine)
                yield read_batch(rows, stretch.start[part], stretch.end[part], self.parts, known)
        except InputError as error:
            raise self._refused(stretch, error) from None

    def _told(self, table: Any) -> Told | None:
        """Return of which part each row is; None if all are of the only one."""
        coded = table[TAG].combine_chunks().dictionary_encode()
        known = []
        for tag in coded.dictionary.to_pylist():
            if tag not in self.tags:
                raise undeclared(tag)
            known.append(self.tags[tag])
        if len(self.parts) == 1:
            return None
        return Told(coded.indices.to_numpy(zero_copy_only=False), np.array(known, np.int64))

    def _refused(self, stretch: Stretch, error: InputError) -> InputError:
        """Return what is wrong with the rows of a stretch: said of the row where an engine stops, if it does."""
        program = self.run.program
        feed = Feed([stretch], self.job.rows, program.signatures)
        with naming_rows(feed):
            for _ in start_engine(program, EngineOptions(on_error=lambda _: None)).run(feed):
                pass
        return error
