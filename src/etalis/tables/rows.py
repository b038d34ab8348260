"""Sources that are read row by row (text, Python objects) as tables: every kind of event has columns of its own.

Law: an attribute has the value that it has event at a time, because the same reader made it. A first reading finds the
type of every attribute; what is of several types, or no number, text or truth value, is written as JSON.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa

from etalis.columnar.columns import type_of
from etalis.errors import EventError
from etalis.formats.row import Bad, Item, Reading, Row
from etalis.language.attributes import convert
from etalis.logic.term import Value
from etalis.plan.keys import show
from etalis.tables.json_cells import dumps
from etalis.tables.parts import JSON, Kind
from etalis.tables.schema import Frame, Layout
from etalis.temporal.event import Event

EVENT, START, END = "event", "start", "end"
BLOCK = 1 << 16
_ARROW: Mapping[str, pa.DataType] = {
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), JSON: pa.string()
}  # fmt: skip
_SPARK: Mapping[str, str] = {"int": "bigint", "float": "double", "string": "string", JSON: JSON}
_LOG = logging.getLogger("etalis.columns")


@dataclass(frozen=True, slots=True)
class RowSource:
    """Rows that can be read again and again, by a reading that notes what it sees."""

    items: Callable[[], Iterable[Item]]
    reading: Reading


@dataclass(slots=True)
class RowTable:
    """A source of rows as a table: the parts that its columns play, and its batches."""

    source: RowSource
    types: dict[Kind, tuple[str, ...]]
    received: Sequence[Kind]
    bad: list[Bad] = field(default_factory=list)

    @property
    def schema(self) -> pa.Schema:
        columns = [(name, _ARROW[t]) for kind in self.received for name, t in self._columns(kind)]
        return pa.schema([(EVENT, pa.string()), (START, pa.int64()), (END, pa.int64()), *columns])

    def _columns(self, kind: Kind) -> Iterator[tuple[str, str]]:
        return zip(_names(kind), self._types(kind), strict=True)

    def _types(self, kind: Kind) -> tuple[str, ...]:
        return self.types.get(kind, ("string",) * kind[1])

    def frame(self) -> Frame:
        """Return the part of every column."""
        seen, schema = self.source.reading.seen, self.source.reading.schema
        layouts = []
        for kind in self.received:
            types = self._types(kind)
            declared = [None if t == "any" else t for _, t in schema.get(kind[0], ())] or [None] * kind[1]
            spark, readings = tuple(_SPARK[t] for t in types), _read_as(types, declared)
            layouts.append(Layout(show(kind), kind, _names(kind), spark, tuple(declared), readings))
        moment = "timestamp" if seen.stamps else "double" if seen.fractions else "bigint"
        return Frame(EVENT, (START, END), (moment, moment), None, None, tuple(layouts))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of kinds that are received."""
        known, schema = set(self.received), self.schema
        events = (event for event in self._events() if (event.name, event.kind.arity) in known)
        while block := list(islice(events, BLOCK)):
            yield self._batch(block, schema)

    def _events(self) -> Iterator[Event]:
        self.bad.clear()
        for item in self.source.items():
            match item:
                case Row():
                    found = read_event(item, self.source.reading)
                    if isinstance(found, Event):
                        yield found
                    else:
                        self.bad.append(found)
                case Bad():
                    self.bad.append(item)

    def _batch(self, events: Sequence[Event], schema: pa.Schema) -> pa.RecordBatch:
        rows: dict[Kind, list[int]] = {}
        for row, event in enumerate(events):
            rows.setdefault((event.name, event.kind.arity), []).append(row)
        cells: dict[str, list[Any]] = {}
        for kind, mine in rows.items():
            for place, (name, column_type) in enumerate(self._columns(kind)):
                column = cells[name] = [None] * len(events)
                for row in mine:
                    column[row] = _cell(events[row].args[place], column_type)
        fixed = {
            EVENT: [show((event.name, event.kind.arity)) for event in events],
            START: [event.start_time for event in events],
            END: [event.end_time for event in events],
        }
        arrays = [
            pa.array(fixed[f.name] if f.name in fixed else cells[f.name], f.type)
            if f.name in fixed or f.name in cells
            else pa.nulls(len(events), f.type)
            for f in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def open_rows(source: RowSource, received: Sequence[Kind]) -> RowTable:
    """Read a source once, to find the type of every attribute of what is received."""
    found: dict[Kind, list[set[str]]] = {kind: [set() for _ in range(kind[1])] for kind in received}
    table = RowTable(source, {}, received)
    for event in table._events():
        for types, value in zip(found.get((event.name, event.kind.arity), ()), event.args, strict=False):
            if value != "null":
                types.add(_type(value))
    table.types = {kind: tuple(map(_one_type, types)) for kind, types in found.items()}
    for note in source.reading.seen.mixed():
        _LOG.warning("%s", note)
    return table


def read_event(row: Row, reading: Reading) -> Event | Bad:
    """Return a row's event with attributes of their declared types."""
    event = row.event
    signature = reading.schema.get(event.name)
    if signature is None:
        return event
    try:
        return Event.make(event.name, convert(event.name, signature, event.args), event.start_time, event.end_time)
    except EventError as error:
        return Bad(row.place, row.place.blame(error).problems[0])


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(f"{show(kind)}.{place}" for place in range(kind[1]))


def _type(value: Value) -> str:
    found = type_of(value)
    return JSON if found == "term" or not _can_be_written(value) else found


def _can_be_written(value: Value) -> bool:
    """Tell whether Arrow can hold a text: not if it has half a character."""
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _one_type(types: set[str]) -> str:
    return types.pop() if len(types) == 1 else JSON if types else "string"


def _read_as(types: Sequence[str], declared: Sequence[str | None]) -> tuple[str, ...]:
    """Return how the cells of columns are read."""
    return tuple(t if t == JSON or d is None else d for t, d in zip(types, declared, strict=True))


def _cell(value: Value, column_type: str) -> Any:
    if value == "null":
        return None
    return dumps(value) if column_type == JSON else value
