"""Unit tests on Spark: rows or a case in, through the DataFrames that any data goes through, complex events out.

`detect_rows` takes what an engine takes (`engine.run(rows)`) and returns events, so that one expectation serves both;
`check_case` runs a case of a `.case` file and says what is missing and what is too much.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from etalis.cases import Case
from etalis.errors import InputError, Problem, ProgramError
from etalis.formats.json_lines import from_json
from etalis.formats.row import parse_time
from etalis.logic.term import Real, to_value
from etalis.plan.keys import show
from etalis.runtime.comparison import GAINED, compare_matches
from etalis.runtime.intake import Intake
from etalis.runtime.program import compile as compile_text
from etalis.spark.kinds import kinds_read
from etalis.spark.output import END, START
from etalis.spark.schema import Kind, refuse
from etalis.temporal.event import Event, sort_key

if TYPE_CHECKING:
    from etalis.runtime.program import Program

_START, _END, _RANK = "_start", "_end", "_rank"
_DECLARED: Mapping[str, pa.DataType] = {
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.string(), "time": pa.float64(),
}  # fmt: skip
_TYPES: Mapping[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), Real: pa.float64(), str: pa.string()}


def detect_rows(
    spark: Any, program: Program, rows: Iterable[Any], *, policy: str | None = None, shards: int | None = None
) -> list[Event]:
    """Return the complex events in rows, in order, found on Spark; rows of equal time are taken as they are given.

    A row is (name, *attributes, at), an Event, or {"event": name, "at": time, ...}.
    """
    frames = {tag: spark.createDataFrame(table) for tag, table in _tables(program, rows).items()}
    found = program.on(spark).detect(
        frames, time=(_START, _END), order=_RANK, unit="us", policy=policy, shards=shards, envelope=True
    )
    return sorted(map(_to_event, found.collect()), key=sort_key)


def detect_frame(spark: Any, program: Program, df: Any, **options: Any) -> list[Event]:
    """Return the complex events in a DataFrame, or in one per event, in order; options are those of `detect`."""
    found = program.on(spark).detect(df, **options, envelope=True)
    unit = options.get("unit", "s")
    if dict(found.dtypes)[START].startswith("timestamp"):  # collected, it would be in the zone of this machine
        unit, moments = "us", {name: f"unix_micros(cast(`{name}` as timestamp)) as `{name}`" for name in (START, END)}
        found = found.selectExpr(*(moments.get(name, name) for name in found.columns))
    return sorted((_to_event(row, unit) for row in found.collect()), key=sort_key)


def check_case(spark: Any, case: Case, *, shards: int | None = None) -> None:
    """Run a case on Spark, under each of its policies; an AssertionError says what differs from its expectation."""
    if not case.is_plain or not case.is_closed:
        hint = "Spark takes a whole history: leave out `close: no`, and steps that are no events"
        raise InputError(Problem("E413", f"{case.place}: {case.id} cannot run on Spark", hint=hint))
    try:
        program = compile_text(case.program, read=dict(case.files).get, **dict(case.options))
    except ProgramError as error:
        _check_refusal(case, error)
        return
    for policy in case.policies:
        found = detect_rows(spark, program, case.steps, policy=policy, shards=shards)
        _check_matches(case, policy, found)


def _check_refusal(case: Case, error: ProgramError) -> None:
    expected = sorted(line.partition(" ")[0] for line in case.errors)
    if sorted(problem.code for problem in error.problems) != expected:
        raise AssertionError(f"{case.place}: expected {', '.join(expected) or 'no error'}, but:\n{error}")


def _check_matches(case: Case, policy: str | None, found: Sequence[Event]) -> None:
    if case.errors:
        raise AssertionError(f"{case.place}: expected {'; '.join(case.errors)}, but the program ran")
    differences = compare_matches(case.expect or (), found)
    if differences:
        lines = [f"  {'unexpected' if d.change == GAINED else 'missing'} {d.match}" for d in differences]
        under = "" if policy is None else f" ({policy})"
        raise AssertionError("\n".join([f"{case.place}: {case.id}{under}", *lines]))


def _tables(program: Program, rows: Iterable[Any]) -> dict[str, pa.Table]:
    """Return one table per kind of event that the program reads; a table without rows where there are none at all."""
    intake = Intake(program.signatures, None)
    alike: dict[Kind, list[tuple[Any, ...]]] = {}
    for number, row in enumerate(rows):
        name, values, start, end, stamp = intake.row(row)
        rank = number if stamp is None or stamp.rank is None else stamp.rank
        alike.setdefault((name, len(values)), []).append((start, end, rank, *map(to_value, values)))
    read = kinds_read(program)
    given = {kind: alike[kind] for kind in read if kind in alike} or {kind: [] for kind in read}
    return {show(kind): _table(kind, several, program) for kind, several in given.items()}


def _table(kind: Kind, rows: Sequence[tuple[Any, ...]], program: Program) -> pa.Table:
    declared = program.signatures.get(kind[0], ()) if kind in program.attributes else ()
    columns: dict[str, pa.Array] = {
        name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate((_START, _END, _RANK))
    }
    for i in range(kind[1]):
        name, wanted = declared[i] if declared else (f"x{i}", None)
        cells = [None if row[3 + i] == "null" else row[3 + i] for row in rows]
        arrow = _DECLARED.get(wanted or "") or _column_type(cells, show(kind), i)
        columns[name] = pa.array([_plain(cell) for cell in cells], arrow)
    return pa.table(columns)


def _column_type(cells: Iterable[Any], kind: str, place: int) -> pa.DataType:
    """Return the one type of a column's values; columns have one, where rows of an engine may have several."""
    found = {_value_type(cell, kind) for cell in cells if cell is not None}
    if len(found) > 1:
        several = " and ".join(sorted(map(str, found)))
        hint = "give values of one type, or declare the event's attributes"
        raise refuse("E603", f"attribute {place + 1} of {kind} is {several}, but a column has one type", hint)
    return found.pop() if found else pa.string()


def _value_type(value: Any, kind: str) -> pa.DataType:
    if isinstance(value, tuple):
        inner = {_value_type(item, kind) for item in value}
        if len(inner) == 1:
            return pa.list_(inner.pop())
    elif type(value) in _TYPES:
        return _TYPES[type(value)]
    raise refuse("E603", f"{value!r} in {kind} cannot stand in a column", "give numbers, strings, or lists of one type")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Real) else value


def _to_event(row: Any, unit: str = "us") -> Event:
    args = tuple(to_value(from_json(value)) for value in json.loads(row["args"]))
    return Event.make(row["event"], args, parse_time(row["start"], unit), parse_time(row["end"], unit), row["rule"])
