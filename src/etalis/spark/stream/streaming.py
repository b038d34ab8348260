"""A streaming DataFrame of events to a streaming DataFrame of complex events.

To Spark the plan is stateless: project, shuffle by shard, run the shard. State and watermark are the shards' own
(`state_store`): a second branch over the same source sends the latest time of every partition to all shards, so that
each knows within the batch how far all sources have come. So nothing waits for a later batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from etalis.errors import ProgramError
from etalis.language.check.effects import refuse_effects
from etalis.language.flags import UNBOUNDED, Settings
from etalis.spark.batch.build import received, shuffle_keys, wire_columns, wire_time
from etalis.spark.durations import to_duration
from etalis.spark.knowledge.refresh import FactTable, write_tables
from etalis.spark.knowledge.shipped import HostKnowledge
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.plan.stages import StagePlan
from etalis.spark.spark_versions import check_sources, repartition_by_number
from etalis.spark.stream.admission import Stream
from etalis.spark.stream.ending import end_tag, read_ends
from etalis.spark.stream.lateness import find_ahead, find_lateness
from etalis.spark.stream.marks import CLOCK, VERSION, Ahead, Marking, mark_time
from etalis.spark.stream.rejection_limit import read_bound
from etalis.spark.stream.state_store import Store, open_folder
from etalis.spark.stream.worker import Task, leave_equal_out, run_stream
from etalis.spark.time_types import time_column
from etalis.tables.schema import refuse
from etalis.tables.sorting import TAG

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

WHERE_TAKEN_BACK = "on Spark where matches are taken back"
REPORTING = ("on_watermark", "on_arrival")
SHARD = "_shard"
_EXCLUDED = "spark.sql.adaptive.optimizer.excludedRules"
_PROPAGATE_EMPTY = "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"


@dataclass(frozen=True, slots=True)
class Streaming:
    """What the caller says about a stream: where its state is kept, how late rows may be, when matches are told."""

    state: str | None = None
    lateness: Any = None
    reporting: str | None = None
    idle: Any = None
    clock: Any = None
    late: str | None = None
    effects: str | None = None
    refreshed: Any = None
    ahead: Any = None
    max_rejected: Any = None
    checkpoint: str | None = None
    allow_dropped: bool = False
    close: bool = False

    @property
    def named(self) -> list[str]:
        """What the caller says that means nothing of a batch."""
        return [x.name for x in fields(self) if x.name != "ahead" and getattr(self, x.name) != x.default]


def stream_settings(program: CompiledProgram, given: Streaming) -> Settings:
    """Return the settings of the engines of a stream; what comes too late or too early does not reach them."""
    own = replace(program.settings, max_ahead=None)
    reporting = given.reporting or own.reporting
    if reporting not in REPORTING:
        raise refuse("E605", f"reporting is {reporting!r}", f"one of {', '.join(REPORTING)}")
    if reporting == "on_watermark":
        return replace(own, lateness=None, reporting=reporting)
    settings = replace(own, lateness=UNBOUNDED, reporting=reporting)
    refused = (*refuse_effects(program.tree, settings), *program.refuse_reactions(WHERE_TAKEN_BACK))
    if refused:
        raise ProgramError(*refused)
    return settings


def _one_shard(asked: int | None) -> int:
    """Return the one shard of a stream whose results must be merged and may be taken back; refuse more of them."""
    if asked is not None and asked > 1:
        hint = "leave out shards=, give heads the key, or report on_watermark"
        raise refuse("E608", "more than one shard, but equal events of several shards may be retracted", hint)
    return 1


def plan_stream(
    program: CompiledProgram, given: Streaming, make: Callable[..., DetectionPlan], shards: int | None,
    frames: Sequence[Any] = (),
) -> tuple[DetectionPlan, tuple[Task, ...]]:  # fmt: skip
    """Decide how a program runs over streams; `make` plans it for a number of shards as it plans batches.

    What may be taken back is not handed from stage to stage, nor merged: such a program runs in one stage.
    """
    settings = stream_settings(program, given)
    plan = make(shards, staged=not settings.corrects)
    if settings.corrects and plan.job.output.contributors:
        hint = "leave contributors out, or report on_watermark"
        raise refuse("E605", "a stream that takes matches back does not report their contributors", hint)
    if plan.merged and settings.corrects:
        plan = make(_one_shard(shards), staged=False)
    plan = replace(plan, job=replace(plan.job, settings=replace(settings, policy=plan.job.settings.policy)))
    lateness = find_lateness(program.settings, given.lateness, frames, plan.frames)
    ahead = find_ahead(program.settings, given.ahead, plan.frames)
    return plan, stream_tasks(plan, given, lateness, ahead)


def fit_checkpoint(given: Streaming, query: str | None) -> Streaming:
    """Return what is said about a stream as it fits the query that its checkpoint has, if any.

    One that was begun without naming its checkpoint has no source that tells its end, and gets none later.
    """
    before = Store(given.state).manifest(query, "stage-1") if query is not None and given.state is not None else {}
    if given.checkpoint is not None and not before.get("end", not before):
        given = replace(given, checkpoint=None)
    if given.close and given.checkpoint is None:
        hint = "begin it with checkpoint=, the folder that is its checkpointLocation"
        raise refuse("E605", "a stream is closed by a file next to its checkpoint, and no checkpoint was named", hint)
    return given


def stream_tasks(plan: DetectionPlan, given: Streaming, lateness: int, ahead: Ahead | None = None) -> tuple[Task, ...]:
    """Return what the shards of a stream need to know, stage by stage."""
    if given.state is None:
        hint = 'say where the shards keep what they know: state="folder", one that all workers share'
        raise refuse("E605", "a streaming DataFrame needs a folder for its state", hint)
    idle = None if given.idle is None else to_duration("idle", given.idle)
    arrives = plan.job.settings.reporting == "on_arrival"
    layouts = tuple((x.tag, tuple(zip(x.columns, places, strict=True))) for x, places in plan.slots.places)
    stream = Stream(plan.job, layouts, len(plan.frames), lateness, idle, arrives, ahead=ahead)
    late, effects = (
        given.late or f"{given.state.rstrip('/')}/late",
        given.effects or f"{given.state.rstrip('/')}/effects",
    )
    for folder in (given.state, late, effects):
        open_folder(folder)  # what cannot be opened is refused here, not by the first task
    bound = read_bound(given.max_rejected)
    tasks = []
    for number, stage in enumerate(plan.stages):
        columns = plan.job.output.ddl if stage.job.is_last else wire_columns(plan)
        mine = _staged(stream, plan, number) if len(plan.stages) > 1 else stream
        manifest = {**_manifest(plan, number), **_sources_beside(given)}
        task = Task(mine, f"stage-{number + 1}", given.state, late, effects, manifest, columns)
        tasks.append(replace(task, bound=bound, allow_dropped=given.allow_dropped))
    return tuple(tasks)


def _sources_beside(given: Streaming) -> dict[str, bool]:
    """Return which other sources a query has: Spark refuses to go on from a checkpoint that has more or fewer."""
    return {"clock": given.clock is not None, "refreshed": bool(given.refreshed), "end": given.checkpoint is not None}


def refreshing(tasks: Sequence[Task], told: HostKnowledge) -> tuple[Task, ...]:
    """Return tasks that know the host's facts but for those that are refreshed, which batches tell them."""
    if tasks[0].stream.arrives:
        hint = "leave refreshed out, or report on_watermark"
        raise refuse("E605", "matches reported on arrival cannot be revised when facts change", hint)
    return tuple(
        replace(task, stream=replace(task.stream, job=replace(task.stream.job, told=told)), refreshes=True)
        for task in tasks
    )


