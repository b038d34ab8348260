"""Rows of a shard in order: in memory, and in runs on disk where they are more than may be held."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from etalis.tables import sorting
from etalis.tables.sorting import sort_rows


def batches(count: int, seed: int, moments: int) -> list[Any]:
    """Rows (event, start, end, order, number) in batches of seven, with many ties."""
    chance = random.Random(seed)
    ends = [chance.randrange(moments) for _ in range(count)]
    starts = [end - chance.choice((0, 0, 1)) for end in ends]
    columns = {
        "_event": ["a"] * count,
        "_start": starts,
        "_end": ends,
        "_order": [chance.choice(("x", "y", None)) for _ in range(count)],
        "s0": list(range(count)),
    }
    return pa.table(columns).to_batches(7)


def in_order(stretches: Iterator[Any]) -> list[list[tuple[Any, ...]]]:
    """All rows in order, those that tie put by their number, as a list per stretch."""
    found = []
    for stretch in stretches:
        rows = stretch.table.take(pa.array(stretch.places)).to_pylist()
        rank = {"x": 0, "y": 1, None: 2}
        found.append([(r["_end"], r["_start"], rank[r["_order"]], r["s0"]) for r in rows])
        for i, tied in enumerate(stretch.ties.tolist()):
            assert tied == (i > 0 and found[-1][i][:3] == found[-1][i - 1][:3])
        assert stretch.end.tolist() == [row[0] * 10**6 for row in found[-1]]
    return found


@pytest.mark.parametrize("moments", [1, 5, 40, 4000])
@pytest.mark.parametrize("memory", [1, 2_000, 1 << 30])
def test_rows_come_in_order(monkeypatch: pytest.MonkeyPatch, moments: int, memory: int) -> None:
    monkeypatch.setattr(sorting, "_BLOCK", 5)
    for seed in range(10):
        given = batches(100 if seed else 0, seed, moments)
        found = in_order(sort_rows(given, "s", memory))
        rows = [row for part in found for row in part]
        assert [row[:3] for row in rows] == sorted(row[:3] for row in rows)
        assert sorted(row[3] for row in rows) == list(range(sum(b.num_rows for b in given)))
        ends = [{row[0] for row in part} for part in found]
        assert all(a.isdisjoint(b) for i, a in enumerate(ends) for b in ends[:i])


def test_runs_are_read_piece_by_piece_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Far more rows than may be held: what is held at a time stays small, and nothing is left on disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chance = np.random.default_rng(1)
    given = (
        pa.record_batch({"_event": ["a"] * 10_000, "_start": chance.integers(0, 10**9, 10_000)}) for _ in range(100)
    )
    before = pa.total_allocated_bytes()
    most = count = 0
    for stretch in sort_rows(given, "s", 1 << 20):
        count += len(stretch)
        most = max(most, pa.total_allocated_bytes() - before)
        assert list(tmp_path.iterdir())
    assert count == 1_000_000
    assert most < 16 << 20
    assert not list(tmp_path.iterdir())
