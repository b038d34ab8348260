"""A batch job whose bad rows are set aside: what its tasks are told, and the jobs that look for such rows.

Decided on the driver. A bound on how far ahead rows may lie needs one look at all times, by buckets of that width: what
lies behind the first gap is too far ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any
from uuid import uuid4

from etalis.spark.batch.build import project
from etalis.spark.batch.rejections import RAW, REJECTED, Rejects, find_gap, tell_buckets, tell_rejected
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.plan.shards import quoted
from etalis.spark.stream.state_store import open_folder
from etalis.tables.column_types import base_of
from etalis.tables.schema import refuse

_NO_ARROW = ("variant", "interval", "void")


@dataclass(frozen=True, slots=True)
class Rejecting:
    """What the caller says of rows that cannot be taken: where they go, how many, how far ahead is too far."""

    folder: str | None = None
    most: Any = None
    ahead: int | None = None


def reject(frames: Sequence[Any], plan: DetectionPlan, given: Rejecting) -> DetectionPlan:
    """Return a plan whose tasks set rows aside, as far as the caller wants it."""
    if given.most is not None and (isinstance(given.most, bool) or not isinstance(given.most, int) or given.most < 0):
        raise refuse("E605", f"max_rejected is {given.most!r}", "give a number of rows: max_rejected=100")
    if given.folder is None:
        if given.most is not None:
            hint = 'say where they go: rejected="folder"'
            raise refuse("E605", "max_rejected counts rows that are set aside", hint)
        latest = _latest(frames, plan, given.ahead)
        return plan if latest is None else _with(plan, ahead=given.ahead, latest=latest, refuses=True)
    open_folder(given.folder)  # what cannot be opened is refused here, not by the first task
    latest = _latest(frames, plan, given.ahead)
    told = {"folder": given.folder, "call": uuid4().hex[:12], "most": given.most}
    return _with(plan, **told, ahead=given.ahead or 0, latest=latest)


def leave_out(plan: DetectionPlan) -> DetectionPlan:
    """Return a plan whose tasks leave rows out that cannot be taken."""
    return _with(plan)


def find_rejected(frames: Sequence[Any], plan: DetectionPlan, ahead: int | None) -> Any:
    """Return a DataFrame of the rows that cannot be taken."""
    from pyspark.sql import functions as f

    known = _with(plan, ahead=ahead or 0, latest=_latest(frames, plan, ahead))
    found = []
    for df, frame in zip(frames, plan.frames, strict=True):
        kept = [f.col(quoted(name)) for name, kind in df.dtypes if base_of(kind) not in _NO_ARROW]
        rows = project(df, frame, plan, whole=f.struct(*kept).alias(RAW))
        if rows is not None:
            found.append(rows.mapInArrow(partial(tell_rejected, known.job), REJECTED))
    return reduce(lambda a, b: a.unionByName(b), found)


def _with(plan: DetectionPlan, **told: Any) -> DetectionPlan:
    """Return a plan with what becomes of rows that cannot be taken; the first stage to read a row tells it."""
    received = {rows.tag for rows in plan.job.rows}
    layouts = tuple(
        (x.tag, tuple(zip(x.columns, places, strict=True))) for x, places in plan.slots.places if x.tag in received
    )
    rejects = Rejects(layouts, **told)
    stages = []
    for number, stage in enumerate(plan.stages, 1):
        mine = stage.tags.difference(*(earlier.tags for earlier in plan.stages[: number - 1]))
        own = replace(
            rejects, stage=number, told=None if len(plan.stages) == 1 else mine, layouts=_of(layouts, stage.tags)
        )
        stages.append(replace(stage, job=replace(stage.job, rejects=own)))
    return replace(plan, job=replace(plan.job, rejects=rejects), stages=tuple(stages))


def _of(layouts: Iterable[Any], tags: frozenset[str]) -> tuple[Any, ...]:
    return tuple(each for each in layouts if each[0] in tags)


def _latest(frames: Sequence[Any], plan: DetectionPlan, ahead: int | None) -> int | None:
    """Return the latest time before a gap of more than `ahead`, if there is one, by a job that looks at all rows."""
    if ahead is None:
        return None
    from pyspark.sql import functions as f

    job, width = _with(plan).job, max(1, ahead)
    parts = [project(df, frame, plan) for df, frame in zip(frames, plan.frames, strict=True)]
    several = [
        part.mapInArrow(partial(tell_buckets, job, width), "bucket bigint, least bigint, most bigint")
        for part in parts
        if part is not None
    ]
    united = reduce(lambda a, b: a.unionByName(b), several)
    rows = united.groupBy("bucket").agg(f.min("least").alias("least"), f.max("most").alias("most"))
    return find_gap([(row.least, row.most) for row in rows.select("least", "most").collect()], ahead)