def _staged(stream: Stream, plan: DetectionPlan, number: int) -> Stream:
    """Return what a shard of one stage of several needs to know; the first to read a row tells that it is late."""
    stage = plan.stages[number]
    job = replace(stage.job, settings=plan.job.settings)
    told = stage.tags.difference(*(earlier.tags for earlier in plan.stages[:number]))
    layouts = tuple((tag, columns) for tag, columns in stream.layouts if tag in stage.tags)
    return replace(stream, job=job, layouts=layouts, told=told)


def _manifest(plan: DetectionPlan, number: int) -> dict[str, Any]:
    """Return what must not change while a query lives."""
    sharding = plan.stages[number].sharding
    parted = sharding.keys if sharding.shards > 1 else ()
    keys = {layout.tag: [list(column) for column in columns] for layout, columns in parted}
    # Keys of one form are shuffled by as they are, those of several as text: the same value goes elsewhere.
    forms = {str(i): sorted({x[i][1] for _, x in parted if i < len(x)}) for i in range(sharding.width)}
    manifest = {"stages": len(plan.stages), "shards": sharding.shards, "sources": len(plan.frames)}
    manifest |= {"contributors": plan.job.output.contributors}
    return {**manifest, "keys": keys, "forms of keys": forms}


def _keep_empty_batches(spark: Any) -> None:
    """Have Spark run the shards of a batch without rows too: a batch that is left out would leave no version behind."""
    excluded = [rule for rule in str(spark.conf.get(_EXCLUDED, "") or "").split(",") if rule]
    if _PROPAGATE_EMPTY not in excluded:
        spark.conf.set(_EXCLUDED, ",".join([*excluded, _PROPAGATE_EMPTY]))


@dataclass(frozen=True, slots=True)
class Beside:
    """What a stream reads beside its events: a clock, tables of facts, the end, and a column that tells the time."""

    clock: Any = None
    tables: Sequence[FactTable] = ()
    checkpoint: str | None = None
    now: Any = None


