"""Complex events in tables: `program.detect(table)` gives an Arrow table back.

Takes Parquet (also folders), Arrow, CSV and JSON-lines files, and anything that speaks Arrow's C stream interface
(pandas, Polars, DuckDB). Columns play the parts they have on Spark, and results have the columns they have there, but
for the id. Files are read a batch at a time, and of those only what rules need; rows of equal time are taken in their
order in the table.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem, ReportWarning
from etalis.language.flags import with_ahead
from etalis.logic.knowledge.arrow_columns import in_one
from etalis.plan.keys import show
from etalis.runtime.core import Ahead, EngineOptions
from etalis.runtime.reporting.engine_report import make_report
from etalis.runtime.reporting.report import Report, ReportError, read_nowhere
from etalis.runtime.state import BEGINNING
from etalis.tables.column_types import NUMBERS, nested_types, type_name
from etalis.tables.knowledge import engine_answers, with_facts
from etalis.tables.plan import InputPlan, ResultForm, plan_input, plan_output
from etalis.tables.progress import Pace, following
from etalis.tables.read.admission import Arrived, TableAdmission, in_order, in_time, latest_of
from etalis.tables.read.merging import Pieces, merge, order_of, within
from etalis.tables.read.sources import TableSource, open_source, prefetch
from etalis.tables.results.output import Output, in_utc
from etalis.tables.results.row_ids import RowIds
from etalis.tables.results.unfinished import Unfinished
from etalis.tables.schema import JSON, Frame, Options, Part, TableSchema, check_id

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun, InputBatch
    from etalis.formats.row import Bad
    from etalis.plan.types import Types
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine
    from etalis.runtime.lateness.watermark import DeadLetters
    from etalis.tables.read.batches import EventCodes
    from etalis.temporal.event import Event

MOST_TOGETHER = 1 << 20  # rows
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
    plan = _plan(program, _open(source, pace, program, options), options, engine.policy)
    check_id(options, form.contributors)
    whole = _Whole(plan, bound, options, form, engine, pace)
    found, run = _take_small(whole) if plan.is_small else whole.take()
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

    plan: _Plan
    bound: int | None
    options: Options
    form: ResultForm
    engine: EngineOptions
    pace: Pace

    def take(self, *, row_by_row: bool = False) -> tuple[pa.Table, _Run]:
        """Return what the rows cause, and the run that found it; what is to be known of them is noted."""
        columns, plan, engine = _columns(), self.plan, self.engine
        made = columns.ColumnRun(
            plan.program, plan.types, policy=engine.policy, on_error=engine.on_error,
            on_dead_letter=engine.on_dead_letter, contributors=self.form.contributors, row_by_row=row_by_row,
            only_points=all(len(set(frame.times)) == 1 for frame in plan.intake.frames),
        )  # fmt: skip
        run = _Run(plan, self.form, made if row_by_row else columns.warned(made))
        feed = _Feed(plan, self.bound)
        parts: list[pa.RecordBatch] = []
        _take_all(run, feed, feed.whole(run, self.options, self.pace.batch), self.pace, parts)
        parts.extend(run.close())
        found = pa.Table.from_batches(parts, schema=run.results.schema)
        run.note_unread(feed, again=not found.num_rows)
        made.let_go()
        return found, run


def _take_small(whole: _Whole) -> tuple[pa.Table, _Run]:
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
    plan = _plan(program, _open(source, pace, program, options), options, rules.settings.policy)
    check_id(options, form.contributors)
    engine.core.evidence.shown.dates |= any(frame.time_types[0] not in NUMBERS for frame in plan.intake.frames)
    run = _Run(plan, form, _columns().run_on(engine, plan.types))
    feed = _Feed(plan, with_ahead(rules.settings, ahead).max_ahead, latest_of(engine))
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


def _take_all(run: _Run, feed: _Feed, batches: Iterable[InputBatch], pace: Pace, parts: list[pa.RecordBatch]) -> None:
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
    plan = _plan(program, _open(source, Pace(threads=1), program, options), options, policy)
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is decided before rows are read: the parts that columns play in each table, and names of what rules make."""

    program: CompiledProgram
    tables: tuple[TableSource, ...]
    unit: str
    intake: InputPlan

    @property
    def made(self) -> tuple[str, ...]:
        return self.intake.made

    @property
    def size(self) -> int | None:
        """How many rows there are, if all of them are in memory."""
        kept = [table.in_memory for table in self.tables if table.in_memory is not None]
        return sum(table.num_rows for table in kept) if len(kept) == len(self.tables) else None

    @property
    def is_small(self) -> bool:
        """Whether the rows can be taken twice, and are too few to compile anything for."""
        return self.size is not None and self.size < SMALL

    def parts(self, frame: Frame) -> list[Part]:
        """Return how rows of a frame become events; a kind that comes in several types is a term."""
        found = []
        for part in (layout.part for layout in frame.layouts):
            pairs = zip(part.types, self.types[part.kind], strict=True)
            found.append(replace(part, types=tuple(t if t in (known, JSON) else known for t, known in pairs)))
        return found

    def output(self, form: ResultForm, engine: RuntimeEngine) -> Output:
        """Return the columns of the results; types of what facts bind are those of what an engine knows."""
        output = plan_output(self.program, self.intake, form, self.unit, answers=engine_answers(engine))
        return replace(in_utc(output), nested=nested_types(*(table.schema for table in self.tables)))

    @property
    def types(self) -> Types:
        """The types of what comes in."""
        return self.intake.received


