"""A batch DataFrame of events to a DataFrame of complex events: project, shuffle by key, run the engine in every shard.

Everything is decided and checked on the driver before a job starts; what travels to the shards is the program's text
and plain data. Law: the result is that of one engine on the whole stream, whatever the number of shards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from etalis.formats.roles import Signature
from etalis.formats.row import UNITS
from etalis.language.check.effects import find_unplanned
from etalis.language.flags import Settings
from etalis.language.printer import print_program
from etalis.language.rules import attribute_variables, declarations, knowledge_changes
from etalis.language.syntax import Const
from etalis.plan import algebra as p
from etalis.plan.answers import Answers
from etalis.plan.keys import Kind, show
from etalis.plan.lattice import TERM
from etalis.plan.stages import find_stages, one_stage
from etalis.plan.types import Types, infer_types
from etalis.spark.batch.shard import Job
from etalis.spark.batch.stage import run_stage
from etalis.spark.batch.stage_schema import COLUMNS, STEP, result_columns
from etalis.spark.knowledge.shipped import pack
from etalis.spark.plan.shards import Sharding, check_shards, key_columns, quoted
from etalis.spark.plan.stages import (
    StagePlan,
    find_obstacles,
    forwarded_layouts,
    made_types,
    plan_shardings,
    plan_stages,
    slot_rows,
)
from etalis.spark.time_types import shown, travel, travelling
from etalis.tables.column_types import transport
from etalis.tables.results.knowledge_types import program_answers
from etalis.tables.results.output import Output, make_envelope, make_selected, make_wide, with_contributors
from etalis.tables.schema import (
    Frame,
    Given,
    Layout,
    Options,
    Slots,
    assign_slots,
    read_frames,
    refuse,
)
from etalis.tables.sorting import END, ID, MEGABYTE, NO_EVENT, ORDER, START, TAG, USUAL_MEMORY
from etalis.temporal.interval import to_microseconds

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


@dataclass(frozen=True, slots=True)
class Form:
    """Which form the results have: one kind, an envelope, or all kinds; with their ids, and what they are made of."""

    select: str | None = None
    envelope: bool = False
    contributors: bool = False
    match_id: bool = True


@dataclass(frozen=True, slots=True)
class Intake:
    """What comes in: the planned rules, the columns of each frame, and the names of events that rules make."""

    settings: Settings
    heads: tuple[p.Head, ...]
    frames: tuple[Frame, ...]
    made: tuple[str, ...]

    @property
    def layouts(self) -> list[Layout]:
        return [layout for frame in self.frames for layout in frame.layouts]

    @property
    def received(self) -> Types:
        """The types of what comes in."""
        return _united((x.kind, x.attribute_types) for x in self.layouts)

    @property
    def results(self) -> Types:
        """The types in which what comes in goes out as it is."""
        return _united((x.kind, x.result_types) for x in self.layouts)


def _united(kinds: Iterable[tuple[Kind, tuple[str, ...]]]) -> Types:
    """Return the types of kinds that may come from several frames."""
    found: dict[Kind, tuple[str, ...]] = {}
    for kind, types in kinds:
        known = found.get(kind, types)
        found[kind] = tuple(a if a == b else TERM for a, b in zip(known, types, strict=True))
    return found


@dataclass(frozen=True, slots=True)
class Plan:
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
    program: CompiledProgram,
    given: Sequence[Given],
    options: Options,
    form: Form,
    *,
    policy: str | None,
    shards: int | None,
    usual: int,
    staged: bool = False,
    memory: int = USUAL_MEMORY,
    refreshed: Collection[str] = (),
    strict: bool = False,
) -> Plan:
    """Decide how a program runs over some DataFrames, or refuse what does not fit; `staged` allows several stages.

    Tables of facts that are `refreshed` may have other types later.
    """
    intake = plan_intake(program, given, options, policy)
    heads, frames, layouts = intake.heads, intake.frames, intake.layouts
    several = staged and not form.contributors and (usual if shards is None else shards) != 1
    stages = find_stages(heads, program.tree, find_obstacles(program), several=several)
    check_shards(shards, stages.obstacles)
    forwarded = forwarded_layouts(stages, made_types(heads, intake.received, _declared(program)))
    shardings = plan_shardings(stages, layouts, forwarded, shards, usual)
    if len(shardings) > 1 and all(each.shards == 1 for each in shardings):
        stages = one_stage(heads, stages)
        forwarded, shardings = [], plan_shardings(stages, layouts, [], shards, usual)
    if form.contributors and any(each.merged for each in shardings):  # equal events have other contributors elsewhere
        shardings = plan_shardings(stages, layouts, [], 1, 1)
    slots = assign_slots(frames, forwarded)
    atom = any(each.merged for each in shardings)
    answers = program_answers(program, refreshed=refreshed)
    output = plan_output(program, intake, form, options.unit, atom=atom, answers=answers)
    rows = slot_rows(slots, {x.tag for x in layouts})
    text, told = print_program(program.tree), pack(program)
    settings = replace(intake.settings, max_ahead=None)  # a shard knows nothing of the times of others
    job = Job(text, settings, rows, intake.made, options.unit, output, told, memory * MEGABYTE, strict=strict)
    plans = plan_stages(stages, shardings, job, slots, [head.label for head in heads])
    return Plan(frames, slots, plans, job, stages.has_time_points)


def plan_intake(
    program: CompiledProgram, given: Sequence[Given | Frame], options: Options, policy: str | None
) -> Intake:
    """Decide which columns become which events, or refuse what does not fit; of a frame that is decided."""
    unplanned = find_unplanned(program.tree)
    if unplanned is not None:
        hint = "write the rules into the program's text, and report events that rules make"
        raise refuse("E610", f"the columns of the results cannot be told: {unplanned}", hint)
    settings, heads = program.settings_under(policy), program.plans(policy)
    known = _signatures(heads, program)
    made = tuple(s.kind[0] for s in known if s.made)
    return Intake(settings, heads, read_frames(given, known, options), made)


def plan_output(
    program: CompiledProgram, intake: Intake, form: Form, unit: str, *, atom: bool = False,
    answers: Answers | None = None,
) -> Output:  # fmt: skip
    """Choose the columns of the results; with the `atom` if equal results are to be made one.

    `answers` tell the types of what facts bind; without them they are those that the program has now.
    """
    known = program_answers(program) if answers is None else answers
    types = infer_types(intake.heads, intake.results, _declared(program), known)
    time = _time_type(intake.frames, intake.heads, unit)
    output = _output(program, intake.heads, types, form, time, unit, atom)
    return with_contributors(output) if form.contributors else output


def _declared(program: CompiledProgram) -> dict[Kind, tuple[str, ...]]:
    """Return the types of attributes that are declared."""
    return {kind: tuple(t for _, t in d.attributes) for kind, d in declarations(program.tree).items()}


def _signatures(heads: Sequence[p.Head], program: CompiledProgram) -> list[Signature]:
    """Return the kinds that rules read, and those that change facts."""
    made = {(h.event.name, len(h.event.args)) for h in heads}
    read = dict.fromkeys(
        (node.name, len(node.args)) for head in heads for node in p.walk(head.body) if isinstance(node, p.Source)
    )
    read.update(dict.fromkeys(knowledge_changes(program.tree)))
    declared = {kind: d.attributes for kind, d in declarations(program.tree).items()}
    variables = attribute_variables(program.tree)
    return [
        Signature(kind, declared.get(kind), kind in made, variables.get(kind, ()), kind[0] in program.implied)
        for kind in read
    ]


def _time_type(frames: Sequence[Frame], heads: Sequence[p.Head], unit: str) -> str:
    """Return the type of `start` and `end`: that of the time that came in, if it holds every moment of the program."""
    found = shown([t for frame in frames for t in frame.time_types])
    if found == "bigint" and not all(_keeps_unit(head, UNITS[unit]) for head in heads):
        return "double"
    return found


def time_transport(frames: Sequence[Frame]) -> str:
    """Return the type in which time travels: one for all frames."""
    return travelling([t for frame in frames for t in frame.time_types])


def _keeps_unit(head: p.Head, unit: Fraction) -> bool:
    """Tell whether a rule makes no moment that lies between two units of time."""
    moments = [
        node.duration if isinstance(node, p.Deadline) else node.time
        for node in p.walk(head.body)
        if isinstance(node, p.Deadline | p.Tick)
    ]
    if head.alarm is not None:
        match head.alarm.when:
            case Const(value=int() | float() as when):
                moments.append(to_microseconds(when))
            case _:
                return unit <= 1
    return all(moment % unit == 0 for moment in moments)


def _output(
    program: CompiledProgram, heads: Sequence[p.Head], types: Types, form: Form, time: str, unit: str, atom: bool
) -> Output:
    """Choose the columns of the results."""
    scale = UNITS[unit]
    made = dict.fromkeys((head.event.name, len(head.event.args)) for head in heads)
    kinds = [kind for kind in made if program.is_reported(*kind) is not False]
    if form.select is not None:
        kind = _selected(form.select, kinds)
        return make_selected(kind, program.attributes[kind], types[kind], time, scale, atom)
    if form.envelope:
        return make_envelope(kinds, time, scale, atom)
    return make_wide({kind: (program.attributes[kind], types[kind]) for kind in kinds}, time, scale, atom)


def _selected(name: str, kinds: Collection[Kind]) -> Kind:
    from etalis.language.check.spelling import suggest

    found = [kind for kind in kinds if name in (kind[0], show(kind))]
    if not found:
        hint = suggest(name, {kind[0] for kind in kinds}, f"it reports {', '.join(map(show, kinds)) or 'nothing'}")
        raise refuse("E605", f"the program reports no event {name}", hint)
    if len(found) > 1:
        raise refuse("E605", f"{name} can be {' or '.join(map(show, found))}", f"say select={show(found[0])!r}")
    return found[0]


def build(spark: Any, frames: Sequence[Any], plan: Plan, run: Callable[..., Any], schema: str) -> Any:
    """Put a plan of one stage together: a DataFrame that runs `run` over every shard."""
    (stage,) = plan.stages
    rows = received(frames, plan, stage, is_first=True)
    assert rows is not None
    if plan.has_time_points:
        rows = rows.unionByName(_lone_row(spark, rows))
    return _shuffled(rows, plan, stage).mapInArrow(partial(run, plan.job), schema)


def build_stages(frames: Sequence[Any], plan: Plan) -> Any:
    """Put a plan of several stages together: each reads what it needs, and all that the one before hands on."""
    df: Any = None
    for stage in plan.stages:
        rows = received(frames, plan, stage, is_first=df is None)
        both = [part for part in (df, rows) if part is not None]
        united = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), both)
        schema = plan.job.output.ddl if stage.relayed.is_last else wire_columns(plan)
        df = _shuffled(united, plan, stage).mapInArrow(partial(run_stage, stage.relayed), schema)
    return df


def wire_columns(plan: Plan) -> str:
    """Return the columns that travel between stages."""
    moment = time_transport(plan.frames)
    columns = {TAG: "string", START: moment}
    columns |= {END: moment} if _has_end(plan) else {}
    order = next((frame.order_type for frame in plan.frames if frame.order_type is not None), None)
    columns |= {} if order is None else {ORDER: transport(order)}
    columns |= {f"s{i}": slot_type for i, slot_type in enumerate(plan.slots.types)}
    columns |= {**COLUMNS, **result_columns(plan.job.output)}
    return ", ".join(f"`{name}` {column_type}" for name, column_type in columns.items())


def _has_end(plan: Plan) -> bool:
    return any(len(frame.times) == 2 for frame in plan.frames)


def _shuffled(rows: Any, plan: Plan, stage: StagePlan) -> Any:
    """Bring rows together that a shard must have together."""
    return rows.repartition(stage.sharding.shards, *shuffle_keys(rows, plan, stage))


def shuffle_keys(rows: Any, plan: Plan, stage: StagePlan) -> list[Any]:
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


def received(frames: Sequence[Any], plan: Plan, stage: StagePlan, *, is_first: bool) -> Any:
    """Unite the rows of all frames that a stage reads; None if it reads none. The first sees what is to be refused."""
    both = zip(frames, plan.frames, strict=True)
    parts = [project(df, frame, plan, stage.tags, is_first=is_first) for df, frame in both]
    found = [part for part in parts if part is not None]
    return reduce(lambda a, b: a.unionByName(b), found) if found else None


def project(
    df: Any, frame: Frame, plan: Plan, tags: Collection[str] | None = None, *, is_first: bool = True, whole: Any = None
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
    moment = time_transport(plan.frames)
    times = [travel(f.col(quoted(c)), t, moment) for c, t in zip(frame.times, frame.time_types, strict=True)]
    columns = [tag.alias(TAG), times[0].alias(START)]
    columns += [times[-1].alias(END)] if _has_end(plan) else []
    if frame.order is not None and frame.order_type is not None:
        columns.append(f.col(quoted(frame.order)).cast(transport(frame.order_type)).alias(ORDER))
    if plan.job.output.contributors and any(each.id is not None for each in plan.frames):
        columns.append((f.lit(None) if frame.id is None else f.col(quoted(frame.id))).cast("string").alias(ID))
    sources = _sources(frame.layouts, plan.slots)
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


def _sources(layouts: Sequence[Layout], slots: Slots) -> dict[int, str]:
    mine = {id(layout) for layout in layouts}
    return {
        i: c
        for layout, places in slots.places
        if id(layout) in mine
        for i, c in zip(places, layout.columns, strict=True)
    }


def _lone_row(spark: Any, like: Any) -> Any:
    """Return a row without event: time points happen also where nothing was received."""
    from pyspark.sql import functions as f

    values = [
        (f.lit(NO_EVENT) if field.name == TAG else f.lit(None)).cast(field.dataType).alias(field.name)
        for field in like.schema
    ]
    return spark.range(1).select(*values)


def finish(df: Any, plan: Plan) -> Any:
    """Merge equal events of several shards."""
    return df.dropDuplicates(["_atom", "start", "end"]).drop("_atom") if plan.merged else df
