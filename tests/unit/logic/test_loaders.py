"""Tables as facts: every kind of source, which columns, and what is refused with its place."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from datetime import date, datetime, timedelta, timezone
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from etalis.data.values import Real, Struct
from etalis.errors import InputError
from etalis.language.lower import new_database
from etalis.logic.knowledge.loaders import Columns, load_rows
from etalis.logic.terms.unify import to_value

ROWS = [("a", 1, Real(2.0)), ("b c", -3, 0.5)]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def sources(folder: Path) -> dict[str, Any]:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"name": ["a", "b c"], "n": [1, -3], "x": [2.0, 0.5]})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    pyarrow.feather.write_feather(table, folder / "t.arrow")
    connection = sqlite3.connect(":memory:")
    connection.execute("create table t (name text, n int, x real)")
    connection.executemany("insert into t values (?, ?, ?)", [("a", 1, 2.0), ("b c", -3, 0.5)])
    return {
        "csv": write(folder, "t.csv", "name,n,x\na,1,2.0\n\nb c,-3,0.5\n"),
        "tsv": str(write(folder, "t.tsv", "name\tn\tx\na\t1\t2.0\nb c\t-3\t0.5\n")),
        "objects": write(folder, "t.jsonl", '{"name":"a","n":1,"x":2.0}\n{"x":0.5,"n":-3,"name":"b c"}\n'),
        "parquet": folder / "t.parquet",
        "arrow file": folder / "t.arrow",
        "arrow table": table,
        "record batch": table.to_batches()[0],
        "query": (connection, "select name, n, x from t order by n desc"),
        "cursor": connection.execute("select name, n, x from t order by n desc"),
        "dicts": [{"name": "a", "n": 1, "x": 2.0}, {"name": "b c", "n": -3, "x": 0.5}],
    }


KINDS = ("csv", "tsv", "objects", "parquet", "arrow file", "arrow table", "record batch", "query", "cursor", "dicts")


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_facts(kind: str, tmp_path: Path) -> None:
    found = load_rows(sources(tmp_path)[kind])
    assert (found.arity, found.rows) == (3, ROWS)
    assert [list(map(type, row)) for row in found.rows] == [[str, int, Real], [str, int, float]]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_chosen_by_name(kind: str, tmp_path: Path) -> None:
    assert load_rows(sources(tmp_path)[kind], ["n", "name"]).rows == [(1, "a"), (-3, "b c")]


NOON = datetime(2026, 3, 2, 12, 0, 0, 500_000)
MOMENTS = {
    "moment": (NOON, 1772452800.5),
    "zoned": (NOON.replace(microsecond=0, tzinfo=timezone(timedelta(hours=1))), 1772449200),
    "day": (date(2026, 3, 2), 1772409600),
    "clock": (time_of_day(1, 0, 0, 250_000), 3600.25),
    "length": (timedelta(minutes=-1), -60),
    "price": (Decimal("2.50"), 2.5),
    "whole": (Decimal(3), 3),
    "even": (Decimal("3.00"), Real(3.0)),
    "key": (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    "list": ([date(1970, 1, 2), None], ("[|]", 86400, ("[|]", "null", ()))),
    "struct": ({"a": date(1970, 1, 2), "b": [1]}, None),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_times_and_decimals_are_numbers(name: str) -> None:
    cell, expected = MOMENTS[name]
    ((found,),) = load_rows([(cell,)]).rows
    if name == "struct":
        assert to_value(found) == (Struct("-", ("a", 86400)), Struct("-", ("b", (1,))))
    else:
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize("cell", [b"x", object(), [object()], {1}, float("nan")])
def test_a_cell_that_is_no_value_is_refused_with_its_place(cell: Any) -> None:
    with pytest.raises(InputError, match="the rows, row 2: column 0") as caught:
        load_rows([(1,), (cell,)])
    assert caught.value.code == "E405"


def test_times_of_numpy_are_rounded_to_microseconds() -> None:
    np = pytest.importorskip("numpy")
    cells = [np.datetime64("1970-01-01T00:00:01.000000501"), np.datetime64("1970-01-02"), np.timedelta64(3, "h")]
    assert load_rows([(c,) for c in [*cells, np.datetime64("NaT")]]).rows == [
        (1.000001,),
        (86400,),
        (10800,),
        ("null",),
    ]


def test_times_of_arrow_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    types = {
        "ns": (pa.timestamp("ns"), [1_000_000_501, None], [1.000001, "null"]),
        "ms": (pa.timestamp("ms", "Europe/Zurich"), [1_500, 2_000], [1.5, 2]),
        "length": (pa.duration("ns"), [1_500_000_000, None], [1.5, "null"]),
        "clock": (pa.time64("ns"), [2_000_000_000, None], [2, "null"]),
        "day": (pa.date32(), [1, None], [86400, "null"]),
        "price": (pa.decimal128(10, 2), [Decimal("1.25"), None], [1.25, "null"]),
        "days": (pa.list_(pa.date32()), [[1], []], [("[|]", 86400, ()), ()]),
    }
    table = pa.table({name: pa.array(cells, kind) for name, (kind, cells, _) in types.items()})
    expected = list(zip(*(column for _, _, column in types.values()), strict=True))
    assert load_rows(table).rows == expected
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    assert load_rows(tmp_path / "t.parquet").rows == expected
    with pytest.raises(InputError, match="the table: ") as caught:
        load_rows(pa.table({"far": pa.array([1 << 60], pa.timestamp("s"))}))
    assert caught.value.code == "E405"


def test_queries_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    shop = duckdb.connect()
    shop.execute(
        "create table stock (item text, pieces int, price decimal(5, 2), since timestamp, day date, tags text[])"
    )
    shop.execute("insert into stock values ('rose', 20, 2.50, '2026-03-02 12:00:00.5', '2026-03-02', ['red'])")
    shop.execute("insert into stock values ('tulip', null, 1.25, null, '1970-01-01', [])")
    query = "select * from stock order by item"
    rows = [
        ("rose", 20, 2.5, 1772452800.5, 1772409600, ("[|]", "red", ())),
        ("tulip", "null", 1.25, "null", 0, ()),
    ]
    assert load_rows((shop, query)).rows == rows
    assert load_rows(shop.execute(query)).rows == rows
    assert load_rows(shop.sql(query)).rows == rows
    assert load_rows(shop.sql(query), ["price", "item"]).rows == [(2.5, "rose"), (1.25, "tulip")]
    structs = load_rows((shop, "select {'a': 1, 'b': 'x'} as s, uuid() as u, interval 90 seconds as i, true as t")).rows
    assert to_value(structs[0][0]) == (Struct("-", ("a", 1)), Struct("-", ("b", "x")))
    assert (len(structs[0][1]), *structs[0][2:]) == (36, 90, "true")
    with pytest.raises(InputError) as caught:
        load_rows((shop, "select * from nowhere"))
    assert caught.value.code == "E402"


def test_whatever_has_an_arrow_stream() -> None:
    pa = pytest.importorskip("pyarrow")

    class Frame:
        """What Polars, DuckDB and others have."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            names = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "b"], pa.string_view()))
            return pa.table({"name": names, "n": [1, None]}).__arrow_c_stream__(requested_schema)

    assert load_rows(Frame(), ["n", "name"]).rows == [(1, "a"), ("null", "b")]


