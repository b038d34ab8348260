"""Knowledge that is read again between the batches of a stream, on Spark: while it runs, and through restarts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.errors import InputError

pytestmark = pytest.mark.spark

SCHEMA = "ts bigint, card string, city string"
TEXT = """
:- event(pay(card: string, city: string)).
seen(Card, Risk) <- pay(Card, City) where risk(City, Risk).
wave(N) <- aggregate(count, seen(_, high), N).
"""  # two stages: one by card, one of all
RESULTS = "event string, Card string, Risk string, N bigint, end bigint"
PATIENCE = 120


class Feed:
    """A folder of files, each a batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir()

    def add(self, *rows: tuple[int, str, str]) -> None:
        self.count += 1
        types = (pa.int64(), pa.string(), pa.string())
        columns = [pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
        aside = self.folder / f"_{self.count}"
        pq.write_table(pa.table(columns, names=["ts", "card", "city"]), aside)
        os.utime(aside, (self.count, self.count))
        aside.rename(self.folder / f"{self.count:03}.parquet")

    def frame(self, spark: Any) -> Any:
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


def write(path: Path, *rows: str) -> None:
    aside = path.with_suffix(".new")
    aside.write_text("\n".join(["city,risk", *rows]) + "\n")
    os.replace(aside, path)


def seen(spark: Any, sink: Path) -> set[tuple[Any, ...]]:
    if not (sink / "_spark_metadata").exists():
        return set()
    rows = spark.read.schema(RESULTS).parquet(str(sink)).collect()
    return {(r["event"], r["Card"], r["Risk"], r["N"], r["end"]) for r in rows}


def wait(query: Any, found: Callable[[], Any], wanted: Any) -> None:
    """Wait until a running query has found something."""
    limit = time.monotonic() + PATIENCE
    while found() != wanted:
        assert query.isActive, query.exception()
        assert time.monotonic() < limit, f"{found()} instead of {wanted}"
        time.sleep(0.3)


def test_facts_are_read_again(spark: Any, tmp_path: Path) -> None:
    feed, table, sink = Feed(tmp_path / "in"), tmp_path / "risk.csv", tmp_path / "out"
    write(table, "basel,low", "bern,high")
    program = etalis.compile(TEXT)

    def query(**trigger: Any) -> Any:
        found = program.on(spark).detect(
            feed.frame(spark), time="ts", event="pay", shards=3, state=str(tmp_path / "state"),
            knowledge={"risk": table}, refreshed="batch",
        )  # fmt: skip
        writer = found.writeStream.format("parquet").option("path", str(sink))
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(**trigger).start()

    wanted: set[tuple[Any, ...]] = set()
    feed.add((1, "c1", "basel"), (2, "c2", "bern"), (10, "c0", "nowhere"))
    running = query(processingTime="200 milliseconds")
    wanted |= {("seen", "c1", "low", None, 1), ("seen", "c2", "high", None, 2), ("wave", None, None, 1, 2)}
    wait(running, lambda: seen(spark, sink), wanted)
    write(table, "basel,high")
    feed.add((11, "c1", "basel"), (12, "c2", "bern"), (20, "c0", "nowhere"))
    wanted |= {("seen", "c1", "high", None, 11), ("wave", None, None, 2, 11)}
    wait(running, lambda: seen(spark, sink), wanted)
    table.unlink()  # the facts stay as they were
    feed.add((21, "c3", "basel"), (30, "c0", "nowhere"))
    wanted |= {("seen", "c3", "high", None, 21), ("wave", None, None, 3, 21)}
    wait(running, lambda: seen(spark, sink), wanted)
    running.stop()
    write(table, "basel,low", "bern,high")
    feed.add((31, "c1", "basel"), (40, "c0", "nowhere"))
    feed.add((41, "c2", "bern"), (50, "c0", "nowhere"))
    query(availableNow=True).awaitTermination()
    wanted |= {("seen", "c1", "low", None, 31), ("seen", "c2", "high", None, 41), ("wave", None, None, 4, 41)}
    assert seen(spark, sink) == wanted
    assert spark.read.parquet(str(sink)).count() == len(wanted)


def test_dataframes_are_evaluated_again(spark: Any, tmp_path: Path) -> None:
    feed, sink = Feed(tmp_path / "in"), tmp_path / "out"
    current = [("basel", "low")]
    found = etalis.compile("seen(Card, Risk) <- pay(Card, City) where risk(City, Risk).").on(spark).detect(
        feed.frame(spark), time="ts", event="pay", shards=2, state=str(tmp_path / "state"),
        knowledge={"risk": lambda: spark.createDataFrame(current, "city string, risk string")}, refreshed="batch",
    )  # fmt: skip
    feed.add((1, "c1", "basel"), (10, "c0", "nowhere"))
    writer = found.writeStream.format("parquet").option("path", str(sink)).trigger(processingTime="200 milliseconds")
    running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    def risks() -> set[Any]:
        return {(card, risk) for _, card, risk, _, _ in seen(spark, sink)}

    wait(running, risks, {("c1", "low")})
    current[:] = [("basel", "high"), ("bern", "low")]
    versions = tmp_path / "state" / "facts"
    feed.add((11, "c0", "nowhere"))  # when its batch has ended, the DataFrame is evaluated
    wait(running, lambda: len(list(versions.iterdir())), 2)
    feed.add((12, "c2", "basel"), (13, "c3", "bern"), (20, "c0", "nowhere"))
    wait(running, risks, {("c1", "low"), ("c2", "high"), ("c3", "low")})
    running.stop()


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    stream = Feed(tmp_path / "in").frame(spark)
    program = etalis.compile(TEXT).on(spark)
    options = {"time": "ts", "event": "pay", "state": str(tmp_path / "state")}
    with pytest.raises(InputError, match="E401"):
        program.detect(stream, **options, knowledge={"risk": tmp_path / "none.csv"}, refreshed="batch")
    write(tmp_path / "risk.csv", "basel,low")
    with pytest.raises(InputError, match=r"E605.*on arrival"):
        program.detect(
            stream, **options, reporting="on_arrival", knowledge={"risk": tmp_path / "risk.csv"}, refreshed="batch"
        )
    with pytest.raises(InputError, match=r"E605.*are for streaming"):
        program.detect(spark.createDataFrame([], SCHEMA), time="ts", event="pay", refreshed="batch")
