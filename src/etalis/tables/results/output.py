"""What comes back: the columns of results, their names and types, and how a complex event becomes a row.

Three forms: all kinds in one typed frame (`wide`), one kind with exactly its attributes (`select`), or name and
attributes as JSON (`envelope`). Plain data, so that it can travel; `encode` works on the machine that runs the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import Struct, Value, format_atom, format_value
from etalis.errors import EventError, Problem
from etalis.language.attributes import CONVERSIONS
from etalis.plan.lattice import NUMBER
from etalis.tables.read.nested import arrow_type, to_cell
from etalis.tables.results.row_ids import LIST, TellsIds
from etalis.temporal.attribute_names import ATOM as ATOM
from etalis.temporal.attribute_names import CONTRIBUTORS as CONTRIBUTORS
from etalis.temporal.attribute_names import END as END
from etalis.temporal.attribute_names import EVENT as EVENT
from etalis.temporal.attribute_names import ID as ID
from etalis.temporal.attribute_names import RESERVED, distinct, name_columns
from etalis.temporal.attribute_names import RULE as RULE
from etalis.temporal.attribute_names import START as START
from etalis.temporal.event import Event, EventKind
from etalis.temporal.interval import to_microseconds
from etalis.temporal.json_values import to_plain, to_text

Named: TypeAlias = tuple[str, int]  # a kind of event

_SPARK_TYPES: Mapping[str, str] = {
    "int": "bigint", "float": "double", "string": "string", "bool": "boolean", "time": "timestamp", "term": "string",
    NUMBER: "double",
}  # fmt: skip
ARROW: Mapping[str, pa.DataType] = {
    "bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"), "array<string>": LIST,
}  # fmt: skip
_PLAIN: Mapping[str, frozenset[type]] = {
    "int": frozenset({int}), "float": frozenset({float}), "string": frozenset({str}),
    NUMBER: frozenset({float}),
}  # fmt: skip
_NONE: frozenset[type] = frozenset()
MISFITS = (TypeError, OverflowError, pa.ArrowInvalid)
_item = tuple.__getitem__
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_EXACT = 1 << 53  # floats hold every integer up to here


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute in the results: its column, and its type in the language."""

    column: str
    type: str

    @property
    def spark(self) -> str:
        """The type of the column as Spark has it; of a nested one it is its own."""
        return _SPARK_TYPES.get(self.type, self.type)


