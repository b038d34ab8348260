"""Dead letters of a stream: rows that cannot be taken, as plain data with the reason, in few files.

Every shard writes a file of its own, which grows from batch to batch and is replaced as a whole; at a certain size the
next one is begun. Law: a batch leaves the rows of batches before it as they are and puts its own in the place of any
that an attempt before has left, so every row is there once, whatever fails. Which file it is stands in the state of the
batch before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from etalis.formats.row import UNITS
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.spark.batch.feed import Rows
from etalis.spark.stream.state_store import ShardPlace, open_folder, read_whole, write_whole
from etalis.tables.sorting import END, START, TAG
from etalis.temporal.interval import MICROSECONDS
from etalis.temporal.time_columns import read_times

Cause: TypeAlias = Literal["late", "ahead", "event", "time", "value"]
LATE: Cause = "late"
ROLL = 4 << 20  # bytes of a file after which the next one is begun
LETTERS = pa.schema(
    [
        ("event", pa.string()), ("args", pa.string()), ("start", pa.float64()), ("end", pa.float64()),
        ("reason", pa.string()), ("batch", pa.int64()), ("cause", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Letters:
    """Rows that cannot be taken, why, and what kind of reason that is."""

    rows: Any
    reasons: Sequence[str]
    cause: Cause = LATE


def describe_letters(letters: Sequence[Letters], rows: Sequence[Rows], unit: str, batch: int) -> Any:
    """Return rows that were not taken as a table: event, attributes as JSON, times in seconds, and why."""
    known = {each.tag: each for each in rows}
    found = [row for letter in letters for row in describe_rows(letter, known, unit)]
    found.sort(key=lambda row: (row["end"] or 0.0, row["event"] or "", row["args"], row["reason"]))
    return pa.Table.from_pylist([{**row, "batch": batch} for row in found], schema=LETTERS)


def describe_rows(letter: Letters, known: Mapping[str, Rows], unit: str) -> Iterator[dict[str, Any]]:
    """Yield rows that were not taken as plain data, in their order."""
    table = letter.rows
    cells = {int(name[1:]): to_list(table[name]) for name in table.column_names if name[0] == "s"}
    last = END if END in table.column_names else START
    times = zip(_seconds(table[START], unit), _seconds(table[last], unit), strict=True)
    for row, (tag, (start, end)) in enumerate(zip(table[TAG].to_pylist(), times, strict=True)):
        slots = known[tag].slots if tag in known else [i for i in sorted(cells) if cells[i][row] is not None]
        args = json.dumps([plain(cells[i][row]) for i in slots], ensure_ascii=False, default=str)
        name = known[tag].name if tag in known else tag
        reason = letter.reasons[row]
        yield {"event": name, "args": args, "start": start, "end": end, "reason": reason, "cause": letter.cause}


def plain(value: Any) -> Any:
    """Return a cell as JSON can write it: not a number, and what is infinite, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    return value


def _seconds(column: Any, unit: str) -> list[float | None]:
    """Return times as they are, numbers also where they lie outside the years that there are."""
    times = read_times(column, unit)
    known = [time / MICROSECONDS for time in times.micros.tolist()]
    if times.bad is None:
        return known
    if pa.types.is_timestamp(column.type):
        column, unit = column.cast(pa.int64()), column.type.unit
    cells = zip(known, times.bad.tolist(), column.to_pylist(), strict=True)
    return [_far(cell, unit) if is_bad else time for time, is_bad, cell in cells]


def _far(cell: Any, unit: str) -> float | None:
    is_number = isinstance(cell, int | float) and math.isfinite(cell)
    return float(cell * UNITS[unit] / MICROSECONDS) if is_number else None


def append_letters(folder: str, place: ShardPlace, at: tuple[int, int], table: Any, batch: int) -> tuple[int, int]:
    """Add the dead letters of a batch to the file of a shard; return which file it is, and its size.

    `at` is what the batch before has returned.
    """
    number, size = at
    number += size >= ROLL
    files, root = open_folder(folder)
    path = f"{root}/{place.query}-{place.stage}-{place.shard}-{number}.parquet"
    before = read_whole(files, path)
    if before is not None:
        kept = parquet.read_table(pa.BufferReader(before), schema=LETTERS)
        if kept.num_rows and pc.max(kept["batch"]).as_py() > batch:
            return number, len(before)  # this is a task that nobody waits for: the query has gone on
        table = pa.concat_tables([kept.filter(pc.less(kept["batch"], batch)), table])
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    data = sink.getvalue().to_pybytes()
    write_whole(files, path, data)
    return number, len(data)
