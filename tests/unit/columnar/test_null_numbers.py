"""Nulls where a number is asked for, over columns: an error of their match, as event at a time."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
import pytest

import etalis
from etalis import detect

ROWS = [(1, None), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    "goal",
    [
        "_ is N",
        "N is N",
        "3 is N",
        "(X > 2 ; 3 is N)",
        "\\+ 3 is N",
        "M = N, M is N",
        "M is N, M \\= 4",
        "(X > 2 -> true ; N is N)",
    ],
)
def test_is_takes_no_null(goal: str) -> None:
    program = etalis.compile(f":- event(a(x: int, n: int)). m(X) <- a(X, N) where ({goal}).")
    table = pa.table({"at": [x for x, _ in ROWS], "x": [x for x, _ in ROWS], "n": [n for _, n in ROWS]})
    errors: list[str] = []
    engine = program.engine(on_error=lambda error: errors.append(str(error)))
    pushed = [event.args[0] for x, n in ROWS for event in engine.push("a", x, n, at=x)]
    assert len(errors) == 1
    found: list[str] = []
    with patch.object(detect, "SMALL", 0):
        assert program.explain(table, time="at", event="a") == "over columns: rule 1"
        result = program.detect(table, time="at", event="a", on_error=lambda error: found.append(str(error)))
    assert result["X"].to_pylist() == pushed
    assert found == errors
