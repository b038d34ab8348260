"""Texts of tables: plain until somebody asks for their codes, and the same either way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import etalis
from etalis.columnar.data.columns import Column, concat, key_rows, ranks
from etalis.columnar.data.texts import PlainTexts

TEXTS = pa.array(["b", "a", None, "null", "", "b"])


@pytest.mark.parametrize("rows", [None, np.array([5, 2, 3, 0]), np.zeros(0, np.int64)], ids=["all", "some", "none"])
@pytest.mark.parametrize("is_coded", [False, True])
def test_plain_texts_are_a_column(rows: np.ndarray | None, is_coded: bool) -> None:
    column: Column = PlainTexts.of(TEXTS)
    if is_coded:
        assert len(column.data) == 6
    column = column if rows is None else column.take(rows)
    expected = ["b", "a", "null", "null", "", "b"]
    expected = expected if rows is None else [expected[i] for i in rows.tolist()]
    assert column.values() == expected
    assert len(column) == len(expected)
    for text in ("null", "b", "other"):
        assert column.equals(text).tolist() == [each == text for each in expected]
    assert column.shrunk().values() == expected
    assert (column.type, column.absent, column.filled()) == ("string", None, column)
    assert [column.texts[code].as_py() for code in column.data.tolist()] == expected
    assert concat([column, column]).values() == expected * 2
    assert np.argsort(ranks(column), kind="stable").tolist() == sorted(range(len(expected)), key=expected.__getitem__)
    keys = key_rows([[column], [column]], [len(expected)] * 2)
    assert (keys[0] == keys[1]).all()


def test_texts_that_are_compared_often_are_coded() -> None:
    column = PlainTexts.of(TEXTS)
    some = column.take(np.array([0, 3, 4]))
    for n in range(30):
        assert not column.equals(f"text {n}").any()
        assert some.equals("b").tolist() == [True, False, False]
        assert column.equals("null").tolist() == [False, False, True, True, False, False]
    assert column.plain is None


def test_texts_that_are_passed_on_are_not_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    program = etalis.compile(
        ":- event(pay(who: string, note: string, n: int)). limit(ann, 5). limit(bob, 7).\n"
        "over(W, Note) <- pay(W, Note, N) where (limit(W, L), N > L)."
    )
    table = pa.table({"at": [1, 2, 3], "who": ["ann", "bob", "eve"], "note": ["x", None, "z"], "n": [9, 9, 9]})
    monkeypatch.setattr(PlainTexts, "data", property(lambda _: pytest.fail("coded")))
    found = program.detect(table, time="at", event="pay").select(["W", "Note"]).to_pylist()
    assert found == [{"W": "ann", "Note": "x"}, {"W": "bob", "Note": None}]