def test_a_data_frame_has_times() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"t": pd.to_datetime(["2026-03-02T12:00:00.5", None]), "d": pd.to_timedelta([60, 1.5], "s")})
    frame["c"] = pd.Series(["x", "y"], dtype="category")
    assert load_rows(frame).rows == [(1772452800.5, 60, "x"), ("null", 1.5, "y")]


def test_a_data_frame_has_missing_values() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"name": ["a", None], "n": [1, 2], "x": [2.0, float("nan")], "ok": [True, False]})
    assert load_rows(frame).rows == [("a", 1, Real(2.0), "true"), ("null", 2, "null", "false")]
    assert load_rows(frame, ["n"]).rows == [(1,), (2,)]


def test_rows_without_names_are_taken_by_number(tmp_path: Path) -> None:
    bare = write(tmp_path, "links.csv", "0,1\n1,2\n")
    assert load_rows(bare, [0, 1]).rows == [(0, 1), (1, 2)]
    assert load_rows(bare, [1]).rows == [(1,), (2,)]
    assert load_rows([("a", 1), ("b", None)]).rows == [("a", 1), ("b", "null")]
    assert load_rows(write(tmp_path, "t.jsonl", '["a", [1, 2]]\n')).rows == [("a", ("[|]", 1, ("[|]", 2, ())))]


