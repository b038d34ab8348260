"""Rows that cannot be taken are found by number, with the reason; all others can be read."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from etalis.tables.read.rejected_rows import find_refused
from etalis.tables.schema import Part


def refused(columns: dict[str, Any], *types: str, unit: str = "s") -> dict[int, str]:
    table = pa.table(columns)
    names = tuple(name for name in columns if name not in ("at", "end", "event"))
    part = Part("a", ("a", len(types)), names, types)
    times = ["at", "end"] if "end" in columns else ["at"]
    found = find_refused(table, times, unit, [part], "event" if "event" in columns else None, ("made",))
    return dict(zip(found.rows.tolist(), found.reasons, strict=True))


def test_a_clean_table_has_none() -> None:
    clean = {"at": [1, 2], "x": [1, 2], "y": [1.5, None], "z": ["a", None], "t": [True, False]}
    assert refused(clean, "int", "float", "string", "bool") == {}


def test_times() -> None:
    assert refused({"at": [1.0, None, float("nan"), 2e12]}) == {
        1: "it has no time",
        2: "nan is not a time",
        3: "2000000000000.0 lies in the year 65347: is it in milliseconds?",
    }
    assert refused({"at": [1, 3], "end": [2, 2]}) == {1: "it ends before it starts"}
    assert refused({"at": ["2026-01-01T00:00:00Z", "soon", ""]}) == {1: "'soon' is not a time", 2: "it has no time"}


def test_events() -> None:
    columns = {"event": ["a", None, "made", "other"], "at": [1, 1, 1, None]}
    found = refused(columns)
    assert found.pop(1) == "it names no event"
    assert "made, which is not declared" in found.pop(2)
    assert found == {}, "a row that no rule reads needs no time"


@pytest.mark.parametrize(
    ("cells", "kind", "bad"),
    [
        ([1.5, float("nan"), None], "float", {1}),
        ([1.0, 1.5, float("inf")], "int", {1, 2}),
        (pa.array([1, 2**63], pa.uint64()), "int", {1}),
        (pa.array([np.float16(1.0), np.float16(1.5)], pa.float16()), "int", {1}),
        (["true", "maybe"], "bool", {1}),
        ([dt.date(2026, 1, 1), None], "time", set()),
        (["2026-01-01", "never"], "time", {1}),
        ([[1.0], [float("nan")]], "term", {1}),
        (pa.array([Decimal("1.00"), Decimal("1.50")]), "int", {1}),
        (pa.array(["a", "b"]).dictionary_encode(), "string", set()),
        (pa.array([1, 2**62], pa.timestamp("ms")), "time", {1}),
        (pa.array([1.0, np.nan], pa.float32()), "term", {1}),
    ],
    ids=str,
)
def test_cells(cells: Any, kind: str, bad: set[int]) -> None:
    assert set(refused({"at": range(len(cells)), "x": cells}, kind)) == bad
