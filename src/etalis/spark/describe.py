"""A plan in words: stages, shards and keys, why rows stay together, how ties are ordered, what comes back."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.plan.keys import show
from etalis.spark.batch import Plan
from etalis.spark.sharding import Sharding


def describe(plan: Plan) -> str:
    """Return the lines that `explain` shows."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    is_staged = len(plan.stages) > 1
    for number, stage in enumerate(plan.stages, 1):
        shards = _counted(stage.sharding.shards, "shard")
        rules = f"{'rule' if len(stage.rules) == 1 else 'rules'} {', '.join(stage.rules)}"
        yield f"stage {number} of {len(plan.stages)}: {shards}, {rules}" if is_staged else shards
        yield from _sharding(stage.sharding, {forward.tag for forward in stage.relayed.incoming})
    order = plan.frames[0].order
    tie = "the standard order of the events" if order is None else f"{order}, then the standard order of the events"
    yield f"rows of equal time are taken in the order of {tie}"
    yield f"results: {plan.job.output.ddl}"


def _sharding(sharding: Sharding, derived: set[str]) -> Iterator[str]:
    for layout, columns in sharding.keys:
        kind = show(layout.kind) + (", made before" if layout.tag in derived else "")
        by = ", ".join(column for column, _ in columns)
        yield f"  {kind}: " + (f"parted by {by}" if by else "all rows in one shard")
    yield from (f"  {reason}" for reason in sharding.reasons)
    if sharding.merged:
        yield "  equal events of several shards are merged"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