def test_cells_look_like_what_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", 'x\n7\n7e3\n"7, 8"\n007 James\nnan\n1_000\n-\n""\n')
    assert load_rows(path).rows == [(v,) for v in (7, Real(7000.0), "7, 8", "007 James", "nan", "1_000", "-", "null")]


def test_an_empty_table_is_an_empty_relation(tmp_path: Path) -> None:
    found = load_rows(write(tmp_path, "t.csv", "a,b\n"))
    assert (found.arity, found.rows) == (2, [])
    assert load_rows([], ["a", "b"]).arity == 2


@pytest.mark.parametrize(
    ("name", "text", "columns", "code", "words"),
    [
        ("t.csv", "a,b\n1,2\n3\n", None, "E406", "t.csv, line 3: expected 2 cells, found 1"),
        ("t.csv", 'a,b\n1,"2\n', None, "E402", "t.csv, line 2: not CSV"),
        ("t.csv", "a,b\n1,2\n", ["c"], "E406", "no column 'c'"),
        ("t.csv", "", None, "E406", "no columns"),
        ("t.jsonl", '{"a": 1}\n{"b": 1}\n', None, "E406", "t.jsonl, line 2: no 'a'"),
        ("t.jsonl", '{"a": 1}\n\n[1]\n', None, "E406", "t.jsonl, line 3: expected an object with a"),
        ("t.jsonl", '{"a": 1}\n{"a" 1}\n', None, "E402", "t.jsonl, line 2: not JSON"),
        ("t.jsonl", '{"a": 1}\n{"a": NaN}\n', None, "E405", "t.jsonl, line 2: a: NaN is not a value"),
        ("t.parquet", "no", None, "E402", "not a Parquet file"),
        ("t.arrow", "no", None, "E402", "not an Arrow file"),
        ("t.xls", "", None, "E407", "no known format ends in '.xls'"),
    ],
)
def test_what_is_no_table_is_refused(
    name: str, text: str, columns: Columns, code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        load_rows(write(tmp_path, name, text), columns)
    assert caught.value.code == code
    assert words in str(caught.value)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for source, code in ((path, "E401"), (7, "E407"), ((sqlite3.connect(":memory:"), "select * from t"), "E402")):
        with pytest.raises(InputError) as caught:
            load_rows(source)
        assert caught.value.code == code
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(InputError, match="not UTF-8"):
        load_rows(path)


def test_many_links_load_quickly(tmp_path: Path) -> None:
    path = write(tmp_path, "links.csv", "from,to\n" + "".join(f"c{i},c{i + 1}\n" for i in range(100_000)))
    began = time.process_time()
    found = load_rows(path)
    database = new_database()
    database.add_rows("linked", found.arity, found.rows)
    assert time.process_time() - began < 5  # about a third of a second where nothing else runs
    relation = database.own("linked", 2).relation
    assert relation is not None
    assert len(relation) == 100_000


def test_pyarrow_is_not_imported_before_it_is_used() -> None:
    code = "import sys, etalis.logic.knowledge.loaders; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
