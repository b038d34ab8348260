"""Sinks: what is written reads back as the same events."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.data.values import Struct, to_value
from etalis.errors import EventError
from etalis.formats import Row, read, write
from etalis.formats.arrow_tables import to_table
from etalis.temporal.event import Event

EVENTS = [
    Event.make("a", (1, to_value(2.0), "x, y"), 0, 1_500_000, "r"),
    Event.make("a", (2, 2.5, "z"), 1_000_000, 2_000_000, "r"),
    Event.make("b", (), 3_000_000, 3_000_000),
]


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.tsv", "e.events", "e.parquet", "e.arrow"])
def test_results_read_back(tmp_path: Path, name: str) -> None:
    assert write(iter(EVENTS), tmp_path / name) == 3
    assert [item.event for item in read(tmp_path / name) if isinstance(item, Row)] == EVENTS


def test_positions_have_one_type_or_are_text() -> None:
    rows = [(1, 1, 1.5, "x", (1,)), (2, "y", "null", "null", Struct("f", [2]))]
    table = to_table(Event.make("a", row, 0, 0) for row in rows)
    assert [str(t) for t in table.schema.types[3:]] == ["int64", "string", "double", "string", "string"]
    assert table.column("a2").to_pylist() == ["1", "y"]
    assert table.column("a3").to_pylist() == [1.5, None]
    assert table.column("a5").to_pylist() == ["[1]", "f(2)"]


def test_an_integer_outside_64_bits_is_refused() -> None:
    with pytest.raises(EventError, match="outside 64 bits"):
        to_table([Event.make("a", (1 << 63,), 0, 0)])


def test_no_results(tmp_path: Path) -> None:
    assert to_table([]).num_rows == 0
    assert write([], tmp_path / "e.csv") == 0
    assert (tmp_path / "e.csv").read_text().splitlines() == ["event,start,end"]


def test_half_of_a_surrogate_pair_is_written_out(tmp_path: Path) -> None:
    for name in ("e.csv", "e.jsonl", "e.events"):
        assert write([Event.make("a", ("\ud800",), 0, 0)], tmp_path / name) == 1
    assert (tmp_path / "e.csv").read_text().splitlines()[1] == "a,0,0,\\ud800"
