"""Stages on Spark: for each its shards and keys, the rows it reads, and what travels to it and from it.

Decided on the driver, from the stages of `plan.stages` and the columns of the frames.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from etalis.plan import algebra as p
from etalis.plan.keys import Reason
from etalis.plan.stages import Stages
from etalis.plan.types import Types, infer_types
from etalis.spark.batch.feed import Rows
from etalis.spark.batch.job import Job
from etalis.spark.batch.stage_schema import TRANSPORT, forward_tag
from etalis.spark.plan.shards import Sharding, Slots, plan_shards
from etalis.tables.schema import TEXT, Layout

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage: its rules by name, how its rows are shuffled, which received rows it reads, what its shards do."""

    rules: tuple[str, ...]
    sharding: Sharding
    tags: frozenset[str]
    job: Job


def find_obstacles(program: CompiledProgram) -> list[Reason]:
    """Return what keeps a program together that is not seen in its rules."""
    if program.settings.store_fired_events:
        return [Reason(None, "what is reported is kept, and goals may query it")]
    if program.settings.revision:
        return [Reason(None, "events can be retracted")]
    return []


def made_types(heads: Sequence[p.Head], received: Types, declared: Types) -> Types:
    """Return types that are certain, also of events that rules make: their declarations are the author's word only."""
    made = {head.kind for head in heads}
    return infer_types(heads, received, {kind: types for kind, types in declared.items() if kind not in made})


def forwarded_layouts(stages: Stages, types: Types) -> list[Layout]:
    """Return how derived events travel that later stages read."""
    found = []
    for kind in dict.fromkeys(kind for stage in stages.stages for kind in stage.forwarded):
        columns = tuple(f"attribute {i + 1}" for i in range(kind[1]))
        slot_types = tuple(TRANSPORT.get(t, "string") for t in types[kind])
        known = tuple(t if t in TRANSPORT else TEXT for t in types[kind])
        found.append(Layout(forward_tag(kind), kind, columns, slot_types, known))
    return found


def plan_shardings(
    stages: Stages, layouts: Sequence[Layout], forwarded: Sequence[Layout], asked: int | None, usual: int
) -> list[Sharding]:
    """Choose keys and shards for every stage."""
    found = []
    for number, stage in enumerate(stages.stages):
        earlier = {kind for before in stages.stages[:number] for kind in before.forwarded}
        mine = [x for x in layouts if x.kind in stage.read or len(stages.stages) == 1]
        mine += [x for x in forwarded if x.kind in stage.read and x.kind in earlier]
        found.append(plan_shards(stage, stages.obstacles, mine, asked, usual))
    return found


def slot_rows(slots: Slots, tags: Collection[str]) -> tuple[Rows, ...]:
    """Return how rows of some tags become events."""
    return tuple(
        Rows(layout.tag, layout.kind[0], places, layout.attribute_types, layout.background)
        for layout, places in slots.places
        if layout.tag in tags
    )


def plan_stages(
    stages: Stages, shardings: Sequence[Sharding], job: Job, slots: Slots, labels: Sequence[str]
) -> tuple[StagePlan, ...]:
    """Say what the shards of every stage do."""
    received = {rows.tag for rows in job.rows}
    plans = []
    for number, (stage, sharding) in enumerate(zip(stages.stages, shardings, strict=True)):
        tags = frozenset(layout.tag for layout, _ in sharding.keys)
        own = replace(
            job,
            rows=slot_rows(slots, tags & received),
            rules=stage.rules if len(shardings) > 1 else None,
            incoming=slot_rows(slots, tags - received),
            outgoing=slot_rows(slots, {forward_tag(kind) for kind in stage.forwarded}),
            passing=_passing(stages, number),
            is_last=number == len(shardings) - 1,
        )
        rules = tuple(dict.fromkeys(labels[i] for i in stage.rules))
        plans.append(StagePlan(rules, sharding, tags & received, own))
    return tuple(plans)


def _passing(stages: Stages, number: int) -> frozenset[str]:
    """Return the tags of what stages before a stage make and stages after it read."""
    made = {kind for before in stages.stages[:number] for kind in before.forwarded}
    return frozenset(forward_tag(kind) for after in stages.stages[number + 1 :] for kind in after.read if kind in made)
