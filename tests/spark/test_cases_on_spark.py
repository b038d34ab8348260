"""A third of all cases on Spark, in one job: the case is an extra key, its events go the way of any other rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import etalis
from etalis.formats.roles import signatures_read
from etalis.language.check.effects import find_unplanned
from etalis.spark.batch.job import Job
from etalis.spark.batch.shard import run_shard
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_plain
from helpers.cases import Case, all_cases, attribute_columns

pytestmark = pytest.mark.spark

EACH = 5  # columns of each type
GENERAL = {"bigint": "i", "double": "f", "string": "t"}
FIXED = {"_event": "string", "_start": "bigint", "_end": "bigint", "_order": "int"}
SCHEMA = ", ".join(
    ["run int", *(f"{name} {t}" for name, t in FIXED.items())]
    + [f"{letter}{i} {t}" for t, letter in GENERAL.items() for i in range(EACH)]
)
RESULT = "run int, event string, args string, start bigint, `end` bigint, rule string, match_id string"


@dataclass(frozen=True)
class Run:
    """One case under one policy, planned; and its rows."""

    case: Case
    policy: str | None
    plan: DetectionPlan
    rows: tuple[tuple[Any, ...], ...]


def is_flat(case: Case) -> bool:
    """Tell whether a case is nothing but events whose attributes fit columns."""
    events = [step for step in case.steps if isinstance(step, Event)]
    values = [value for event in events for value in event.args]
    is_plain = (
        not (case.errors or case.refused) and case.is_plain and case.is_closed and bool(events) and case.admits("spark")
    )
    return is_plain and bool(events) and all(isinstance(v, int | float | str) and abs_of(v) < 1 << 63 for v in values)


def abs_of(value: Any) -> Any:
    return 0 if isinstance(value, str) else abs(value)


def column_type(values: list[Any]) -> str | None:
    kinds = {"string" if isinstance(v, str) else "double" if isinstance(v, float) else "bigint" for v in values}
    return kinds.pop() if len(kinds) == 1 else None


def plan_run(case: Case, policy: str | None) -> Run | None:
    """Plan a case over one frame per kind; None if an attribute has values of two types, or Spark does not plan it."""
    program = etalis.compile(case.program, read=dict(case.files).get, **dict(case.options))
    if find_unplanned(program.compiled.tree) is not None or any(program.compiled.refuse_taking_back("on Spark")):
        return None
    read = {signature.kind for signature in signatures_read(program.compiled)}
    events = [(n, e) for n, e in enumerate(case.steps) if isinstance(e, Event) and (e.name, len(e.args)) in read]
    given = []
    for name, arity in dict.fromkeys((e.name, len(e.args)) for _, e in events):
        alike = [e for _, e in events if (e.name, len(e.args)) == (name, arity)]
        types = [column_type([e.args[i] for e in alike]) for i in range(arity)]
        if None in types:
            return None
        columns = {"t1": "bigint", "t2": "bigint", "n": "int"} | attribute_columns(alike, types)
        given.append(TableSchema(columns, f"{name}/{arity}"))
    if not given:
        return None
    options = Options(time=("t1", "t2"), order="n", unit="us")
    plan = plan_detection(program.compiled, given, options, ResultForm(envelope=True), policy=policy, shards=1, usual=1)
    if max((plan.slots.types.count(t) for t in GENERAL), default=0) > EACH:
        return None
    return Run(case, policy, plan, tuple(row_of(plan, n, e) for n, e in events))


def general_columns(job_types: tuple[str, ...]) -> list[str]:
    """Return the column that stands for each slot."""
    seen: dict[str, int] = {}
    names = []
    for slot_type in job_types:
        names.append(f"{GENERAL[slot_type]}{seen.setdefault(slot_type, 0)}")
        seen[slot_type] += 1
    return names


def row_of(plan: DetectionPlan, number: int, event: Event) -> tuple[Any, ...]:
    tag = f"{event.name}/{len(event.args)}"
    places = next(places for layout, places in plan.slots.places if layout.tag == tag)
    names = general_columns(plan.slots.types)
    cells = {names[place]: value for place, value in zip(places, event.args, strict=True)}
    general = [cells.get(f"{letter}{i}") for letter in GENERAL.values() for i in range(EACH)]
    plain = [float(v) if isinstance(v, float) else v for v in general]
    return (tag, event.start_time, event.end_time, number, *plain)


def case_runner(jobs: Mapping[int, tuple[Job, list[str]]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what runs, in one shard of Spark, every case that came to it as a shard of its own."""
    fixed = list(FIXED)

    # A function inside a function travels by value: workers cannot import the tests.
    def run_cases(batches: Iterator[Any]) -> Iterator[Any]:
        parts = [batch for batch in batches if batch.num_rows]
        table = pa.Table.from_batches(parts) if parts else None
        for number in [] if table is None else pc.unique(table["run"]).to_pylist():
            job, names = jobs[number]
            mine = table.filter(pc.equal(table["run"], number))
            own = mine.select([*fixed, *names]).rename_columns([*fixed, *(f"s{i}" for i in range(len(names)))])
            for batch in run_shard(job, own.to_batches(3)):
                first = pa.array([number] * batch.num_rows, pa.int32())
                yield pa.RecordBatch.from_arrays([first, *batch.columns], names=["run", *batch.schema.names])

    return run_cases


def test_cases(spark: Any) -> None:
    flat = [case for case in all_cases() if is_flat(case)]
    runs = [run for case in flat[::3] for policy in case.policies if (run := plan_run(case, policy)) is not None]
    assert len({run.case.id for run in runs}) > len(flat) / 5
    jobs = {i: (run.plan.job, general_columns(run.plan.slots.types)) for i, run in enumerate(runs)}
    df = spark.createDataFrame([(i, *row) for i, run in enumerate(runs) for row in run.rows], SCHEMA)
    found: dict[int, list[Any]] = {i: [] for i in jobs}
    for row in df.repartition(3, "run").mapInArrow(case_runner(jobs), RESULT).collect():
        found[row.run].append((row.event, json.loads(row.args), row.start, row.end))
    wrong = []
    for i, run in enumerate(runs):
        wanted = [(e.name, [to_plain(a) for a in e.args], e.start_time, e.end_time) for e in run.case.expect or ()]
        if sorted(map(repr, wanted)) != sorted(map(repr, found[i])):
            wrong.append(f"{run.case.id} ({run.policy}): {found[i]} instead of {wanted}")
    assert not wrong, "\n".join(wrong)