@dataclass(frozen=True, slots=True)
class Output:
    """The columns of results (name and Spark type, in order) and, per kind, the fields of its attributes.

    `time` is the type of `start` and `end`: timestamp, or bigint or double, counted in `unit` (in microseconds); `atom`
    adds a column that tells equal events by their exact text. `nested` are the Arrow types of columns of lists, structs
    and maps, where they are not those that Spark has.
    """

    columns: tuple[tuple[str, str], ...]
    kinds: tuple[tuple[Named, tuple[Field, ...]], ...]
    time: str
    unit: Fraction
    envelope: bool = False
    atom: bool = False
    nested: tuple[tuple[str, pa.DataType], ...] = ()

    def arrow(self, column_type: str) -> pa.DataType:
        """Return the Arrow type of a column."""
        found = ARROW.get(column_type)
        return found or dict(self.nested).get(column_type) or arrow_type(column_type)

    @property
    def contributors(self) -> bool:
        """Whether the ids of the rows that a match is made of are told."""
        return any(name == CONTRIBUTORS for name, _ in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as Spark takes them."""
        quoted = [f"`{name.replace('`', '``')}` {column_type}" for name, column_type in self.columns]
        return ", ".join(quoted)


ARGS = "args"


def _closing(time: str, atom: bool) -> list[tuple[str, str]]:
    return [(START, time), (END, time), (RULE, "string"), (ID, "string"), *([(ATOM, "string")] if atom else [])]


def make_envelope(kinds: Iterable[Named], time: str, unit: Fraction, atom: bool) -> Output:
    """Return the form that holds every kind: the attributes are a JSON list."""
    columns = [(EVENT, "string"), (ARGS, "string"), *_closing(time, atom)]
    return Output(tuple(columns), tuple((kind, ()) for kind in kinds), time, unit, envelope=True, atom=atom)


def make_selected(
    kind: Named, names: Sequence[str], types: Sequence[str], time: str, unit: Fraction, atom: bool
) -> Output:
    """Return the form of one kind, with its attributes first."""
    fields = tuple(Field(n, t) for n, t in zip(name_columns(tuple(names), len(types)), types, strict=True))
    columns = [*((f.column, f.spark) for f in fields), *_closing(time, atom)]
    return Output(tuple(columns), ((kind, fields),), time, unit, atom=atom)


def make_wide(
    kinds: Mapping[Named, tuple[Sequence[str], Sequence[str]]], time: str, unit: Fraction, atom: bool
) -> Output:
    """Return the form of all kinds: attributes of one name and type share a column, null where an event has none."""
    columns: dict[str, Field] = {}
    chosen: list[tuple[Named, tuple[Field, ...]]] = []
    for kind, (names, types) in kinds.items():
        fields = []
        for name, attribute_type in zip(name_columns(tuple(names), len(types)), types, strict=True):
            field = columns.setdefault(name.casefold(), Field(name, attribute_type))
            if field.type != attribute_type or field in fields:
                apart = distinct([f"{kind[0]}_{name}"], RESERVED | {f.column.casefold() for f in columns.values()})[0]
                field = columns.setdefault(apart.casefold(), Field(apart, attribute_type))
            fields.append(field)
        chosen.append((kind, tuple(fields)))
    typed = [(f.column, f.spark) for f in columns.values()]
    return Output(((EVENT, "string"), *typed, *_closing(time, atom)), tuple(chosen), time, unit, atom=atom)


def in_utc(output: Output) -> Output:
    """Return a form whose times have a zone, also where those that came in had none."""
    if output.time != "timestamp_ntz":
        return output
    columns = [(name, "timestamp" if name in (START, END) else kind) for name, kind in output.columns]
    return replace(output, columns=tuple(columns), time="timestamp")


def without_ids(output: Output) -> Output:
    """Return a form without the column that tells matches apart."""
    return replace(output, columns=tuple(column for column in output.columns if column[0] != ID))


def with_contributors(output: Output) -> Output:
    """Return a form with one more column, that tells what matches are made of."""
    return replace(output, columns=(*output.columns, (CONTRIBUTORS, "array<string>")))


def encode(events: Sequence[Event], output: Output, ids: TellsIds | None = None) -> pa.RecordBatch:
    """Return events as a batch of rows, those of one rule together; kinds that are not asked for are left out.

    `ids` are those of the rows taken so far, where contributors are told.
    """
    fields = dict(output.kinds)
    parts = [
        _encode_rule(several, kind, fields[kind.name, kind.arity], output, ids)
        for kind, several in _by_rule(events)
        if (kind.name, kind.arity) in fields
    ]
    arrays = [
        _joined([part[i] for part in parts], output.arrow(column_type))
        for i, (_, column_type) in enumerate(output.columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in output.columns])


def _by_rule(events: Sequence[Event]) -> list[tuple[EventKind, Sequence[Event]]]:
    """Put events of one rule together."""
    kinds: list[EventKind] = list(map(_item, events, repeat(2)))
    numbers = list(map(id, kinds))
    found = dict(zip(numbers, kinds, strict=True))
    if len(found) == 1:
        return [(kinds[0], events)]
    alike: dict[int, list[Event]] = {number: [] for number in found}
    for number, event in zip(numbers, events, strict=True):
        alike[number].append(event)
    return [(found[number], several) for number, several in alike.items()]


def rule_order(events: Sequence[Event], output: Output) -> Any:
    """Return where in `encode(events)` the row of each event is that has one; None if they are in order."""
    asked = {kind for kind, _ in output.kinds}
    ranks: dict[int, int] = {}
    found = [
        ranks.setdefault(id(kind), len(ranks))
        for kind in map(_item, events, repeat(2))
        if (kind.name, kind.arity) in asked
    ]
    if len(ranks) < 2:
        return None
    order = np.argsort(np.array(found), kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def _joined(arrays: Sequence[pa.Array], arrow: pa.DataType) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays) if arrays else pa.nulls(0, arrow)


def _encode_rule(
    events: Sequence[Event], kind: EventKind, fields: tuple[Field, ...], output: Output, ids: TellsIds | None
) -> list[pa.Array]:
    """Return the columns for events of one rule."""
    # End, start, kind, attributes: a column each. A zip of all events would hold an iterator for every one of them.
    cells = [() if i == 2 else list(map(_item, events, repeat(i))) for i in range(3 + kind.arity)]
    made: dict[str, Callable[[], pa.Array]] = {
        EVENT: lambda: pa.repeat(pa.scalar(kind.name, pa.string()), len(events)),
        RULE: lambda: pa.repeat(pa.scalar(kind.rule, pa.string()), len(events)),
        START: lambda: moments(cells[1], output),
        END: lambda: moments(cells[0], output),
        ARGS: lambda: pa.array([args_text(event) for event in events], pa.string()),
        ATOM: lambda: _atoms(kind, cells),
        ID: lambda: id_texts(_atoms(kind, cells), _texts(cells[1]), _texts(cells[0])),
        CONTRIBUTORS: lambda: pa.nulls(len(events), LIST) if ids is None else ids.of_events(events),
    }
    places = {field.column: i for i, field in enumerate(fields)}
    columns = []
    for name, column_type in output.columns:
        if name in places:
            place = places[name]
            columns.append(_column(events, cells[3 + place], fields[place], output.arrow(column_type)))
        elif name in RESERVED or output.envelope:
            columns.append(made[name]())
        else:
            columns.append(pa.nulls(len(events), output.arrow(column_type)))
    return columns


def _atoms(kind: EventKind, cells: Sequence[Sequence[Any]]) -> pa.Array:
    return atom_texts(kind.name, [_texts(cells[3 + place]) for place in range(kind.arity)], len(cells[0]))


def atom_texts(name: str, attributes: Sequence[pa.Array], count: int) -> pa.Array:
    """Return the atoms of events of one kind as program text (`Event.atom`), from those of their attributes."""
    atom = format_atom(name)
    return joined(f"{atom}(", attributes, ")", count) if attributes else pa.repeat(pa.scalar(atom, pa.string()), count)


def joined(opening: str, texts: Sequence[pa.Array], closing: str, count: int) -> pa.Array:
    """Return columns of texts as one, in brackets."""
    if not texts:
        return pa.repeat(pa.scalar(opening + closing, pa.string()), count)
    parts = [part for column in texts for part in (pa.scalar(", "), column)]
    return pc.binary_join_element_wise(pa.scalar(opening), *parts[1:], pa.scalar(closing), "")


def id_texts(atoms: pa.Array, start: pa.Array, end: pa.Array) -> pa.Array:
    """Return what tells events apart, on every machine and in every run (`Event.id`)."""
    return pc.binary_join_element_wise(atoms, pa.scalar("@"), start, pa.scalar(".."), end, "")


def _texts(values: Sequence[Value]) -> pa.Array:
    """Return values as program text."""
    types = set(map(type, values))
    if types == {int}:
        try:
            return pa.array(values, pa.int64()).cast(pa.string())
        except OverflowError:
            pass
    if types == {str}:
        written = {value: format_value(value) for value in set(values)}
        return pa.array(map(written.__getitem__, values), pa.string())
    return pa.array(map(format_value, values), pa.string())


def attribute(events: Sequence[Event], place: int, field: Field, arrow: pa.DataType) -> pa.Array:
    """Return one attribute of events as a column."""
    return _column(events, list(map(_item, events, repeat(3 + place))), field, arrow)


def _column(events: Sequence[Event], values: Sequence[Value], field: Field, arrow: pa.DataType) -> pa.Array:
    """Return values of events as a column: at once where all are plain, else one by one."""
    types = set(map(type, values))
    if types <= _PLAIN.get(field.type, _NONE) and (str not in types or "null" not in values):
        try:
            return pa.array(values, arrow)
        except OverflowError:
            pass
    if field.type == "term" and types == {str}:  # most of them more than once
        written = {value: term_text(value) for value in set(values)}
        return pa.array(map(written.__getitem__, values), arrow)
    try:
        return converted(values, field, arrow)
    except MISFITS:
        for event, value in zip(events, values, strict=True):
            try:
                converted([value], field, arrow)
            except MISFITS:
                raise _misfit(event, field, value) from None
        raise


def converted(values: Iterable[Value], field: Field, arrow: pa.DataType) -> pa.Array:
    """Return values as a column; an error that does not say which if one of them does not fit."""
    convert = _CELLS.get(field.type) or to_cell(arrow)
    return _array([convert(value) for value in values], arrow)


def _array(cells: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """Return a column; moments are given as microseconds."""
    return pa.array(cells, pa.int64()).cast(arrow) if pa.types.is_timestamp(arrow) else pa.array(cells, arrow)


def moments(times: Any, output: Output) -> pa.Array:
    """Return times, in microseconds, as a column."""
    up, down = output.unit.denominator, output.unit.numerator
    numbers = np.asarray(times, np.int64)
    match output.time:
        case "timestamp" | "timestamp_ntz":
            return pa.array(numbers).cast(ARROW[output.time])
        case "bigint" if up == 1:
            return pa.array(numbers // down)
        case "bigint":
            return pa.array([time * up // down for time in numbers.tolist()], pa.int64())
        case _ if not len(numbers) or int(np.abs(numbers).max()) * up < _EXACT:
            return pa.array(numbers * up / down)
        case _:
            return pa.array([time * up / down for time in numbers.tolist()], pa.float64())


def _misfit(event: Event, field: Field, value: Value) -> EventError:
    rule = f"rule {event.rule} derived {event.atom}"
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        hint = "make it a float or a string in the rule's head"
        return EventError(Problem("E607", f"{rule}: {field.column} is an integer outside 64 bits", hint=hint))
    hint = f"declare the attribute term, or make the rule give it the type {field.type}"
    return EventError(Problem("E607", f"{rule}: {field.column} is {format_value(value)}, not {field.type}", hint=hint))


def _integer(value: Value) -> int | None:
    if value == "null":
        return None
    whole: int = CONVERSIONS["int"](value)
    if not _LEAST <= whole <= _MOST:
        raise OverflowError
    return whole


def _float(value: Value) -> float | None:
    return None if value == "null" else float(CONVERSIONS["float"](value))


def _number(value: Value) -> float | None:
    if value == "null":
        return None
    number = float(CONVERSIONS["float"](value))
    if isinstance(value, int) and int(number) != value:  # a column of floats does not hold it
        raise TypeError
    return number


def _string(value: Value) -> str | None:
    return None if value == "null" else CONVERSIONS["string"](value)


def _bool(value: Value) -> bool | None:
    return None if value == "null" else CONVERSIONS["bool"](value) == "true"


def _time(value: Value) -> int | None:
    return None if value == "null" else to_microseconds(value)


def term_text(value: Value) -> str | None:
    """Return a term as program text."""
    _check_integers(value)
    return None if value == "null" else format_value(value)


_CELLS: Mapping[str, Callable[[Value], Any]] = {
    "int": _integer, "float": _float, "string": _string, "bool": _bool, "time": _time, "term": term_text,
    NUMBER: _number,
}  # fmt: skip


def _check_integers(value: Value) -> None:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif isinstance(part, Struct):
            waiting.extend(part.args)
        elif isinstance(part, int) and not _LEAST <= part <= _MOST:
            raise OverflowError


def args_text(event: Event) -> str:
    """Return the attributes of an event as JSON, which holds integers of any size."""
    return to_text([to_plain(value) for value in event.args])
