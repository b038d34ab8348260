"""Runs a checked pipeline on Spark: once over history, or as a stream until it ends or is stopped."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etalis.errors import InputError, Problem
from etalis.pipeline.check import Checked
from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.figures import FAILED, FINISHED, STATUS_FILE, STOPPED, Figures
from etalis.pipeline.parts import Pipeline
from etalis.pipeline.progress import Progress, count_letters, counted_rules, make_listener, observe_rules, take_progress
from etalis.pipeline.sinks import Target, common_form, effects_folder, open_stream, plan_target, write_once, write_part
from etalis.pipeline.sources import first_line, load_events
from etalis.pipeline.values import AVAILABLE_NOW
from etalis.spark import SparkProgram
from etalis.spark.counters import observed_events, read_observed
from etalis.spark.durations import to_duration
from etalis.spark.effect_rows import clear_shards
from etalis.spark.local_session import active_session, check_pyspark, session
from etalis.spark.plan.detection import plan_detection
from etalis.spark.stream.restart import query_of
from etalis.spark.stream.state_store import Store
from etalis.tables.knowledge import Columns
from etalis.tables.plan import ResultForm, plan_input
from etalis.tables.schema import TableSchema

STATE = "etalis-state"
LATE = "etalis-late"
_TRIES = 5  # to drain a stream to which rows come
_WAIT = 1  # seconds between two looks whether a stream is to stop


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run has at hand."""

    spark: Any
    checked: Checked
    progress: Progress
    rules: tuple[str, ...]

    @property
    def pipeline(self) -> Pipeline:
        return self.checked.pipeline


def status_path(pipeline: Pipeline) -> Path | None:
    """Return where a pipeline keeps its figures: with the checkpoint, or beside the file of metrics."""
    if pipeline.run.checkpoint is not None and "://" not in pipeline.run.checkpoint:
        return Path(pipeline.run.checkpoint) / STATUS_FILE
    return None if pipeline.metrics.file is None else Path(f"{pipeline.metrics.file}.json")


def run_pipeline(checked: Checked, *, spark: Any = None, show: Callable[[Figures], object] = lambda _: None) -> Figures:
    """Run a pipeline to its end, or until it is interrupted; return its figures.

    Without a session it uses the one that there is, or starts one and stops it again.
    """
    return _in_session(checked, spark, show, run_stream if checked.pipeline.run.is_stream else run_once)


def drain_pipeline(
    checked: Checked, *, spark: Any = None, show: Callable[[Figures], object] = lambda _: None
) -> Figures:
    """Take all rows that are there, then end the stream: its sinks get what it owes; return its figures."""
    pipeline = checked.pipeline
    if not pipeline.run.is_stream:
        message, hint = "this pipeline runs once, and owes nothing when it has", "run it: etalis pipeline run"
        raise InputError(pipeline.problem("E705", message, ("run",), hint))
    run = replace(pipeline.run, trigger=AVAILABLE_NOW)
    return _in_session(replace(checked, pipeline=replace(pipeline, run=run)), spark, show, drain_stream)


def _in_session(
    checked: Checked, spark: Any, show: Callable[[Figures], object], work: Callable[[Setup], bool]
) -> Figures:
    check_pyspark()
    given = spark or active_session()
    used = given or _start(checked.pipeline)
    try:
        return _run(checked, used, show, work)
    finally:
        if given is None:
            used.stop()


def _run(checked: Checked, spark: Any, show: Callable[[Figures], object], work: Callable[[Setup], bool]) -> Figures:
    progress = Progress(checked.pipeline, status_path(checked.pipeline), show)
    rules = tuple(dict.fromkeys(h.label for h in checked.program.plans()))
    setup = Setup(spark, checked, progress, rules)
    try:
        progress.tell()
        finished = work(setup)
    except KeyboardInterrupt:
        finished = False
    except Exception as error:
        refused = _explain(error)
        progress.close(FAILED, first_line(refused or error))
        if refused is None:
            raise
        raise refused from error
    progress.close(FINISHED if finished else STOPPED)
    return progress.figures


