"""How a program runs over DataFrames: its stages, their shards, and what travels to them. Decided on the driver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from etalis.errors import ProgramError
from etalis.language.printer import print_program
from etalis.plan.keys import Reason
from etalis.plan.stages import find_stages, one_stage
from etalis.spark.batch.job import Job
from etalis.spark.knowledge.shipped import pack
from etalis.spark.plan.shards import Sharding, Slots, assign_slots, check_shards
from etalis.spark.plan.stages import (
    StagePlan,
    find_obstacles,
    forwarded_layouts,
    made_types,
    plan_shardings,
    plan_stages,
    slot_rows,
)
from etalis.tables.knowledge import program_answers
from etalis.tables.plan import ResultForm, declared_types, plan_input, plan_output
from etalis.tables.schema import Frame, Layout, Options, TableSchema
from etalis.tables.sorting import MEGABYTE, USUAL_MEMORY

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


@dataclass(frozen=True, slots=True)
class DetectionPlan:
    """All that is decided before a job starts; `job` is the whole program's, `sharding` that of the last stage."""

    frames: tuple[Frame, ...]
    slots: Slots
    stages: tuple[StagePlan, ...]
    job: Job
    has_time_points: bool

    @property
    def sharding(self) -> Sharding:
        return self.stages[-1].sharding

    @property
    def merged(self) -> bool:
        """Whether equal results of several shards are to be made one."""
        return any(stage.sharding.merged for stage in self.stages)


def plan_detection(
    program: CompiledProgram, given: Sequence[TableSchema], options: Options, form: ResultForm, *, policy: str | None,
    shards: int | None, usual: int, staged: bool = False, memory: int = USUAL_MEMORY, refreshed: Collection[str] = (),
    strict: bool = False, effects: str | None = None,
) -> DetectionPlan:  # fmt: skip
    """Decide how a program runs over some DataFrames, or refuse what does not fit; `staged` allows several stages.

    Tables of facts that are `refreshed` may have other types later.
    """
    if refused := tuple(program.refuse_taking_back("on Spark")):
        raise ProgramError(*refused)
    intake = plan_input(program, given, options, policy)
    heads, frames, layouts = intake.heads, intake.frames, intake.layouts
    several = staged and (usual if shards is None else shards) != 1
    stages = find_stages(heads, program.tree, find_obstacles(program), several=several)
    check_shards(shards, stages.obstacles)
    forwarded = forwarded_layouts(stages, made_types(heads, intake.received, declared_types(program)))
    shardings = plan_shardings(stages, layouts, forwarded, shards, usual)
    if form.contributors:
        shardings = [_unmerged(sharding, _TOLD_APART) for sharding in shardings]
    if program.reactions:
        shardings = [_unmerged(sharding, _RAISED) for sharding in shardings]
    if len(shardings) > 1 and all(each.shards == 1 for each in shardings):
        stages = one_stage(heads, stages)
        forwarded, shardings = [], plan_shardings(stages, layouts, [], shards, usual)
    slots = assign_slots(frames, forwarded)
    atom = any(each.merged for each in shardings)
    answers = program_answers(program, refreshed=refreshed)
    output = plan_output(program, intake, form, options.unit, atom=atom, answers=answers)
    rows = slot_rows(slots, {x.tag for x in layouts})
    text, told = print_program(program.written), pack(program)
    settings = replace(intake.settings, max_ahead=None)  # a shard knows nothing of the times of others
    job = Job(
        text, settings, rows, intake.made, options.unit, output, told, memory * MEGABYTE, strict=strict,
        effects=effects, name=program.name,
    )  # fmt: skip
    plans = plan_stages(stages, shardings, job, slots, [head.label for head in heads])
    return DetectionPlan(frames, slots, plans, job, stages.has_time_points)


_TOLD_APART = "contributors are told, and equal events of several shards have others"
_RAISED = "equal events of several shards would be made one, and what reactions raise occurs as often as they say"


def _unmerged(sharding: Sharding, why: str) -> Sharding:
    """Return a sharding in which equal events of several shards, which are not to be made one, cannot be."""
    if not sharding.merged:
        return sharding
    keys: tuple[tuple[Layout, tuple[()]], ...] = tuple((layout, ()) for layout, _ in sharding.keys)
    return replace(sharding, shards=1, keys=keys, merged=False, reasons=(*sharding.reasons, Reason(None, why)))
