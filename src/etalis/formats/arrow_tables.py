"""Parquet and Arrow: files and tables, one event per row, and tables of results.

Columns play the parts of `table`; a timestamp column is time as it stands, a number column counts the reading's unit.
In a table of results times are numbers or time stamps, as they came, and a position holds integers, floats or text; one
of mixed kinds, or of lists and compound terms, is written as program text. An integer outside 64 bits is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from etalis.data.files import File
from etalis.data.values import Value, format_value, to_value
from etalis.errors import EtalisError, EventError, Problem
from etalis.formats.row import Bad, Place, Reading, Row
from etalis.formats.table import Attribute, column_names, open_table
from etalis.formats.terms import read_cell_term
from etalis.formats.written import SECONDS, TimeForm
from etalis.language.attributes import convert_one
from etalis.logic.knowledge.arrow_columns import to_objects
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS, to_seconds

BATCH = 10_000


def read_table_file(file: File, reading: Reading) -> Iterator[Row | Bad]:
    """Yield the rows of a Parquet or Arrow (Feather, IPC) file, a batch at a time."""
    schema, batches = file.batches(BATCH)
    yield from read_batches(schema.names, batches, file.address, reading)


def read_batches(names: Sequence[str], batches: Iterable[Any], source: str, reading: Reading) -> Iterator[Row | Bad]:
    """Yield the rows of Arrow batches."""
    table = open_table(names, reading, source, _read_cell)
    number = 0
    for batch in batches:
        columns = [to_objects(column) for column in batch.columns]
        for cells in zip(*columns, strict=True):
            number += 1
            yield table.read(cells, Place(source, number))


def _read_cell(cell: object, attribute: Attribute, place: Place) -> Value:
    try:
        if attribute.type in (None, "any"):
            return to_value(cell)
        given = read_cell_term(cell) if attribute.type == "term" and isinstance(cell, str) else cell
        return convert_one(attribute.event, attribute.name, attribute.type, given)
    except EtalisError as error:
        first = error.problems[0]
        column = "" if attribute.name in first.message else f"{attribute.name}: "
        raise place.refuse(first.code, column + first.message, first.hint) from None


def to_table(events: Iterable[Event], times: TimeForm = SECONDS) -> pa.Table:
    """Return events as a table: event, start, end, and one column per attribute."""
    rows = list(events)
    start, end = [event.start_time for event in rows], [event.end_time for event in rows]
    moment = _moment_type([*start, *end], times)
    columns: dict[str, Any] = {
        "event": pa.array([event.name for event in rows], pa.string()),
        "start": _to_moments(start, moment),
        "end": _to_moments(end, moment),
    }
    for i, name in enumerate(column_names(rows)):
        columns[name] = _to_column([event.args[i] if i < len(event.args) else None for event in rows])
    return pa.table(columns)


def _moment_type(moments: Sequence[int], times: TimeForm) -> Any:
    """Return the type of a column of times: seconds where numbers tell them exactly, else time stamps."""
    if not times.dates and not any(time % MICROSECONDS for time in moments):
        return pa.int64()
    if not times.dates and all(round(time / MICROSECONDS * MICROSECONDS) == time for time in moments):
        return pa.float64()
    return pa.timestamp("us", "UTC")


def _to_moments(moments: Sequence[int], moment: Any) -> Any:
    if pa.types.is_timestamp(moment):
        return pa.array(moments, pa.int64()).cast(moment)
    return pa.array([to_seconds(time) for time in moments], moment)


def _to_column(values: list[Value | None]) -> pa.Array:
    """Return one position's values as a column of the one type they share, else of text."""
    kinds = {float if isinstance(v, float) else type(v) for v in values if v is not None and v != "null"}
    plain = [None if v == "null" else v for v in values]
    if kinds == {int}:
        try:
            return pa.array(plain, pa.int64())
        except OverflowError:
            hint = "make it a float or a string in the rule's head"
            raise EventError(Problem("E302", "an integer outside 64 bits has no column type", hint=hint)) from None
    if kinds == {float}:
        return pa.array([None if v is None else float(v) for v in plain], pa.float64())
    if kinds <= {str}:
        return pa.array(plain, pa.string())
    return pa.array([None if v is None else format_value(v) for v in plain], pa.string())
