"""`detect` on streaming DataFrames against the engine: shards, late rows, restarts, idle streams, what is refused."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.data.values import to_value
from etalis.errors import InputError
from etalis.spark.spark_versions import repartition_by_number
from etalis.temporal.event import Event, sort_key
from etalis.temporal.json_values import to_plain

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
    assert letter.reason == "it ends at 3, but the watermark has reached 9.999999"


def test_rules_change_at_a_restart(spark: Any, tmp_path: Path) -> None:
    """What waits goes on, also rows that no engine has taken yet; the query is told by its checkpoint."""
    source = Source(tmp_path / "source")
    options = {"time": "ts", "event": "type", "lateness": 5, "state": str(tmp_path / "state"), "envelope": True}
    for batch in BATCHES[:2]:
        source.add(batch)
    first = etalis.compile(FRAUD).on(spark).detect(source.frame(spark), **options, shards=2)
    drain(first, tmp_path / "sink", tmp_path / "checkpoint")
    for batch in BATCHES[2:]:
        source.add(batch)
    changed = etalis.compile(FRAUD + "large(Card, A) <- withdrawal(Card, _, A) where A > 3.0.").on(spark)
    drain(changed.detect(source.frame(spark), **options, shards=2), tmp_path / "sink", tmp_path / "checkpoint")
    rows = [row for batch in BATCHES for row in batch if row != LATE and row[0] != "other"]
    found = enveloped(spark.read.parquet(str(tmp_path / "sink")).collect())
    assert [row for row in found if row[0] != "large"] == expected(etalis.compile(FRAUD), rows, until=54)
    assert [row for row in found if row[0] == "large"] == []  # both were settled before
    source.add(BATCHES[-1])
    other = changed.detect(source.frame(spark), **options, shards=3)
    with pytest.raises(Exception, match=r"E622.*shards 2, now it would be 3"):
        drain(other, tmp_path / "sink", tmp_path / "checkpoint")
    other = changed.detect(source.frame(spark), **{**options, "state": str(tmp_path / "elsewhere")}, shards=2)
    with pytest.raises(Exception, match=r"E620.*has no state of stage-1 of query"):
        drain(other, tmp_path / "sink", tmp_path / "checkpoint")


STAGED = """
:- event(withdrawal(card: string, city: string, amount: float)).
quick(Card, City) <- (withdrawal(Card, _, _) seq withdrawal(Card, City, _)) within 10.
wave(City, N) <- aggregate(count, quick(_, City), N) within 60.
calm(City) <- quick(_, City) seq (not withdrawal(_, City, _) within 12).
"""


def test_stages_with_other_keys(spark: Any, tmp_path: Path) -> None:
    """What rules of one key derive goes on to rules of another in the same batch; a late row is told once."""
    program = etalis.compile(STAGED)
    source = Source(tmp_path / "source")
    for batch in BATCHES:
        source.add(batch)
    options = {"time": "ts", "event": "type", "shards": 2, "envelope": True}
    assert "stage" in program.on(spark).explain(source.frame(spark), **options)
    found = program.on(spark).detect(source.frame(spark), **options, lateness=5, state=str(tmp_path / "state"))
    drain(found, tmp_path / "sink", tmp_path / "checkpoint")
    rows = [row for batch in BATCHES for row in batch if row != LATE and row[0] == "withdrawal"]
    wanted = expected(program, rows, until=54)
    assert {row[0] for row in wanted} == {"quick", "wave", "calm"}
    assert enveloped(spark.read.parquet(str(tmp_path / "sink")).collect()) == wanted
    assert spark.read.parquet(str(tmp_path / "state" / "late")).count() == 1
    assert sorted(path.name for path in (tmp_path / "state").glob("*/stage-*")) == ["stage-1", "stage-2"]


def test_streams_of_several_events_with_a_clock(spark: Any, tmp_path: Path) -> None:
    """Time stamps with and without zone; heads without the key; absences while nothing comes; a stream that is idle."""
    text = "met(B) <- a(X, B) seq b(X, B). alone(X) <- a(X, _) seq (not b(X, _) within 10)."
    fields = {
        name: pa.schema([("ts", kind), ("x", pa.int64()), ("y", pa.int64())])
        for name, kind in {"a": pa.timestamp("us", "UTC"), "b": pa.timestamp("us")}.items()
    }
    clock = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    sources = {name: Source(tmp_path / name) for name in ("a", "b", "clock")}
    for second in range(4):
        sources["a"].add([((10 * second) * 10**6, n, 7) for n in range(4)], fields["a"])
        sources["b"].add([((10 * second + 2) * 10**6, n, 7) for n in range(second)], fields["b"])
        sources["clock"].add([(second * 10**6,)], clock)
    sources["clock"].add([(60 * 10**6,)], clock)
    frames = {
        "a": sources["a"].frame(spark, "ts timestamp, x long, y long"),
        "b": sources["b"].frame(spark, "ts timestamp_ntz, x long, y long"),
    }
    found = etalis.compile(text).on(spark).detect(
        frames, time="ts", clock=sources["clock"].frame(spark, "ts timestamp"), state=str(tmp_path / "state"),
        shards=2, lateness=1,
    )  # fmt: skip
    drain(found, tmp_path / "sink", tmp_path / "checkpoint")
    rows = spark.read.parquet(str(tmp_path / "sink")).selectExpr(
        "event", "X", "B", "unix_seconds(start) s", "unix_seconds(`end`) e"
    )
    alone = [("alone", n, None, 10 * t, 10 * t + 10) for t in range(4) for n in range(4) if n >= t]
    met = [("met", None, 7, 10 * t, 10 * t + 2) for t in range(1, 4)]
    assert sorted(map(tuple, rows.collect()), key=str) == sorted([*alone, *met], key=str)


def test_on_arrival_replays_to_the_result(spark: Any, tmp_path: Path) -> None:
    program = etalis.compile(FRAUD)
    source = Source(tmp_path / "source")
    for batch in BATCHES:
        source.add(batch)
    found = program.on(spark).detect(
        source.frame(spark), time="ts", event="type", lateness=5, state=str(tmp_path / "state"), envelope=True,
        reporting="on_arrival", shards=2,
    )  # fmt: skip
    drain(found, tmp_path / "sink", tmp_path / "checkpoint")
    changes = spark.read.parquet(str(tmp_path / "sink")).collect()
    assert {row.op for row in changes} == {"+", "-"}
    standing = Counter()
    for row in changes:
        standing[row.match_id, *enveloped([row])] += 1 if row.op == "+" else -1
    assert set(standing.values()) <= {0, 1}
    rows = [row for batch in BATCHES for row in batch if row != LATE and row[0] != "other"]
    assert sorted(row for (_, row), count in standing.items() if count) == expected(program, rows, until=54)


def test_a_batch_must_be_read_as_a_whole(spark: Any, tmp_path: Path) -> None:
    source = Source(tmp_path / "source")
    for batch in BATCHES:
        source.add(batch)

    def run(name: str, see: Callable[[Any, int], object]) -> None:
        found = (
            etalis.compile(FRAUD)
            .on(spark)
            .detect(source.frame(spark), time="ts", event="type", state=str(tmp_path / name), shards=2)
        )
        writer = found.writeStream.foreachBatch(see).option("checkpointLocation", str(tmp_path / f"{name} checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    counts: list[int] = []
    run("whole", lambda df, number: counts.extend([df.count(), df.count()]))
    assert counts[::2] == counts[1::2]
    assert sum(counts) > 0
    with pytest.raises(Exception, match=r"E620.*no state of batch 0 of shard 1(.|\n)*persist it first"):
        run("part", lambda df, number: df.limit(1).collect() if number == 0 else df.count())


class Before41:
    """A DataFrame as Spark 4.0 has it, without `repartitionById`."""

    def __init__(self, df: Any) -> None:
        self.repartition = df.repartition


@pytest.mark.parametrize("series", [lambda df: df, Before41], ids=["now", "4.0"])
def test_what_spark_tells_a_task(spark: Any, tmp_path: Path, series: Any) -> None:
    """The two properties that Spark sets without promising it, and that a shard is a partition, in every series."""

    def tell(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        shards = sorted({shard for batch in batches for shard in batch.column("shard").to_pylist()})
        told = [context.getLocalProperty(name) for name in ("streaming.sql.batchId", "sql.streaming.queryId")]
        yield pa.RecordBatch.from_pylist([{"place": context.partitionId(), "shards": str(shards), "told": str(told)}])

    source = Source(tmp_path / "source")
    source.add(BATCHES[0])
    source.add(BATCHES[1])
    frame = source.frame(spark).selectExpr("explode(array(0, 1, 2)) shard", "ts")
    shuffled = repartition_by_number(series(frame), 4, frame["shard"])
    found = shuffled.mapInArrow(tell, "place long, shards string, told string")
    query = drain(found, tmp_path / "sink", tmp_path / "checkpoint")
    rows = {tuple(row) for row in spark.read.parquet(str(tmp_path / "sink")).collect()}
    told = [str([str(batch), query.id]) for batch in range(2)]
    assert rows == {(n, str([n] if n < 3 else []), batch) for n in range(4) for batch in told}


def test_what_is_refused_before_a_query_starts(spark: Any, tmp_path: Path) -> None:
    program, source = etalis.compile(FRAUD).on(spark), Source(tmp_path / "source")
    options: dict[str, Any] = {"time": "ts", "event": "type", "state": str(tmp_path)}
    frame = source.frame(spark)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"state": None}, r"E605.*needs a folder for its state"),
        ({"lateness": "soon"}, r"E605.*lateness is 'soon'"),
        ({"reporting": "now"}, r"E605.*reporting is 'now'"),
        ({"idle": -1}, r"E605.*idle is -1"),
        ({"clock": frame.select("card")}, r"E602.*the clock has no column of time"),
    ]
    for wrong, said in refused:
        with pytest.raises(InputError, match=said):
            program.detect(frame, **{**options, **wrong})
    with pytest.raises(InputError, match=r"E601.*some DataFrames are streams"):
        program.detect({"withdrawal": frame, "confirmed": spark.createDataFrame([], SCHEMA)}, **options)
    with pytest.raises(InputError, match=r"E601.*while it runs"):
        program.errors(frame, time="ts", event="type")
    with pytest.raises(etalis.ProgramError, match="E232"):
        etalis.compile("d(X) <- a(X) do assert(seen(X)).").on(spark).detect(
            frame, time="ts", event="a", reporting="on_arrival", state=str(tmp_path)
        )
