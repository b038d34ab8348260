"""A micro-batch as Spark's workers run it: the shard's state is loaded, the rows are taken, the state is saved.

Runs inside Spark's Python workers. Which batch of which query it is, and which shard, Spark tells the task. Law: what a
batch yields and saves depends on the version of the batch before it and on the set of its rows alone, so a task may
fail, be run again, or run twice at once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import Problem, SnapshotError
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine, restore, start_engine
from etalis.runtime.lateness.watermark import Watermark
from etalis.runtime.state import BEGINNING
from etalis.spark.batch.job import Job, load
from etalis.spark.batch.shard import rare_collections
from etalis.spark.effect_rows import ShardEffects
from etalis.spark.knowledge.refresh import read_version
from etalis.spark.knowledge.shipped import add_facts
from etalis.spark.stream.admission import Shard, Stream
from etalis.spark.stream.dead_letters import LATE, Letters, describe_letters
from etalis.spark.stream.growing_files import append_rows
from etalis.spark.stream.marks import VERSION
from etalis.spark.stream.micro_batch import op_column, run_batch
from etalis.spark.stream.pending_rows import read_held, write_held
from etalis.spark.stream.rejection_limit import Bound, check_rejected
from etalis.spark.stream.restart import changes_of, refuse_dropped
from etalis.spark.stream.state_store import ShardPlace, ShardState, Store
from etalis.tables.sorting import TAG
from etalis.temporal.interval import MICROSECONDS

LIVE = 4  # shards that a worker process keeps as they are, to spare reading them again
BATCH_PROPERTY, QUERY_PROPERTY = "streaming.sql.batchId", "sql.streaming.queryId"
_LOG = logging.getLogger("etalis.spark")


@dataclass(frozen=True, slots=True)
class Task:
    """All that a shard of a stage needs to know; `manifest` is what must not change while a query lives."""

    stream: Stream
    stage: str
    root: str
    late: str
    effects: str
    manifest: Mapping[str, Any]
    columns: str  # of what is handed on, as Spark takes them
    refreshes: bool = False  # whether batches tell the version of facts that they see
    bound: Bound | None = None  # on the rows that are rejected
    allow_dropped: bool = False  # whether changed rules may drop what waits

    @property
    def ddl(self) -> str:
        """The columns of results as Spark takes them."""
        return ", ".join([self.columns, *(f"{name} string" for name in op_column(self.stream.job))])


@dataclass(frozen=True, slots=True)
class ShardBatch:
    """Which batch of which shard it is."""

    place: ShardPlace
    batch: int


def run_stream(task: Task, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one micro-batch of one shard and yield its complex events."""
    yield from run_turn(task, turn_of(task.stage), batches)


