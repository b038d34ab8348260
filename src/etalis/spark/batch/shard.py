"""One shard of a batch job: Arrow batches of rows in, sorted, through a runner, Arrow batches of complex events out.

Runs inside Spark's Python workers, without pyspark; the engine is fresh per shard. It is one micro-batch that settles
every row and ends. Law: rows are taken in the order of definition 6.1: (end, start, order column), and where
these are equal in the standard order of the atoms.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from etalis.errors import Problem
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import start_engine
from etalis.spark.batch.job import Job, load
from etalis.spark.batch.rejections import naming_remedy, screened
from etalis.spark.batch.row_runner import BATCH, RowRunner
from etalis.spark.batch.stage_schema import StageSorter, split_passing
from etalis.spark.effect_rows import ShardEffects, write_shard
from etalis.spark.execution_mode import ShardRunner, open_runner
from etalis.temporal.event import Event

ERROR_COLUMNS = "code string, message string"


def run_shard(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard of one stage and yield its complex events; errors of conditions go to the log."""
    effects = ShardEffects()
    yield from _run(job, batches, partial(open_runner, effects=effects))
    if job.effects is not None:
        write_shard(job.effects, _shard_number(), effects.take(0))


def _shard_number() -> int:
    """Return which shard it is that runs, as Spark numbers them."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _run(job: Job, batches: Iterable[Any], make: Callable[[Job, Any], ShardRunner]) -> Iterator[Any]:
    sorter, schema = StageSorter(job), None
    with rare_collections(), naming_remedy(job):
        for batch in screened(job, batches):
            schema = batch.schema
            through, rows = split_passing(batch, job)
            yield from through
            sorter.add(rows)
        if job.is_staged and schema is None:
            return
        runner = make(job, schema)
        yield from runner.take(sorter.stretches())
        yield from runner.close()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage less often: rows are many and hold no cycles, and looking at them takes a third of the time."""
    before = gc.get_threshold()
    gc.set_threshold(20 * BATCH, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def run_errors(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard and yield what its conditions and actions raised.

    Event at a time: over columns a condition is asked of more candidates than those that a policy comes to.
    """
    problems: list[Problem] = []

    def report(_: Sequence[Event] = ()) -> Iterator[Any]:
        if problems:
            yield _report(problems)
            problems.clear()

    options = EngineOptions(on_error=lambda error: problems.extend(error.problems), effects=ShardEffects())
    engine = start_engine(load(job), options)
    yield from _run(job, batches, lambda *_: RowRunner(job, engine, report))
    yield from report()


def _report(problems: Sequence[Problem]) -> Any:
    columns = [[p.code for p in problems], [str(p) for p in problems]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], names=["code", "message"])
