"""A plan in words: shards and keys, why rows stay together, how ties are ordered, what comes back."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.plan.keys import show
from etalis.spark.batch import Plan


def describe(plan: Plan) -> str:
    """Return the lines that `explain` shows."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    sharding = plan.sharding
    yield "1 shard" if sharding.shards == 1 else f"{sharding.shards} shards"
    for layout, columns in sharding.keys:
        by = ", ".join(column for column, _ in columns)
        yield f"  {show(layout.kind)}: " + (f"parted by {by}" if by else "all rows in one shard")
    yield from (f"  {reason}" for reason in sharding.reasons)
    if sharding.merged:
        yield "  equal events of several shards are merged"
    order = plan.frames[0].order
    tie = "the standard order of the events" if order is None else f"{order}, then the standard order of the events"
    yield f"rows of equal time are taken in the order of {tie}"
    yield f"results: {plan.job.output.ddl}"
