"""Which way the rules of a shard run: over columns where they qualify and numba is there, else event at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from etalis.plan.keys import show
from etalis.runtime.engine import start_engine
from etalis.tables.schema import Part

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun
    from etalis.errors import ConditionError
    from etalis.plan.types import Types
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine
    from etalis.spark.batch.shard import Job
    from etalis.spark.batch.stage import Relayed

MANY = 10_000  # rows that a micro-batch must bring to a shard to be taken over columns
WORTH = 2  # as many rows as are taken while one instance that waits is brought over columns and back
_LOG = logging.getLogger("etalis.spark")


def parts_of(job: Job) -> tuple[Part, ...]:
    """Return how the rows of a job become events over columns."""
    return tuple(
        Part(rows.tag, (rows.name, len(rows.slots)), tuple(f"s{i}" for i in rows.slots), rows.types)
        for rows in job.rows
    )


def types_of(job: Job) -> Types:
    """Return the types of what comes to the shards of a job."""
    return {part.kind: part.types for part in parts_of(job)}


def find_obstacles(job: Job) -> Iterator[str]:
    """Yield what keeps a whole job from columns, whatever its rules."""
    if not job.over_columns:
        yield "columns are turned off"
    if find_spec("numba") is None:
        yield "columns need numba, which is not installed: pip install 'etalis[columnar]'"
    if job.output.contributors:
        yield "the contributors of matches are reported"
    kinds = [part.kind for part in parts_of(job)]
    for kind in sorted({kind for kind in kinds if kinds.count(kind) > 1}):
        yield f"rows of {show(kind)} come from several DataFrames"


def run_columns(
    job: Job, program: CompiledProgram, on_error: Callable[[ConditionError], object] | None = None, *,
    carried: bool = False,
) -> ColumnRun | None:  # fmt: skip
    """Return a run of a job's rules over columns; None if the job keeps all of them from there.

    `carried`: as micro-batches do it, where what waits is an engine's.
    """
    if any(find_obstacles(job)):
        return None
    from etalis.columnar.run import ColumnRun

    return ColumnRun(program, types_of(job), on_error=on_error, engine=start_engine(program) if carried else None)


def stage_columns(
    relayed: Relayed, program: CompiledProgram, on_error: Callable[[ConditionError], object] | None = None
) -> ColumnRun | None:
    """Return a run over columns of the rules of one stage of several; None if they run event at a time."""
    if relayed.incoming or relayed.passing:
        return None
    run = run_columns(relayed.job, program, on_error)
    return None if run is None or run.at_a_time or not run.waits_for_rows else run


def stage_reasons(relayed: Relayed, program: CompiledProgram) -> tuple[str, ...]:
    """Return why the rules of one stage of several run event at a time; nothing if they run over columns."""
    if relayed.incoming or relayed.passing:
        return ("events derived by other stages come between its rows",)
    run = run_columns(relayed.job, program)
    if run is None:
        return tuple(find_obstacles(relayed.job))
    if run.at_a_time:
        return run.choice.reasons
    return () if run.waits_for_rows else ("what falls due goes on to other stages",)


def describe_way(job: Job, run: ColumnRun | None) -> list[str]:
    """Say how the rules of a job run, in lines."""
    if run is not None:
        return run.choice.describe().splitlines()
    return ["event at a time: all rules", *(f"  {obstacle}" for obstacle in find_obstacles(job))]


def stream_columns(job: Job, engine: RuntimeEngine, rows: int) -> ColumnRun | None:
    """Return a run over columns that goes on from where an engine stands; None if so many rows do not pay for it."""
    if rows < MANY or WORTH * rows < engine.waiting() or any(find_obstacles(job)):
        return None
    from etalis.columnar.run import run_on

    run = run_on(engine, types_of(job))
    if not run.choice.columnar:
        return None
    run.load()
    if not run.components:
        run.save()
        return None
    return run


def is_over_columns(job: Job, run: ColumnRun | None) -> bool:
    """Tell whether some rules run over columns; what does not is said once per process."""
    if run is None or run.at_a_time:
        say_once("\n".join(describe_way(job, run)))
    return run is not None and bool(run.components)


@lru_cache(maxsize=16)
def say_once(text: str) -> None:
    """Write to the log of the worker what has not been written there yet."""
    _LOG.warning("%s", text)