def build_stream(frames: Sequence[Any], plan: DetectionPlan, tasks: Sequence[Task], beside: Beside) -> Any:
    """Put the plan together: a streaming DataFrame that runs every shard of every stage of every micro-batch."""
    from pyspark.sql import functions as f

    spark = frames[0].sparkSession
    _keep_empty_batches(spark)
    others = list(_other_tags(spark, beside, tasks[0].root))
    df: Any = None
    for stage, task in zip(plan.stages, tasks, strict=True):
        rows = [df, received(frames, plan, stage, is_first=df is None)]
        parts = [_placed(part, plan, stage) for part in rows if part is not None]
        schema, shards = parts[0].schema, stage.sharding.shards
        parts += _all_marks(frames, plan, shards, beside, task.stream.ahead, schema)
        parts += [_tagged(tags, shards, schema) for tags in others]
        united = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)
        shuffled = repartition_by_number(united, shards, f.col(SHARD)).drop(SHARD)
        df = shuffled.mapInArrow(partial(run_stream, task), task.ddl)
    return _merge(df, plan)


def _other_tags(spark: Any, beside: Beside, root: str) -> Iterator[Any]:
    """Yield streams of tags that go to all shards: versions of facts, and the end."""
    from pyspark.sql import functions as f

    if beside.tables:
        versions = _versions(spark, beside.tables, root)
        yield versions.select(f.concat(f.lit(VERSION), f.col(versions.columns[0])).alias(TAG))
    if beside.checkpoint is not None:
        yield read_ends(spark, beside.checkpoint).select(f.lit(end_tag()).alias(TAG))


def _placed(rows: Any, plan: DetectionPlan, stage: StagePlan) -> Any:
    """Say to which shard each row goes."""
    from pyspark.sql import functions as f

    keys = shuffle_keys(rows, plan, stage)
    shard = f.pmod(f.hash(*keys), f.lit(stage.sharding.shards)) if keys else f.lit(0)
    return rows.withColumn(SHARD, shard.cast("int"))


def _merge(df: Any, plan: DetectionPlan) -> Any:
    """Merge equal events of several shards: they come in one batch, since all shards have the same watermark."""
    if plan.merged:
        alike = df.repartition(plan.sharding.shards, "_atom", "start", "end")
        df = alike.mapInArrow(leave_equal_out, df.schema).drop("_atom")
    return df


def _all_marks(
    frames: Sequence[Any], plan: DetectionPlan, shards: int, beside: Beside, ahead: Ahead | None, schema: Any
) -> list[Any]:
    """Return the marks of all sources for the shards of a stage."""
    sources = [(df, frame.times[-1], str(i)) for i, (df, frame) in enumerate(zip(frames, plan.frames, strict=True))]
    if beside.clock is not None:
        sources.append((beside.clock, _clock_column(beside.clock, plan), CLOCK))
    moment = wire_time(plan.frames)
    return [
        _marks(df, column, moment, Marking(source, shards, plan.job.unit, ahead), beside.now, schema)
        for df, column, source in sources
    ]


def _marks(df: Any, column: str, moment: str, marking: Marking, now: Any, schema: Any) -> Any:
    """Return the marks of one source as rows among the others."""
    from pyspark.sql import functions as f

    times = [time_column(df, column, moment).alias("time")]
    if marking.ahead is not None and marking.ahead.of_clock:
        # Of a micro-batch Spark notes it with the offsets, so that a batch that is run again sees the same.
        times.append((f.current_timestamp() if now is None else now).alias("now"))
    marks = df.select(*times).mapInArrow(partial(mark_time, marking), "tag string, shard int")
    return _among(marks, {TAG: f.col("tag"), SHARD: f.col("shard")}, schema)


def _among(rows: Any, columns: Mapping[str, Any], schema: Any) -> Any:
    """Return rows in the columns of the others, null where there is nothing to say."""
    from pyspark.sql import functions as f

    return rows.select(*(columns.get(x.name, f.lit(None)).cast(x.dataType).alias(x.name) for x in schema))


def _tagged(tags: Any, shards: int, schema: Any) -> Any:
    """Return tags as rows among the others, one for each shard of a stage."""
    from pyspark.sql import functions as f

    every = tags.select(TAG, f.explode(f.sequence(f.lit(0), f.lit(shards - 1))).alias(SHARD))
    return _among(every, {TAG: f.col(TAG), SHARD: f.col(SHARD)}, schema)


def _versions(spark: Any, tables: Sequence[FactTable], root: str) -> Any:
    """Return the stream of versions of facts."""
    check_sources("refreshed knowledge")
    from etalis.spark.knowledge.facts_source import FORMAT, FactsSource

    spark.dataSource.register(FactsSource)
    return spark.readStream.format(FORMAT).option("tables", write_tables(tables)).option("root", root).load()


def _clock_column(clock: Any, plan: DetectionPlan) -> str:
    """Return the column of a clock that tells the time: of the same name as that of the events, or the only one."""
    types: dict[str, str] = dict(clock.dtypes)
    named = [frame.times[-1] for frame in plan.frames if frame.times[-1] in types]
    moments = [name for name, column_type in types.items() if column_type in ("timestamp", "timestamp_ntz")]
    if named:
        return named[0]
    if len(moments) == 1:
        return moments[0]
    hint = f"name its column as the events do, {plan.frames[0].times[-1]}"
    raise refuse("E602", f"the clock has no column of time: its columns are {', '.join(types)}", hint)
