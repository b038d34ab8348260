"""A plan in words: stages, shards and keys, which rules run over columns, how ties are ordered, what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from etalis.plan.keys import show
from etalis.spark.batch.job import load
from etalis.spark.execution_mode import MANY, describe_mode, run_columns, stage_reasons
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.plan.shards import Sharding
from etalis.spark.plan.stages import StagePlan


def describe(plan: DetectionPlan, *, is_stream: bool = False) -> str:
    """Return the lines that `explain` shows."""
    return "\n".join(_lines(plan, is_stream))


def _lines(plan: DetectionPlan, is_stream: bool) -> Iterator[str]:
    is_staged = len(plan.stages) > 1
    for number, stage in enumerate(plan.stages, 1):
        shards = _counted(stage.sharding.shards, "shard")
        yield f"stage {number} of {len(plan.stages)}: {shards}, {_listed(stage.rules)}" if is_staged else shards
        yield from _sharding(stage.sharding, {forward.tag for forward in stage.job.incoming})
        yield from (f"  {line}" for line in _mode(plan, stage, is_stream))
    order = plan.frames[0].order
    tie = "the standard order of the events" if order is None else f"{order}, then the standard order of the events"
    yield f"rows of equal time are processed in the order of {tie}"
    yield f"results: {plan.job.output.ddl}"


def _sharding(sharding: Sharding, derived: set[str]) -> Iterator[str]:
    for layout, columns in sharding.keys:
        kind = show(layout.kind) + (", derived by an earlier stage" if layout.tag in derived else "")
        by = ", ".join(column for column, _ in columns)
        yield f"  {kind}: " + (f"partitioned by {by}" if by else "all rows in one shard")
    yield from (f"  {reason}" for reason in sharding.reasons)
    if sharding.merged:
        yield "  equal events of several shards are merged"


def _mode(plan: DetectionPlan, stage: StagePlan, is_stream: bool) -> list[str]:
    """Say which rules run over columns, and which event at a time and why."""
    if len(plan.stages) > 1:
        reasons: tuple[str, ...] = ("stages of a stream keep what they know event at a time",)
        if not is_stream:
            reasons = stage_reasons(stage.job, run_columns(stage.job, load(stage.job)))
        mode = "event at a time" if reasons else "over columns"
        return [f"{mode}: {_listed(stage.rules)}", *(f"  {reason}" for reason in reasons)]
    run = run_columns(plan.job, load(plan.job), carried=is_stream)
    lines = describe_mode(plan.job, run)
    if is_stream and run is not None and run.components:
        lines[0] += f", where a batch brings {MANY} rows or more to a shard"
    return lines


def _listed(rules: Sequence[str]) -> str:
    return f"{'rule' if len(rules) == 1 else 'rules'} {', '.join(rules)}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