def _start(pipeline: Pipeline) -> Any:
    part = pipeline.spark
    options = dict(part.options)
    if part.jars:
        options["spark.jars"] = ",".join(part.jars)
    return session(master=part.master, cores=part.cores, memory=part.memory, options=options)


def _explain(error: Exception) -> InputError | None:
    """Return an error of Spark as one sentence, None if it is none; what a worker refused is found in its trace."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return None
    told = [line.strip() for line in str(error).splitlines()]
    ours = next((line for line in told if line.startswith("etalis.errors.")), None)
    message = first_line(error) if ours is None else ours.partition(": ")[2]
    return InputError(Problem("E710", f"the run failed: {message}", hint="Spark's log has the whole trace"))


# once


def run_once(setup: Setup) -> bool:
    """Detect over history, and write the results to every sink."""
    from pyspark.sql import Observation

    pipeline = setup.pipeline
    frames = load_events(setup.spark, setup.checked)
    inputs = {event: Observation() for event in frames}
    matches = Observation()
    given = [TableSchema(dict(df.dtypes), event) for event, df in frames.items()]
    plans = plan_input(setup.checked.program, given, setup.checked.options, None).frames
    both = zip(frames.items(), plans, strict=True)
    counted = {event: df.observe(inputs[event], *observed_events(plan)) for (event, df), plan in both}
    letters = None if pipeline.dead_letters is None else pipeline.dead_letters.path
    before = count_letters(letters)
    if (folder := effects_folder(pipeline)) is not None:
        clear_shards(folder)
    bounds = {"rejected": letters, "ahead": pipeline.run.ahead, "max_rejected": pipeline.run.max_rejected}
    results = observe_rules(_detect(setup, counted, **bounds), setup.rules, matches)
    targets = _targets(setup, frames)
    several = len(targets) > 1
    if several:
        results = results.persist()
    try:
        for target in targets:
            write_once(results, target, pipeline)
    finally:
        if several:
            results.unpersist()
    rows = sum(int(each.get["rows"] or 0) for each in inputs.values())
    seen = [read_observed(each.get, plan) for each, plan in zip(inputs.values(), plans, strict=True)]
    events: Counter[str] = sum((came for came, _ in seen), Counter())
    unread: Counter[str] = sum((others for _, others in seen), Counter())
    causes = count_letters(letters) - before
    counts = {"rows": rows - causes.total(), "late": causes.total(), "causes": dict(causes)}
    counts |= {"events": dict(events), "unread": dict(unread)}
    setup.progress.count(counted_rules(matches.get, setup.rules), **counts)
    assert not pipeline.run.is_stream
    return True


def _detect(setup: Setup, frames: dict[str | None, Any], **streaming: Any) -> Any:
    options, run = setup.checked.options, setup.pipeline.run
    form = common_form(setup.pipeline.sinks)
    return SparkProgram(setup.checked.program, setup.spark).detect(
        frames, time=options.time, event=options.event, order=options.order, unit=options.unit, shards=run.shards,
        select=form.select, envelope=form.envelope, effects=effects_folder(setup.pipeline), **streaming,
    )  # fmt: skip


def _targets(setup: Setup, frames: dict[str | None, Any]) -> list[Target]:
    """Say what each sink takes of the results."""
    sinks = setup.pipeline.sinks
    if common_form(sinks).select is not None:
        return [Target(sinks[0])]
    given = [TableSchema(dict(df.dtypes), event) for event, df in frames.items()]

    def output(form: ResultForm) -> Any:
        plan = plan_detection(
            setup.checked.program, given, setup.checked.options, form, policy=None,
            shards=setup.pipeline.run.shards, usual=1,
        )  # fmt: skip
        return plan.job.output

    results = output(common_form(sinks))
    alone = [None if sink.event is None or sink.envelope else output(ResultForm(sink.event)) for sink in sinks]
    return [plan_target(sink, results, own) for sink, own in zip(sinks, alone, strict=True)]


# as a stream


def drain_stream(setup: Setup) -> bool:
    """Run a query over all that is there, then end its stream; return whether it came to its end."""
    state = f"{str(setup.pipeline.run.checkpoint).rstrip('/')}/{STATE}"
    for _ in range(_TRIES):
        if not run_stream(setup) or not run_stream(setup, close=True):
            return False
        query = query_of(str(setup.pipeline.run.checkpoint))
        if query is not None and Store(state).has_ended(query):
            return True
    hint = "stop what writes to the sources, then drain again"
    raise InputError(Problem("E713", "rows keep coming, and a stream ends when none come any more", hint=hint))


def run_stream(setup: Setup, *, close: bool = False) -> bool:
    """Run a query until it ends or is told to stop; return whether it came to its end."""
    checkpoint = str(setup.pipeline.run.checkpoint).rstrip("/")
    state = f"{checkpoint}/{STATE}"
    frames = load_events(setup.spark, setup.checked)
    streaming = _streaming(setup.pipeline, state) | {"checkpoint": checkpoint, "close": close}
    results = _detect(setup, frames, **streaming, clock=_clock(setup))
    targets = _targets(setup, frames)
    writer = _writer(setup, observe_rules(results, setup.rules), targets).option("checkpointLocation", checkpoint)
    listener = make_listener(setup.progress, state, setup.rules)
    setup.spark.streams.addListener(listener)
    try:
        with _told_to_stop() as stop:
            query = _begin(writer, setup.pipeline)
            finished = _await(query, stop, setup.progress)
        for told in query.recentProgress:  # what the listener was not told any more
            take_progress(setup.progress, told, state, setup.rules)
        return finished
    finally:
        setup.spark.streams.removeListener(listener)


def _streaming(pipeline: Pipeline, state: str) -> dict[str, Any]:
    run = pipeline.run
    late = f"{state.removesuffix(STATE)}{LATE}" if pipeline.dead_letters is None else pipeline.dead_letters.path
    tables = [table for table in pipeline.knowledge if not table.is_fixed]
    knowledge = {table.name: Columns(table.path, table.columns or None) for table in tables}
    refreshed = {table.name: table.refreshed for table in tables} or None
    told = {"knowledge": knowledge, "refreshed": refreshed, "reporting": run.reporting, "ahead": run.ahead}
    told |= {"max_rejected": run.max_rejected, "allow_dropped": run.allow_dropped}
    return {**told, "state": state, "lateness": run.lateness, "idle": run.idle, "late": late}


def _clock(setup: Setup) -> Any:
    """Return a stream that tells the time, so that absences and alarms come while no event does."""
    if not setup.pipeline.run.clock:
        return None
    ticks = setup.spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    return ticks.select("timestamp")


def _writer(setup: Setup, results: Any, targets: list[Target]) -> Any:
    """Return the writer of the results: Spark's own for one sink, batch by batch for several."""
    if len(targets) == 1:
        return open_stream(results, targets[0], setup.pipeline)

    def write(df: Any, batch: int) -> None:
        kept = df.persist()  # a batch must be computed once and whole: its state is saved while it is
        try:
            for target in targets:
                write_part(kept, target, setup.pipeline, batch)
        finally:
            kept.unpersist()

    return results.writeStream.foreachBatch(write)


def _begin(writer: Any, pipeline: Pipeline) -> Any:
    run = pipeline.run
    trigger = {"availableNow": True} if run.trigger == AVAILABLE_NOW else {"processingTime": _interval(run.trigger)}
    writer = writer.trigger(**trigger).outputMode("append")
    if len(pipeline.sinks) > 1:
        return writer.start()
    (sink,) = pipeline.sinks
    return CONNECTORS[sink.format].start(writer, sink)


def _interval(text: str) -> str:
    """Return a duration as Spark reads it.

    >>> _interval("1 min 30 s")
    '90000000 microseconds'
    """
    return f"{to_duration('trigger', text)} microseconds"


def _await(query: Any, stop: threading.Event, progress: Progress) -> bool:
    """Wait for a query; tell now and then that it lives."""
    try:
        while not query.awaitTermination(_WAIT):
            if stop.is_set():
                return False
            progress.update()
        return True
    finally:
        if query.isActive:
            query.stop()


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """Note SIGTERM and SIGINT instead of dying of them, where this is the main thread."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
