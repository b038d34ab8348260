"""Rows that a batch job cannot take: left out and written to a folder, or told as a DataFrame; without these, an error.

Every task writes one file, when it has read all its rows. Its name says which call, stage and partition it is of, and
how many rows it holds: so a task that is run again, or twice at once, puts its file in the place of the same one, and
whoever has written can count what all have written so far.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs, parquet

from etalis.errors import InputError, Problem
from etalis.runtime.lateness.future_events import describe_ahead
from etalis.spark.batch.screening import Layouts, last_column, leave_to_others, refuse_wrong
from etalis.spark.stream.dead_letters import LETTERS, Letters, describe_rows, plain
from etalis.spark.stream.state_store import open_folder, write_whole
from etalis.tables.sorting import ID, ORDER, START, TAG
from etalis.temporal.time_columns import read_times

if TYPE_CHECKING:
    from etalis.spark.batch.job import Job

REJECTED = "event string, args string, start double, end double, reason string, cause string, raw string"
_SCHEMA = pa.schema([*(field for field in LETTERS if field.name != "batch"), ("raw", pa.string())])
RAW = "_raw"  # a column of whole rows
WAY = 'set such rows aside: rejected="folder"'
_OF_ROWS = frozenset({"E301", "E302", "E305", "E404", "E606"})


@dataclass(frozen=True, slots=True)
class Rejects:
    """What becomes of rows that cannot be taken.

    They go to files of a `folder` that begin with the name of a `call`, at most so many; without a folder they are left
    out, or one of them `refuses` all. `latest` is the latest time before a gap of more than `ahead`, if there is one,
    in microseconds. `told` are the tags of rows that this stage tells; None for all.
    """

    layouts: Layouts
    folder: str | None = None
    call: str = ""
    most: int | None = None
    ahead: int = 0
    latest: int | None = None
    stage: int = 1
    told: frozenset[str] | None = None
    refuses: bool = False


def screened(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows that can be taken; the others are written when all have been read."""
    rejects = job.rejects
    if rejects is None:
        yield from batches
        return
    tables: list[Any] = []
    for batch in batches:
        rows, letters = screen_batch(job, rejects, batch)
        told = [mine for each in letters if (mine := leave_to_others(each, rejects.told, rejects.layouts)) is not None]
        if told and rejects.refuses:
            tag, reason = told[0].rows[TAG][0].as_py(), told[0].reasons[0]
            raise InputError(Problem("E606", f"{tag}: {reason}", hint=WAY))
        if told:
            tables.append(describe(told, job, rejects.layouts))
        yield rows
    if tables and rejects.folder is not None:
        _write(rejects, pa.concat_tables(tables))


def screen_batch(job: Job, rejects: Rejects, batch: Any) -> tuple[Any, list[Letters]]:
    """Return the rows of a batch that can be taken, and the others."""
    rows, letters = refuse_wrong(batch, job, rejects.layouts)
    if rejects.latest is None:
        return rows, letters
    ends = _ends(rows, job)
    ahead = _known(rows, job) & (ends > rejects.latest)
    if not ahead.any():
        return rows, letters
    reasons = [describe_ahead(end, rejects.latest, rejects.ahead) for end in ends[ahead].tolist()]
    return rows.filter(pa.array(~ahead)), [*letters, Letters(rows.filter(pa.array(ahead)), reasons, "ahead")]


def _ends(rows: Any, job: Job) -> Any:
    return read_times(rows[last_column(rows)], job.unit).micros


def _known(rows: Any, job: Job) -> Any:
    """Return which rows are of events that rules read; others are marks, or what stages before have made."""
    return np.asarray(pc.is_in(rows[TAG], pa.array([each.tag for each in job.rows], pa.string())))


def describe(letters: Iterable[Letters], job: Job, layouts: Layouts) -> Any:
    """Return rows that are not taken as a table: event, attributes, times, why, and the row as it came."""
    known = {rows.tag: rows for rows in job.rows}
    found = []
    for each in letters:
        both = zip(describe_rows(each, known, job.unit), _raws(each.rows, layouts), strict=True)
        found += [{**row, "raw": raw} for row, raw in both]
    return pa.Table.from_pylist(found, schema=_SCHEMA)


