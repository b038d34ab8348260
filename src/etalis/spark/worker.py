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
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from etalis.errors import Problem, SnapshotError
from etalis.runtime.order import Watermark
from etalis.runtime.program import Program
from etalis.spark.refresh import read_version
from etalis.spark.shard import load, log_error, rare_collections
from etalis.spark.stage_step import run_stage_batch
from etalis.spark.step import VERSION, Letters, Shard, Stream, describe_letters, run_batch
from etalis.spark.store import Place, Store, Version, open_folder, write_whole
from etalis.spark.told import add_facts
from etalis.tables.output import distinct, encode
from etalis.tables.sorting import NO_EVENT, TAG
from etalis.temporal.event import Event

LIVE = 4  # shards that a worker process keeps as they are, to spare reading them again
BATCH_PROPERTY, QUERY_PROPERTY = "streaming.sql.batchId", "sql.streaming.queryId"
LETTERS = pa.schema(
    [
        ("event", pa.string()), ("args", pa.string()), ("start", pa.float64()), ("end", pa.float64()),
        ("reason", pa.string()), ("batch", pa.int64()),
    ]
)  # fmt: skip
_LOG = logging.getLogger("etalis.spark")


@dataclass(frozen=True, slots=True)
class Task:
    """All that a shard of a stage needs to know; `manifest` is what must not change while a query lives."""

    stream: Stream
    stage: str
    root: str
    late: str
    manifest: Mapping[str, Any]
    columns: str  # of what is handed on, as Spark takes them
    refreshes: bool = False  # whether batches tell the version of facts that they see

    @property
    def changes(self) -> tuple[str, ...]:
        """The columns that say, where what was reported may be taken back, what is done."""
        if not self.stream.job.settings.corrects:
            return ()
        return tuple(distinct(("op",), {name.casefold() for name, _ in self.stream.job.output.columns}))

    @property
    def ddl(self) -> str:
        """The columns of results as Spark takes them."""
        return ", ".join([self.columns, *(f"{name} string" for name in self.changes)])


@dataclass(frozen=True, slots=True)
class Turn:
    """Which batch of which shard it is."""

    place: Place
    batch: int


