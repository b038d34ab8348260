"""How the rules of a shard run: over columns where they qualify and numba is there, else event at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from etalis.plan.keys import show
from etalis.reactive.effects.sink import EffectSink
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine, start_engine
from etalis.spark.batch.input_names import InputNames
from etalis.spark.batch.job import Job, load
from etalis.spark.batch.row_runner import RowRunner, StageRowRunner
from etalis.tables.sorting import Stretch

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun
    from etalis.runtime.compiled import CompiledProgram

MANY = 10_000  # rows that a micro-batch must bring to a shard to be taken over columns
WORTH = 2  # as many rows as are taken while one instance that waits is brought over columns and back
_LOG = logging.getLogger("etalis.spark")


class ShardRunner(Protocol):
    """Takes the rows of a shard of a stage in order, and yields results and rows for later stages, as Arrow batches."""

    def take(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take rows that follow all taken before."""

    def advance(self, time: int) -> Iterator[Any]:
        """Let time reach a moment."""

    def close(self) -> Iterator[Any]:
        """End the stream."""


def open_runner(job: Job, received: Any, effects: EffectSink) -> ShardRunner:
    """Return the runner of a batch job, on a fresh engine; `received` is the schema of its rows."""
    program = load(job)
    run = run_columns(job, program)
    if run is not None and is_over_columns(job, run):
        from etalis.spark.batch.column_runner import ColumnRunner

        return ColumnRunner(job, run, received)
    options = EngineOptions(on_error=job.on_error, parts=job.output.contributors, effects=effects)
    if job.is_staged:
        return StageRowRunner(job, RuntimeEngine(program, options), received)
    return RowRunner(job, start_engine(program, options))


def resume_runner(job: Job, engine: RuntimeEngine, rows: int, received: Any, write: Any) -> ShardRunner:
    """Return the runner of a micro-batch of so many rows, on an engine that goes on; over columns where that pays.

    `write` makes rows of what inputs are called, if contributors are told, and of events.
    """
    if job.is_staged:
        return StageRowRunner(job, engine, received)
    if job.output.contributors:
        names = InputNames(engine)
        return RowRunner(job, engine, partial(write, names), names)
    run = _resume_columns(job, engine, rows)
    if run is None:
        return RowRunner(job, engine, partial(write, None))
    from etalis.spark.batch.column_runner import ColumnRunner

    return ColumnRunner(job, run, write=partial(write, None))


def find_obstacles(job: Job) -> Iterator[str]:
    """Yield what keeps a whole job from columns, whatever its rules."""
    if job.incoming or job.passing:
        yield "events derived by other stages come between its rows"
        return
    if not job.over_columns:
        yield "columns are turned off"
    if load(job).reactions:
        yield "reactions change what later conditions see"
    if find_spec("numba") is None:
        yield "columns need numba, which is not installed: pip install 'etalis[columnar]'"
    if job.is_staged and job.output.contributors:
        yield "the contributors of its events go on to other stages"
    kinds = [part.kind for part in job.parts]
    for kind in sorted({kind for kind in kinds if kinds.count(kind) > 1}):
        yield f"rows of {show(kind)} come from several DataFrames"


def run_columns(job: Job, program: CompiledProgram, *, carried: bool = False) -> ColumnRun | None:
    """Return a run of a job's rules over columns; None if the job keeps all of them from there.

    `carried`: as micro-batches do it, where what waits is an engine's.
    """
    if any(find_obstacles(job)):
        return None
    from etalis.columnar.run import ColumnRun

    types = {part.kind: part.types for part in job.parts}
    told, engine = job.output.contributors, start_engine(program) if carried else None
    return ColumnRun(program, types, on_error=job.on_error, engine=engine, contributors=told)


def _resume_columns(job: Job, engine: RuntimeEngine, rows: int) -> ColumnRun | None:
    """Return a run over columns that goes on from where an engine stands; None if so many rows do not pay for it."""
    if rows < MANY or WORTH * rows < engine.waiting() or any(find_obstacles(job)):
        return None
    from etalis.columnar.run import run_on

    run = run_on(engine, {part.kind: part.types for part in job.parts})
    if not run.choice.columnar:
        return None
    run.load()
    if not run.components:
        run.save()
        return None
    return run


def is_over_columns(job: Job, run: ColumnRun | None) -> bool:
    """Tell whether some rules run over columns, of one stage of several all; what does not is said once per process."""
    if job.is_staged:
        return run is not None and not run.at_a_time and run.waits_for_rows
    if run is None or run.at_a_time:
        say_once("\n".join(describe_mode(job, run)))
    return run is not None and bool(run.components)


def stage_reasons(job: Job, run: ColumnRun | None) -> tuple[str, ...]:
    """Return why the rules of one stage of several run event at a time; nothing if they run over columns."""
    if run is None:
        return tuple(find_obstacles(job))
    if run.at_a_time:
        return run.choice.reasons
    return () if run.waits_for_rows else ("what falls due goes on to other stages",)


def describe_mode(job: Job, run: ColumnRun | None) -> list[str]:
    """Say how the rules of a job run, in lines."""
    if run is not None:
        return run.choice.describe().splitlines()
    return ["event at a time: all rules", *(f"  {obstacle}" for obstacle in find_obstacles(job))]


@lru_cache(maxsize=16)
def say_once(text: str) -> None:
    """Write to the log of the worker what has not been written there yet."""
    _LOG.warning("%s", text)
