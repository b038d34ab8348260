"""The rim of streams on Spark: lateness by withWatermark, rows from the future, the end, and changes at a restart."""

from __future__ import annotations

import logging
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError, SnapshotError
from spark.test_streaming import Source, drain, enveloped

pytestmark = pytest.mark.spark

SECOND = 10**6
NOON = int(datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp())
SCHEMA = "ts timestamp, x double"
ARROW = pa.schema([("ts", pa.timestamp("us", "UTC")), ("x", pa.float64())])
TEXT = ":- event(a(x: int)). seen rule: seen(X) <- a(X). quiet rule: quiet(X) <- a(X) seq (not a(X) within 20)."
Rows = list[tuple[int | None, float | None]]


def fill(folder: Path, *batches: Rows) -> Source:
    source = Source(folder)
    add(source, *batches)
    return source


def add(source: Source, *batches: Rows) -> None:
    for batch in batches:
        source.add([(None if at is None else (NOON + at) * SECOND, x) for at, x in batch], ARROW)


def run(folder: Path, df: Any) -> list[tuple[str, str, int]]:
    """Run a query to the end of what is there; return all that its sink holds, times from noon."""
    drain(df, folder / "sink", folder / "checkpoint")
    rows = enveloped(df.sparkSession.read.parquet(str(folder / "sink")).collect())
    return [(event, args, int(end.timestamp()) - NOON) for event, args, _, end in rows]


def options(folder: Path, **more: Any) -> dict[str, Any]:
    return {"time": "ts", "event": "a", "shards": 1, "envelope": True, "state": str(folder / "state"), **more}


