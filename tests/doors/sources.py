"""Sources of one stream of events: a row per tool that makes tables or files, and a row per way to tell the time.

A new tool is a function in `SOURCES`, a new way to tell the time an entry in `TIMES`; every door is tried with all.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z
RULE = r"""
:- event(withdrawal(card: string, city: string, amount: float)).
fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within {window}
                      where (CityA \= CityB, \+ near(CityA, CityB), Total is A + B).
near(basel, weil).
"""
ROWS: tuple[tuple[int, str | None, str, float], ...] = (
    (0, "c1", "basel", 20.0), (1, "c2", "bern", 0.1), (2, "c1", "weil", 30.0), (4, "c1", "genève", 500.0),
    (5, "c2", "rome", 0.2), (5, "007", "oslo", 7.0), (8, None, "bern", 1.0), (9, "007", "rome", 1.5),
    (30, "c1", "rome", 2.5), (41, "c1", "oslo", 2.0), (42, "c2", "oslo", 1e-3), (44, "c2", "日本", 3.0),
)  # fmt: skip
MATCHES = frozenset({
    ("c1", 520.0, 0, 4), ("c1", 530.0, 2, 4), ("c2", 0.1 + 0.2, 1, 5), ("007", 8.5, 5, 9), ("c2", 3.001, 42, 44),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Way:
    """A way to tell the time: the column, from steps of so many seconds, and the unit of its numbers."""

    column: Callable[[list[int]], pa.Array]
    step: int = 1
    unit: str = "s"


def stamps(unit: str, zone: str | None) -> Way:
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return Way(lambda times: pa.array([t * scale for t in times], pa.timestamp(unit, zone)))


def text(write: Callable[[dt.datetime], str]) -> Way:
    return Way(lambda times: pa.array([write(dt.datetime.fromtimestamp(t, dt.UTC)) for t in times]))


TIMES: Mapping[str, Way] = {
    **{f"stamps in {unit}": stamps(unit, None) for unit in ("s", "ms", "us", "ns")},
    **{f"stamps in {unit}, UTC": stamps(unit, "UTC") for unit in ("s", "ns")},
    "stamps in us, Zurich": stamps("us", "Europe/Zurich"),
    "dates": Way(lambda times: pa.array([t // 86_400 for t in times], pa.int32()).cast(pa.date32()), step=86_400),
    "dates in ms": Way(lambda times: pa.array([t * 1_000 for t in times]).cast(pa.date64()), step=86_400),
    "seconds": Way(lambda times: pa.array(times)),
    "seconds, unsigned": Way(lambda times: pa.array(times, pa.uint32())),
    "seconds, floats": Way(lambda times: pa.array(list(map(float, times)))),
    "milliseconds": Way(lambda times: pa.array([t * 10**3 for t in times]), unit="ms"),
    "microseconds": Way(lambda times: pa.array([t * 10**6 for t in times]), unit="us"),
    "nanoseconds": Way(lambda times: pa.array([t * 10**9 for t in times]), unit="ns"),
    "text with Z": text(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
    "text with an offset": text(lambda moment: moment.astimezone(dt.timezone(dt.timedelta(hours=5.5))).isoformat()),
    "text without a zone": text(lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S.000")),
}


def table(way: Way) -> pa.Table:
    """Return the stream as an Arrow table."""
    columns = list(zip(*ROWS, strict=True))
    times = way.column([EPOCH + step * way.step for step in columns[0]])
    return pa.table({"ts": times, "card": columns[1], "city": columns[2], "amount": columns[3]})


def program(way: Way) -> str:
    return RULE.format(window=10 * way.step)


def expected(way: Way) -> frozenset[tuple[Any, ...]]:
    """Return the matches, with times in microseconds."""
    return frozenset(
        (card, total, *((EPOCH + step * way.step) * 1_000_000 for step in steps)) for card, total, *steps in MATCHES
    )


# tables in memory


def _parquet(write: Callable[[pa.Table, str], object]) -> Callable[[pa.Table, Path], str]:
    def make(rows: pa.Table, folder: Path) -> str:
        path = str(folder / "events.parquet")
        write(rows, path)
        return path

    return make


def _file(ending: str, write: Callable[[pa.Table, str], object]) -> Callable[[pa.Table, Path], str]:
    def make(rows: pa.Table, folder: Path) -> str:
        path = str(folder / f"events.{ending}")
        write(rows, path)
        return path

    return make


def _by_duckdb(form: str) -> Callable[[pa.Table, str], object]:
    def write(rows: pa.Table, path: str) -> None:
        connection = duckdb.connect()
        connection.sql("set timezone = 'UTC'")
        connection.register("rows", rows)
        connection.execute(f"copy (select * from rows) to '{path}' ({form})")

    return write


KEPT: list[Any] = []  # connections, which older versions close when nobody holds them


def _relation(rows: pa.Table, _: Path) -> Any:
    connection = duckdb.connect()
    KEPT[:] = [connection]
    connection.register("rows", rows)
    return connection.sql("select * from rows")


def _cursor(rows: pa.Table, _: Path) -> Any:
    connection = duckdb.connect()
    connection.register("rows", rows)
    return connection.execute("select * from rows")


def _csv_by_hand(rows: pa.Table, path: str) -> None:
    cells = [[_text(cell) for cell in row.values()] for row in rows.to_pylist()]
    Path(path).write_text("\n".join(",".join(line) for line in [rows.column_names, *cells]) + "\n", encoding="utf-8")


def _text(cell: object) -> str:
    return "" if cell is None else cell.isoformat() if isinstance(cell, dt.date) else str(cell)


def _json_lines(rows: pa.Table, path: str) -> None:
    lines = [json.dumps(row, default=_text, ensure_ascii=False) for row in rows.to_pylist()]
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def _compressed(rows: pa.Table, path: str) -> None:
    plain = path.removesuffix(".gz")
    _csv_by_hand(rows, plain)
    data = pa.compress(Path(plain).read_bytes(), "gzip", asbytes=True)
    Path(plain).unlink()
    Path(path).write_bytes(data)


IN_MEMORY: Mapping[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow table": lambda rows, _: rows,
    "Arrow, large strings": lambda rows, _: _cast_texts(rows, pa.large_string()),
    "Arrow, dictionaries": lambda rows, _: _cast_texts(rows, pa.dictionary(pa.int8(), pa.string())),
    "record batch reader": lambda rows, _: rows.to_reader(max_chunksize=5),
    "pandas": lambda rows, _: rows.to_pandas(),
    "pandas of Arrow": lambda rows, _: rows.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categories": lambda rows, _: rows.to_pandas().astype({"card": "category", "city": "category"}),
    "Polars": lambda rows, _: pl.from_arrow(rows),
    "Polars, lazy": lambda rows, _: pl.from_arrow(rows).lazy(),
    "DuckDB relation": _relation,
    "DuckDB cursor": _cursor,
    "list of dicts": lambda rows, _: rows.to_pylist(),
    "generator of dicts": lambda rows, _: iter(rows.to_pylist()),
    "list of tuples": lambda rows, _: [("withdrawal", *cells, at) for at, *cells in map(dict.values, rows.to_pylist())],
}
FILES: Mapping[str, Callable[[pa.Table, Path], str]] = {
    "Parquet by PyArrow": _parquet(pyarrow.parquet.write_table),
    "Parquet by pandas": _parquet(lambda rows, path: rows.to_pandas().to_parquet(path)),
    "Parquet by Polars": _parquet(lambda rows, path: pl.from_arrow(rows).write_parquet(path)),
    "Parquet by DuckDB": _parquet(_by_duckdb("format parquet")),
    "Feather": _file("feather", lambda rows, path: pyarrow.feather.write_feather(rows, path)),
    "CSV by hand": _file("csv", _csv_by_hand),
    "CSV, compressed": _file("csv.gz", _compressed),
    "CSV by pandas": _file("csv", lambda rows, path: rows.to_pandas().to_csv(path, index=False)),
    "CSV by Polars": _file("csv", lambda rows, path: pl.from_arrow(rows).write_csv(path)),
    "CSV by DuckDB": _file("csv", _by_duckdb("format csv, header")),
    "JSON lines": _file("jsonl", _json_lines),
    "JSON lines by Polars": _file("ndjson", lambda rows, path: pl.from_arrow(rows).write_ndjson(path)),
    "JSON lines by DuckDB": _file("jsonl", _by_duckdb("format json")),
}


def _cast_texts(rows: pa.Table, kind: pa.DataType) -> pa.Table:
    return rows.cast(pa.schema([f.with_type(kind) if pa.types.is_string(f.type) else f for f in rows.schema]))
