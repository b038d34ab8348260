"""Streams on Spark, without Spark: rows parted among shards, in micro-batches, through the code that workers run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

import etalis
from etalis.spark import streaming
from etalis.spark.batch import Form, Plan, plan_detection
from etalis.spark.schema import Given, Options
from etalis.spark.store import Place
from etalis.spark.worker import Task, Turn, leave_equal_out, live_shards, mark_time, run_turn
from etalis.temporal.event import Event

ARROW = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
END_OF_TIME = 10**15  # microseconds


@dataclass(frozen=True)
class Stream:
    """A program planned for micro-batches over one frame per kind of event."""

    plan: Plan
    task: Task

    def rows(self, events: Iterable[tuple[int, Event]]) -> list[tuple[int, tuple[Any, ...]]]:
        """Return events, each with its rank, as rows with their shards."""
        keys = {layout.tag: (layout, columns) for layout, columns in self.plan.sharding.keys}
        places = {layout.tag: places for layout, places in self.plan.slots.places}
        found = []
        for rank, event in events:
            tag = f"{event.name}/{len(event.args)}"
            layout, columns = keys[tag]
            key = tuple(event.args[layout.columns.index(name)] for name, _ in columns)
            cells = dict(zip(places[tag], event.args, strict=True))
            slots = [cells.get(i) for i in range(len(self.plan.slots.types))]
            row = (tag, event.start_time, event.end_time, rank, *slots)
            found.append((hash(repr(key)) % self.plan.sharding.shards, row))
        return found

    def table(self, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        types = [pa.string(), pa.int64(), pa.int64(), pa.int32(), *(ARROW[t] for t in self.plan.slots.types)]
        names = ["_event", "_start", "_end", "_order", *(f"s{i}" for i in range(len(self.plan.slots.types)))]
        columns = zip(*rows, strict=True) if rows else [[] for _ in names]
        table = pa.table([pa.array(list(c), t) for c, t in zip(columns, types, strict=True)], names=names)
        return table if self.plan.frames[0].order else table.drop_columns(["_order"])

    def marks(self, source: str, times: Sequence[int]) -> list[list[tuple[Any, ...]]]:
        """Return the marks of a source, by shard."""
        shards = self.plan.sharding.shards
        blanks = (None,) * (1 + len(self.plan.slots.types))
        batch = pa.RecordBatch.from_arrays([pa.array(times, pa.int64())], names=["time"])
        found: list[list[tuple[Any, ...]]] = [[] for _ in range(shards)]
        for made in mark_time(source, shards, [batch]):
            for mark in made.to_pylist():
                found[mark["shard"]].append((mark["tag"], mark["time"], mark["time"], *blanks))
        return found

    def run(self, number: int, rows: Sequence[tuple[int, tuple[Any, ...]]], *, clock: int | None = None) -> list[Any]:
        """Run one micro-batch of all shards; return the results."""
        marks = [[] for _ in range(self.plan.sharding.shards)]
        for source, frame in enumerate(self.plan.frames):
            own = {layout.tag for layout in frame.layouts}
            for shard, made in enumerate(self.marks(str(source), [row[2] for _, row in rows if row[0] in own])):
                marks[shard] += made
        for shard, made in enumerate(self.marks("clock", [] if clock is None else [clock])):
            marks[shard] += made
        found: list[Any] = []
        for shard in range(self.plan.sharding.shards):
            table = self.table([row for place, row in rows if place == shard] + marks[shard])
            turn = Turn(Place("query", self.task.stage, shard), number)
            found += run_turn(self.task, turn, table.to_batches(3))
        merged = leave_equal_out(found) if self.plan.sharding.merged else found
        return [row for batch in merged for row in batch.to_pylist()]


def plan_stream(program: etalis.Program, events: Sequence[Event], state: str, *, policy: str | None = None,
                shards: int = 1, order: bool = True, **options: Any) -> Stream | None:  # fmt: skip
    """Plan a stream over one frame per kind of event; None if an attribute has values of two types."""
    given = []
    for name, arity in dict.fromkeys((e.name, len(e.args)) for e in events):
        alike = [e.args for e in events if (e.name, len(e.args)) == (name, arity)]
        types = [column_type(list(column)) for column in zip(*alike, strict=True)]
        if None in types:
            return None
        columns = {"t1": "bigint", "t2": "bigint", **({"n": "int"} if order else {})} | {
            f"x{i}": str(t) for i, t in enumerate(types)
        }
        given.append(Given(columns, f"{name}/{arity}"))
    names = Options(time=("t1", "t2"), order="n" if order else None, unit="us")

    def make(count: int | None) -> Plan:
        return plan_detection(program, given, names, Form(envelope=True), policy=policy, shards=count, usual=1)

    return Stream(*streaming.plan_stream(program, streaming.Streaming(state=state, **options), make, shards))


def column_type(values: Sequence[Any]) -> str | None:
    kinds = {"string" if isinstance(v, str) else "double" if isinstance(v, float) else "bigint" for v in values}
    return kinds.pop() if len(kinds) == 1 else None


def run_whole(stream: Stream, events: Sequence[Event], random: Random) -> list[Any]:
    """Run events in some micro-batches, in any order, with restarts between; then let time end."""
    numbered = list(enumerate(events))
    random.shuffle(numbered)
    rows = stream.rows(numbered)
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(random.randrange(4)))
    parts = [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    found: list[Any] = []
    for number, part in enumerate(parts):
        if random.randrange(2):
            live_shards.cache_clear()
        found += stream.run(number, part)
    return found + stream.run(len(parts), [], clock=END_OF_TIME)


def standing(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the results that a changelog, or a plain sequence of results, comes to."""
    there: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = (row["event"], json.dumps(json.loads(row["args"])), row["start"], row["end"])
        there[key] = there.get(key, 0) + (1 if row.get("op", "+") == "+" else -1)
        assert there[key] in (0, 1), f"{key} comes twice, or is taken back before it came"
    return sorted(key for key, count in there.items() if count)
