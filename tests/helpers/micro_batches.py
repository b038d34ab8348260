"""Streams on Spark, without Spark: rows parted among shards, in micro-batches, through the code that workers run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

import etalis
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.spark.stream import streaming
from etalis.spark.stream.marks import CLOCK, Marking, make_mark, mark_time
from etalis.spark.stream.state_store import ShardPlace
from etalis.spark.stream.worker import ShardBatch, Task, leave_equal_out, live_shards, run_turn
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema
from etalis.temporal.event import Event
from helpers.cases import attribute_columns
from helpers.spark_shuffle import SPARK_TYPES, column_type, shuffle

Row = tuple[Any, ...]
END_OF_TIME = 10**15  # microseconds


@dataclass(frozen=True)
class Stream:
    """A program planned for micro-batches over one frame per kind of event."""

    plan: DetectionPlan
    tasks: tuple[Task, ...]

    def rows(self, events: Iterable[tuple[int, Event]]) -> list[Row]:
        """Return events, each with its rank, as rows."""
        places = {layout.tag: places for layout, places in self.plan.slots.places}
        found = []
        for rank, event in events:
            tag = f"{event.name}/{len(event.args)}"
            values = [None if value == "null" else value for value in event.args]
            cells = dict(zip(places[tag], values, strict=True))
            slots = [cells.get(i) for i in range(len(self.plan.slots.types))]
            found.append((tag, event.start_time, event.end_time, rank, *slots))
        return found

    def run(
        self, number: int, rows: Sequence[Row], *, clock: int | None = None, told: Sequence[str] = (),
        now: int | None = None,
    ) -> list[Any]:  # fmt: skip
        """Run one micro-batch of all shards of all stages, with other rows that all are told; return the results.

        `now` is the wall clock of the batch, in microseconds.
        """
        blanks = (None,) * (3 + len(self.plan.slots.types))
        marked = [(tag, *blanks) for tag in (*self._marks(rows, clock, now), *told)]
        handed: list[pa.Table] = []
        for place, (stage, task) in enumerate(zip(self.plan.stages, self.tasks, strict=True)):
            refused = (None, *self.plan.job.made) if place == 0 else ()  # the first sees them
            mine = [row for row in rows if row[0] in stage.tags or row[0] in refused]
            shards = shuffle([self._table(mine), *handed], stage, self.plan)
            found = []
            for shard, batches in enumerate(shards):
                turn = ShardBatch(ShardPlace("query", task.stage, shard), number)
                tables = [pa.Table.from_batches([batch]) for batch in batches]
                united = pa.concat_tables([*tables, self._table(marked)], promote_options="default")
                found += run_turn(task, turn, united.combine_chunks().to_batches(3))
            handed = [pa.Table.from_batches([batch]) for batch in found]
        batches = [batch for table in handed for batch in table.to_batches()]
        merged = leave_equal_out(batches) if self.plan.merged else batches
        return [row for batch in merged for row in batch.to_pylist()]

    def clock_mark(self, time: int) -> str:
        """The mark of a clock."""
        return str(make_mark(Marking(CLOCK, 1), [(time, time)])["tag"][0])

    def _marks(self, rows: Sequence[Row], clock: int | None, now: int | None) -> list[str]:
        """The marks of all sources, of rows in two partitions."""
        ahead = self.tasks[0].stream.ahead
        made: list[Any] = []
        for source, frame in enumerate(self.plan.frames):
            own = {layout.tag for layout in frame.layouts}
            times = [row[2] for row in rows if row[0] in own or row[0] is None]
            for part in (times[::2], times[1::2]):
                columns = [pa.array(part, pa.int64()), pa.array([now] * len(part), pa.int64())]
                batch = pa.RecordBatch.from_arrays(columns, ["time", "now"])
                made += mark_time(Marking(str(source), 1, "us", ahead), [batch])
        clocks = [] if clock is None else [self.clock_mark(clock)]
        return [*clocks, *(tag for mark in made for tag in mark["tag"].to_pylist())]

    def _table(self, rows: Sequence[Row]) -> pa.Table:
        types = [pa.string(), pa.int64(), pa.int64(), pa.int32(), *(SPARK_TYPES[t] for t in self.plan.slots.types)]
        names = ["_event", "_start", "_end", "_order", *(f"s{i}" for i in range(len(self.plan.slots.types)))]
        padded = [(*row, *[None] * (len(names) - len(row))) for row in rows]
        columns = zip(*padded, strict=True) if rows else [[] for _ in names]
        table = pa.table([pa.array(list(c), t) for c, t in zip(columns, types, strict=True)], names=names)
        if self.plan.job.output.contributors:  # a row is called by its rank
            names = [None if row[3:4] in ((), (None,)) else f"r{row[3]:03}" for row in rows]
            table = table.append_column("_id", pa.array(names, pa.string()))
        return table if self.plan.frames[0].order else table.drop_columns(["_order"])


def plan_stream(
    program: etalis.Program, events: Sequence[Event], state: str, *, policy: str | None = None, shards: int = 1,
    order: bool = True, contributors: bool = False, **options: Any,
) -> Stream | None:  # fmt: skip
    """Plan a stream over one frame per kind of event; None if an attribute has values of two types."""
    given = []
    for name, arity in dict.fromkeys((e.name, len(e.args)) for e in events):
        alike = [e for e in events if (e.name, len(e.args)) == (name, arity)]
        types = [column_type(list(column)) for column in zip(*(e.args for e in alike), strict=True)]
        if None in types:
            return None
        columns = {"t1": "bigint", "t2": "bigint", **({"n": "int"} if order else {})}
        columns |= {"row": "string"} if contributors else {}
        given.append(TableSchema(columns | attribute_columns(alike, types), f"{name}/{arity}"))
    row_id = "row" if contributors else None
    names = Options(time=("t1", "t2"), order="n" if order else None, unit="us", id=row_id)

    def make(count: int | None, staged: bool) -> DetectionPlan:
        form = ResultForm(envelope=True, contributors=contributors)
        return plan_detection(program.compiled, given, names, form, policy=policy, shards=count, usual=1, staged=staged)

    return Stream(*streaming.plan_stream(program.compiled, streaming.Streaming(state=state, **options), make, shards))


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


def standing(rows: Sequence[dict[str, Any]], *, is_ordered: bool = True) -> list[tuple[Any, ...]]:
    """Return the results that a changelog, or a plain sequence of results, comes to."""
    there: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        key = (row["event"], json.dumps(json.loads(row["args"])), row["start"], row["end"])
        there[key] += 1 if row.get("op", "+") == "+" else -1
        assert not is_ordered or there[key] in (0, 1), f"{key} comes twice, or is taken back before it came"
    assert set(there.values()) <= {0, 1}
    return sorted(key for key, count in there.items() if count)
