"""Complex events in tables: `program.detect(table)` gives an Arrow table back.

Takes Parquet (also folders), Arrow, CSV and JSON-lines files, and anything that speaks Arrow's C stream interface
(pandas, Polars, DuckDB). Columns play the parts they have on Spark, and results have the columns they have there, but
for the id. Files are read a batch at a time, and of those only what rules need; rows of equal time are taken in their
order in the table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.language.flags import with_ahead
from etalis.logic.columns import in_one
from etalis.spark.batch import Form, Intake, plan_intake, plan_output
from etalis.tables.door import Arrived, Door, in_order, in_time, latest_of
from etalis.tables.knowledge_types import engine_answers
from etalis.tables.output import Output, in_utc
from etalis.tables.progress import Tell, following
from etalis.tables.schema import Frame, Given, Options
from etalis.tables.sources import Source, open_source, prefetch
from etalis.tables.type_names import nested_types, type_name
from etalis.tables.unfinished import Unfinished

if TYPE_CHECKING:
    from etalis.columnar.run import ColumnRun, Input
    from etalis.errors import ConditionError
    from etalis.plan.types import Types
    from etalis.runtime.engine import Engine
    from etalis.runtime.order import DeadLetter
    from etalis.runtime.program import Program
    from etalis.tables.intake import Told
    from etalis.temporal.event import Event

BATCH = 1 << 17
MOST_TOGETHER = 1 << 20  # rows
_LOG = logging.getLogger("etalis.columns")


def detect(
    program: Program, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", policy: str | None = None, select: str | None = None, envelope: bool = False,
    match_id: bool = False, batch: int = BATCH, threads: int = 2, progress: bool | Tell = False,
    on_error: Callable[[ConditionError], object] | None = None,
    on_dead_letter: Callable[[DeadLetter], object] | None = None, ahead: float | timedelta | None = None,
) -> pa.Table:  # fmt: skip
    """Return the complex events in a table of events; with more than one of `threads`, it is read in another one."""
    options, form = Options(time, event, None, unit), Form(select, envelope, match_id=match_id)
    table = open_source(source, batch, threads, program, options)
    plan = _plan(program, table, options, policy)
    columns = _columns()
    made = columns.ColumnRun(
        program, plan.types, policy=policy, on_error=on_error, on_dead_letter=on_dead_letter,
        only_points=len(set(plan.frame.times)) == 1,
    )  # fmt: skip
    run = _Run(plan, form, columns.warned(made))
    door = Door(plan.frame, plan.reading_unit, plan.made, with_ahead(program.settings, ahead).max_ahead)
    table = table if run.run.in_any_order else table.in_time(batch, options)
    arrived = door.arriving(_scan(table, plan, known=not run.run.in_any_order))
    parts: list[pa.RecordBatch] = []
    _take_all(run, arrived if run.run.in_any_order else in_order(arrived), threads, progress, parts, door, table)
    parts.extend(run.close())
    dead = run.run.engine._dead
    if dead.count and on_dead_letter is None:
        _LOG.warning(
            "%d rows were not taken, the last: %s; on_dead_letter= takes them", dead.count, dead.letters[-1].reason
        )
    return pa.Table.from_batches(parts, schema=run.results.schema)


def detect_on(
    engine: Engine, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", select: str | None = None, envelope: bool = False, match_id: bool = False, batch: int = BATCH,
    threads: int = 2, progress: bool | Tell = False, ahead: float | timedelta | None = None,
) -> pa.Table:  # fmt: skip
    """Return the complex events that the rows of a table cause in an engine, which then goes on from there."""
    engine.unfinished = None
    program, rules = engine.program, engine._rules
    if rules.generation or len(rules.rules) < len(rules.first):
        hint = "push the rows, or write the rules into the program's text"
        raise InputError(Problem("E610", "the columns of the results cannot be told: rules were changed", hint=hint))
    options, form = Options(time, event, None, unit), Form(select, envelope, match_id=match_id)
    table = open_source(source, batch, threads, program, options)
    plan = _plan(program, table, options, rules.settings.policy)
    run = _Run(plan, form, _columns().run_on(engine, plan.types))
    bound = with_ahead(rules.settings, ahead).max_ahead
    door = Door(plan.frame, plan.reading_unit, plan.made, bound, latest_of(engine))
    arrived = door.arriving(_scan(table, plan, known=False))
    parts: list[pa.RecordBatch] = []
    try:
        run.run.load()
        ordered = arrived if run.run.in_any_order else map(in_time, arrived)
        _take_all(run, ordered, threads, progress, parts, door, table)
    except BaseException as error:
        found = pa.Table.from_batches(parts, schema=run.results.schema)
        engine.unfinished = unfinished = Unfinished(run.run.wholes.rows, found, tuple(run.events))
        error.add_note(unfinished.note())
        raise
    finally:
        run.run.save()
    return pa.Table.from_batches(parts, schema=run.results.schema)


def _take_all(
    run: _Run, given: Iterable[Arrived], threads: int, progress: bool | Tell, parts: list[pa.RecordBatch],
    door: Door, table: Source,
) -> None:  # fmt: skip
    """Take batches of rows, and add what they cause to the parts; tell how far it is."""
    rows = matches = 0
    batches = map(run.read, given)
    with following(progress) as tell:
        for batch in run.gathered(prefetch(batches) if threads > 1 else batches):
            for part in run.take(batch):
                parts.append(part)
                matches += part.num_rows
            rows += len(batch.end)
            door.hand_on(run.run.engine._dead)
            tell(rows, matches)
    door.hand_on(run.run.engine._dead)
    for bad in () if table.rows is None else table.rows.bad:
        run.run.engine._dead.add("", (), None, None, str(bad.problem).splitlines()[0])


def explain(
    program: Program, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", policy: str | None = None, engine: Engine | None = None,
) -> str:  # fmt: skip
    """Say which rules `detect` runs over columns and which event at a time, and why; with an engine, its `detect`."""
    options = Options(time, event, None, unit)
    plan = _plan(program, open_source(source, BATCH, 1, program, options), options, policy)
    run = _columns().ColumnRun(program, plan.types, policy=policy, engine=engine)
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
    """What is decided before rows are read: the parts that columns play, and the names of what rules make."""

    program: Program
    schema: pa.Schema
    unit: str
    reading_unit: str
    intake: Intake

    @property
    def frame(self) -> Frame:
        return self.intake.frames[0]

    @property
    def made(self) -> tuple[str, ...]:
        return self.intake.made

    def output(self, form: Form, engine: Engine) -> Output:
        """Return the columns of the results; types of what facts bind are those of what an engine knows."""
        output = plan_output(self.program, self.intake, form, self.unit, answers=engine_answers(engine))
        return replace(in_utc(output), nested=nested_types(self.schema))

    @property
    def types(self) -> Types:
        """The types of what comes in."""
        return {layout.kind: layout.attribute_types for layout in self.frame.layouts}


def _plan(program: Program, table: Source, options: Options, policy: str | None) -> _Plan:
    if table.rows is not None:
        intake = plan_intake(program, [], options, policy, [table.rows.frame()])
        return _Plan(program, table.schema, options.unit, "us", intake)
    given = Given({field.name: type_name(field.type) for field in table.schema})
    return _Plan(program, table.schema, options.unit, options.unit, plan_intake(program, [given], options, policy))


def _scan(table: Source, plan: _Plan, *, known: bool) -> Iterable[pa.RecordBatch]:
    """Return the batches of a source: the columns that are needed, all rows or those of events that rules know."""
    frame = plan.frame
    needed = [*frame.times, *(name for layout in frame.layouts for name in layout.columns)]
    if frame.event is None:
        return table.scan(list(dict.fromkeys(needed)), None)
    tags = [*(layout.tag for layout in frame.layouts), *plan.made]
    named = pc.field(frame.event)
    rows = named.isin(tags) | named.is_null() if known else None
    return table.scan(list(dict.fromkeys([frame.event, *needed])), rows)


class _Run:
    """A program over the batches of one source."""

    def __init__(self, plan: _Plan, form: Form, run: ColumnRun) -> None:
        from etalis.tables import results

        self.frame = plan.frame
        self.output = plan.output(form, run.engine)
        self.run = run
        self.parts = [layout.part for layout in self.frame.layouts]
        self.events: list[Event] = []  # what rules have made event at a time, before it becomes rows
        self.results = results.Results(self.output, run.choice.heads, ids=form.match_id)

    def take(self, batch: Input) -> Iterator[pa.RecordBatch]:
        """Yield what a batch of rows causes, also what it has caused when it fails."""
        if not (self.run.at_a_time or self.output.envelope):
            yield from self._take_over_columns(batch)
            return
        self.events.clear()
        try:
            self.events.extend(self.run.take(batch))
        except BaseException:
            yield from self.results.of_events(self.events)
            self.events.clear()
            raise
        yield from self.results.of_events(self.events)
        self.events.clear()

    def _take_over_columns(self, batch: Input) -> list[pa.RecordBatch]:
        with self.run.wholes.whole(batch) if self.run.goes_on else nullcontext():
            found = [part for piece in self.run.admit(batch) for part in self._made(piece)]
            return [*found, *self.results.of_events(self.run.settle())]

    def gathered(self, batches: Iterable[Input]) -> Iterator[Input]:
        """Yield batches; where much waits, several together, since each of them goes through all of that."""
        from etalis.columnar.batches import below

        parts: list[Input] = []
        rows = 0
        for batch in batches:
            parts.append(batch)
            rows += len(batch.end)
            if rows >= min(self.run.waiting, MOST_TOGETHER):
                yield below(parts)
                parts, rows = [], 0
        if parts:
            yield below(parts)

    def _made(self, batch: Input) -> Iterator[pa.RecordBatch]:
        """Yield what rows cause that all rules take over columns."""
        asked = dict(self.output.kinds)
        yield from self.results.of_made([each for each in self.run.columns(batch) if each[0] in asked])

    def close(self) -> Iterator[pa.RecordBatch]:
        """Yield what the end of the stream settles."""
        if not (self.run.at_a_time or self.output.envelope):
            for piece in self.run.remaining():
                yield from self._made(piece)
        yield from self.results.of_events(list(self.run.close()))

    def read(self, rows: Arrived) -> Input:
        """Return rows as a batch over columns."""
        from etalis.tables.intake import read_batch

        return read_batch(rows.table, rows.start, rows.end, self.parts, self._told(rows.table))

    def _told(self, table: pa.Table) -> Told | None:
        """Return of which part each row is; None if all are one event."""
        from etalis.tables.intake import Told

        if self.frame.event is None:
            return None
        column = in_one(table[self.frame.event])
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        tags = {part.tag: number for number, part in enumerate(self.parts)}
        names = coded.dictionary.to_pylist()
        return Told(coded.indices.to_numpy(), np.array([tags.get(name, -1) for name in names], np.int64))
