"""Tables as batches over columns: what is decided before rows are read, and the rows of all tables, as they come in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.plan.keys import show
from etalis.runtime.state import BEGINNING
from etalis.tables.column_types import nested_types, type_name
from etalis.tables.knowledge import engine_answers
from etalis.tables.plan import InputPlan, ResultForm, plan_input, plan_output
from etalis.tables.progress import Pace
from etalis.tables.read.admission import Arrived, TableAdmission, in_order, in_time
from etalis.tables.read.merging import merge, order_of, within
from etalis.tables.read.sources import TableSource, open_source
from etalis.tables.results.output import Output, in_utc
from etalis.tables.schema import JSON, Frame, Options, Part, TableSchema

if TYPE_CHECKING:
    from etalis.columnar.run import InputBatch
    from etalis.formats.row import Bad
    from etalis.plan.types import Types
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine
    from etalis.runtime.lateness.watermark import DeadLetters
    from etalis.tables.read.merging import Pieces


@dataclass(frozen=True, slots=True)
class TablePlan:
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


def open_tables(source: Any, pace: Pace, program: CompiledProgram, options: Options) -> Tables:
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


def plan_tables(program: CompiledProgram, tables: Tables, options: Options, policy: str | None) -> TablePlan:
    """Decide which parts the columns of tables play, and what rules make of them."""
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
    return TablePlan(program, tuple(tables.values()), options.unit, plan_input(program, given, options, policy))


class RowReader(Protocol):
    """What makes batches over columns of rows: of the only table, or of pieces of several in an order."""

    @property
    def in_any_order(self) -> bool: ...
    def read(self, rows: Arrived) -> InputBatch: ...
    def read_pieces(self, pieces: Pieces, order: Any) -> InputBatch: ...


class TableFeed:
    """The rows of all tables as batches over columns."""

    def __init__(self, plan: TablePlan, ahead: int | None, latest: int = BEGINNING) -> None:
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

    def whole(self, run: RowReader, options: Options, batch: int) -> Iterator[InputBatch]:
        """Yield all rows of a stream; in order, unless a program takes one table in any order."""
        if run.in_any_order and not self.is_merged:
            return map(run.read, *self._arriving(known=False))
        tables = [table.in_time(batch, options) for table in self.plan.tables]
        ordered = [in_order(rows) for rows in self._arriving(tables, known=not run.in_any_order)]
        return self._merged(run, ordered) if self.is_merged else map(run.read, *ordered)

    def going_on(self, run: RowReader) -> Iterator[InputBatch]:
        """Yield rows for an engine that goes on: of one table as they come, each batch in order."""
        arriving = self._arriving(known=False)
        if self.is_merged:
            return self._merged(run, [in_order(rows) for rows in arriving])
        return map(run.read, arriving[0] if run.in_any_order else map(in_time, arriving[0]))

    def _arriving(self, tables: Sequence[TableSource] | None = None, *, known: bool) -> list[Iterator[Arrived]]:
        opened = zip(self.plan.tables if tables is None else tables, self.admissions, strict=True)
        return [
            admission.arriving(_scan(table, admission.frame, self.plan, known=known)) for table, admission in opened
        ]

    def _merged(self, run: RowReader, ordered: Sequence[Iterable[Arrived]]) -> Iterator[InputBatch]:
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


def _scan(table: TableSource, frame: Frame, plan: TablePlan, *, known: bool) -> Iterable[pa.RecordBatch]:
    """Return the batches of a source: the columns that are needed, all rows or those of events that rules know."""
    needed = [*frame.times, *(name for layout in frame.layouts for name in layout.columns)]
    needed += [name for name in (frame.order, frame.id) if name is not None]
    if frame.event is None:
        return table.scan(list(dict.fromkeys(needed)), None)
    tags = [*(layout.tag for layout in frame.layouts), *plan.made]
    named = pc.field(frame.event)
    rows = named.isin(tags) | named.is_null() if known else None
    return table.scan(list(dict.fromkeys([frame.event, *needed])), rows)
