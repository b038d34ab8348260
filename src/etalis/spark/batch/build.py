"""A batch DataFrame of events to a DataFrame of complex events: project, shuffle by key, run the engine in every shard.

Everything is decided and checked on the driver before a job starts; what travels to the shards is the program's text
and plain data. Law: the result is that of one engine on the whole stream, whatever the number of shards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial, reduce
from typing import Any

from etalis.spark.batch.shard import run_shard
from etalis.spark.batch.stage_schema import STEP, derived_columns, result_columns
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.plan.shards import Slots, key_columns, quoted
from etalis.spark.plan.stages import StagePlan
from etalis.spark.time_types import travel
from etalis.tables.column_types import time_transport, transport
from etalis.tables.schema import Frame
from etalis.tables.sorting import END, ID, NO_EVENT, ORDER, START, TAG


def build(
    spark: Any,
    frames: Sequence[Any],
    plan: DetectionPlan,
    run: Callable[..., Any] = run_shard,
    schema: str | None = None,
) -> Any:
    """Put a plan together: a DataFrame that runs `run` over every shard, stage after stage.

    Each stage reads the rows that it needs, and all that the one before hands on.
    """
    df: Any = None
    for stage in plan.stages:
        rows = received(frames, plan, stage, is_first=df is None)
        if plan.has_time_points:
            rows = rows.unionByName(_lone_row(spark, rows))
        both = [part for part in (df, rows) if part is not None]
        united = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), both)
        columns = (schema or plan.job.output.ddl) if stage.job.is_last else wire_columns(plan)
        df = _shuffled(united, plan, stage).mapInArrow(partial(run, stage.job), columns)
    return df


def wire_time(frames: Sequence[Frame]) -> str:
    """Return the type in which time travels: one for all frames."""
    return time_transport([t for frame in frames for t in frame.time_types])


def wire_columns(plan: DetectionPlan) -> str:
    """Return the columns that travel between stages."""
    moment = wire_time(plan.frames)
    columns = {TAG: "string", START: moment}
    columns |= {END: moment} if _has_end(plan) else {}
    order = next((frame.order_type for frame in plan.frames if frame.order_type is not None), None)
    columns |= {} if order is None else {ORDER: transport(order)}
    columns |= {ID: "string"} if _has_ids(plan) else {}
    columns |= {f"s{i}": slot_type for i, slot_type in enumerate(plan.slots.types)}
    columns |= {**derived_columns(plan.job.output), **result_columns(plan.job.output)}
    return ", ".join(f"`{name}` {column_type}" for name, column_type in columns.items())


def _has_end(plan: DetectionPlan) -> bool:
    return any(len(frame.times) == 2 for frame in plan.frames)


def _has_ids(plan: DetectionPlan) -> bool:
    return plan.job.output.contributors and any(frame.id is not None for frame in plan.frames)


def _shuffled(rows: Any, plan: DetectionPlan, stage: StagePlan) -> Any:
    """Bring rows together that a shard must have together."""
    return rows.repartition(stage.sharding.shards, *shuffle_keys(rows, plan, stage))


def shuffle_keys(rows: Any, plan: DetectionPlan, stage: StagePlan) -> list[Any]:
    """Return what rows of a stage are shuffled by, nothing if it has one shard; what passes through goes anywhere."""
    from pyspark.sql import functions as f

    if stage.sharding.shards == 1:
        return []
    keys = key_columns(stage.sharding, plan.slots)
    if STEP in rows.columns:
        several = [f.col(name) for name in (STEP, *result_columns(plan.job.output))]
        mine = [layout.tag for layout, _ in stage.sharding.keys]
        keys.append(f.when(~f.col(TAG).isin(mine), f.hash(*several)))
    return keys


def received(frames: Sequence[Any], plan: DetectionPlan, stage: StagePlan, *, is_first: bool) -> Any:
    """Unite the rows of all frames that a stage reads; None if it reads none. The first sees what is to be refused."""
    both = zip(frames, plan.frames, strict=True)
    parts = [project(df, frame, plan, stage.tags, is_first=is_first) for df, frame in both]
    found = [part for part in parts if part is not None]
    return reduce(lambda a, b: a.unionByName(b), found) if found else None


def project(
    df: Any,
    frame: Frame,
    plan: DetectionPlan,
    tags: Collection[str] | None = None,
    *,
    is_first: bool = True,
    whole: Any = None,
) -> Any:
    """Select what the engine needs of one frame, under the names that all frames share: rows of some tags, or all.

    None if the frame has none of these; the first to read it also takes the rows that are to be refused. A column of
    `whole` rows goes along.
    """
    from pyspark.sql import functions as f

    mine = [layout.tag for layout in frame.layouts if tags is None or layout.tag in tags]
    if not mine and not (is_first and frame.event is not None):
        return None
    if frame.event is not None:
        named = f.col(quoted(frame.event))
        wanted = named.isin(mine + list(plan.job.made)) | named.isNull() if is_first else named.isin(mine)
        df = df.where(_strictly(named, wanted, frame) if is_first and plan.job.strict else wanted)
    tag = f.lit(mine[0]) if frame.event is None else f.col(quoted(frame.event))
    moment = wire_time(plan.frames)
    times = [travel(f.col(quoted(c)), t, moment) for c, t in zip(frame.times, frame.time_types, strict=True)]
    columns = [tag.alias(TAG), times[0].alias(START)]
    columns += [times[-1].alias(END)] if _has_end(plan) else []
    if frame.order is not None and frame.order_type is not None:
        columns.append(f.col(quoted(frame.order)).cast(transport(frame.order_type)).alias(ORDER))
    if _has_ids(plan):
        columns.append((f.lit(None) if frame.id is None else f.col(quoted(frame.id))).cast("string").alias(ID))
    sources = _sources(frame, plan.slots)
    for i, slot_type in enumerate(plan.slots.types):
        value = f.col(quoted(sources[i])) if i in sources else f.lit(None)
        columns.append(value.cast(slot_type).alias(f"s{i}"))
    return df.select(*columns, *([] if whole is None else [whole]))


def _strictly(named: Any, wanted: Any, frame: Frame) -> Any:
    """Return which rows are wanted, as a column that fails at an event that no rule reads."""
    from pyspark.sql import functions as f

    tags = [layout.tag for layout in frame.layouts]
    told = f.concat(f.lit("error E330: no rule reads "), named, f.lit(f"; rules read {', '.join(tags)}"))
    known = f.when(wanted, f.lit(True)).when(named.isin(tags), f.lit(False))
    return known.otherwise(f.raise_error(told).cast("boolean"))


def _sources(frame: Frame, slots: Slots) -> dict[int, str]:
    mine = {id(layout) for layout in frame.layouts}
    return {
        i: c
        for layout, places in slots.places
        if id(layout) in mine
        for i, c in zip(places, layout.columns, strict=True)
        if c not in frame.spared
    }


def _lone_row(spark: Any, like: Any) -> Any:
    """Return a row without event: time points happen also where nothing was received."""
    from pyspark.sql import functions as f

    values = [
        (f.lit(NO_EVENT) if field.name == TAG else f.lit(None)).cast(field.dataType).alias(field.name)
        for field in like.schema
    ]
    return spark.range(1).select(*values)


def finish(df: Any, plan: DetectionPlan) -> Any:
    """Merge equal events of several shards."""
    return df.dropDuplicates(["_atom", "start", "end"]).drop("_atom") if plan.merged else df
