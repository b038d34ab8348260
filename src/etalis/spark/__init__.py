"""The same program on Spark: `program.on(spark).detect(df, time=..., event=...)` over DataFrames, batch or streaming.

Needs the extra `etalis[spark]` and Java; pyspark is imported when it is used, never before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from etalis.errors import ProgramError
from etalis.runtime.reporting.counted_report import report_counts
from etalis.runtime.reporting.unknown_options import with_options
from etalis.spark.asking import MOST_ROWS, FetchedRows, MatchRow, fetch_rows
from etalis.spark.batch.build import build, finish
from etalis.spark.batch.rejecting import Rejecting, find_rejected, leave_out, reject
from etalis.spark.batch.shard import ERROR_COLUMNS, run_errors
from etalis.spark.compare import compare_frames
from etalis.spark.counters import count_errors, count_events
from etalis.spark.describe import describe
from etalis.spark.durations import to_duration
from etalis.spark.effect_rows import has_effects
from etalis.spark.knowledge.mirrored_frames import mirror_frames
from etalis.spark.knowledge.refresh import asked_tables, find_tables
from etalis.spark.knowledge.shipped import pack
from etalis.spark.local_session import check_loaded, session
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.spark.plan.spared import spare_columns
from etalis.spark.stream.ending import end_stream
from etalis.spark.stream.lateness import NONE
from etalis.spark.stream.restart import Restart, check_restart, query_of, warn_of_restart
from etalis.spark.stream.streaming import (
    WHERE_TAKEN_BACK,
    Beside,
    Streaming,
    build_stream,
    fit_checkpoint,
    plan_stream,
    refreshing,
)
from etalis.tables.knowledge import with_facts
from etalis.tables.plan import ResultForm
from etalis.tables.results.output import ID, RULE
from etalis.tables.schema import Options, TableSchema, check_id, refuse
from etalis.tables.sorting import USUAL_MEMORY
from etalis.temporal.time_input import to_instant, to_interval

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram, HasCompiled
    from etalis.runtime.reporting.report import Report
    from etalis.why.justification import Justification
    from etalis.why.why_not import WhyNot

__all__ = ["SparkProgram", "session"]

_USUAL_SHUFFLE = "200"  # what Spark has where nobody set it


class SparkProgram:
    """A program with the session it runs on."""

    def __init__(self, program: CompiledProgram, spark: Any) -> None:
        self.program = program
        self.spark = spark
        self.now: Any = None  # a column that says what time it is, in place of Spark's clock
        self.restart: Restart | None = None  # what the last stream that was planned goes on with
        check_loaded()
        if program.settings.corrects and (refused := tuple(program.refuse_reactions(WHERE_TAKEN_BACK))):
            raise ProgramError(*refused)
        _choose_python(spark)

    @with_options
    def detect(
        self, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, order: str | None = None,
        unit: str = "s", policy: str | None = None, shards: int | None = None, select: str | None = None,
        envelope: bool = False, knowledge: Mapping[str, Any] | None = None, contributors: bool = False,
        id: str | None = None, memory: int = USUAL_MEMORY, state: str | None = None,  # noqa: A002
        lateness: Any = None, reporting: str | None = None, idle: Any = None, clock: Any = None,
        late: str | None = None, refreshed: Any = None, ahead: Any = None, max_rejected: float | None = None,
        rejected: str | None = None, match_id: bool = True, checkpoint: str | None = None, allow_dropped: bool = False,
        close: bool = False, strict: bool = False, effects: str | None = None,
    ) -> Any:  # fmt: skip
        """Return a DataFrame of the complex events in a DataFrame of events, or in one DataFrame per event.

        Of streaming DataFrames: a streaming DataFrame, to be written with `writeStream`; see docs/spark.md. Where it is
        `strict`, a job fails at an event that no rule reads and at a condition that raises; a stream rejects no row.
        What reactions do outside are rows with their keys in the folder `effects`, written when the job runs; of a
        stream that is one in `state`, if nothing else is said.
        """
        if strict and max_rejected is None and any(frame.isStreaming for frame in _frames(df)[0]):
            max_rejected = 0
        if select is not None and envelope:
            raise refuse("E605", "select and envelope are two forms of results", "give one of them")
        frames, given = _frames(df)
        options = Options(time, event, order, unit, id)
        check_id(options, contributors)
        form = ResultForm(select, envelope, contributors)
        is_stream = any(frame.isStreaming for frame in frames)
        streaming = Streaming(
            state, lateness, reporting, idle, clock, late, effects if is_stream else None, refreshed,
            ahead if is_stream else None, max_rejected if is_stream else None, checkpoint, allow_dropped, close,
        )  # fmt: skip
        if _is_streaming(frames, streaming):
            if rejected is not None:
                raise refuse("E605", "rejected is for batches", 'a stream has dead letters: late="folder"')
            known = mirror_frames(self.spark, knowledge or {}, refreshed)
            tables = asked_tables(known, refreshed)
            make = partial(self._plan, given, options, form, policy, knowledge=known, refreshed=tables, strict=strict)
            return _with_id(self._detect_stream(frames, streaming, make, shards, known), match_id)
        if effects is None and has_effects(self.program.tree):
            hint = 'say where they are written: effects="folder", one that all workers share'
            raise refuse("E605", "reactions of the program have effects", hint)
        told: dict[str, Any] = {"knowledge": knowledge, "staged": True, "memory": memory, "strict": strict}
        told["effects"] = effects
        plan = self._plan(given, options, form, policy, shards, **told)
        if rejected is None:  # else it is told what was in the rows
            plan = spare_columns(plan, self.program)
        plan = reject(frames, plan, Rejecting(rejected, max_rejected, self._ahead(ahead)))
        return _with_id(finish(build(self.spark, frames, plan), plan), match_id)

    def _ahead(self, given: Any) -> int | None:
        """Return how far ahead of the rows before it a row of a batch may be: as given, else by the flag."""
        if given is None:
            return self.program.settings.max_ahead
        return None if given in (NONE, -1) else to_duration("ahead", given)

    def _detect_stream(
        self, frames: list[Any], given: Streaming, make: Callable[..., DetectionPlan], shards: int | None,
        knowledge: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        tables = find_tables(knowledge, given.refreshed)
        query = None if given.checkpoint is None else query_of(given.checkpoint)
        given = fit_checkpoint(given, query)
        plan, tasks = plan_stream(self.program, given, make, shards, frames)
        if tables:
            fixed = {name: x for name, x in knowledge.items() if name not in {table.name for table in tables}}
            tasks = refreshing(tasks, pack(with_facts(self.program, fixed)))
        self.restart = None
        if query is None:
            warn_of_restart(tasks)
        else:
            self.restart = check_restart(tasks, query, allowed=given.allow_dropped)
        if given.close:
            end_stream(self.spark, str(given.checkpoint))
        return build_stream(frames, plan, tasks, Beside(given.clock, tables, given.checkpoint, self.now))

    def errors(
        self, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, order: str | None = None,
        unit: str = "s", policy: str | None = None, shards: int | None = None,
        knowledge: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return a DataFrame of what conditions and actions raise when `detect` runs over the same events."""
        frames, given = _frames(df)
        if _is_streaming(frames, Streaming()):
            raise refuse("E601", "errors of a stream are logged while it runs", "they go to the log of the workers")
        options = Options(time, event, order, unit)
        plan = self._plan(given, options, ResultForm(envelope=True), policy, shards, knowledge=knowledge)
        return build(self.spark, frames, leave_out(plan), run_errors, ERROR_COLUMNS)

    def report(
        self, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, order: str | None = None,
        unit: str = "s", policy: str | None = None, shards: int | None = None,
        knowledge: Mapping[str, Any] | None = None,
    ) -> Report:  # fmt: skip
        """Run over the events, and say what a person should know: what no rule reads, rules that never fired, failures.

        By jobs of its own: one that counts events, one that counts matches, one that counts errors.
        """
        frames, given = _frames(df)
        if _is_streaming(frames, Streaming()):
            raise refuse("E601", "a stream has no report while it runs", "see `etalis pipeline run` and its figures")
        options: dict[str, Any] = {"time": time, "event": event, "order": order, "unit": unit, "policy": policy}
        options |= {"shards": shards, "knowledge": knowledge}
        columns = Options(time, event, order, unit)
        plan = self._plan(given, columns, ResultForm(envelope=True), policy, shards, knowledge=knowledge)
        rules = build(self.spark, frames, leave_out(plan)).groupBy(RULE).count()
        matches = {row[RULE]: row["count"] for row in rules.collect()}
        came, unread = count_events(frames, plan.frames)
        return report_counts(self.program, matches, came, unread, count_errors(self.errors(df, **options)))

    def rejected(
        self, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, unit: str = "s",
        ahead: Any = None,
    ) -> Any:  # fmt: skip
        """Return a DataFrame of the rows that `detect` cannot take: event, args, start, end, reason, cause, raw."""
        frames, given = _frames(df)
        if _is_streaming(frames, Streaming()):
            raise refuse("E601", "rejected rows of a stream are kept as it runs", 'they go to a folder: late="folder"')
        plan = self._plan(given, Options(time, event, None, unit), ResultForm(envelope=True), None, 1)
        return find_rejected(frames, plan, self._ahead(ahead))

    def explain(
        self, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, order: str | None = None,
        unit: str = "s", policy: str | None = None, shards: int | None = None, select: str | None = None,
        envelope: bool = False, contributors: bool = False, id: str | None = None,  # noqa: A002
    ) -> str:  # fmt: skip
        """Say how `detect` would run: stages, shards and their keys, the order of ties, the columns of the results."""
        frames, given = _frames(df)
        options = Options(time, event, order, unit, id)
        check_id(options, contributors)
        plan = self._plan(given, options, ResultForm(select, envelope, contributors), policy, shards, staged=True)
        return describe(plan, is_stream=_is_streaming(frames, Streaming()))

    def why(
        self, df: Any, row: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
        order: str | None = None, unit: str = "s", policy: str | None = None, id: str | None = None,  # noqa: A002
        knowledge: Mapping[str, Any] | None = None, limit: int = MOST_ROWS,
    ) -> Justification:  # fmt: skip
        """Say why a match occurred, from its row of the results of `detect`, over the same events.

        With its `contributors`, and the `id` they come from, only these rows are fetched; else all that its rule can
        depend on, at most `limit` of them.
        """
        told = Options(time, event, order, unit, id)
        return self._asked(df, told, policy, knowledge, limit).why(MatchRow.of(row))

    def why_not(
        self, df: Any, question: str, *, at: Any = None, between: tuple[Any, Any] | None = None, interval: Any = None,
        time: str | tuple[str, str] | None = None, event: str | None = None, order: str | None = None, unit: str = "s",
        policy: str | None = None, id: str | None = None,  # noqa: A002
        knowledge: Mapping[str, Any] | None = None, limit: int = MOST_ROWS, attempts: int = 3, depth: int = 5,
        budget: int = 100_000,
    ) -> WhyNot:  # fmt: skip
        """Say why an event did not occur in a DataFrame: `at` a time, `between` two, or on an `interval`.

        Fetches the rows that it can depend on, by the key that the question fixes, by kind and by time, at most `limit`
        of them. The best `attempts` of each rule are told (see `Engine.why_not`).
        """
        asked = self._asked(df, Options(time, event, order, unit, id), policy, knowledge, limit)
        range_ = None if between is None else (to_instant(between[0]), to_instant(between[1]))
        end = None if at is None else to_instant(at)
        both = None if interval is None else to_interval(interval)
        return asked.why_not(question, end, range_, both, limit=attempts, depth=depth, budget=budget)

    def _asked(
        self, df: Any, options: Options, policy: str | None, knowledge: Mapping[str, Any] | None, limit: int
    ) -> FetchedRows:
        """Return a program with the DataFrames that a question is about."""
        frames, given = _frames(df)
        if _is_streaming(frames, Streaming()):
            hint = "keep the events that came, and ask with a batch DataFrame of them: spark.read"
            raise refuse("E601", "a stream cannot be asked: its events have passed", hint)
        if limit < 1:
            raise refuse("E605", f"limit is {limit}", "give the number of rows that may be collected")
        form = ResultForm(envelope=True, contributors=options.id is not None)
        plan = leave_out(self._plan(given, options, form, policy, 1, knowledge=knowledge))
        return FetchedRows(plan, fetch_rows(frames, plan, limit))

    def compare(
        self, new: HasCompiled, df: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
        order: str | None = None, unit: str = "s", policy: str | None = None, shards: int | None = None,
        select: str | None = None,
    ) -> Any:  # fmt: skip
        """Return a DataFrame of the matches that a new program gains and loses against this one over the same events.

        The column `change` is `gained` or `lost`; the others are those of an envelope, or of one event by `select`.
        """
        options: dict[str, Any] = {"time": time, "event": event, "order": order, "unit": unit, "policy": policy}
        options |= {"shards": shards, "select": select, "envelope": select is None}
        return compare_frames(self.detect(df, **options), SparkProgram(new.compiled, self.spark).detect(df, **options))

    def _plan(
        self, given: list[TableSchema], options: Options, form: ResultForm, policy: str | None, shards: int | None,
        *, knowledge: Mapping[str, Any] | None = None, staged: bool = False, memory: int = USUAL_MEMORY,
        refreshed: Collection[str] = (), strict: bool = False, effects: str | None = None,
    ) -> DetectionPlan:  # fmt: skip
        usual = _usual_shards(self.spark)
        program = with_facts(self.program, knowledge or {})
        program.tell_unknown()
        if memory < 1:
            raise refuse("E605", f"memory is {memory}", "give the megabytes of rows that a shard may hold")
        return plan_detection(
            program, given, options, form, policy=policy, shards=shards, usual=usual, staged=staged, memory=memory,
            refreshed=refreshed, strict=strict, effects=effects,
        )  # fmt: skip