def run_stream(task: Task, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one micro-batch of one shard and yield its complex events."""
    yield from run_turn(task, turn_of(task.stage), batches)


def turn_of(stage: str) -> Turn:
    """Return what Spark says about the task that runs."""
    from pyspark import TaskContext

    context = TaskContext.get()
    batch, query = (context.getLocalProperty(name) if context else None for name in (BATCH_PROPERTY, QUERY_PROPERTY))
    if context is None or batch is None or query is None:
        message = "this is no batch of a streaming query: Spark names no batch and no query"
        hint = "write the DataFrame with writeStream; pyspark 4.3 tells both"
        raise SnapshotError(Problem("E624", message, hint=hint))
    return Turn(Place(query, stage, context.partitionId()), int(batch))


def run_turn(task: Task, turn: Turn, batches: Iterable[Any]) -> Iterator[Any]:
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
    with rare_collections():
        for made in _results(shard, task, batches, letters):
            shard.counts["made"] += made.num_rows
            yield made
    if letters:
        write_letters(task, turn, letters)
    checksum = store.save(turn.place, turn.batch, _version(shard, turn))
    live_shards().put((task.root, turn.place), Live(turn.batch, checksum, task.stream, shard))
    store.prune(turn.place, turn.batch)


def _seen_version(store: Store, turn: Turn, batches: Iterable[Any]) -> tuple[str, list[Any]]:
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
        raise SnapshotError(Problem("E626", f"{turn.place} was told no version of the facts", hint=hint))
    return told, rows


def _informed(task: Task, version: str) -> Task:
    """Return a task that knows the facts of a version beside its own."""
    job = task.stream.job
    told = add_facts(job.told, read_version(task.root, version))
    return replace(task, stream=replace(task.stream, job=replace(job, told=told)))


def _results(shard: Shard, task: Task, batches: Iterable[Any], letters: list[Letters]) -> Iterator[Any]:
    """Yield what a batch causes as rows."""
    stream = task.stream
    if stream.stage is not None:
        yield from run_stage_batch(shard, stream, stream.stage, batches, letters)
        return
    yield from run_batch(shard, stream, batches, letters, partial(_encode, task))


def _encode(task: Task, events: Sequence[Event]) -> Iterable[Any]:
    """Return events as rows of the results."""
    if not events:
        return []
    return _encode_changes(events, task) if task.changes else [encode(events, task.stream.job.output)]


def _encode_changes(events: Sequence[Event], task: Task) -> Iterator[Any]:
    """Yield events as rows that say whether they have come or are taken back."""
    alike: dict[tuple[int, int], list[Event]] = {}
    kinds = dict(task.stream.job.output.kinds)
    for event in events:
        if (event.kind.name, event.kind.arity) in kinds:
            alike.setdefault((event.sign, id(event.kind)), []).append(event)
    for (sign, _), several in alike.items():
        rows = encode(several, task.stream.job.output)
        told = [pa.repeat(pa.scalar("+" if sign > 0 else "-"), len(several))]
        yield pa.RecordBatch.from_arrays([*rows.columns, *told], names=[*rows.schema.names, *task.changes])


def _open_shard(store: Store, task: Task, turn: Turn) -> Shard:
    """Return the shard as the batch before has left it."""
    stream, live = task.stream, live_shards().take((task.root, turn.place))
    if turn.batch == 0:
        engine = _program(stream).engine(on_error=log_error)
        return Shard(engine, Watermark(stream.lateness, range(stream.sources)), layouts=stream.layouts)
    before = turn.batch - 1
    if live is not None and live.goes_on(store.checksum(turn.place, before), stream, before):
        return live.shard
    return _restore(stream, store.load(turn.place, before), turn)


def _program(stream: Stream) -> Program:
    """Return the program of a shard: all rules, or those of its stage."""
    program = load(stream.job)
    return program if stream.stage is None else program.taking(stream.stage.rules)


def _restore(stream: Stream, version: Version, turn: Turn) -> Shard:
    engine = _program(stream).restore(version.snapshot, on_error=log_error)
    if engine.restored is not None and engine.restored.dropped:
        _LOG.warning("%s: the changed rules have no place for %s", turn.place, ", ".join(engine.restored.dropped))
    header = version.header
    watermark = Watermark(stream.lateness, range(stream.sources))
    watermark.reached = header["reached"]
    watermark.latest.update(enumerate(header["latest"]))
    watermark.idle.update(header["idle"])
    held = None
    if version.held:
        with pa.ipc.open_stream(pa.py_buffer(version.held)) as reader:
            held = reader.read_all()
    layouts = tuple((tag, tuple((column, slot) for column, slot in columns)) for tag, columns in header["layouts"])
    return Shard(engine, watermark, header["began"], held, layouts, dict(header["counts"]))


def _version(shard: Shard, turn: Turn) -> Version:
    """Return the shard as it is after a batch."""
    mark = shard.watermark
    held = b""
    if shard.held is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, shard.held.schema) as writer:
            writer.write_table(shard.held)
        held = sink.getvalue().to_pybytes()
    header = {
        "batch": turn.batch,
        "reached": mark.reached,
        "latest": list(mark.latest.values()),
        "idle": sorted(mark.idle),  # type: ignore[type-var]
        "began": shard.began,
        "layouts": shard.layouts,
        "counts": shard.counts,
        "facts": shard.facts,
        "held": 0 if shard.held is None else shard.held.num_rows,
    }
    return Version(header, held, shard.engine.snapshot())


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
        self._shards: OrderedDict[tuple[str, Place], Live] = OrderedDict()

    def take(self, key: tuple[str, Place]) -> Live | None:
        """Take one out."""
        return self._shards.pop(key, None)

    def put(self, key: tuple[str, Place], live: Live) -> None:
        """Keep one, and let the one go that was not used for longest."""
        self._shards[key] = live
        if len(self._shards) > LIVE:
            self._shards.popitem(last=False)


@lru_cache(maxsize=1)
def live_shards() -> LiveShards:
    """Return the shards of this process."""
    return LiveShards()


# what comes too late


def write_letters(task: Task, turn: Turn, letters: Sequence[Letters]) -> None:
    """Write the dead letters of a batch as one file, in the place of any from an attempt before."""
    found = describe_letters(letters, task.stream)
    rows = sorted(found, key=lambda row: (row["end"] or 0.0, row["event"] or "", row["args"]))
    table = pa.Table.from_pylist([{**row, "batch": turn.batch} for row in rows], schema=LETTERS)
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    files, folder = open_folder(task.late)
    place = turn.place
    name = f"{place.query}-{place.stage}-{place.shard}-{turn.batch}.parquet"
    write_whole(files, f"{folder}/{name}", sink.getvalue().to_pybytes())


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


def mark_time(source: str, shards: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield one mark per shard: how far a source has come, by its only column."""
    latest = None
    for batch in batches:
        column = batch.column(0)
        if pa.types.is_floating(column.type):
            column = column.filter(pc.fill_null(pc.is_finite(column), False))
        largest = pc.max(column)
        if largest.is_valid and (latest is None or largest.as_py() > latest.as_py()):
            latest = largest
    if latest is not None:
        tags = pa.repeat(pa.scalar(NO_EVENT + source), shards)
        columns = [tags, pa.repeat(latest, shards), pa.array(range(shards), pa.int32())]
        yield pa.RecordBatch.from_arrays(columns, names=["tag", "time", "shard"])
