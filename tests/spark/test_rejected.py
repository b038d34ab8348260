"""Rows that a batch cannot take are set aside once each, with the reason; the others give what they give alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import etalis
from etalis.errors import InputError

pytestmark = pytest.mark.spark

TEXT = """
:- event(a(k: int, x: float)).
:- event(b(k: int)).
d(K, X) <- a(K, X) seq b(K).
e(N) <- aggregate(count, d(_, _), N).
"""
SCHEMA = "event string, ts double, k double, x double, note string"
CLEAN = [(name, float(i * 10 + (name == "b")), float(i), 0.5, "") for i in range(8) for name in "ab"]
BAD = {  # a row, and what is said of it
    "it names no event": (None, 5.0, 1.0, 1.0, "no event"),
    "it has no time": ("a", None, 1.0, 1.0, "no time"),
    "lies in the year": ("a", 1.7e12, 1.0, 1.0, "far"),
    "E301": ("a", 6.0, 1.0, float("nan"), "not a number"),
    "E305": ("b", 7.0, 1.5, 1.0, "a fraction"),
    "E607": ("a", 8.0, 1e300, 1.0, "large"),
    "name the event d": ("d", 9.0, 1.0, 1.0, "made"),
}


def read(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def rows_of(df: Any) -> list[tuple[Any, ...]]:
    return sorted((row.event, row.start, row.end, row.match_id) for row in df.collect())


@pytest.mark.parametrize("shards", [1, 3])
def test_every_bad_row_is_set_aside_once(spark: Any, shards: int, tmp_path: Path) -> None:
    """In one stage and in two; also where the result is read twice."""
    program = etalis.compile(TEXT)
    folder = tmp_path / "bad"
    df = spark.createDataFrame([*CLEAN, *BAD.values()], SCHEMA).repartition(2)
    wanted = rows_of(program.on(spark).detect(spark.createDataFrame(CLEAN, SCHEMA), time="ts", shards=shards))
    found = program.on(spark).detect(df, time="ts", shards=shards, rejected=str(folder), max_rejected=len(BAD))
    for _ in range(2):
        assert rows_of(found) == wanted
        assert len(wanted) == 16
        letters = read(folder)
        assert len(letters) == len(BAD)
        for reason, row in BAD.items():
            (letter,) = [each for each in letters if reason in each["reason"]]
            assert letter["event"] == row[0]
            assert json.loads(letter["raw"])["event"] == row[0]
    bare = program.on(spark).detect(df, time="ts", shards=shards, rejected=str(folder), match_id=False)
    assert "match_id" not in bare.columns
    with pytest.raises(Exception, match=r"E627: \d+ rows were rejected, and max_rejected is 2"):
        program.on(spark).detect(df, time="ts", shards=1, rejected=str(tmp_path / "more"), max_rejected=2).collect()


def test_they_are_told_as_a_data_frame(spark: Any) -> None:
    program = etalis.compile(TEXT)
    df = spark.createDataFrame([*CLEAN, *BAD.values()], SCHEMA)
    both = program.on(spark).rejected(df, time="ts").collect()
    assert {json.loads(row.raw)["note"] for row in both} == {row[-1] for row in BAD.values()}
    assert len(both) == len(BAD)
    assert {row.cause for row in both} == {"event", "time", "value"}
    errors = program.on(spark).errors(df, time="ts").collect()
    assert errors == []


def test_without_a_place_for_them_the_job_ends_and_says_so(spark: Any) -> None:
    program = etalis.compile(TEXT)
    for reason, row in BAD.items():
        if reason in ("E301", "it has no time"):
            df = spark.createDataFrame([*CLEAN, row], SCHEMA)
            with pytest.raises(Exception, match=r'set such rows aside: rejected="folder"'):
                program.on(spark).detect(df, time="ts", shards=1).collect()
    df = spark.createDataFrame(CLEAN, SCHEMA)
    with pytest.raises(InputError, match="say where they go"):
        program.on(spark).detect(df, time="ts", max_rejected=1)
    with pytest.raises(InputError, match="give a number of rows"):
        program.on(spark).detect(df, time="ts", rejected="x", max_rejected=0.5)


def test_rows_far_ahead_of_all_before_them(spark: Any, tmp_path: Path) -> None:
    """By the argument or by the flag; what lies behind the first gap in the times of all rows."""
    far = ("b", 9_000.0, 3.0, 0.5, "")
    df = spark.createDataFrame([*CLEAN, far], SCHEMA).repartition(3)
    program = etalis.compile(TEXT)
    wanted = rows_of(program.on(spark).detect(spark.createDataFrame(CLEAN, SCHEMA), time="ts", shards=1))
    found = program.on(spark).detect(df, time="ts", rejected=str(tmp_path), ahead=60, shards=2)
    assert rows_of(found) == wanted
    (letter,) = read(tmp_path)
    assert (letter["cause"], letter["end"]) == ("ahead", 9_000.0)
    assert letter["reason"].startswith("it ends at 9000, more than 60 s after the latest time, 71")
    flagged = etalis.compile(":- set_flag(max_ahead, 60). " + TEXT)
    assert [row.cause for row in flagged.on(spark).rejected(df, time="ts").collect()] == ["ahead"]
    with pytest.raises(Exception, match=r'E606: b: it ends at 9000.*[\s\S]*rejected="folder"'):
        flagged.on(spark).detect(df, time="ts", shards=1).collect()


def test_frames_that_end_before_they_start(spark: Any) -> None:
    """One DataFrame per event, with intervals; text and dates as times."""
    program = etalis.compile(":- event(a(k: int)). :- event(b(k: int)). d(K) <- a(K) seq b(K).")
    a = spark.createDataFrame(
        [("2026-03-01", "2026-02-01", 1), ("2026-03-01", "nonsense", 2)], "t1 string, t2 string, k int"
    )
    b = spark.createDataFrame([("2026-03-02T00:00:00Z", "2026-03-02", 1)], "t1 string, t2 string, k int")
    found = program.on(spark).rejected({"a": a, "b": b}, time=("t1", "t2")).collect()
    assert sorted((row.reason, row.raw) for row in found) == [
        ("'nonsense' is not a time", '{"t1": "2026-03-01", "t2": "nonsense", "k": 2}'),
        ("it ends before it starts", '{"t1": "2026-03-01", "t2": "2026-02-01", "k": 1}'),
    ]