def _with_id(df: Any, match_id: bool) -> Any:
    return df if match_id else df.drop(ID)


def _frames(df: Any) -> tuple[list[Any], list[TableSchema]]:
    """Return the DataFrames and their columns, as they were given: one, or one per event."""
    named = df if isinstance(df, Mapping) else {None: df}
    if not named:
        raise refuse("E605", "no DataFrame is given", 'give one, or {"event": DataFrame, ...}')
    for frame in named.values():
        if not hasattr(frame, "dtypes") or not hasattr(frame, "mapInArrow"):
            hint = 'give a DataFrame of Spark, or {"event": DataFrame, ...}; spark.createDataFrame makes one'
            raise refuse("E601", f"{type(frame).__name__} is no DataFrame of Spark", hint)
    return list(named.values()), [TableSchema(dict(frame.dtypes), name) for name, frame in named.items()]


def _is_streaming(frames: Sequence[Any], given: Streaming) -> bool:
    """Tell whether the frames are streams; refuse a mixture, and options that would mean nothing."""
    streams = [frame.isStreaming for frame in frames]
    if any(streams) and not all(streams):
        raise refuse("E601", "some DataFrames are streams, others are not", "read all of them with spark.readStream")
    if given.named and not any(streams):
        hint = "leave them out, or read the events with spark.readStream"
        raise refuse("E605", f"{', '.join(given.named)} are for streaming DataFrames", hint)
    return any(streams)


def _usual_shards(spark: Any) -> int:
    """Return the number of shards where the caller says none: as many as Spark was told to shuffle to, or has cores."""
    told = str(spark.conf.get("spark.sql.shuffle.partitions", _USUAL_SHUFFLE))
    context = getattr(spark, "_sc", None)  # none behind Spark Connect
    if told == _USUAL_SHUFFLE and context is not None:
        return max(1, int(context.defaultParallelism))
    return int(told)


def _choose_python(spark: Any) -> None:
    """Have a local Spark run its workers on this Python, unless the user chose one."""
    context = getattr(spark, "_sc", None)
    if context is None or "PYSPARK_PYTHON" in os.environ or not str(context.master).startswith("local"):
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    context.pythonExec = sys.executable