Tables: TypeAlias = Mapping[str | None, TableSource]  # one of all events, or one per event


def _open(source: Any, pace: Pace, program: CompiledProgram, options: Options) -> Tables:
    """Open the table, or the tables by the names of their events."""
    if not isinstance(source, Mapping):
        return {None: open_source(source, pace.batch, pace.threads, program, options)}
    if not source:
        raise InputError(Problem("E605", "no table is given", hint='give one, or {"event": table, ...}'))
    if options.event is not None:
        hint = "leave it out: the keys of the tables do"
        raise InputError(Problem("E605", f"event={options.event!r} names the event of several tables", hint=hint))
    own = {str(name): replace(options, event=str(name)) for name in source}
    return {name: open_source(source[name], pace.batch, pace.threads, program, own[name]) for name in own}


def _plan(program: CompiledProgram, tables: Tables, options: Options, policy: str | None) -> _Plan:
    given: list[TableSchema | Frame] = []
    for name, table in tables.items():
        if table.rows is None:
            given.append(TableSchema({field.name: type_name(field.type) for field in table.schema}, name))
        else:
            if options.order is not None:
                hint = "leave it out: rows of text and of Python keep their order"
                raise InputError(Problem("E605", f"order={options.order!r} orders tables that have columns", hint=hint))
            if options.id is not None:
                hint = "read the source as a table of Arrow or pandas, or leave id out: rows are told by atom and time"
                raise InputError(Problem("E605", f"id={options.id!r} is for tables that have columns", hint=hint))
            frame = table.rows.frame()
            mine = tuple(x for x in frame.layouts if name in (None, x.kind[0], show(x.kind)))
            given.append(replace(frame, layouts=mine))
    return _Plan(program, tuple(tables.values()), options.unit, plan_input(program, given, options, policy))


