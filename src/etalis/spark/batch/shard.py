"""One shard: Arrow batches of rows in, sorted, through the engine, Arrow batches of complex events out.

Runs inside Spark's Python workers, without pyspark. What travels is a `Job`: the program's text and plain data. The
program is read again once per process, the engine is fresh per shard. Law: rows are taken in the order of definition
6.1: (end, start, order column), and where these are equal in the standard order of the atoms.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from etalis.errors import ConditionError, EventError, InputError, Problem
from etalis.language.flags import Settings
from etalis.language.read.parser import parse
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine, start_engine
from etalis.runtime.snapshot.names import digest
from etalis.spark.batch.feed import Feed, Rows
from etalis.spark.batch.rejections import Rejects, naming_remedy, screened
from etalis.spark.execution_mode import is_over_columns, run_columns
from etalis.spark.knowledge.shipped import NOTHING, Facts, Told
from etalis.tables.results.output import Output, encode
from etalis.tables.sorting import MEGABYTE, USUAL_MEMORY, sort_rows
from etalis.temporal.event import Event

BATCH = 10_000
_LOG = logging.getLogger("etalis.spark")
ERROR_COLUMNS = "code string, message string"


@dataclass(frozen=True, slots=True)
class Job:
    """All that a shard needs to know."""

    text: str
    settings: Settings
    rows: tuple[Rows, ...]
    made: tuple[str, ...]
    unit: str
    output: Output
    told: Told = NOTHING
    memory: int = USUAL_MEMORY * MEGABYTE
    over_columns: bool = True  # where rules qualify
    rejects: Rejects | None = None  # without it a row that cannot be taken is an error
    strict: bool = False

    @property
    def on_error(self) -> Callable[[ConditionError], object]:
        """What is done with the errors of conditions: logged, or raised where the job is strict."""
        return raise_error if self.strict else log_error

    @property
    def fingerprint(self) -> str:
        """What the rules are called: equal for equal rules under equal settings."""
        return digest((self.text, self.settings))


def load(job: Job) -> CompiledProgram:
    """Return a job's program, with all that its host told it."""
    program = _load(job.text, job.settings, job.told.facts)
    if not job.told.functions:
        return program
    known = copy(program)
    known.knowledge = program.knowledge.copied()
    known.knowledge.register(job.told.functions)
    return known


@lru_cache(maxsize=16)
def _load(text: str, settings: Settings, facts: Facts | None) -> CompiledProgram:
    """Read a program again from its text, and facts from their bytes, once per process."""
    program = CompiledProgram(parse(text), (), settings)
    if facts is not None:
        for relation in facts.read():
            program.knowledge.load(relation)
    return program


def run_shard(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard and yield its complex events; errors of conditions go to the log."""
    with rare_collections(), naming_remedy(job):
        yield from _run_shard(job, screened(job, batches))


def _run_shard(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    program = load(job)
    run = run_columns(job, program, job.on_error)
    if run is not None and is_over_columns(job, run):
        from etalis.spark.batch.columns import ColumnShard

        yield from ColumnShard(job, run).results(sort_rows(batches, job.unit, job.memory))
        return
    engine = start_engine(program, EngineOptions(on_error=job.on_error, parts=job.output.contributors))
    ids: list[str] | None = [] if job.output.contributors else None
    for part in run_rows(engine, job, batches, ids=ids):
        yield encode(part, job.output, ids or ())


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage less often: rows are many and hold no cycles, and looking at them takes a third of the time."""
    before = gc.get_threshold()
    gc.set_threshold(20 * BATCH, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def log_error(error: Exception) -> None:
    """Write an error to the log of the worker."""
    _LOG.warning("%s", error)


def raise_error(error: ConditionError) -> None:
    """Let an error of a condition end the run."""
    raise ConditionError(replace(error.problems[0], code="E333"))


def run_errors(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard and yield what its conditions and actions raised.

    Event at a time: over columns a condition is asked of more candidates than those that a policy comes to.
    """
    problems: list[Problem] = []
    engine = start_engine(load(job), EngineOptions(on_error=lambda error: problems.extend(error.problems)))
    with rare_collections():
        for _ in run_rows(engine, job, screened(job, batches)):
            if len(problems) >= BATCH:
                yield _report(problems)
                problems.clear()
    if problems:
        yield _report(problems)


def _report(problems: Sequence[Problem]) -> Any:
    columns = [[p.code for p in problems], [str(p) for p in problems]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], names=["code", "message"])


def run_rows(
    engine: RuntimeEngine, job: Job, batches: Iterable[Any],
    ending: Callable[[RuntimeEngine], Iterable[Event]] = RuntimeEngine.close, ids: list[str] | None = None,
) -> Iterator[list[Event]]:  # fmt: skip
    """Take all rows of a shard in order, close the stream, and yield what that caused, many at a time.

    Where the stream goes on, another `ending` lets time pass. The ids of the rows are added to `ids`.
    """
    stretches = sort_rows(batches, job.unit, job.memory)
    feed = Feed(stretches, job.rows, engine.core.program.signatures, ids)
    found = chain(engine.run(feed), _end(engine, ending))
    with naming_rows(feed):
        while part := list(islice(found, BATCH)):
            yield part


@contextmanager
def naming_rows(feed: Feed) -> Iterator[None]:
    """Say in errors of events which row it was."""
    try:
        yield
    except EventError as error:
        first = error.problems[0]
        message = f"{feed.place()}: {first.message}"
        raise InputError(Problem(first.code, message, hint=first.hint)) from error


def _end(engine: RuntimeEngine, ending: Callable[[RuntimeEngine], Iterable[Event]]) -> Iterator[Event]:
    """End the stream when all before has been taken."""
    yield from ending(engine)
