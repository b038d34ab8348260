"""`detect` on streaming DataFrames against the engine: shards, late rows, restarts, idle streams, what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.logic.term import to_value
from etalis.temporal.event import Event, sort_key, to_plain

pytestmark = pytest.mark.spark

SCHEMA = "type string, ts bigint, card string, city string, amount double"
ARROW = pa.schema(
    [("type", pa.string()), ("ts", pa.int64()), ("card", pa.string()), ("city", pa.string()), ("amount", pa.float64())]
)
FRAUD = """
:- event(withdrawal(card: string, city: string, amount: float)).
two_cities rule: fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within 30
    where (CityA \\= CityB, \\+ near(CityA, CityB), Total is A + B).
block(Card) <- (withdrawal(Card, X, _) seq withdrawal(Card, Y, _)) cnot confirmed(Card, _, _) within 30 where X \\= Y.
quiet(Card) <- withdrawal(Card, _, _) seq (not withdrawal(Card, _, _) within 9.5).
many(Card, N) <- aggregate(count, withdrawal(Card, _, _), N) within 40.
worse(Card) <- fraud(Card, _) seq block(Card).
near(basel, weil).
near(weil, basel).
"""
Row = tuple[Any, ...]


class Source:
    """A folder of files, one micro-batch each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir()

    def add(self, rows: Sequence[Row], schema: pa.Schema = ARROW) -> None:
        self.count += 1
        path = self.folder / f"{self.count:05}.parquet"
        columns = zip(*rows, strict=True) if rows else [[] for _ in schema]
        table = pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        aside = self.folder / f"_{path.name}"
        pq.write_table(table, aside)
        os.utime(aside, (self.count, self.count))
        aside.rename(path)

    def frame(self, spark: Any, schema: str = SCHEMA) -> Any:
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


def drain(df: Any, sink: Path, checkpoint: Path) -> Any:
    """Run a query over all that is there; return it."""
    query = df.writeStream.format("parquet").option("path", str(sink)).option("checkpointLocation", str(checkpoint))
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    return started


def expected(program: etalis.Program, rows: Sequence[Row], until: int | None = None) -> list[Row]:
    """What one engine reports on some rows up to a moment."""
    events = [Event.make(name, tuple(map(to_value, values)), ts * 10**6, ts * 10**6) for name, ts, *values in rows]
    engine = program.engine()
    found = [*engine.run(sorted(events, key=sort_key)), *engine.close()]
    return sorted(
        (e.name, json.dumps([to_plain(a) for a in e.args]), e.start, e.end)
        for e in found
        if until is None or e.end <= until
    )


def enveloped(rows: Sequence[Any]) -> list[Row]:
    return sorted((row.event, row.args, row.start, row.end) for row in rows)


BATCHES: list[list[Row]] = [
    [("withdrawal", 10, "c1", "bern", 1.0), ("withdrawal", 4, "c2", "basel", 2.0), ("other", 12, "c1", "x", 0.0)],
    [("withdrawal", 8, "c2", "rome", 5.0), ("withdrawal", 9, "c1", "weil", 4.0), ("confirmed", 15, "c3", "x", 0.0)],
    [("withdrawal", 3, "c1", "weil", 9.0), ("withdrawal", 20, "c3", "basel", 2.0), ("withdrawal", 22, "c3", "x", 2.0)],
    [("other", 60, "c9", "x", 1.0)],
]
LATE = ("withdrawal", 3, "c1", "weil", 9.0)  # it comes when 15 has been seen, five seconds are allowed


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_the_same_as_the_engine_but_for_late_rows(spark: Any, tmp_path: Path, shards: int) -> None:
    program = etalis.compile(FRAUD)
    source = Source(tmp_path / "source")
    for batch in BATCHES:
        source.add(batch)
    found = program.on(spark).detect(
        source.frame(spark), time="ts", event="type", lateness="5 seconds", state=str(tmp_path / "state"),
        shards=shards, envelope=True,
    )  # fmt: skip
    assert found.isStreaming
    drain(found, tmp_path / "sink", tmp_path / "checkpoint")
    rows = [row for batch in BATCHES for row in batch if row != LATE and row[0] != "other"]
    wanted = expected(program, [*rows], until=54)
    assert wanted
    assert enveloped(spark.read.parquet(str(tmp_path / "sink")).collect()) == wanted
    (letter,) = spark.read.parquet(str(tmp_path / "state" / "late")).collect()
    assert (letter.event, letter.args, letter.end) == ("withdrawal", '["c1", "weil", 9.0]', 3.0)
    assert letter.reason == "it ends at 3, but the stream is settled up to 9.999999"
