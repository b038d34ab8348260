"""Spark's part played in the process: rows into shards by key, stage after stage, over the code that workers run.

Gives thousands of runs a minute where a job takes a second; the jobs themselves are tested in `tests/spark`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

import etalis
from etalis.data.values import order_key, to_value
from etalis.formats.roles import signatures_read
from etalis.spark.batch.shard import run_shard
from etalis.spark.batch.stage_schema import RESULT
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.spark.plan.stages import StagePlan
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema
from etalis.tables.sorting import END, ID, ORDER, START, TAG
from etalis.temporal.event import Event
from helpers.cases import attribute_columns

SPARK_TYPES = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
Found = list[tuple[str, Any, int, int, str]]  # name, attributes as JSON, start, end, rule


def column_type(values: Sequence[Any]) -> str | None:
    """The one type of a column's values; None if there are several, or terms."""
    kinds = {"string" if isinstance(v, str) else "double" if isinstance(v, float) else
             "bigint" if isinstance(v, int) else "term" for v in values if v != "null"}  # fmt: skip
    found = kinds.pop() if len(kinds) == 1 else "string" if not kinds else None
    return None if found == "term" else found


def plan_events(
    program: etalis.Program, events: Sequence[Event], *, policy: str | None, shards: int, ordered: bool, staged: bool,
    contributors: bool = False,
) -> DetectionPlan | None:  # fmt: skip
    """Plan a program over one frame per kind; None if an attribute has values of two types."""
    known = program.compiled
    read = {signature.kind for signature in signatures_read(known)}
    alike: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if (event.name, len(event.args)) in read:
            alike.setdefault((event.name, len(event.args)), []).append(event)
    given = []
    for (name, arity), several in alike.items():
        types = [column_type([e.args[i] for e in several]) for i in range(arity)]
        if None in types:
            return None
        columns = {"t1": "bigint", "t2": "bigint", "n": "int", **({"row": "string"} if contributors else {})}
        columns |= attribute_columns(several, types)
        given.append(TableSchema(columns, f"{name}/{arity}"))
    if not given:
        return None
    row_id = "row" if contributors else None
    options = Options(time=("t1", "t2"), order="n" if ordered else None, unit="us", id=row_id)
    form = ResultForm(envelope=True, contributors=contributors)
    if ordered:
        return plan_detection(known, given, options, form, policy=policy, shards=shards, usual=shards, staged=staged)
    bare = [TableSchema({c: t for c, t in g.columns.items() if c != "n"}, g.event) for g in given]
    return plan_detection(known, bare, options, form, policy=policy, shards=shards, usual=shards, staged=staged)


def make_table(plan: DetectionPlan, events: Sequence[Event], ordered: bool, ids: Sequence[str] | None) -> pa.Table:
    """The rows as they leave `_project`."""
    places = {layout.tag: places for layout, places in plan.slots.places}
    tags = [f"{e.name}/{len(e.args)}" for e in events]
    columns: dict[str, pa.Array] = {
        TAG: pa.array(tags, pa.string()),
        START: pa.array([e.start_time for e in events], pa.int64()),
        END: pa.array([e.end_time for e in events], pa.int64()),
    }
    if ordered:
        columns[ORDER] = pa.array(range(len(events)), pa.int64())
    if ids is not None:
        columns[ID] = pa.array(ids, pa.string())
    cells: list[list[Any]] = [[None] * len(events) for _ in plan.slots.types]
    for row, (tag, event) in enumerate(zip(tags, events, strict=True)):
        for place, value in zip(places.get(tag, ()), event.args, strict=tag in places):
            cells[place][row] = None if value == "null" else float(value) if isinstance(value, float) else value
    for i, slot_type in enumerate(plan.slots.types):
        columns[f"s{i}"] = pa.array(cells[i], SPARK_TYPES[slot_type])
    return pa.table(columns)


def _shard_of(stage: StagePlan, plan: DetectionPlan, row: dict[str, Any]) -> int:
    """The shard of a row: a function of its key, in the language's sense of equal."""
    places = {layout.tag: places for layout, places in plan.slots.places}
    for layout, keys in stage.sharding.keys:
        if layout.tag == row[TAG]:
            values = [row[f"s{places[layout.tag][layout.columns.index(column)]}"] for column, _ in keys]
            return (
                sum(map(ord, repr([v if v != v else order_key(to_value(v)) for v in values]))) % stage.sharding.shards
            )
    if row[TAG] is None or row[TAG] in plan.job.made:  # to be refused
        return 0
    assert row[TAG] == RESULT or row[TAG] in stage.job.passing
    return hash(repr(row)) % stage.sharding.shards


def shuffle(tables: Sequence[pa.Table], stage: StagePlan, plan: DetectionPlan) -> list[list[pa.RecordBatch]]:
    """Rows of tables, by shard of a stage."""
    united = pa.concat_tables(tables, promote_options="default")
    numbers = [_shard_of(stage, plan, row) for row in united.to_pylist()]
    parts = [[i for i, n in enumerate(numbers) if n == shard] for shard in range(stage.sharding.shards)]
    return [united.take(pa.array(part, pa.int64())).to_batches(5) if part else [] for part in parts]


def run_shuffled(plan: DetectionPlan, events: Sequence[Event], *, ordered: bool, over_columns: bool = True) -> Found:
    """Everything that a plan finds in events, whatever order they are in."""
    results = run_rows(plan, events, ordered=ordered, over_columns=over_columns)
    matches = [(r["event"], json.loads(r["args"]), r["start"], r["end"], r["rule"], r.get("_atom")) for r in results]
    if plan.merged:
        matches = list({(atom, start, end): row for row in matches for _, _, start, end, _, atom in [row]}.values())
    return sorted((row[:5] for row in matches), key=repr)


def run_rows(
    plan: DetectionPlan, events: Sequence[Event], *, ordered: bool, over_columns: bool = True,
    ids: Sequence[str] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The rows of results that a plan gives for events, which have ids where a plan tells contributors."""
    rows = make_table(plan, events, ordered, ids)
    tables: list[pa.Table] = []
    for stage in plan.stages:
        is_mine = pa.array([tag in stage.tags for tag in rows[TAG].to_pylist()], pa.bool_())
        shards = shuffle([rows.filter(is_mine), *tables], stage, plan)
        job = replace(stage.job, over_columns=over_columns)
        found = [batch for shard in shards for batch in run_shard(job, iter(shard))]
        tables = [pa.Table.from_batches([batch]) for batch in found]
    return [row for table in tables for row in table.to_pylist()]