class _Feed:
    """The rows of all tables as batches over columns."""

    def __init__(self, plan: _Plan, ahead: int | None, latest: int = BEGINNING) -> None:
        self.plan = plan
        self.ahead = ahead
        self.latest = latest
        self.orders = [frame.order for frame in plan.intake.frames]
        self.is_merged = len(self.orders) > 1 or self.orders[0] is not None
        bound = None if self.is_merged else ahead
        self.admissions = [
            TableAdmission(frame, plan.unit if table.rows is None else "us", plan.made, bound, latest)
            for table, frame in zip(plan.tables, plan.intake.frames, strict=True)
        ]

    def whole(self, run: _Run, options: Options, batch: int) -> Iterator[InputBatch]:
        """Yield all rows of a stream; in order, unless a program takes one table in any order."""
        if run.run.in_any_order and not self.is_merged:
            return map(run.read, *self._arriving(known=False))
        tables = [table.in_time(batch, options) for table in self.plan.tables]
        ordered = [in_order(rows) for rows in self._arriving(tables, known=not run.run.in_any_order)]
        return self._merged(run, ordered) if self.is_merged else map(run.read, *ordered)

    def going_on(self, run: _Run) -> Iterator[InputBatch]:
        """Yield rows for an engine that goes on: of one table as they come, each batch in order."""
        arriving = self._arriving(known=False)
        if self.is_merged:
            return self._merged(run, [in_order(rows) for rows in arriving])
        return map(run.read, arriving[0] if run.run.in_any_order else map(in_time, arriving[0]))

    def _arriving(self, tables: Sequence[TableSource] | None = None, *, known: bool) -> list[Iterator[Arrived]]:
        opened = zip(self.plan.tables if tables is None else tables, self.admissions, strict=True)
        return [
            admission.arriving(_scan(table, admission.frame, self.plan, known=known)) for table, admission in opened
        ]

    def _merged(self, run: _Run, ordered: Sequence[Iterable[Arrived]]) -> Iterator[InputBatch]:
        for pieces in within(merge(ordered), self.admissions, self.ahead, self.latest):
            yield run.read_pieces(pieces, order_of(pieces, self.orders))

    def hand_on(self, dead: DeadLetters) -> None:
        """Make dead letters of what was refused since the last time."""
        for admission in self.admissions:
            admission.hand_on(dead)

    def unread(self) -> Iterator[Bad]:
        """Yield the records that could not be read."""
        for table in self.plan.tables:
            yield from () if table.rows is None else table.rows.bad

    def all_names(self) -> Counter[str]:
        """Count the events that are named in files of which parts may have been skipped."""
        found: Counter[str] = Counter()
        for table, frame in zip(self.plan.tables, self.plan.intake.frames, strict=True):
            for batch in table.scan([frame.event], None) if table.skips and frame.event is not None else ():
                counted = pc.value_counts(batch.column(0)).to_pylist()
                found.update({each["values"]: each["counts"] for each in counted if each["values"] is not None})
        return found


def _scan(table: TableSource, frame: Frame, plan: _Plan, *, known: bool) -> Iterable[pa.RecordBatch]:
    """Return the batches of a source: the columns that are needed, all rows or those of events that rules know."""
    needed = [*frame.times, *(name for layout in frame.layouts for name in layout.columns)]
    needed += [name for name in (frame.order, frame.id) if name is not None]
    if frame.event is None:
        return table.scan(list(dict.fromkeys(needed)), None)
    tags = [*(layout.tag for layout in frame.layouts), *plan.made]
    named = pc.field(frame.event)
    rows = named.isin(tags) | named.is_null() if known else None
    return table.scan(list(dict.fromkeys([frame.event, *needed])), rows)


