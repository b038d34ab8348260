"""Tables as facts: every kind of source, which columns, and what is refused with its place."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from etalis.errors import InputError
from etalis.logic.library import new_database
from etalis.logic.loaders import Columns, load_rows
from etalis.logic.term import Real

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
        "csv": write(folder, "t.csv", "name,n,x\na,1,2.0\n\nb c,-3,.5\n"),
        "tsv": str(write(folder, "t.tsv", "name\tn\tx\na\t1\t2.0\nb c\t-3\t.5\n")),
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
        ("t.xls", "", None, "E407", "no known table ends in '.xls'"),
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
    code = "import sys, etalis.logic.loaders; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
