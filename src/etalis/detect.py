"""Complex events in tables: `program.detect(table)` gives an Arrow table back.

Takes Parquet (also folders), Arrow, CSV and JSON-lines files, and anything that speaks Arrow's C stream interface
(pandas, Polars, DuckDB). Columns play the parts they have on Spark, and results have the columns they have there, but
for the id. Files are read a batch at a time, and of those only what rules need; rows of equal time are taken in their
order in the table.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import InputError, Problem
from etalis.spark.batch import Form, Plan, plan_detection
from etalis.tables.cells import in_one, undeclared
from etalis.tables.output import EVENT, ID, RULE, encode
from etalis.tables.parts import Part
from etalis.tables.progress import Tell, following
from etalis.tables.schema import Frame, Given, Options
from etalis.tables.sorting import to_micros
from etalis.tables.sources import Source, ahead, open_source
from etalis.tables.unfinished import Unfinished

if TYPE_CHECKING:
    from etalis.columnar.execute import Made
    from etalis.columnar.run import ColumnRun, Input, KindKey
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
_NAMES: Mapping[str, str] = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "uint8": "smallint", "uint16": "int",
    "uint32": "bigint", "uint64": "bigint", "halffloat": "float", "float": "float", "double": "double",
    "bool": "boolean", "string": "string", "large_string": "string", "string_view": "string", "date32[day]": "date",
    "date64[ms]": "date", "null": "void",
}  # fmt: skip


def detect(
    program: Program, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", policy: str | None = None, select: str | None = None, envelope: bool = False,
    batch: int = BATCH, threads: int = 2, progress: bool | Tell = False,
    on_error: Callable[[ConditionError], object] | None = None,
    on_dead_letter: Callable[[DeadLetter], object] | None = None,
) -> pa.Table:  # fmt: skip
    """Return the complex events in a table of events; with more than one of `threads`, it is read in another one."""
    table = open_source(source, batch, threads)
    plan = _plan(program, table, Options(time, event, None, unit), Form(select, envelope), policy)
    columns = _columns()
    made = columns.ColumnRun(
        program, _types(plan), policy=policy, on_error=on_error, on_dead_letter=on_dead_letter,
        only_points=len(set(plan.frames[0].times)) == 1,
    )  # fmt: skip
    run = _Run(plan, columns.warned(made))
    rows = _scan(table, plan, known=not run.run.in_any_order)
    given = _arrived(rows, plan.frames[0], unit) if run.run.in_any_order else _in_order(rows, plan.frames[0], unit)
    parts: list[pa.RecordBatch] = []
    _take_all(run, given, threads, progress, parts)
    parts.extend(run.close())
    late = run.run.engine.dead_letter_count
    if late and on_dead_letter is None:
        _LOG.warning("%d rows came too late: on_dead_letter= takes them", late)
    return pa.Table.from_batches(parts, schema=run.schema)


def detect_on(
    engine: Engine, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", select: str | None = None, envelope: bool = False, batch: int = BATCH,
    threads: int = 2, progress: bool | Tell = False,
) -> pa.Table:  # fmt: skip
    """Return the complex events that the rows of a table cause in an engine, which then goes on from there."""
    engine.unfinished = None
    program, rules = engine.program, engine._rules
    if rules.generation or len(rules.rules) < len(rules.first):
        hint = "push the rows, or write the rules into the program's text"
        raise InputError(Problem("E610", "the columns of the results cannot be told: rules were changed", hint=hint))
    table = open_source(source, batch, threads)
    options, form = Options(time, event, None, unit), Form(select, envelope)
    plan = _plan(program, table, options, form, rules.settings.policy)
    run = _Run(plan, _columns().run_on(engine, _types(plan)))
    rows = _arrived(_scan(table, plan, known=False), plan.frames[0], unit)
    parts: list[pa.RecordBatch] = []
    try:
        run.run.load()
        _take_all(run, rows if run.run.in_any_order else map(_sorted, rows), threads, progress, parts)
    except BaseException as error:
        found = pa.Table.from_batches(parts, schema=run.schema)
        engine.unfinished = unfinished = Unfinished(run.run.wholes.rows, found, tuple(run.events))
        error.add_note(unfinished.note())
        raise
    finally:
        run.run.save()
    return pa.Table.from_batches(parts, schema=run.schema)


def _take_all(
    run: _Run, given: Iterable[_Timed], threads: int, progress: bool | Tell, parts: list[pa.RecordBatch]
) -> None:
    """Take batches of rows, and add what they cause to the parts; tell how far it is."""
    rows = matches = 0
    batches = map(run.read, given)
    with following(progress) as tell:
        for batch in run.gathered(ahead(batches) if threads > 1 else batches):
            for part in run.take(batch):
                parts.append(part)
                matches += part.num_rows
            rows += len(batch.end)
            tell(rows, matches)


def explain(
    program: Program, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
    unit: str = "s", policy: str | None = None, engine: Engine | None = None,
) -> str:  # fmt: skip
    """Say which rules `detect` runs over columns and which event at a time, and why; with an engine, its `detect`."""
    plan = _plan(program, open_source(source, BATCH, 1), Options(time, event, None, unit), Form(), policy)
    run = _columns().ColumnRun(program, _types(plan), policy=policy, engine=engine)
    found: str = run.choice.describe()
    return found


def _columns() -> Any:
    """Return the module that runs programs over columns."""
    try:
        return import_module("etalis.columnar.run")
    except ModuleNotFoundError as error:
        hint = "pip install 'etalis[columnar]'"
        raise InputError(Problem("E412", f"columns need {error.name}, which is not installed", hint=hint)) from None


def _types(plan: Plan) -> Types:
    """Return the types of what comes in."""
    return {layout.kind: layout.attribute_types for layout in plan.frames[0].layouts}


def _plan(program: Program, table: Source, options: Options, form: Form, policy: str | None) -> Plan:
    given = Given({field.name: _type_name(field.type) for field in table.schema})
    return plan_detection(program, [given], options, form, policy=policy, shards=1, usual=1)


def _scan(table: Source, plan: Plan, *, known: bool) -> Iterable[pa.RecordBatch]:
    """Return the batches of a source: the columns that are needed, all rows or those of events that rules know."""
    frame = plan.frames[0]
    needed = [*frame.times, *(name for layout in frame.layouts for name in layout.columns)]
    if frame.event is None:
        return table.scan(list(dict.fromkeys(needed)), None)
    tags = [*(layout.tag for layout in frame.layouts), *plan.job.made]
    named = pc.field(frame.event)
    rows = named.isin(tags) | named.is_null() if known else None
    return table.scan(list(dict.fromkeys([frame.event, *needed])), rows)


def _type_name(kind: pa.DataType) -> str:
    """Return the name of a type as Spark has it."""
    if pa.types.is_dictionary(kind):
        return _type_name(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{_type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{_type_name(field.type)}' for field in kind)}>"
    return _NAMES.get(str(kind), str(kind))


@dataclass(frozen=True, slots=True)
class _Timed:
    """Rows: the table they stand in, and their end points in microseconds."""

    table: Any
    start: Any
    end: Any


def _arrived(batches: Iterable[pa.RecordBatch], frame: Frame, unit: str) -> Iterator[_Timed]:
    """Yield batches with the times of their rows."""
    for batch in batches:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        times = [to_micros(table[name], unit) for name in dict.fromkeys(frame.times)]
        start, end = times[0], times[-1]
        if start is not end and (start > end).any():
            raise InputError(Problem("E404", "a row ends before it starts", hint="swap start and end"))
        yield _Timed(table, start, end)


def _sorted(rows: _Timed) -> _Timed:
    """Return a batch in order of (end, start, row)."""
    start, end = rows.start, rows.end
    lasts = start is not end and (start != end).any()
    if not lasts and (end[1:] >= end[:-1]).all():
        return rows
    order = np.lexsort((start, end))
    return _Timed(rows.table.take(pa.array(order)), start[order], end[order])


def _in_order(batches: Iterable[pa.RecordBatch], frame: Frame, unit: str) -> Iterator[_Timed]:
    """Yield batches in order of (end, start, row); rows that belong before an earlier batch are refused."""
    latest: int | None = None
    for rows in map(_sorted, _arrived(batches, frame, unit)):
        if latest is not None and rows.end[0] < latest:
            hint = "sort the rows by time, or read them as one batch: batch=..."
            raise InputError(Problem("E404", "rows of a later batch end before those of an earlier one", hint=hint))
        latest = int(rows.end[-1])
        yield rows


class _Run:
    """A program over the batches of one source."""

    def __init__(self, plan: Plan, run: ColumnRun) -> None:
        self.frame = plan.frames[0]
        self.output = plan.job.output
        self.run = run
        self.parts = [Part(x.tag, x.kind, x.columns, x.attribute_types) for x in self.frame.layouts]
        self.made = frozenset(plan.job.made)
        self.events: list[Event] = []  # what rules have made event at a time, before it becomes rows
        self.labels = [head.label for head in run.choice.heads]
        self.numbers = {
            EVENT: _numbered(name for (name, _), _ in self.output.kinds),
            RULE: _numbered(self.labels),
        }
        self.names = {column: pa.array(list(numbers), pa.string()) for column, numbers in self.numbers.items()}
        self.rules = np.array([self.numbers[RULE][label] for label in self.labels], np.int32)
        self.makers = Counter((head.event.name, len(head.event.args)) for head in run.choice.heads)
        self.codes: dict[int, Any] = {}
        coded = pa.dictionary(pa.int32(), pa.string())
        plain = encode((), self.output).schema
        columns = [(f.name, coded if f.name in self.names else f.type) for f in plain if f.name != ID]
        self.schema = pa.schema(columns)

    def take(self, batch: Input) -> Iterator[pa.RecordBatch]:
        """Yield what a batch of rows causes, also what it has caused when it fails."""
        if not (self.run.at_a_time or self.output.envelope):
            yield from self._take_over_columns(batch)
            return
        self.events.clear()
        try:
            self.events.extend(self.run.take(batch))
        except BaseException:
            yield from self._encode_events(self.events)
            self.events.clear()
            raise
        yield from self._encode_events(self.events)
        self.events.clear()

    def _take_over_columns(self, batch: Input) -> list[pa.RecordBatch]:
        with self.run.wholes.whole(batch) if self.run.goes_on else nullcontext():
            found = [part for piece in self.run.admit(batch) for part in self._made(piece)]
            return [*found, *self._encode_events(self.run.settle())]

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
        times: dict[int, Any] = {}
        reported = [each for each in self.run.columns(batch) if each[0] in asked]
        found = [(kind, made, self._encoded(kind, made, times)) for kind, made in reported]
        if len(found) == 1:
            yield found[0][2]
        elif found:
            yield _interleaved(found)

    def close(self) -> Iterator[pa.RecordBatch]:
        """Yield what the end of the stream settles."""
        if not (self.run.at_a_time or self.output.envelope):
            for piece in self.run.remaining():
                yield from self._made(piece)
        yield from self._encode_events(list(self.run.close()))

    def _encode_events(self, events: Sequence[Event]) -> Iterator[pa.RecordBatch]:
        """Yield events, if there are any, as rows of the results."""
        if not events:
            return
        plain = encode(events, self.output)
        columns = []
        for field in self.schema:
            column = plain.column(field.name)
            if field.name in self.names:
                codes = pc.index_in(column, self.names[field.name])
                column = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), self.names[field.name])
            columns.append(column)
        yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def read(self, rows: _Timed) -> Input:
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
        if coded.null_count:
            raise InputError(Problem("E606", f"{coded.null_count} rows name no event", hint="fill in the column"))
        tags = {part.tag: number for number, part in enumerate(self.parts)}
        names = coded.dictionary.to_pylist()
        for name in self.made.difference(tags).intersection(names):
            raise undeclared(name)
        return Told(coded.indices.to_numpy(), np.array([tags.get(name, -1) for name in names], np.int64))

    def _encoded(self, kind: Any, made: Made, times: dict[int, Any]) -> pa.RecordBatch:
        """Return derived events as rows of the results; `times` are those of other kinds of the same batch."""
        from etalis.tables.made import made_cells

        cells = made_cells(kind, made, self.output, self.labels, self.schema.names, times)
        cells[EVENT] = self._named(EVENT, self._same(self.numbers[EVENT][kind[0]], len(made)))
        alone = self.makers[kind] == 1 and len(made)
        rules = self._same(int(self.rules[made.rule[0]]), len(made)) if alone else pa.array(self.rules[made.rule])
        cells[RULE] = self._named(RULE, rules)
        arrays = [cells[f.name] if f.name in cells else pa.nulls(len(made), f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _named(self, column: str, codes: Any) -> pa.Array:
        return pa.DictionaryArray.from_arrays(codes, self.names[column], safe=False)  # they are codes of these names

    def _same(self, code: int, count: int) -> pa.Array:
        """Return the same code for several rows, in memory that serves one batch after the other."""
        known = self.codes.get(code)
        if known is None or len(known) < count:
            known = self.codes[code] = pa.array(np.full(count, code, np.int32))
        return known.slice(0, count)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Return a number for each name."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _interleaved(found: Sequence[tuple[KindKey, Made, pa.RecordBatch]]) -> pa.RecordBatch:
    """Return events of several kinds in the order in which they were made."""
    from etalis.columnar.moments import PLACE

    found = sorted(found, key=lambda each: (each[0][1], each[0][0]))
    moments = [made.turn >> PLACE for _, made, _ in found]
    parts = [part for _, _, part in found]
    if _in_step([made for _, made, _ in found], moments):
        return pa.RecordBatch.from_arrays(
            [_braided(arrays) for arrays in zip(*parts, strict=True)], schema=parts[0].schema
        )
    ranks = np.repeat(np.arange(len(found)), [len(moment) for moment in moments])
    turn, start = (np.concatenate([getattr(made, name) for _, made, _ in found]) for name in ("turn", "start"))
    order = pa.array(np.lexsort((turn, ranks, start, turn >> PLACE)))
    return pa.Table.from_batches(parts).take(order).combine_chunks().to_batches()[0]


def _in_step(several: Sequence[Made], moments: Sequence[Any]) -> bool:
    """Tell whether all kinds have one event each at the same moments, of the same starts."""
    first = moments[0]
    alike = all(
        np.array_equal(first, moment) and np.array_equal(several[0].start, made.start)
        for made, moment in zip(several[1:], moments[1:], strict=True)
    )
    return alike and bool((first[1:] > first[:-1]).all())


def _braided(arrays: Sequence[Any]) -> Any:
    """Return the first of each of several columns, then the second of each, and so on."""
    kind = arrays[0].type
    codes = [array.indices for array in arrays] if pa.types.is_dictionary(kind) else arrays
    if (
        any(array.null_count for array in arrays)
        or not pa.types.is_primitive(codes[0].type)
        or pa.types.is_boolean(kind)
    ):
        count = len(arrays[0])
        order = np.arange(count * len(arrays)).reshape(len(arrays), count).T.reshape(-1)
        return pa.concat_arrays(arrays).take(pa.array(order))
    plain = codes[0].type if pa.types.is_integer(codes[0].type) or pa.types.is_floating(codes[0].type) else pa.int64()
    columns = [code.view(plain).to_numpy() for code in codes]
    if len({column.ctypes.data for column in columns}) == 1:
        numbers = np.repeat(columns[0], len(columns))
    elif pa.types.is_dictionary(kind) and all((column == column[0]).all() for column in columns):
        numbers = np.tile(np.array([column[0] for column in columns]), len(columns[0]))
    else:
        numbers = np.stack(columns, axis=1).reshape(-1)
    braided = pa.array(numbers).view(codes[0].type)
    return pa.DictionaryArray.from_arrays(braided, arrays[0].dictionary) if pa.types.is_dictionary(kind) else braided
