"""Cases as streams on Spark, in one query of a few micro-batches: the case is an extra key, its shard a place of state.

A case's rows come in any order over the batches, then a mark says that time has ended; every batch starts from the
state that the one before it has saved.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.errors import InputError, ProgramError
from etalis.language.check.effects import find_unplanned
from etalis.language.rules import knowledge_changes
from etalis.plan.keys import find_partitioning
from etalis.plan.rules import plan_rules
from etalis.spark.spark_versions import repartition_by_number
from etalis.spark.stream.worker import Task, run_turn, turn_of
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_plain
from helpers.cases import Case, all_cases
from helpers.micro_batches import END_OF_TIME, Stream, plan_stream, standing

EACH = 5  # columns of each type
LETTERS = {"bigint": "i", "double": "f", "string": "t"}
ARROW = {"i": pa.int64(), "f": pa.float64(), "t": pa.string()}
FIXED = {"_event": pa.string(), "_start": pa.int64(), "_end": pa.int64(), "_order": pa.int32()}
GENERAL = {f"{letter}{i}": kind for letter, kind in ARROW.items() for i in range(EACH)}
SCHEMA = pa.schema([("run", pa.int32()), *FIXED.items(), *GENERAL.items()])
SPARK = "run int, _event string, _start bigint, _end bigint, _order int, " + ", ".join(
    f"{name} {next(t for t, letter in LETTERS.items() if letter == name[0])}" for name in GENERAL
)
RESULT = "run int, event string, args string, start bigint, `end` bigint, op string"
BATCHES = 3


def plan_case(case: Case, reporting: str, state: str) -> Stream | None:
    """Plan a case as a stream; None if its rows do not fit columns, its results no 64 bits, or it waits for the end."""
    events = [step for step in case.steps if isinstance(step, Event)]
    values = [value for event in events for value in event.args]
    flat = all(isinstance(v, int | float | str) and (isinstance(v, str) or abs(v) < 1 << 63) for v in values)
    told = [value for event in case.expect or () for value in event.args]
    flat = flat and all(abs(value) < 1 << 63 for value in told if isinstance(value, int))
    if case.errors or not (case.is_plain and case.is_closed and events and flat and case.admits("spark")):
        return None
    program = etalis.compile(case.program, read=dict(case.files).get, **dict(case.options))
    if find_unplanned(program.compiled.tree) is not None or program.compiled.settings.store_fired_events:
        return None
    heads = plan_rules(program.compiled.rules, program.compiled.settings)
    read = {k for g in find_partitioning(heads).groups for k in g.kinds}
    read |= set(knowledge_changes(program.compiled.tree))
    events = [event for event in events if (event.name, len(event.args)) in read]
    try:
        stream = plan_stream(
            program, events, state, policy=case.policies[0], lateness=10**6, reporting=reporting
        ) if events else None  # fmt: skip
    except (InputError, ProgramError):
        return None
    fits = stream is not None and max(map(stream.plan.slots.types.count, LETTERS), default=0) <= EACH
    return stream if fits else None


def columns_of(stream: Stream) -> list[str]:
    """The column that stands for each slot."""
    seen: dict[str, int] = {}
    names = []
    for slot_type in stream.plan.slots.types:
        names.append(f"{LETTERS[slot_type]}{seen.setdefault(slot_type, 0)}")
        seen[slot_type] += 1
    return names


def rows_of(run: int, case: Case, stream: Stream, chance: random.Random) -> list[list[dict[str, Any]]]:
    """The rows of a case by batch, and at last the mark that time has ended."""
    tags = {layout.tag for frame in stream.plan.frames for layout in frame.layouts}
    events = [step for step in case.steps if isinstance(step, Event) and f"{step.name}/{len(step.args)}" in tags]
    batches: list[list[dict[str, Any]]] = [[] for _ in range(BATCHES)]
    for row in stream.rows(enumerate(events)):
        slots = [float(v) if isinstance(v, float) else v for v in row[4:]]
        cells = dict(zip([*FIXED, *columns_of(stream)], [*row[:4], *slots], strict=True))
        chance.choice(batches).append({"run": run, **cells})
    end = {"run": run, "_event": stream.clock_mark(END_OF_TIME)}
    return [*batches, [end]]


def case_runner(tasks: Mapping[int, tuple[Task, list[str]]], shards: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what takes, in one shard of Spark, the batch of every case that belongs to it."""
    fixed, numbers = list(FIXED), sorted(tasks)

    # A function inside a function travels by value: workers cannot import the tests.
    def run_cases(batches: Iterator[Any]) -> Iterator[Any]:
        table = pa.Table.from_batches([batch for batch in batches if batch.num_rows] or [], schema=SCHEMA)
        place = turn_of("cases").place.shard
        for number in numbers[place::shards]:
            task, names = tasks[number]
            mine = table.filter(pc.equal(table["run"], number))
            own = mine.select([*fixed, *names]).rename_columns([*fixed, *(f"s{i}" for i in range(len(names)))])
            turn = turn_of(task.stage)
            for batch in run_turn(task, replace(turn, place=replace(turn.place, shard=0)), own.to_batches(3)):
                first = pa.array([number] * batch.num_rows, pa.int32())
                told = batch.column("op") if "op" in batch.schema.names else pa.array(["+"] * batch.num_rows)
                columns = [batch.column(name) for name in ("event", "args", "start", "end")]
                names_out = ["run", "event", "args", "start", "end", "op"]
                yield pa.RecordBatch.from_arrays([first, *columns, told], names=names_out)

    return run_cases


