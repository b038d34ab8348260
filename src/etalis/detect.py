"""Complex events in tables: `program.detect(table)` gives an Arrow table back.

Takes Parquet (also folders), Arrow, CSV and JSON-lines files, and anything that speaks Arrow's C stream interface
(pandas, Polars, DuckDB). Columns play the parts they have on Spark, and results have the columns they have there, but
for the id. Files are read a batch at a time, and of those only what rules need; rows of equal time are taken in their
order in the table.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from etalis.errors import InputError, Problem, ReportWarning
from etalis.language.flags import with_ahead
from etalis.runtime.core import Ahead, EngineOptions
from etalis.runtime.reporting.engine_report import make_report
from etalis.runtime.reporting.report import Report, ReportError, read_nowhere
from etalis.tables.column_types import NUMBERS
from etalis.tables.feed import TableFeed, TablePlan, open_tables, plan_tables
from etalis.tables.knowledge import with_facts
from etalis.tables.plan import ResultForm
from etalis.tables.progress import Pace, following
from etalis.tables.read.admission import latest_of
from etalis.tables.read.sources import prefetch
from etalis.tables.results.unfinished import Unfinished
from etalis.tables.run import TableRun
from etalis.tables.schema import Options, check_id

if TYPE_CHECKING:
    from etalis.columnar.run import InputBatch
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine

SMALL = 5_000  # rows: kernels take longer to compile than an engine to take fewer one by one
_LOG = logging.getLogger("etalis.columns")


def detect(
    program: CompiledProgram, source: Any, options: Options, form: ResultForm, engine: EngineOptions, pace: Pace,
    knowledge: Mapping[str, Any] | None, on_report: Callable[[Report], object] | None,
) -> pa.Table:  # fmt: skip
    """Return the complex events in a table of events, or in one table per event.

    With more than one of `threads`, tables are read in another one.
    """
    program, bound = _without_bound(with_facts(program, knowledge or {}), engine.ahead)
    program.tell_unknown()
    plan = plan_tables(program, open_tables(source, pace, program, options), options, engine.policy)
    check_id(options, form.contributors)
    whole = _Whole(plan, bound, options, form, engine, pace)
    found, run = _take_small(whole) if _is_small(plan) else whole.take()
    is_asked = on_report is not None or engine.strict or not found.num_rows
    report = make_report(run.run.engine.core, silence=is_asked)
    if on_report is not None:
        on_report(report)
    if engine.strict and report:
        raise ReportError(report, found)
    untold = {"errors": engine.on_error is None, "letters": engine.on_dead_letter is None}
    told = report.suspicious(found=bool(found.num_rows), **untold)
    if told and on_report is None:
        warnings.warn(str(told), ReportWarning, stacklevel=4)
    return found


@dataclass(frozen=True, slots=True)
class _Whole:
    """All rows of some tables, to be taken by an engine of their own."""

    plan: TablePlan
    bound: int | None
    options: Options
    form: ResultForm
    engine: EngineOptions
    pace: Pace

    def take(self, *, row_by_row: bool = False) -> tuple[pa.Table, TableRun]:
        """Return what the rows cause, and the run that found it; what is to be known of them is noted."""
        columns, plan, engine = _columns(), self.plan, self.engine
        made = columns.ColumnRun(
            plan.program, plan.types, policy=engine.policy, on_error=engine.on_error,
            on_dead_letter=engine.on_dead_letter, contributors=self.form.contributors, row_by_row=row_by_row,
            only_points=all(len(set(frame.times)) == 1 for frame in plan.intake.frames),
        )  # fmt: skip
        run = TableRun(plan, self.form, made if row_by_row else columns.warned(made))
        feed = TableFeed(plan, self.bound)
        parts: list[pa.RecordBatch] = []
        _take_all(run, feed, feed.whole(run, self.options, self.pace.batch), self.pace, parts)
        parts.extend(run.close())
        found = pa.Table.from_batches(parts, schema=run.results.schema)
        run.note_unread(feed, again=not found.num_rows)
        made.let_go()
        return found, run


def _is_small(plan: TablePlan) -> bool:
    """Tell whether rows can be taken twice, and are too few to compile anything for."""
    return plan.size is not None and plan.size < SMALL


def _take_small(whole: _Whole) -> tuple[pa.Table, TableRun]:
    """Take a few rows in memory without compiling a kernel: event at a time, where one has no machine code yet.

    The host is told of errors, dead letters and progress when it is certain which way the rows went.
    """
    _columns()
    from etalis.columnar.kernels.jit import NotCompiledError, uncompiled

    engine, pace = whole.engine, replace(whole.pace, threads=1)
    told: list[Callable[[], object]] = []

    def later(tell: Callable[..., object] | None) -> Callable[..., object] | None:
        return None if tell is None else lambda *what: told.append(partial(tell, *what))

    deferred = replace(engine, on_error=later(engine.on_error), on_dead_letter=later(engine.on_dead_letter))
    progress = (later(pace.progress) or False) if callable(pace.progress) else pace.progress
    try:
        with uncompiled():
            return replace(whole, engine=deferred, pace=replace(pace, progress=progress)).take()
    except NotCompiledError as missing:
        told.clear()
        _LOG.info("event at a time: %d rows are too few to compile %s for", whole.plan.size, missing)
        with uncompiled("plain"):
            return replace(whole, pace=pace).take(row_by_row=True)
    finally:
        for tell in told:
            tell()


def _without_bound(program: CompiledProgram, ahead: Ahead) -> tuple[CompiledProgram, int | None]:
    """Return a program that takes what lies ahead, and the bound on that, which holds where rows come in."""
    own = copy(program)
    own.settings = replace(program.settings, max_ahead=None)
    return own, with_ahead(program.settings, ahead).max_ahead


def detect_on(
    engine: RuntimeEngine, source: Any, options: Options, form: ResultForm, pace: Pace, ahead: Ahead
) -> pa.Table:
    """Return the complex events that the rows of tables cause in an engine, which then goes on from there."""
    engine.core.unfinished = None
    program, rules = engine.core.program, engine.core.rules
    if rules.generation or len(rules.rules) < len(rules.first):
        hint = "push the rows, or write the rules into the program's text"
        raise InputError(Problem("E610", "the columns of the results cannot be determined: rules changed", hint=hint))
    if form.contributors and not rules.traced:
        hint = "make the engine with parts=True, which keeps what matches are made of"
        raise InputError(Problem("E605", "this engine does not know the contributors of its matches", hint=hint))
    program.tell_unknown()
    plan = plan_tables(program, open_tables(source, pace, program, options), options, rules.settings.policy)
    check_id(options, form.contributors)
    engine.core.evidence.shown.dates |= any(frame.time_types[0] not in NUMBERS for frame in plan.intake.frames)
    run = TableRun(plan, form, _columns().run_on(engine, plan.types))
    feed = TableFeed(plan, with_ahead(rules.settings, ahead).max_ahead, latest_of(engine))
    parts: list[pa.RecordBatch] = []
    try:
        run.run.load()
        _take_all(run, feed, feed.going_on(run), pace, parts)
    except BaseException as error:
        found = pa.Table.from_batches(parts, schema=run.results.schema)
        engine.core.unfinished = unfinished = Unfinished(run.run.atomic.rows, found, tuple(run.events))
        error.add_note(unfinished.note())
        raise
    finally:
        run.run.save()
    found = pa.Table.from_batches(parts, schema=run.results.schema)
    unread = run.note_unread(feed, again=False)
    if engine.core.strict and unread:
        raise ReportError(Report(tuple(read_nowhere(unread, rules))), found)
    return found


def _take_all(
    run: TableRun, feed: TableFeed, batches: Iterable[InputBatch], pace: Pace, parts: list[pa.RecordBatch]
) -> None:
    """Take batches of rows, and add what they cause to the parts; tell how far it is."""
    rows = matches = 0
    dead = run.run.engine.core.dead_letters
    with following(pace.progress) as tell:
        for batch in run.gathered(prefetch(batches) if pace.threads > 1 else batches):
            for part in run.take(batch):
                parts.append(part)
                matches += part.num_rows
            rows += len(batch.end)
            feed.hand_on(dead)
            tell(rows, matches)
    feed.hand_on(dead)
    for bad in feed.unread():
        dead.add("", (), None, None, str(bad.problem).splitlines()[0])


def explain(
    program: CompiledProgram, source: Any, options: Options, policy: str | None = None,
    engine: RuntimeEngine | None = None, *, contributors: bool = False,
) -> str:  # fmt: skip
    """Say which rules `detect` runs over columns and which event at a time, and why; with an engine, its `detect`."""
    plan = plan_tables(program, open_tables(source, Pace(threads=1), program, options), options, policy)
    run = _columns().ColumnRun(program, plan.types, policy=policy, engine=engine, contributors=contributors)
    found: str = run.choice.describe()
    return found


def _columns() -> Any:
    """Return the module that runs programs over columns."""
    try:
        return import_module("etalis.columnar.run")
    except ModuleNotFoundError as error:
        hint = "pip install 'etalis[columnar]'"
        raise InputError(Problem("E412", f"columns need {error.name}, which is not installed", hint=hint)) from None