def test_with_watermark_is_the_lateness(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = fill(tmp_path / "in", [(1, 1.0), (100, 2.0)], [(45, 3.0), (30, 4.0)], [(400, 9.0)])
    program = etalis.compile(TEXT).on(spark)
    frame = source.frame(spark, SCHEMA)
    late = frame.withWatermark("ts", "1 minute").select("ts", "x")
    found = run(tmp_path, program.detect(late, **options(tmp_path)))
    assert sorted(args for event, args, _ in found if event == "seen") == ["[1]", "[2]", "[3]"]  # 4 is late
    (letter,) = spark.read.parquet(str(tmp_path / "state" / "late")).collect()
    assert (letter.args, letter.cause) == ("[4.0]", "late")
    renamed = frame.withWatermark("ts", "1 minute").withColumnRenamed("ts", "at")
    program.detect(renamed, **{**options(tmp_path), "time": "at"})
    other = frame.selectExpr("ts", "ts + interval 1 day as day", "x").withWatermark("day", "1 minute")
    for wrong, column in ((other, "day"), (other.drop("day"), "day")):
        with pytest.raises(InputError, match=f"E605: withWatermark is on the column {column}, and ts is the time"):
            program.detect(wrong, **options(tmp_path))
    with caplog.at_level(logging.WARNING, "etalis.spark"):
        program.detect(late, **options(tmp_path, lateness=5))
    assert "lateness=5 goes before the delay of withWatermark" in caplog.text


def test_the_clock_of_a_batch_is_noted_with_its_offsets(spark: Any, tmp_path: Path) -> None:
    """What `ahead` rests on: a batch that is run again, by another query process, sees the same wall clock."""
    from pyspark.sql import functions as f

    source = fill(tmp_path / "in", [(1, 1.0), (2, 2.0)])
    told: list[Any] = []

    def note(df: Any, number: int) -> None:
        told.append({row.now for row in df.collect()})
        if len(told) == 1:
            raise RuntimeError("once")

    def go_on() -> Any:
        seen = source.frame(spark, SCHEMA).select(f.current_timestamp().alias("now"))
        marked = seen.mapInArrow(lambda batches: batches, "now timestamp")
        writer = marked.writeStream.foreachBatch(note).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.trigger(availableNow=True).start()

    with pytest.raises(Exception, match="once"):
        go_on().awaitTermination()
    go_on().awaitTermination()
    assert len(told) == 2
    assert told[0] == told[1]
    assert len(told[0]) == 1


def test_a_row_past_the_wall_clock_is_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    year_131000 = (131_000 - 1970) * 31_556_952 - NOON
    first: Rows = [(1, 1.0), (3600, 2.0), (3602, 3.0), (year_131000, 4.0), (5, math.nan), (None, 6.0), (6, 1.5)]
    source = fill(tmp_path / "in", first, [(30, 7.0)])
    program = etalis.compile(TEXT).on(spark)
    program.now = f.timestamp_seconds(f.lit(NOON + 1))
    found = run(tmp_path, program.detect(source.frame(spark, SCHEMA), **options(tmp_path, lateness="2 hours")))
    assert found == []  # nothing is settled yet: no bad row has moved the watermark
    letters = spark.read.parquet(str(tmp_path / "state" / "late")).collect()
    assert sorted((row.cause, row.args) for row in letters) == [
        ("ahead", "[3.0]"), ("time", "[4.0]"), ("time", "[6.0]"), ("value", '["nan"]'), ("value", "[1.5]"),
    ]  # fmt: skip
    assert len(list((tmp_path / "state" / "late").iterdir())) == 1
    free = program.detect(source.frame(spark, SCHEMA), **options(tmp_path / "free", ahead="none"))
    run(tmp_path / "free", free)
    causes = {row.cause for row in spark.read.parquet(str(tmp_path / "free" / "state" / "late")).collect()}
    assert causes == {"late", "time", "value"}


def test_a_stream_is_closed_once(spark: Any, tmp_path: Path) -> None:
    """All that is owed at the end comes with one more batch; closing again changes nothing, later rows are refused."""
    source = fill(tmp_path / "in", [(1, 1.0), (50, 2.0)], [(60, 3.0)])
    program = etalis.compile(TEXT).on(spark)

    def go_on(**more: Any) -> list[tuple[str, str, int]]:
        checkpoint = str(tmp_path / "checkpoint")
        given = options(tmp_path, lateness=30, checkpoint=checkpoint, **more)
        return run(tmp_path, program.detect(source.frame(spark, SCHEMA), **given))

    assert [(event, args) for event, args, _ in go_on()] == [("quiet", "[1]"), ("seen", "[1]")]
    closed = go_on(close=True)
    assert sorted(closed) == [
        ("quiet", "[1]", 21), ("quiet", "[2]", 70), ("quiet", "[3]", 80),
        ("seen", "[1]", 1), ("seen", "[2]", 50), ("seen", "[3]", 60),
    ]  # fmt: skip
    assert go_on(close=True) == closed
    add(source, [(500, 4.0)])
    assert go_on() == closed
    (letter,) = spark.read.parquet(str(tmp_path / "state" / "late")).collect()
    assert letter.reason.endswith("but the stream has ended")
    with pytest.raises(InputError, match=r"E605.*a stream is closed by a file next to its checkpoint"):
        program.detect(source.frame(spark, SCHEMA), **options(tmp_path, close=True))


def test_a_restart_with_other_rules_says_what_it_means(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = fill(tmp_path / "in", [(1, 1.0), (5, 2.0)])
    given = options(tmp_path, checkpoint=str(tmp_path / "checkpoint"))
    frame = source.frame(spark, SCHEMA)
    run(tmp_path, etalis.compile(TEXT).on(spark).detect(frame, **given))
    changed = etalis.compile(TEXT.replace("within 20", "within 30")).on(spark)
    with pytest.raises(SnapshotError, match=r"E628: query .*deadlines and alarms of .* of rule quiet(.|\n)*allow_d"):
        changed.detect(frame, **given)
    with caplog.at_level(logging.WARNING, "etalis.spark"):
        changed.detect(frame, **given, allow_dropped=True)
    assert "\n  dropped: deadlines and alarms of " in "".join(caplog.messages)
    assert changed.restart is not None
    assert changed.restart.new
    staged = etalis.compile(f"{TEXT} n(N) <- aggregate(count, seen(_), N) within 100.").on(spark)
    with pytest.raises(SnapshotError, match=r"E622.*was kept with stages 1, now it would be 2"):
        staged.detect(frame, **{**given, "shards": 2})