def check(spark: Any, folder: Path, cases: Sequence[Case], least: int) -> None:
    chance = random.Random(5)
    planned: dict[int, tuple[Case, Stream]] = {}
    for number, case in enumerate(cases):
        stream = plan_case(case, ("on_watermark", "on_arrival")[number % 2], str(folder / "state"))
        if stream is not None:
            planned[number] = case, stream
    assert len(planned) > least
    (folder / "source").mkdir()
    parts = [rows_of(number, case, stream, chance) for number, (case, stream) in planned.items()]
    for batch in range(BATCHES + 1):
        path = folder / "source" / f"{batch}.parquet"
        pq.write_table(pa.Table.from_pylist([row for part in parts for row in part[batch]], schema=SCHEMA), path)
        os.utime(path, (batch + 1, batch + 1))
    tasks = {n: (replace(stream.tasks[0], stage=f"case-{n}"), columns_of(stream)) for n, (_, stream) in planned.items()}
    order = {number: place for place, number in enumerate(sorted(tasks))}
    source = spark.readStream.schema(SPARK).option("maxFilesPerTrigger", 1).parquet(str(folder / "source"))
    numbers = ", ".join(f"{number}, {place}" for number, place in order.items())
    numbered = source.selectExpr("*", f"cast(map({numbers})[run] % 2 as int) shard")
    shuffled = repartition_by_number(numbered, 2, numbered["shard"])
    found = shuffled.drop("shard").mapInArrow(case_runner(tasks, 2), RESULT)
    sink = found.writeStream.format("parquet").option("path", str(folder / "sink"))
    sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    rows = [row.asDict() for row in spark.read.parquet(str(folder / "sink")).collect()]
    wrong = []
    for number, (case, _) in planned.items():
        wanted = sorted(
            (e.name, json.dumps([to_plain(a) for a in e.args]), e.start_time, e.end_time) for e in case.expect or ()
        )
        got = standing([row for row in rows if row["run"] == number], is_ordered=False)
        if got != wanted:
            wrong.append(f"{case.id}: {got} instead of {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
def test_some_cases(spark: Any, tmp_path: Path) -> None:
    check(spark, tmp_path, all_cases()[::18], least=10)


@pytest.mark.nightly
def test_a_third_of_the_cases(spark: Any, tmp_path: Path) -> None:
    check(spark, tmp_path, all_cases()[::3], least=60)
