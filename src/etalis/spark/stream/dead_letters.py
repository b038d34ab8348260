"""Dead letters of a stream: rows that cannot be taken, as plain data with the reason (files: `growing_files`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from etalis.formats.row import UNITS
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.spark.batch.feed import Rows
from etalis.tables.sorting import END, START, TAG
from etalis.temporal.interval import MICROSECONDS
from etalis.temporal.time_columns import read_times

Cause: TypeAlias = Literal["late", "ahead", "event", "time", "value"]
LATE: Cause = "late"
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