class _Run:
    """A program over the batches of its sources."""

    def __init__(self, plan: _Plan, form: ResultForm, run: ColumnRun) -> None:
        from etalis.tables.results import collect as results

        self.readers = [(frame, plan.parts(frame)) for frame in plan.intake.frames]
        self.output = plan.output(form, run.engine)
        self.run = run
        self.events: list[Event] = []  # what rules have made event at a time, before it becomes rows
        self.ids = row_ids_of(run) if form.contributors else None
        self.results = results.Results(self.output, run.choice.heads, ids=form.match_id, contributors=self.ids)
        self.unread: Counter[str] = Counter()  # names of events that no rule reads

    def take(self, batch: InputBatch) -> Iterator[pa.RecordBatch]:
        """Yield what a batch of rows causes, also what it has caused when it fails."""
        if not (self.run.at_a_time or self.output.envelope):
            yield from self._take_over_columns(batch)
            return
        self.events.clear()
        try:
            self.events.extend(self.run.process(batch))
        except BaseException:
            yield from self.results.of_events(self.events)
            self.events.clear()
            raise
        yield from self.results.of_events(self.events)
        self.events.clear()

    def _take_over_columns(self, batch: InputBatch) -> list[pa.RecordBatch]:
        with self.run.atomic.whole(batch) if self.run.goes_on else nullcontext():
            found = [part for piece in self.run.admit(batch) for part in self._made(piece)]
            return [*found, *self.results.of_events(self.run.advance())]

    def gathered(self, batches: Iterable[InputBatch]) -> Iterator[InputBatch]:
        """Yield batches; where much waits, several together, since each of them goes through all of that."""
        from etalis.columnar.data.batches import below

        parts: list[InputBatch] = []
        rows = 0
        for batch in batches:
            parts.append(batch)
            rows += len(batch.end)
            if rows >= min(self.run.waiting, MOST_TOGETHER):
                yield below(parts)
                parts, rows = [], 0
        if parts:
            yield below(parts)

    def _made(self, batch: InputBatch, horizon: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield what rows cause that all rules take over columns; time passes up to a horizon."""
        asked = dict(self.output.kinds)
        yield from self.results.of_made([each for each in self.run.process_columns(batch, horizon) if each[0] in asked])

    def close(self) -> Iterator[pa.RecordBatch]:
        """Yield what the end of the stream settles."""
        if not (self.run.at_a_time or self.output.envelope):
            for piece, horizon in self.run.last_pieces():
                yield from self._made(piece, horizon)
            yield from self.results.of_events(list(self.run.engine.close()))
        else:
            yield from self.results.of_events(list(self.run.close()))

    def read(self, rows: Arrived) -> InputBatch:
        """Return rows of the only table as a batch over columns."""
        batch, ids = self._read(rows, 0)
        return batch if self.ids is None else replace(batch, numbers=self.ids.add(ids))

    def _read(self, rows: Arrived, number: int) -> tuple[InputBatch, Any]:
        """Return rows of one of the tables as a batch over columns, and their ids, if these are told."""
        from etalis.tables.read.batches import read_batch
        from etalis.tables.results.encode_columns import received_ids

        frame, parts = self.readers[number]
        codes = _event_codes(rows.table, frame, parts, self.unread)
        batch = read_batch(rows.table, rows.start, rows.end, parts, codes)
        if self.ids is None:
            return batch, None
        return batch, received_ids(batch, None if frame.id is None else _texts(rows.table[frame.id]))

    def note_unread(self, feed: _Feed, *, again: bool) -> Counter[tuple[str, int | None]]:
        """Tell the engine which events came that no rule reads; `again`: look also at what was skipped."""
        known = {part.tag for _, parts in self.readers for part in parts}
        names = feed.all_names() if again else Counter()
        found: Counter[tuple[str, int | None]] = Counter()
        found.update({(name, None): count for name, count in (self.unread | names).items() if name not in known})
        for table in feed.plan.tables:
            if table.rows is not None:
                found.update(table.rows.reading.seen.unread)
        self.run.engine.core.evidence.unread.update(found)
        return found

    def read_pieces(self, pieces: Pieces, order: Any) -> InputBatch:
        """Return rows of all tables as a batch over columns, in some order."""
        from etalis.columnar.data.batches import arrange, below

        found = [self._read(rows, i) for i, rows in enumerate(pieces) if len(rows.end)]
        batch = arrange(below([batch for batch, _ in found]), order)
        if self.ids is None:
            return batch
        return replace(batch, numbers=self.ids.add(pa.concat_arrays([ids for _, ids in found]).take(pa.array(order))))


def _texts(column: Any) -> pa.Array:
    """Return a column of ids as text."""
    whole = in_one(column)
    return (whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole).cast(pa.string())


def row_ids_of(run: ColumnRun) -> RowIds:
    """Return what rows of a run are called; an engine that goes on knows those of its tables before."""
    core = run.engine.core
    if core.row_ids is None:
        core.row_ids = RowIds(None if run.components else core.row_numbers)
    found: RowIds = core.row_ids
    return found


def _event_codes(table: pa.Table, frame: Frame, parts: Sequence[Part], unread: Counter[str]) -> EventCodes | None:
    """Return of which part each row is, None if all are one event; count those that are of none."""
    from etalis.tables.read.batches import EventCodes

    if frame.event is None:
        return None
    column = in_one(table[frame.event])
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    tags = {part.tag: number for number, part in enumerate(parts)}
    names = coded.dictionary.to_pylist()
    indices = coded.indices.to_numpy()
    others = [(code, name) for code, name in enumerate(names) if name and name not in tags]
    if others:
        counts = np.bincount(indices, minlength=len(names))
        unread.update({name: int(counts[code]) for code, name in others if counts[code]})
    return EventCodes(indices, np.array([tags.get(name, -1) for name in names], np.int64))