def turn_of(stage: str) -> ShardBatch:
    """Return what Spark says about the task that runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    batch, query = (context.getLocalProperty(name) if context else None for name in (BATCH_PROPERTY, QUERY_PROPERTY))
    if context is None or batch is None or query is None:
        message = "this is no batch of a streaming query: Spark names no batch and no query"
        hint = "write the DataFrame with writeStream, which names both"
        raise SnapshotError(Problem("E624", message, hint=hint))
    return ShardBatch(ShardPlace(query, stage, context.partitionId()), int(batch))


def run_turn(task: Task, turn: ShardBatch, batches: Iterable[Any]) -> Iterator[Any]:
    """Take the rows of a batch from the state before it, yield what they cause, and save the state after it."""
    store = Store(task.root)
    store.agree(turn.place, task.manifest, turn.batch)
    version = None
    if task.refreshes:
        version, batches = _seen_version(store, turn, batches)
        task = _informed(task, version)
    shard = _open_shard(store, task, turn)
    shard.facts = version
    letters: list[Letters] = []
    taken = shard.counts["rows"]
    with rare_collections():
        for made in run_batch(shard, task.stream, batches, letters):
            shard.counts["made"] += made.num_rows
            yield made
    if letters:
        _write_letters(shard, task, turn, letters)
        rows = shard.counts["rows"] - taken
        check_rejected(task.bound, partial(_headers, store, turn), letters, rows, task.late)
    _write_effects(shard, task, turn)
    checksum = store.save(turn.place, turn.batch, _version(shard, turn, task.stream.job.fingerprint))
    live_shards().put((task.root, turn.place), Live(turn.batch, checksum, task.stream, shard))
    store.prune(turn.place, turn.batch)


def _write_letters(shard: Shard, task: Task, turn: ShardBatch, letters: Sequence[Letters]) -> None:
    """Write the dead letters of a batch, in the place of any from an attempt before."""
    job = task.stream.job
    table = describe_letters(letters, job.rows, job.unit, turn.batch)
    shard.letters = append_rows(task.late, turn.place, shard.letters, table, turn.batch)


def _write_effects(shard: Shard, task: Task, turn: ShardBatch) -> None:
    """Write what the reactions of a batch do outside, in the place of any from an attempt before."""
    sink = shard.engine.core.sink
    table = sink.take(turn.batch) if isinstance(sink, ShardEffects) else None
    if table is not None and table.num_rows:
        shard.effects = append_rows(task.effects, turn.place, shard.effects, table, turn.batch)


def _headers(store: Store, turn: ShardBatch) -> list[dict[str, Any]]:
    """Return what all shards of the query had noted before a batch."""
    return [header for _, header, _ in store.headers(turn.place.query, turn.batch - 1)] if turn.batch else []


def _seen_version(store: Store, turn: ShardBatch, batches: Iterable[Any]) -> tuple[str, list[Any]]:
    """Return the version of facts that a batch sees, and its rows: the one it is told, else that of the one before."""
    told: str | None = None
    rows = []
    for batch in batches:
        is_told = pc.fill_null(pc.starts_with(batch[TAG], VERSION), False)
        found = batch.filter(is_told)
        if found.num_rows:
            told = found[TAG][0].as_py().removeprefix(VERSION)
        rows.append(batch.filter(pc.invert(is_told)) if found.num_rows else batch)
    if told is None:
        told = store.header(turn.place, turn.batch - 1).get("facts") if turn.batch else None
    if told is None:
        hint = "begin anew with another checkpointLocation"
        raise SnapshotError(Problem("E626", f"{turn.place} got no version of the facts", hint=hint))
    return told, rows


def _informed(task: Task, version: str) -> Task:
    """Return a task that knows the facts of a version beside its own."""
    job = task.stream.job
    told = add_facts(job.told, read_version(task.root, version))
    return replace(task, stream=replace(task.stream, job=replace(job, told=told)))


def _open_shard(store: Store, task: Task, turn: ShardBatch) -> Shard:
    """Return the shard as the batch before has left it."""
    stream, live = task.stream, live_shards().take((task.root, turn.place))
    if turn.batch == 0:
        engine = start_engine(load(stream.job), _options(stream.job))
        return Shard(engine, Watermark(stream.lateness, range(stream.sources)), layouts=stream.layouts)
    before = turn.batch - 1
    if live is not None and live.goes_on(store.checksum(turn.place, before), stream, before):
        return live.shard
    return _restore(task, store.load(turn.place, before), turn)


def _options(job: Job) -> EngineOptions:
    return EngineOptions(on_error=job.on_error, parts=job.output.contributors, effects=ShardEffects())


def _restore(task: Task, version: ShardState, turn: ShardBatch) -> Shard:
    """Return the shard of a version; refuse to lose what waits, unless that is allowed."""
    stream, header = task.stream, version.header
    dropped = changes_of(version, stream).dropped
    if dropped:
        refuse_dropped(str(turn.place), dropped, allowed=task.allow_dropped)
    engine = _restore_engine(stream.job, version)
    shard = Shard(engine, _read_watermark(stream, header), header["began"], read_held(version.held))
    shard.layouts = tuple(
        (tag, tuple((column, slot) for column, slot in columns)) for tag, columns in header["layouts"]
    )
    shard.counts = dict(header["counts"])
    shard.causes = dict(header.get("causes", {LATE: shard.counts["late"]}))
    shard.ended = header.get("ended", False)
    number, size = header.get("letters", (0, 0))
    shard.letters = (number, size)
    number, size = header.get("effects", (0, 0))
    shard.effects = (number, size)
    shard.is_changed = header.get("program") != stream.job.fingerprint
    return shard


def _restore_engine(job: Job, version: ShardState) -> RuntimeEngine:
    """Return an engine that goes on from a version; a fresh one, in time, if no rule is the same."""
    start, options = partial(start_engine, load(job)), _options(job)
    try:
        return restore(start, [version.snapshot], options)
    except SnapshotError as error:
        if error.code != "E425":
            raise
    engine = start(options)
    if version.header["reached"] > BEGINNING:
        engine.advance(to=Fraction(version.header["reached"], MICROSECONDS))
    return engine


def _read_watermark(stream: Stream, header: Mapping[str, Any]) -> Watermark:
    watermark = Watermark(stream.lateness, range(stream.sources))
    watermark.reached = header["reached"]
    watermark.latest.update(enumerate(header["latest"]))
    watermark.idle.update(header["idle"])
    return watermark


def _version(shard: Shard, turn: ShardBatch, program: str) -> ShardState:
    """Return the shard as it is after a batch."""
    mark = shard.watermark
    header = {
        "batch": turn.batch,
        "reached": mark.reached,
        "latest": list(mark.latest.values()),
        "idle": sorted(mark.idle),  # type: ignore[type-var]
        "began": shard.began,
        "layouts": shard.layouts,
        "counts": shard.counts,
        "causes": shard.causes,
        "letters": shard.letters,
        "effects": shard.effects,
        "ended": shard.ended,
        "facts": shard.facts,
        "program": program,
        "held": 0 if shard.held is None else shard.held.num_rows,
    }
    return ShardState(header, write_held(shard.held), shard.engine.snapshot())


# shards that live on


@dataclass(frozen=True, slots=True)
class Live:
    """A shard as a batch has left it, and the checksum of the version that was saved then."""

    batch: int
    checksum: str
    stream: Stream
    shard: Shard

    def goes_on(self, checksum: str, stream: Stream, batch: int) -> bool:
        """Tell whether it is what the version of a batch says, and serves the same program."""
        return (self.batch, self.checksum, self.stream) == (batch, checksum, stream)


class LiveShards:
    """The last shards of a worker process. One that is taken is no longer there: it may fail half-way."""

    def __init__(self) -> None:
        self._shards: OrderedDict[tuple[str, ShardPlace], Live] = OrderedDict()

    def take(self, key: tuple[str, ShardPlace]) -> Live | None:
        """Take one out."""
        return self._shards.pop(key, None)

    def put(self, key: tuple[str, ShardPlace], live: Live) -> None:
        """Keep one, and let the one go that was not used for longest."""
        self._shards[key] = live
        if len(self._shards) > LIVE:
            self._shards.popitem(last=False)


@lru_cache(maxsize=1)
def live_shards() -> LiveShards:
    """Return the shards of this process."""
    return LiveShards()


# rows beside those of the engine


def leave_equal_out(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield of equal events, which several shards have made, one each."""
    seen: set[tuple[Any, ...]] = set()
    for batch in batches:
        keys = zip(*(batch.column(name).to_pylist() for name in ("_atom", "start", "end")), strict=True)
        fresh = []
        for key in keys:
            fresh.append(key not in seen)
            seen.add(key)
        yield batch.filter(pa.array(fresh, pa.bool_()))
