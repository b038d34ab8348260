"""Any table at any door: the matches of the same rows given one by one, or an error of ours that says why not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.errors import EtalisError
from etalis.formats import feed, read
from etalis.formats.row import reading_of
from etalis.temporal.event import Event
from etalis.temporal.interval import UNITS, to_time
from etalis.temporal.json_values import to_plain
from helpers.examples import by_day
from helpers.random_tables import Stream, make_stream

pytestmark = pytest.mark.property

Found = Counter[tuple[str, str, int, int]]
SEEDS = st.integers(0, 2**32)


def spell(event: Event) -> tuple[str, str, int, int]:
    return event.name, json.dumps([to_plain(x) for x in event.args]), event.start_time, event.end_time


def of_table(found: pa.Table, unit: str) -> Found:
    return Counter(
        (row["event"], json.dumps(json.loads(row["args"])), to_time(row["start"], unit), to_time(row["end"], unit))
        for row in found.to_pylist()
    )


def compiled(stream: Stream) -> etalis.Program:
    return etalis.compile(stream.text, event_consumption_policy="unrestricted")


def one_by_one(stream: Stream) -> Found:
    """Give rows to an engine as Python objects, one by one; what it refuses is left out."""
    program, unit = compiled(stream), stream.options["unit"]
    engine = program.engine()
    found: Found = Counter()
    for row in rows_of(stream.table):
        at = row.pop("ts")
        try:
            moment = at if isinstance(at, str) or at is None or unit == "s" else _seconds(at, unit)
            made = (
                engine.push("e", *row.values(), at=moment)
                if not program.signatures
                else engine.push("e", at=moment, **row)
            )
        except EtalisError:
            continue
        found.update(map(spell, made))
    found.update(map(spell, engine.close()))
    return found


def _seconds(number: Any, unit: str) -> Any:
    from fractions import Fraction

    return Fraction(number) * UNITS[unit] / 1_000_000 if isinstance(number, int) else number


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows of Python objects; times of nanoseconds as pandas has them."""
    columns = {name: [_cell(cell) for cell in table[name]] for name in table.column_names}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _cell(cell: Any) -> Any:
    if cell.is_valid and pa.types.is_timestamp(cell.type) and cell.type.unit == "ns":
        return pd.Timestamp(cell.value, tz=cell.type.tz)
    return cell.as_py()


def by_detect(stream: Stream, source: Any) -> Found:
    return of_table(compiled(stream).detect(source, envelope=True, **stream.options), stream.options["unit"])


def by_engine(stream: Stream, source: Any) -> Found:
    engine = compiled(stream).engine()
    found = of_table(engine.detect(source, envelope=True, **stream.options), stream.options["unit"])
    found.update(map(spell, engine.close()))
    return found


def by_files(stream: Stream, path: str) -> Found:
    program = compiled(stream)
    reading = reading_of(program.compiled, **stream.options)
    return Counter(map(spell, feed(program.engine(), read(path, reading), on_bad=lambda _: None)))


IN_MEMORY: Mapping[str, Callable[[pa.Table], Any]] = {
    "Arrow": lambda table: table,
    "batches": lambda table: table.to_reader(max_chunksize=2),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "Polars": pl.from_arrow,
    "DuckDB": lambda table: duckdb.from_arrow(table),
    "dicts": rows_of,
}
FILES: Mapping[str, Callable[[pa.Table, Path], object]] = {
    "t.parquet": lambda table, path: pq.write_table(table, path),
    "polars.parquet": lambda table, path: pl.from_arrow(table).write_parquet(path),
    "t.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path)),
}
OUTSIDE = (KeyboardInterrupt, SystemExit, MemoryError)


def made(make: Callable[..., Any], *given: Any) -> Any:
    """Return what another tool makes of a table; None if it cannot hold it (Polars panics, past all exceptions)."""
    try:
        return make(*given)
    except OUTSIDE:
        raise
    except BaseException:  # noqa: BLE001
        return None


@by_day(25)
@given(SEEDS)
def test_typed_tables(seed: int) -> None:
    stream = make_stream(seed)
    if "int" in stream.text and _is_too_large(stream.table):
        return  # over columns an integer has 64 bits: a larger one is a dead letter there
    note(f"{stream.text}\n{stream.options}\n{stream.table.schema}\n{stream.table.to_pydict()}")
    expected = one_by_one(stream)
    doors: list[tuple[str, Callable[[Stream, Any], Found], Any]] = []
    for name, make in IN_MEMORY.items():
        for door in (by_detect, by_engine):
            doors.append((name, door, made(make, stream.table)))
    with TemporaryDirectory() as folder:
        for name, write in FILES.items():
            path = Path(folder, name)
            made(write, stream.table, path)
            doors += [(name, door, str(path)) for door in (by_detect, by_engine, by_files)]
        for name, door, source in doors:
            if source is not None:
                check(f"{name} {door.__name__}", lambda door=door, source=source: door(stream, source), expected)


def _is_too_large(table: pa.Table) -> bool:
    columns = [column for column in table.columns if pa.types.is_uint64(column.type)]
    return any(cell is not None and cell >= 2**63 for column in columns for cell in column.to_pylist())


def check(name: str, run: Callable[[], Found], expected: Found) -> None:
    try:
        found = run()
    except EtalisError:
        return
    assert found == expected, name


@by_day(25)
@given(SEEDS)
def test_text_files(seed: int) -> None:
    """Text has no types: all doors agree on what a file says."""
    stream = make_stream(seed)
    if "int" in stream.text and _is_too_large(stream.table):
        return
    note(f"{stream.text}\n{stream.options}\n{stream.table.to_pydict()}")
    with TemporaryDirectory() as folder:
        for name, write in TEXTS.items():
            path = Path(folder, name)
            write(stream.table, path)
            note(path.read_text(encoding="utf-8"))
            try:
                expected = by_files(stream, str(path))
            except EtalisError:
                continue
            for door in (by_detect, by_engine):
                check(f"{name} {door.__name__}", lambda door=door, path=path: door(stream, str(path)), expected)


def _write_csv(table: pa.Table, path: Path) -> None:
    pd.DataFrame({name: [_text(cell) for cell in table[name]] for name in table.column_names}).to_csv(path, index=False)


def _text(cell: Any) -> str:
    value = _cell(cell)
    return "" if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)


def _write_json(table: pa.Table, path: Path) -> None:
    lines = [json.dumps(row, default=str, allow_nan=True) for row in rows_of(table)]
    path.write_text("\n".join(lines), encoding="utf-8")


TEXTS: Mapping[str, Callable[[pa.Table, Path], object]] = {"t.csv": _write_csv, "t.jsonl": _write_json}
