"""Contributors on a real session: ids from stage to stage and from batch to batch, and why of a match that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.errors import InputError
from etalis.why.justification import Justification

STAGED = "pair(C, P) <- a(C, P) seq b(C, _). both(P) <- pair(C, P) and pair(D, P) where C < D."
ROWS = [
    ("a", 1, 1, 5, "r1"), ("a", 2, 2, 5, "r2"), ("b", 3, 2, 0, "r3"), ("b", 4, 1, 0, "r4"), ("a", 5, 7, 7, None),
    ("b", 6, 7, 7, "r6"),
]  # fmt: skip
SCHEMA = "type string, ts bigint, c bigint, p bigint, row string"
EXPECTED = [
    ("both", 1, 4, ["r1", "r2", "r3", "r4"]),
    ("pair", 1, 4, ["r1", "r4"]),
    ("pair", 2, 3, ["r2", "r3"]),
    ("pair", 5, 6, ["a(7, 7)@5000000..5000000", "r6"]),
]
OPTIONS: dict[str, Any] = {"time": "ts", "event": "type", "policy": "unrestricted"}


def told(rows: Any) -> list[tuple[str, int, int, list[str]]]:
    return sorted((r["event"], r["start"], r["end"], r["contributors"]) for r in rows)


def inputs(found: Justification) -> list[str]:
    return sorted(node["atom"] for node in json.loads(found.to_json())["nodes"] if node["kind"] == "received")


def test_stages_tell_contributors_and_the_process_says_why(spark: Any) -> None:
    df = spark.createDataFrame(ROWS, SCHEMA)
    on = etalis.compile(STAGED).on(spark)
    assert "stage 2 of 2" in on.explain(df, contributors=True, id="row", shards=3, **OPTIONS)
    found = on.detect(df, contributors=True, id="row", shards=3, **OPTIONS).collect()
    assert told(found) == EXPECTED
    both = next(row for row in found if row["event"] == "both")
    assert inputs(on.why(df, both, id="row", **OPTIONS)) == ["a(1, 5)", "a(2, 5)", "b(1, 0)", "b(2, 0)"]
    late = next(row for row in found if row["start"] == 5)
    assert inputs(on.why(df, late, id="row", **OPTIONS)) == ["a(7, 7)", "b(7, 7)"]
    assert inputs(on.why(df, {"match_id": late["match_id"]}, id="row", **OPTIONS)) == ["a(7, 7)", "b(7, 7)"]
    answer = str(on.why_not(df, "pair(2, 9)", between=(0, 10), id="row", **OPTIONS))
    assert "pair(2, 9) did not occur" in answer
    assert "missing: no event a(2, 9) has come" in answer
    with pytest.raises(InputError, match="more than 1 rows") as refused:
        on.why(df, both, id="row", limit=1, **OPTIONS)
    assert refused.value.code == "E643"


def test_a_stream_tells_contributors(spark: Any, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    on = etalis.compile(STAGED).on(spark)
    for part in (ROWS[:3], ROWS[3:]):
        spark.createDataFrame(part, SCHEMA).coalesce(1).write.mode("append").parquet(str(source))
        stream = spark.readStream.schema(SCHEMA).parquet(str(source))
        folders = {"state": str(tmp_path / "state"), "checkpoint": str(tmp_path / "c")}
        matches = on.detect(stream, contributors=True, id="row", shards=2, **folders, **OPTIONS)
        writer = matches.writeStream.format("parquet").option("path", str(out))
        writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert told(spark.read.parquet(str(out)).collect()) == EXPECTED[:3]  # the last row waits for the watermark
