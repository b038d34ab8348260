"""Columns of rows, a list per attribute: taken by `run` as the rows that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import etalis
from etalis import DeadLetter, EtalisError

TEXT = """
:- event(trade(sym: string, price: float)). :- event(quote(sym: string, bid: float)). :- event(bell).
high(S, P) <- trade(S, P) where P > 2.
pair(S, B) <- (trade(S, _) seq quote(S, B)) within 5.
rung <- bell.
seen(X) <- other(x: X).
"""
COLUMNS: dict[str, Any] = {"event": "trade", "sym": ["a", "b", "a"], "price": [1.5, 3.0, 4], "at": [0, 1, 2.5]}


def engine(**options: Any) -> etalis.Engine:
    return etalis.compile(TEXT).engine(policy="unrestricted", **options)


def found(columns: Any) -> list[str]:
    return [str(event) for event in engine().run(columns)]


def test_columns_are_the_rows_of_their_lists() -> None:
    rows = list(zip(["trade"] * 3, *(COLUMNS[name] for name in ("sym", "price", "at")), strict=True))
    assert found(COLUMNS) == found(rows) == ["high(b, 3.0) [1, 1]", "high(a, 4.0) [2.5, 2.5]"]


@pytest.mark.parametrize("make", [np.array, pd.Series, pa.array, tuple], ids=["numpy", "pandas", "arrow", "tuple"])
def test_a_column_may_be_an_array(make: Any) -> None:
    assert found({name: x if name == "event" else make(x) for name, x in COLUMNS.items()}) == found(COLUMNS)


def test_times_may_be_dates_and_intervals() -> None:
    dates = pd.date_range("1970-01-01", periods=3, freq="s")
    assert found({**COLUMNS, "at": dates})[0] == "high(b, 3.0) [1970-01-01T00:00:01Z, 1970-01-01T00:00:01Z]"
    spans = {name: x for name, x in COLUMNS.items() if name != "at"} | {"start": [0, 0, 2], "end": [0, 1, 4]}
    assert found(spans) == ["high(b, 3.0) [0, 1]", "high(a, 4.0) [2, 4]"]


def test_rows_of_several_kinds_have_the_attributes_of_their_own() -> None:
    columns = {
        "event": ["trade", "quote", "bell", "other", "trade"], "at": range(5), "Sym": ["a", "a", None, None, "b"],
        "price": [1.0, None, None, None, 5.0], "bid": [None, 2, None, None, None], "x": [None, None, None, 7, None],
    }  # fmt: skip
    assert found(columns) == ["pair(a, 2.0) [0, 1]", "rung [2, 2]", "seen(7) [3, 3]", "high(b, 5.0) [4, 4]"]


def test_attributes_that_have_names_and_no_order_are_found_by_name() -> None:
    assert found({"event": "other", "x": [1, 2], "at": [0, 0]}) == ["seen(1) [0, 0]", "seen(2) [0, 0]"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"price": [1.5, "two", 3.0]}, "row at index 1: trade: price should be of type float, not two"),
        ({"price": [1.5, 2.5, float("nan")]}, "row at index 2: NaN is not a value"),
        ({"at": [0, "soon", 1]}, "row at index 1: 'soon' is not a time"),
        ({"price": [1.5]}, "columns of different lengths: sym has 3, price has 1, at has 3"),
        ({"price": "abc"}, "price is no column: 'abc'"),
        ({"event": ["trade", 5, "trade"]}, "row at index 1: not a row of events"),
        ({"event": ["trade", "trade"]}, "columns of different lengths: sym has 3, price has 3, at has 3, event has 2"),
        ({"event": "quote"}, "row at index 0: quote lacks bid"),
    ],
)
def test_what_is_wrong_with_columns_is_said_with_its_row(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EtalisError) as caught:
        list(engine().run({**COLUMNS, **change}))
    assert message in str(caught.value)


@pytest.mark.parametrize(("missing", "message"), [("event", "without `event`"), ("at", "without a time: sym, price")])
def test_columns_have_an_event_and_a_time(missing: str, message: str) -> None:
    with pytest.raises(EtalisError, match=message):
        engine().run({name: column for name, column in COLUMNS.items() if name != missing})


def test_rows_that_cannot_be_read_are_dead_letters() -> None:
    letters: list[DeadLetter] = []
    taken = engine(on_dead_letter=letters.append).run({**COLUMNS, "price": [3.0, "two", 4.0]})
    assert [event.args for event in taken] == [("a", 3.0), ("a", 4.0)]
    assert [letter.args for letter in letters] == [("b", "two")]
