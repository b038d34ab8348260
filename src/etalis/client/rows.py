"""What `run` takes, as bodies of requests: rows as JSON lines, tables as Parquet.

Law: what arrives is what an engine in the process would have taken: values by `to_value`, times exact to the
microsecond, dates as ISO 8601 in UTC.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

from etalis.client.errors import RejectedRowsError
from etalis.data.held_tables import is_table
from etalis.data.scalars import is_numpy_time, show, to_python
from etalis.data.values import to_value
from etalis.errors import InputError, OptionError, Problem
from etalis.temporal.event import Event
from etalis.temporal.interval import to_iso, to_time
from etalis.temporal.json_values import from_plain, to_plain, to_text
from etalis.temporal.record_columns import ColumnRows
from etalis.temporal.time_input import to_interval

BATCH = 1_000
LINES, PARQUET = "application/x-ndjson", "application/vnd.apache.parquet"
_TIMES = frozenset({"at", "start", "end"})
OnRejected: TypeAlias = Callable[[int, str], object]
_ROW_HINT = 'a row is (name, *attributes, at), an Event, or {"event": name, "at": time, ...}'


def bodies(rows: Any, batch: int, how: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield the content types and bodies of rows, so many in each; `how` says how columns of tables are read."""
    if batch < 1:
        raise OptionError(Problem("E338", f"a batch of {batch} rows", hint="batch: at least 1"))
    if is_table(rows) and not isinstance(rows, Mapping):
        yield from _parquet_bodies(rows, batch)
        return
    if how:
        hint = "rows say all that there is to say; it is for tables"
        raise OptionError(Problem("E338", f"run has no option {next(iter(how))} for rows", hint=hint))
    if isinstance(rows, Mapping):
        rows = ColumnRows(rows, lambda _: ()).rows
    source = iter(rows)
    while some := list(islice(source, batch)):
        yield LINES, "".join(f"{to_text(record_of(row))}\n" for row in some).encode()


def record_of(row: Any) -> dict[str, Any]:
    """Return a row as plain data.

    >>> record_of(("a", 1, True, date(2026, 3, 2)))
    {'event': 'a', 'args': [1, 'true'], 'at': '2026-03-02T00:00:00Z'}
    """
    match row:
        case Event():
            return {**row.to_dict(), "start": to_iso(row.start_time), "end": to_iso(row.end_time)}
        case tuple() if len(row) > 1 and isinstance(row[0], str):
            return {"event": row[0], "args": [plain_value(value) for value in row[1:-1]], **times_of(row[-1])}
        case Mapping() if isinstance(row.get("event"), str):
            record = {str(name): value for name, value in row.items()}
            return {
                name: value if name == "event" else plain_moment(value) if name in _TIMES else plain_value(value)
                for name, value in record.items()
            }
    raise InputError(Problem("E306", f"not a row of events: {show(row)}", hint=_ROW_HINT))


def times_of(at: Any) -> dict[str, Any]:
    """Return the time of an event as its fields."""
    if isinstance(at, tuple | list) and len(at) == 2:
        return {"start": plain_moment(at[0]), "end": plain_moment(at[1])}
    return {"at": plain_moment(at)}


def plain_moment(moment: Any) -> Any:
    """Return a time as JSON has it: a number of seconds, or a date as text.

    >>> plain_moment(Fraction(1, 8)), plain_moment(Fraction(1, 3)), plain_moment(date(1970, 1, 1))
    (0.125, '1970-01-01T00:00:00.333333Z', '1970-01-01T00:00:00Z')
    """
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return moment
    if isinstance(moment, Fraction) and float(moment) == moment:
        return float(moment)
    if isinstance(moment, str):
        return moment
    to_interval(moment)  # refuses what is no time
    return to_iso(to_time(moment))


def plain_value(value: Any) -> Any:
    """Return an attribute as JSON has it; dates are for attributes that are declared `time`."""
    value = to_python(value)
    if isinstance(value, date) or is_numpy_time(value):
        return to_iso(to_time(value))
    if value is None or isinstance(value, dict):
        return None if value is None else {str(key): plain_value(each) for key, each in value.items()}
    return to_plain(to_value(from_plain(value)))


def _parquet_bodies(source: Any, batch: int) -> Iterator[tuple[str, bytes]]:
    """Yield the rows of a table as files of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet

    table = to_arrow(source, pa)
    for start in range(0, table.num_rows, batch):
        sink = io.BytesIO()
        pyarrow.parquet.write_table(table.slice(start, batch), sink)
        yield PARQUET, sink.getvalue()


def to_arrow(source: Any, pa: Any) -> Any:
    """Return a table of Arrow, pandas, Polars or DuckDB as one of Arrow."""
    for name in ("to_arrow", "to_arrow_table", "arrow", "fetch_arrow_table"):
        if callable(getattr(source, name, None)):
            found = getattr(source, name)()
            return found.read_all() if hasattr(found, "read_all") else found
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if hasattr(source, "iloc"):
        return pa.Table.from_pandas(source, preserve_index=False)
    raise InputError(Problem("E306", f"a table of type {type(source).__name__}", hint="give one of Arrow or pandas"))


def events_of(answer: Mapping[str, Any], first: int, on_rejected: OnRejected | None) -> tuple[Event, ...]:
    """Return the matches of an answer as events.

    Rows that were rejected go to `on_rejected`, with their places among all rows; without it they are an error.
    """
    found = tuple(Event.from_dict(entry["match"]) for entry in answer["matches"])
    rejected = [(first + row["index"], row["message"]) for row in answer.get("rejected", ())]
    if rejected and on_rejected is None:
        place, message = rejected[0]
        more = f", and {len(rejected) - 1:,} more" if len(rejected) > 1 else ""
        hint = "the other rows were taken; run(rows, on_rejected=...) is told of each"
        raise RejectedRowsError(Problem("E853", f"row {place} was not taken: {message}{more}", hint=hint), found)
    for place, message in rejected:
        assert on_rejected is not None
        on_rejected(place, message)
    return found
