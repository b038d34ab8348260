"""The rows of results: in the order in which an engine gives them, in every form, with ids where they are asked for."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import etalis

TEXT = """
:- event(a(x: int)).
one rule: d(X) <- a(X).
two rule: e(X) <- a(X) where X > 1.
three rule: d(Y) <- a(X) where Y is X * 10.
"""
ROWS = pa.table({"at": [1, 2, 3], "x": [1, 2, 3]})


@pytest.mark.parametrize("beside", ["", "f(X) <- a(X) where print(X)."], ids=["columns", "event at a time"])
def test_an_envelope_keeps_the_order_of_the_engine(beside: str) -> None:
    program = etalis.compile(TEXT + beside)
    engine = program.engine()
    pushed = [event for x in (1, 2, 3) for event in engine.push("a", x, at=x)]
    found = program.detect(ROWS, time="at", envelope=True).to_pylist()
    assert [(row["event"], json.loads(row["args"]), row["rule"]) for row in found] == [
        (event.name, list(event.args), event.rule) for event in pushed
    ]
    assert len({event.rule for event in pushed}) > 2


def test_ids_are_those_of_events() -> None:
    program = etalis.compile(TEXT)
    engine = program.engine()
    pushed = [event.id for x in (1, 2, 3) for event in engine.push("a", x, at=x)]
    for form in ({}, {"envelope": True}):
        found = program.detect(ROWS, time="at", match_id=True, **form)
        assert found.column_names[-1] == "match_id"
        assert found["match_id"].to_pylist() == pushed
    assert "match_id" not in program.detect(ROWS, time="at").column_names
    assert program.engine().detect(ROWS, time="at", match_id=True, select="e")["match_id"].to_pylist() == [
        "e(2)@2000000..2000000", "e(3)@3000000..3000000"
    ]  # fmt: skip


def test_a_column_of_empty_texts_belongs_to_several_kinds() -> None:
    program = etalis.compile(":- event(a(x: string)). d(X) <- a(X). e(X) <- a(X).")
    found = program.detect(pa.table({"at": [1, 2], "x": ["", ""]}), time="at", event="a").to_pylist()
    assert [(row["event"], row["X"], row["end"]) for row in found] == [
        ("d", "", 1), ("e", "", 1), ("d", "", 2), ("e", "", 2),
    ]  # fmt: skip
