"""Results keep types: of knowledge tables, of computed times, of lists, structs and maps; whatever the rows are."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import etalis
from etalis.errors import EventError

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KNOWN = pa.table(
    {
        "x": pa.array([1, 2], pa.int32()),
        "n": pa.array([10, None], pa.int64()),
        "f": pa.array([0.5, 2.0]),
        "s": pa.array(["a", "true"]),
        "b": pa.array([True, False]),
        "t": pa.array([MOMENT, MOMENT], pa.timestamp("us", "UTC")),
    }
)
LOOKUP = "d(X, N, F, S, B, T) <- a(X) where known(X, N, F, S, B, T)."


def types_of(found: pa.Table, *names: str) -> list[str]:
    return [str(found.schema.field(name).type) for name in names]


@pytest.mark.parametrize("rows", [KNOWN, KNOWN.slice(0, 0)], ids=["facts", "no facts"])
@pytest.mark.parametrize("events", [[1, 2, 3], []], ids=["rows", "no rows"])
def test_what_facts_bind_has_the_type_of_their_table(rows: pa.Table, events: list[int]) -> None:
    program = etalis.compile(LOOKUP)
    program.load_facts("known", rows)
    table = pa.table({"at": pa.array(range(len(events)), pa.int64()), "x": pa.array(events, pa.int64())})
    found = program.detect(table, time="at")
    assert types_of(found, "X", "N", "F", "S", "B", "T") == [
        "int64", "int64", "double", "string", "bool", "timestamp[us, tz=UTC]"
    ]  # fmt: skip
    if events and rows.num_rows:
        assert found.select(["N", "F", "S", "B", "T"]).to_pylist() == [
            {"N": 10, "F": 0.5, "S": "a", "B": True, "T": MOMENT},
            {"N": None, "F": 2.0, "S": "true", "B": False, "T": MOMENT},
        ]


def test_facts_of_rows_have_the_type_that_all_values_have() -> None:
    program = etalis.compile("d(N, M) <- a(X) where (p(X, N), q(X, M)). q(1, 2). q(2, k).")
    program.load_facts("p", [(1, 7), (2, 8)])
    found = program.detect(pa.table({"at": [1, 2], "x": [1, 2]}), time="at")
    assert types_of(found, "N", "M") == ["int64", "string"]
    assert found.select(["N", "M"]).to_pylist() == [{"N": 7, "M": "2"}, {"N": 8, "M": "k"}]


@pytest.mark.parametrize(
    "text",
    [
        ":- event(p(x: int, y: int)). :- knowledge p/2. d(N) <- a(X) where p(X, N). p(1, 7).",
        "d(N) <- a(X) where p(X, N). p(1, 7). e <- b(X) where assert(p(X, k)).",
        "d(N) <- a(X) where p(X, N). p(1, 7). p(2, k).",
    ],
)
def test_facts_that_may_change_tell_no_type(text: str) -> None:
    table = pa.table({"at": [1], "event": ["a"], "x": [1], "y": [1]})
    found = etalis.compile(":- event(a(x: int)). :- event(b(x: int)). " + text).detect(table, time="at")
    assert types_of(found, "N") == ["string"]


def test_times_in_conditions_are_numbers() -> None:
    text = """
    :- event(job(begins: time, ends: time)).
    d(D, H) <- job(S, E) where (D is E - S, H is D / 3600).
    e(T) <- (job(_, _) seq job(_, _)) check (t1(A), t2(B), T is B - A).
    m(S) <- job(S, _).
    """
    later = datetime(2026, 3, 1, 13, 30, tzinfo=UTC)
    table = pa.table({"at": [1, 4], "begins": [MOMENT, MOMENT], "ends": [later, None]})
    found = etalis.compile(text).detect(table, time="at")
    assert types_of(found, "D", "H", "T", "S") == ["double", "double", "double", "timestamp[us, tz=UTC]"]
    rows = [{k: v for k, v in row.items() if v is not None and k in "DHTS"} for row in found.to_pylist()]
    assert {"D": 5400.0, "H": 1.5} in rows
    assert {"T": 3.0} in rows
    assert {"S": MOMENT} in rows


def test_a_number_that_a_column_of_floats_does_not_hold_is_refused() -> None:
    program = etalis.compile(":- event(a(t: time, n: int)). d(N) <- a(T, M) where N is M + T.")
    table = pa.table({"at": [1], "t": [1], "n": [(1 << 60)]})
    with pytest.raises(EventError, match=r"E607: rule 1 derived d\(1152921504606846977\): N is .*, not number"):
        program.detect(table, time="at")


NESTED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "list": (pa.list_(pa.int32()), [[1, None], [], None]),
    "large list": (pa.large_list(pa.float32()), [[0.1], [2.0, None], None]),
    "of fixed size": (pa.list_(pa.int8(), 2), [[1, 2], [3, None], None]),
    "list of lists": (pa.list_(pa.list_(pa.bool_())), [[[True], []], [None], None]),
    "struct": (
        pa.struct([("a", pa.int16()), ("b c", pa.list_(pa.string()))]),
        [{"a": 1, "b c": ["x"]}, {"a": None, "b c": None}, None],
    ),
    "map": (pa.map_(pa.string(), pa.int32()), [[("k", 1), ("l", None)], [], None]),
    "list of maps": (pa.list_(pa.map_(pa.int64(), pa.bool_())), [[[(1, True)]], [], None]),
    "unsigned": (pa.uint64(), [(1 << 64) - 1, 0, None]),
    "long decimals": (pa.decimal128(25, 0), [Decimal(10**24), Decimal(-1), None]),
}


@pytest.mark.parametrize(("kind", "cells"), NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("declared", ["", ":- event(a(k: int, x: term))."])
@pytest.mark.parametrize("beside", ["", "e <- a(K, _) where print(K)."], ids=["columns", "event at a time"])
def test_columns_without_a_type_of_the_language_come_back_as_they_came(
    kind: pa.DataType, cells: list[Any], declared: str, beside: str
) -> None:
    text = f"{declared} d(K, X) <- a(K, X) seq b(K). {beside} :- event(b(k: int))."
    rows = {"event": ["a"] * 3 + ["b"] * 3, "at": range(6), "k": [0, 1, 2, 0, 1, 2]}
    table = pa.table({**rows, "x": pa.array([*cells, None, None, None], kind)})
    found = etalis.compile(text).detect(table, time="at", select="d")
    assert found.schema.field("X").type.equals(kind)
    assert found["X"].to_pylist() == pa.array(cells, kind).to_pylist()
    again = pa.table({"event": ["a"] * 3 + ["b"] * 3, "at": range(6), "k": rows["k"],
                      "x": pa.chunked_array([found["X"].combine_chunks(), pa.nulls(3, kind)])})  # fmt: skip
    assert etalis.compile(text).detect(again, time="at", select="d").equals(found)


def test_what_is_made_of_a_nested_value_is_text() -> None:
    table = pa.table({"at": [1], "x": [[1, 2]]})
    found = etalis.compile("d(X, f(X), Y) <- a(X) where Y = [X].").detect(table, time="at", event="a")
    assert types_of(found, "X", "a2", "Y") == [str(table["x"].type), "string", "string"]
    assert found.select(["X", "a2", "Y"]).to_pylist() == [{"X": [1, 2], "a2": "f([1,2])", "Y": "[[1,2]]"}]


def test_two_nested_types_are_text() -> None:
    text = "d(X) <- a(X). d(X) <- b(X)."
    table = pa.table({"event": ["a", "b"], "at": [1, 2], "x": [[1], None]})
    found = etalis.compile(text).detect(table, time="at", event="event")
    assert str(found.schema.field("X").type) == str(table["x"].type)
    mixed = etalis.compile(":- event(a(x: term)). :- event(b(y: term)). " + text)
    table = pa.table({"event": ["a", "b"], "at": [1, 2], "x": [[1], None], "y": [None, ["k"]]})
    assert mixed.detect(table, time="at")["X"].to_pylist() == ["[1]", "[k]"]


ROUND = """
:- event(a(n: int, f: float, s: string, b: bool, t: time, l: term, m: term)).
d(N, F, S, B, T, L, M) <- a(N, F, S, B, T, L, M).
"""
MADE = """
:- event(d(n: int, f: float, s: string, b: bool, t: time, l: term, m: term)).
again(N, F, S, B, T, L, M) <- d(N, F, S, B, T, L, M).
"""


def _through_parquet(table: pa.Table, tmp_path: Path) -> Any:
    parquet.write_table(table, tmp_path / "found.parquet")
    return tmp_path / "found.parquet"


@pytest.mark.parametrize(
    "carry",
    [
        lambda table, _: table,
        _through_parquet,
        lambda table, _: table.to_pandas(),
        lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
        lambda table, _: pl.from_arrow(table),
        lambda table, _: duckdb.from_arrow(table),
    ],
    ids=["arrow", "parquet", "pandas", "pandas of Arrow", "polars", "duckdb"],
)
def test_results_can_be_fed_in_again(carry: Any, tmp_path: Path) -> None:
    """What comes back has the values that it had, whatever held it in between."""
    later = datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=UTC)
    table = pa.table({
        "at": pa.array([1, 2], pa.int64()), "n": [1, None], "f": [0.1, None], "s": ["it's", None], "b": [True, None],
        "t": pa.array([later, None], pa.timestamp("us", "UTC")),
        "l": pa.array([[1, 2], None], pa.list_(pa.int32())),
        "m": pa.array([{"x": 1, "y": "k"}, None], pa.struct([("x", pa.int64()), ("y", pa.string())])),
    })  # fmt: skip
    found = etalis.compile(ROUND).detect(table, time="at")
    renamed = found.rename_columns([name.lower() if len(name) == 1 else name for name in found.column_names])
    again = etalis.compile(MADE).detect(carry(renamed, tmp_path), time=("start", "end"), event="event")
    names = ["N", "F", "S", "B", "T", "L", "M"]
    assert again.select(names).to_pylist() == found.select(names).to_pylist()
    assert [str(again.schema.field(n).type) for n in names[:5]] == [str(found.schema.field(n).type) for n in names[:5]]


@pytest.mark.parametrize("digits", [2, 12, 15, 16, 17, 18, 30])
@pytest.mark.parametrize("scale", [0, 3, 11, -2])
def test_decimals_declared_float_are_the_nearest_floats(digits: int, scale: int) -> None:
    rng = random.Random(digits * 100 + scale)
    whole = [None, 0, *(rng.randrange(-(10**digits), 10**digits) for _ in range(300)), -(10 ** (digits - 1))]
    cells = [None if number is None else Decimal(number).scaleb(-scale) for number in whole]
    for kind in (pa.decimal128(38, scale), pa.decimal256(60, scale)):
        table = pa.table({"at": range(len(cells)), "x": pa.array(cells, kind)})
        found = etalis.compile(":- event(a(x: float)). d(X) <- a(X).").detect(table, time="at", event="a", batch=70)
        assert found["X"].to_pylist() == [None if cell is None else float(cell) for cell in cells]
