"""Rows of one shard in the order of time, whatever their number: sorted in memory, or in runs on disk that are merged.

Law: the stretches that `sort_rows` yields follow each other, and rows of equal time lie in one of them. So rows that
tie can be put in order one stretch at a time, and a shard needs the memory of one stretch, not of all its rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.temporal.time_columns import to_micros

TAG, START, END, ORDER, ID = "_event", "_start", "_end", "_order", "_id"
NO_EVENT = "\0"  # the tag of a row that only makes a shard exist
MEGABYTE = 1 << 20
USUAL_MEMORY = 512  # megabytes of rows that a shard holds before it sorts them on disk
_BLOCK = 1 << 16  # rows that are read at once of a run on disk


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows, their order, and in that order: times in microseconds, and which have the time and rank of the one before.

    `table` is in one chunk per column, unordered; `places` are its rows in order.
    """

    table: Any
    places: Any
    start: Any
    end: Any
    ties: Any

    def __len__(self) -> int:
        return len(self.places)


def sort_rows(batches: Iterable[Any], unit: str, memory: int) -> Iterator[Stretch]:
    """Sort rows by (end, start, order column), holding about `memory` bytes of them at a time."""
    sorter = Sorter(unit, memory)
    for batch in batches:
        sorter.add(batch)
    yield from sorter.stretches()


class Sorter:
    """Takes rows batch by batch, then gives them back in order."""

    def __init__(self, unit: str, memory: int) -> None:
        self.unit = unit
        self.memory = memory
        self._held: list[Any] = []
        self._size = 0
        self._runs: list[_Run] = []
        self._directory: str | None = None

    def add(self, batch: Any) -> None:
        """Take some rows; what is more than may be held goes to disk."""
        if batch.num_rows:
            self._held.append(batch)
            self._size += batch.nbytes
        if self._size > self.memory:
            self._spill()

    def stretches(self) -> Iterator[Stretch]:
        """Yield all rows in order."""
        try:
            if self._runs:
                self._spill()
                yield from (sort_table(table, self.unit) for table in _merge(self._runs))
            elif self._held:
                yield sort_table(pa.Table.from_batches(self._held), self.unit)
        finally:
            if self._directory is not None:
                shutil.rmtree(self._directory, ignore_errors=True)

    def _spill(self) -> None:
        """Write what is held to a file, sorted."""
        if not self._held:
            return
        self._directory = self._directory or tempfile.mkdtemp(prefix="etalis-", dir=_local_directory())
        stretch = sort_table(pa.Table.from_batches(self._held), self.unit)
        table = stretch.table.take(pa.array(stretch.places))
        path = os.path.join(self._directory, f"{len(self._runs)}.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=_BLOCK)
        self._runs.append(_Run(path, self.unit))
        self._held, self._size = [], 0


def _local_directory() -> str | None:
    """Return where Spark wants its workers to put files, if it says so."""
    told = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return told if os.path.isdir(told) else None


def sort_table(table: Any, unit: str) -> Stretch:
    """Sort the rows of one table."""
    table = table.combine_chunks()
    tags = table[TAG]
    if tags.null_count:
        raise refuse_row(f"{tags.null_count} rows name no event", "fill in the column that names the event")
    real_rows = pc.not_equal(tags, NO_EVENT)
    if not pc.all(real_rows).as_py():
        table = table.filter(real_rows).combine_chunks()
    start, end = _times(table, unit)
    ranks = _ranks(table)
    keys = [key for key in (ranks, start if start is not end else None) if key is not None]
    places = np.lexsort((*keys, end)) if keys else np.argsort(end, kind="stable")
    first, last = start[places], end[places]
    ties = np.zeros(len(places), bool)
    ties[1:] = (last[1:] == last[:-1]) & (first[1:] == first[:-1])
    if ranks is not None:
        ties[1:] &= ranks[places[1:]] == ranks[places[:-1]]
    return Stretch(table, places, first, last, ties)


def _times(table: Any, unit: str) -> tuple[Any, Any]:
    start = to_micros(table[START], unit)
    if END not in table.column_names:
        return start, start
    end = to_micros(table[END], unit)
    if (start > end).any():
        first = int(np.argmax(start > end))
        raise refuse_row(f"{table[TAG][first]}: a row ends before it starts", "swap start and end")
    return start, end


def _ranks(table: Any) -> Any:
    if ORDER not in table.column_names:
        return None
    ranks = pc.rank(table[ORDER].combine_chunks(), sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy(zero_copy_only=False)


class _Run:
    """Sorted rows on disk, read block by block."""

    def __init__(self, path: str, unit: str) -> None:
        self.reader = pa.ipc.open_file(pa.memory_map(path))
        self.unit = unit
        self.next = 0
        self.table = self.reader.schema.empty_table()
        self.ends = np.zeros(0, np.int64)
        self.read_more()

    @property
    def is_read(self) -> bool:
        """Whether all blocks have been read."""
        return bool(self.next == self.reader.num_record_batches)

    def read_more(self) -> None:
        """Read one more block behind the rows that are left."""
        block = pa.Table.from_batches([self.reader.get_batch(self.next)])
        self.next += 1
        column = block[END if END in block.column_names else START]
        self.table = pa.concat_tables([self.table, block])
        self.ends = np.concatenate([self.ends, to_micros(column, self.unit)])

    def take_before(self, time: int | None) -> Any:
        """Return the rows that end before a moment (None: all), and keep the others."""
        count = len(self.ends) if time is None else int(np.searchsorted(self.ends, time, "left"))
        taken = self.table.slice(0, count)
        self.table, self.ends = self.table.slice(count), self.ends[count:]
        return taken


def _merge(runs: list[_Run]) -> Iterator[Any]:
    """Yield tables that follow each other in time; what may tie with rows not yet read waits."""
    while runs:
        unread = [run for run in runs if not run.is_read]
        bound = min((int(run.ends[-1]) for run in unread), default=None)
        taken = [run.take_before(bound) for run in runs]
        if any(part.num_rows for part in taken):
            yield pa.concat_tables(taken)
        for run in unread:
            if not len(run.ends) or int(run.ends[-1]) == bound:
                run.read_more()
        runs = [run for run in runs if len(run.ends) or not run.is_read]


def refuse_row(message: str, hint: str) -> InputError:
    """Return the error for rows that cannot be taken."""
    return InputError(Problem("E606", message, hint=hint))
