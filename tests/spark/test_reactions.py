"""Reactions on Spark: the facts, events and effects of one engine, in a batch and in a stream that is restarted."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import etalis
from etalis.spark.effect_rows import ShardEffects, read_effects

pytestmark = pytest.mark.spark

SHOP = r"""
:- set_flag(event_consumption_policy, unrestricted).
:- event(sold(item: string, amount: int)).
:- event(filled(item: string, amount: int)).
:- state stock/2 key 1.
stock(rose, 3). stock(vase, 1).
sell rule: on sold(Item, N)
    do take(Item, N, Left) seq effect(send(Item, N)) seq raise(left(Item, Left)) or raise(out(Item)).
fill rule: on filled(Item, N) do stock(Item, Old) seq New is Old + N seq set(stock(Item, New)).
action take(Item, N, New) :- stock(Item, Old), Old >= N, New is Old - N, set(stock(Item, New)).
low(Item, N) <- left(Item, N) where N < 2.
gone(Item) <- out(Item).
"""


def rows_of(count: int) -> list[tuple[str, str, int, float]]:
    random = Random(5)
    kinds = ["sold", "sold", "filled"]
    items = ["rose", "vase", "pot"]
    return [(random.choice(kinds), random.choice(items), random.randrange(1, 4), float(at)) for at in range(count)]


def in_process(rows: list[tuple[str, str, int, float]]) -> tuple[list[tuple[Any, ...]], list[str]]:
    """What one engine reports, and the keys of its effects."""
    kept = ShardEffects()
    engine = etalis.compile(SHOP, name="shop").engine(effects=kept)
    found = [*engine.run(rows), *engine.close()]
    return sorted((e.name, list(e.args), e.end) for e in found), sorted(kept.take(0)["key"].to_pylist())


def told(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted((row["event"], json.loads(row["args"]), row["end"]) for row in rows)


def test_a_batch_in_shards_is_one_engine(spark: Any, tmp_path: Path) -> None:
    rows, program = rows_of(60), etalis.compile(SHOP, name="shop")
    frame = spark.createDataFrame(rows, "event string, item string, amount int, at double").repartition(3)
    given = {"time": "at", "event": "event", "shards": 3}
    assert "sold/2: partitioned by item" in program.on(spark).explain(frame, **given)
    folder = str(tmp_path / "effects")
    found = program.on(spark).detect(frame, **given, envelope=True, effects=folder)
    for _ in range(2):  # a job that runs again writes the same
        matches, keys = in_process(rows)
        assert told(found.collect()) == matches
        assert [row["key"] for row in read_effects(folder)] != []
        assert sorted(row["key"] for row in read_effects(folder)) == keys
    with pytest.raises(etalis.InputError, match="effects="):
        program.on(spark).detect(frame, **given)


def test_a_stream_goes_on_with_the_state_of_its_shards(spark: Any, tmp_path: Path) -> None:
    rows, program = rows_of(60), etalis.compile(SHOP, name="shop")
    source, state, out = (str(tmp_path / name) for name in ("in", "state", "out"))
    schema = "event string, item string, amount int, at double"
    later = ("filled", "vase", 1, 100.0)  # settles all before it, and is not settled itself
    for part in (rows[:25], [*rows[25:], later]):  # two queries, one after the other, from one checkpoint
        spark.createDataFrame(part, schema).coalesce(1).write.mode("append").parquet(source)
        stream = spark.readStream.schema(schema).parquet(source)
        found = program.on(spark).detect(stream, time="at", event="event", shards=2, envelope=True, state=state)
        writer = found.writeStream.option("checkpointLocation", f"{out}-checkpoint").trigger(availableNow=True)
        writer.format("parquet").option("path", out).start().awaitTermination()
    matches, keys = in_process(rows)
    assert told(spark.read.parquet(out).collect()) == matches
    assert sorted(row["key"] for row in read_effects(f"{state}/effects")) == keys