def _raws(rows: Any, layouts: Layouts) -> list[str]:
    """Return rows as JSON objects: whole ones where they were kept, else by the names of the columns that were read."""
    known = {tag: dict(places) for tag, places in layouts}
    every = {name: slot for places in known.values() for name, slot in places.items()}
    times = {START: "at"} if last_column(rows) == START else {START: "start", last_column(rows): "end"}
    fixed = {TAG: "event", **times, ORDER: "order", ID: "id"}
    found = []
    for row in rows.to_pylist():
        named = row.get(RAW)
        if named is None:
            named = {text: row[name] for name, text in fixed.items() if name in row}
            named |= {name: row[f"s{slot}"] for name, slot in known.get(row[TAG], every).items()}
        found.append(json.dumps(plain(named), ensure_ascii=False, default=str))
    return found


def _write(rejects: Rejects, table: Any) -> None:
    """Write what this task rejects, and stop if there is more of it in all than may be."""
    assert rejects.folder is not None
    files, root = open_folder(rejects.folder)
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    name = f"{rejects.call}-{rejects.stage}-{_partition():05d}-{table.num_rows}.parquet"
    write_whole(files, f"{root}/{name}", sink.getvalue().to_pybytes())
    if rejects.most is None:
        return
    count = sum(_counts(files, root, rejects.call))
    if count > rejects.most:
        hint = f"see which in {rejects.folder}, then correct the source, or allow more: max_rejected="
        message = f"{count} rows were rejected, and max_rejected is {rejects.most}"
        raise InputError(Problem("E627", message, hint=hint))


def _counts(files: fs.FileSystem, root: str, call: str) -> Iterator[int]:
    """Yield how many rows the files of a call hold."""
    for info in files.get_file_info(fs.FileSelector(root)):
        if info.base_name.startswith(f"{call}-") and info.base_name.endswith(".parquet"):
            yield int(info.base_name.removesuffix(".parquet").rpartition("-")[2])


def _partition() -> int:
    """Return the number of the partition that a task runs over."""
    loaded = sys.modules.get("pyspark")  # without it no task runs
    context = None if loaded is None else loaded.TaskContext.get()
    return 0 if context is None else int(context.partitionId())


@contextmanager
def naming_remedy(job: Job) -> Iterator[None]:
    """Say in errors of rows that such rows can be set aside."""
    try:
        yield
    except InputError as error:
        if job.rejects is not None or not any(problem.code in _OF_ROWS for problem in error.problems):
            raise
        known = [replace(p, hint=WAY if p.hint is None else f"{p.hint}; or {WAY}") for p in error.problems]
        raise InputError(*known) from error


def tell_rejected(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows that cannot be taken."""
    assert job.rejects is not None
    for batch in batches:
        letters = screen_batch(job, job.rejects, batch)[1]
        if letters:
            yield from describe(letters, job, job.rejects.layouts).to_batches()


def tell_buckets(job: Job, width: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the first and the last end of the rows that can be taken, bucket by bucket of time."""
    rejects = job.rejects
    assert rejects is not None
    for batch in batches:
        rows, _ = refuse_wrong(batch, job, rejects.layouts)
        ends = np.sort(_ends(rows, job)[_known(rows, job)])
        numbers, firsts = np.unique(ends // width, return_index=True)
        lasts = np.append(firsts[1:], len(ends)) - 1
        arrays = [
            pa.array(column, pa.int64()) for column in (numbers, ends[firsts], ends[lasts] if len(ends) else ends)
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=["bucket", "least", "most"])


def find_gap(buckets: Sequence[tuple[int, int]], width: int) -> int | None:
    """Return the last moment before the first gap of more than a width, given the first and last one of each bucket.

    >>> find_gap([(1, 3), (5, 9), (30, 31)], 10), find_gap([(1, 3), (5, 9)], 10)
    (9, None)
    """
    ordered = sorted(buckets)
    gaps = ((before, after) for (_, before), (after, _) in pairwise(ordered))
    return next((before for before, after in gaps if after - before > width), None)
