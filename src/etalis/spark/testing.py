"""Unit tests on Spark: rows or a case in, through the DataFrames that any data goes through, complex events out.

`detect_rows` takes what an engine takes (`engine.run(rows)`) and returns events, so that one expectation serves both;
`check_case` runs a case of a `.case` file and says what is missing and what is too much.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from etalis.cases.case_file import Case
from etalis.cases.outcomes import Outcome, find_differences
from etalis.data.values import Real, to_value
from etalis.errors import InputError, Problem, ProgramError
from etalis.formats.roles import signatures_read
from etalis.formats.row import parse_time
from etalis.plan.keys import Kind, show
from etalis.runtime.compiled import compile_text
from etalis.runtime.inputs import Inputs
from etalis.spark import SparkProgram
from etalis.tables.results.output import END, START
from etalis.tables.schema import refuse
from etalis.temporal.event import Event, sort_key
from etalis.temporal.interval import LATEST
from etalis.temporal.json_values import from_plain

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram, HasCompiled

_START, _END, _RANK, _NUMBER = "_start", "_end", "_rank", "_number"
_CLOSED = LATEST  # a time that settles everything
_DECLARED: Mapping[str, pa.DataType] = {
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.string(), "time": pa.float64(),
}  # fmt: skip
_TYPES: Mapping[type, pa.DataType] = {int: pa.int64(), float: pa.float64(), Real: pa.float64(), str: pa.string()}


def detect_rows(
    spark: Any, program: HasCompiled, rows: Iterable[Any], *, policy: str | None = None, shards: int | None = None,
    batches: int | None = None, lateness: Any = None,
) -> list[Event]:  # fmt: skip
    """Return the complex events in rows, in order, found on Spark; rows of equal time are taken as they are given.

    A row is (name, *attributes, at), an Event, or {"event": name, "at": time, ...}. With `batches` the rows come as a
    stream, in as many micro-batches, which is closed behind them; without `lateness` none of them is too late.
    """
    parted = None if batches is None else Batches(batches, lateness)
    return _detect_rows(spark, program.compiled, rows, parted, policy=policy, shards=shards)


def _detect_rows(
    spark: Any, program: CompiledProgram, rows: Iterable[Any], batches: Batches | None, *, policy: str | None,
    shards: int | None,
) -> list[Event]:  # fmt: skip
    tables = _tables(program, rows)
    how: dict[str, Any] = {"time": (_START, _END), "order": _RANK, "unit": "us", "policy": policy}
    how |= {"shards": shards, "envelope": True}
    if batches is not None:
        return _detect_stream(spark, program, tables, batches, how)
    frames = {tag: spark.createDataFrame(table.drop_columns(_NUMBER)) for tag, table in tables.items()}
    return sorted(map(_to_event, SparkProgram(program, spark).detect(frames, **how).collect()), key=sort_key)


def detect_frame(spark: Any, program: HasCompiled, df: Any, **options: Any) -> list[Event]:
    """Return the complex events in a DataFrame, or in one per event, in order; options are those of `detect`."""
    found = SparkProgram(program.compiled, spark).detect(df, **options, envelope=True)
    unit = options.get("unit", "s")
    if dict(found.dtypes)[START].startswith("timestamp"):  # collected, it would be in the zone of this machine
        unit, moments = "us", {name: f"unix_micros(cast(`{name}` as timestamp)) as `{name}`" for name in (START, END)}
        found = found.selectExpr(*(moments.get(name, name) for name in found.columns))
    return sorted((_to_event(row, unit) for row in found.collect()), key=sort_key)


def check_case(spark: Any, case: Case, *, shards: int | None = None, batches: int | None = None) -> None:
    """Run a case on Spark, under each of its policies; an AssertionError says what differs from its expectation.

    With `batches` its events come as a stream, in as many micro-batches.
    """
    if not case.is_plain or not case.is_closed:
        hint = "Spark takes a whole history: leave out `close: no`, and steps that are no events"
        raise InputError(Problem("E413", f"{case.place}: {case.id} cannot run on Spark", hint=hint))
    try:
        program = compile_text(case.program, case.source or "<program>", case.read, flags=dict(case.options))
    except ProgramError as error:
        _check_outcome(case, Outcome(refused=error))
        return
    parted = None if batches is None else Batches(batches, None)
    for policy in case.policies:
        found = _detect_rows(spark, program, case.steps, parted, policy=policy, shards=shards)
        told = tuple(map(str, program.problems))
        _check_outcome(case, Outcome(tuple(found), case.reported, warnings=told, output=case.output or ""), policy)


def _check_outcome(case: Case, outcome: Outcome, policy: str | None = None) -> None:
    lines = find_differences(case, outcome)
    if lines:
        under = "" if policy is None else f" under {policy}"
        raise AssertionError("\n".join([f"{case.place}: {case.id} on spark{under}", *(f"  {line}" for line in lines)]))


def _tables(program: CompiledProgram, rows: Iterable[Any]) -> dict[str, pa.Table]:
    """Return one table per kind of event that the program reads; a table without rows where there are none at all."""
    inputs = Inputs(program.signatures, None, program.implied)
    alike: dict[Kind, list[tuple[Any, ...]]] = {}
    for number, row in enumerate(rows):
        name, values, start, end, stamp = inputs.row(row)
        rank = number if stamp is None or stamp.rank is None else stamp.rank
        alike.setdefault((name, len(values)), []).append((start, end, rank, number, *map(to_value, values)))
    read = [signature.kind for signature in signatures_read(program)]
    given = {kind: alike[kind] for kind in read if kind in alike} or {kind: [] for kind in read}
    return {show(kind): _table(kind, several, program) for kind, several in given.items()}


def _table(kind: Kind, rows: Sequence[tuple[Any, ...]], program: CompiledProgram) -> pa.Table:
    declared = program.signatures.get(kind[0], ())
    declared = declared if len(declared) == kind[1] else ()
    columns: dict[str, pa.Array] = {
        name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate((_START, _END, _RANK, _NUMBER))
    }
    for i in range(kind[1]):
        name, wanted = declared[i] if declared else (f"x{i}", None)
        cells = [None if row[4 + i] == "null" else row[4 + i] for row in rows]
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
    raise refuse("E603", f"{value!r} in {kind} cannot be in a column", "give numbers, strings, or lists of one type")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Real) else value


def _to_event(row: Any, unit: str = "us") -> Event:
    args = tuple(to_value(from_plain(value)) for value in json.loads(row["args"]))
    return Event.make(row["event"], args, parse_time(row["start"], unit), parse_time(row["end"], unit), row["rule"])


# as a stream


@dataclass(frozen=True, slots=True)
class Batches:
    """Into how many micro-batches rows are parted, and how late they may be; None: as late as they are."""

    count: int
    lateness: Any

    def part(self, table: pa.Table, total: int) -> list[pa.Table]:
        """Return the rows of each batch: equal shares of all rows, in the order in which they are given."""
        batch = pc.divide(pc.multiply(table[_NUMBER], self.count), max(total, 1))
        return [table.filter(pc.equal(batch, number)).drop_columns(_NUMBER) for number in range(self.count)]

    def bound(self, tables: Iterable[Sequence[pa.Table]]) -> Any:
        """Return how late rows may be: if nothing is said, as late as the latest of them is."""
        if self.lateness is not None:
            return self.lateness
        seen, most = None, 0
        for parts in zip(*tables, strict=True):
            ends = [end for part in parts for end in part[_END].to_pylist()]
            if seen is not None and ends:
                most = max(most, seen - min(ends))
            seen = max([*ends, *([] if seen is None else [seen])], default=None)
        return timedelta(microseconds=most)


def _detect_stream(
    spark: Any, program: CompiledProgram, tables: Mapping[str, pa.Table], batches: Batches, how: Mapping[str, Any]
) -> list[Event]:  # fmt: skip
    """Run a query over files, one of each kind per batch; a clock closes it."""
    total = 1 + max((number for table in tables.values() for number in table[_NUMBER].to_pylist()), default=-1)
    parts = {tag: batches.part(table, total) for tag, table in tables.items()}
    with TemporaryDirectory() as folder:
        root = Path(folder)
        frames = {tag: _stream(spark, root / f"s{i}", several) for i, (tag, several) in enumerate(parts.items())}
        empty, last = (pa.table({_END: pa.array(times, pa.int64())}) for times in ([], [_CLOSED]))
        clock = _stream(spark, root / "clock", [*[empty] * batches.count, last])
        found = SparkProgram(program, spark).detect(
            frames, **how, state=str(root / "state"), lateness=batches.bound(parts.values()), clock=clock
        )
        rows: list[Any] = []
        writer = found.writeStream.foreachBatch(lambda df, _: rows.extend(df.collect()))
        query = writer.option("checkpointLocation", str(root / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
    return _settled(rows)


def _stream(spark: Any, folder: Path, parts: Sequence[pa.Table]) -> Any:
    """Write a file per batch, the older ones first, and return the stream of them."""
    folder.mkdir()
    for number, part in enumerate(parts, 1):
        parquet.write_table(part, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (number, number))
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _settled(rows: Iterable[Any]) -> list[Event]:
    """Return the events of results; of a changelog, those that were not taken back."""
    standing: Counter[Event] = Counter()
    for row in rows:
        standing[_to_event(row)] += -1 if "op" in row and row["op"] == "-" else 1
    return sorted(standing.elements(), key=sort_key)
