"""The columns of a table by role: the one that names the event, those of time, those of attributes.

Law: the parts are found once per file (`roles`), and the columns of an event's attributes once per kind of event, so a
row costs only its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from etalis.data.values import Value
from etalis.errors import InputError, Problem
from etalis.formats.rdf_tables import TripleTable, has_triples
from etalis.formats.roles import Signature, UnboundError, bind_one_of, find_roles, without_added
from etalis.formats.row import ARRIVAL, Bad, Place, Reading, Row, interval_of, read_row, time_of
from etalis.language.check.spelling import suggest
from etalis.temporal.attribute_names import name_columns
from etalis.temporal.event import Event

_MOST_NAMES = 20  # of columns in a message


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of one kind of event: its column, its names for messages, its declared type if any."""

    event: str
    column: int
    name: str
    type: str | None


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of one kind of event, in order of its attributes, and the columns that it does not have."""

    attributes: tuple[Attribute, ...]
    surplus: tuple[int, ...]
    declared: bool

    @property
    def typed(self) -> bool:
        """Whether every attribute has a type of its own."""
        return all(attribute.type not in (None, "any") for attribute in self.attributes)


ReadCell: TypeAlias = Callable[[object, Attribute, Place], Value]


@dataclass(slots=True)
class Table:
    """Turns the cells of a row into an event."""

    columns: tuple[str, ...]
    reading: Reading
    event_column: int | None
    time_columns: tuple[int, ...]
    attribute_columns: tuple[int, ...]
    read_cell: ReadCell
    layouts: dict[str, RowLayout] = field(default_factory=dict)

    def read(self, cells: Sequence[object], place: Place) -> Row | Bad:
        """Return one row, or that it cannot be read."""
        return read_row(self.event, cells, place=place)

    def event(self, cells: Sequence[object], place: Place) -> Event:
        """Return the event of one row."""
        name = self._name(cells, place)
        layout = self.layouts.get(name)
        if layout is None:
            layout = self.layouts[name] = self.layout(name, place)
        if layout.surplus:
            self._note_surplus(name, layout, cells)
        attributes = layout.attributes
        if not layout.declared:
            while attributes and cells[attributes[-1].column] in (None, ""):
                attributes = attributes[:-1]
        args = tuple(self.read_cell(cells[a.column], a, place) for a in attributes)
        if not layout.typed:
            for a, value in zip(attributes, args, strict=True):
                self.reading.seen.note_value(name, a.name, value)
        times = [time_of(cells[i], self.columns[i], self.reading, place, self._find) for i in self.time_columns]
        times = times or [ARRIVAL]
        return Event.make(name, args, *interval_of(times[0], times[-1], place))

    def _note_surplus(self, name: str, layout: RowLayout, cells: Sequence[object]) -> None:
        """Say once that cells of an event are in columns which are no attributes of it."""
        filled = [self.columns[i] for i in layout.surplus if cells[i] not in (None, "")]
        if filled:
            self.reading.note_ignored(name, filled)
            self.layouts[name] = replace(layout, surplus=())

    def _find(self, place: Place, column: str) -> tuple[int, int] | None:
        return place.cell(self.columns.index(column))

    def _name(self, cells: Sequence[object], place: Place) -> str:
        if self.event_column is None:
            assert self.reading.event is not None
            return self.reading.event
        name = cells[self.event_column]
        if not isinstance(name, str) or not name:
            hint = f"fill in column {self.columns[self.event_column]}"
            raise place.refuse("E403", "the row names no event", hint, place.cell(self.event_column))
        return name

    def layout(self, name: str, place: Place) -> RowLayout:
        """Return the columns of an event's attributes, or refuse the row at a place."""
        signatures = signatures_for(self.reading, name)
        times = [self.columns[i] for i in self.time_columns]
        free = without_added(signatures, [self.columns[i] for i in self.attribute_columns], times)
        if not signatures:
            return RowLayout(
                tuple(Attribute(name, i, self.columns[i], None) for i in self.attribute_columns), (), False
            )
        try:
            signature, columns = bind_one_of(signatures, free)
        except UnboundError as error:
            raise place.refuse("E406", error.message, error.hint) from None
        places = [self.columns.index(column) for column in columns]
        types = signature.attributes or [(column, None) for column in columns]
        attributes = tuple(Attribute(name, i, a, t) for i, (a, t) in zip(places, types, strict=True))
        surplus = tuple(i for i in map(self.columns.index, free) if i not in places)
        return RowLayout(attributes, surplus, True)


def signatures_for(reading: Reading, event: str) -> tuple[Signature, ...]:
    """Return what is known of an event's attributes: by the program, or by a schema alone."""
    if event in reading.known:
        return reading.known[event]
    declared = reading.schema.get(event)
    return () if declared is None else (Signature((event, len(declared)), declared),)


def show_columns(names: Sequence[str]) -> str:
    """Return names of columns as a message has them: of many the first.

    >>> show_columns(["a", "b"]), show_columns([f"c{n}" for n in range(1_000)])[-21:]
    ('a, b', 'c18, c19 and 980 more')
    """
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else shown


def open_table(columns: Sequence[str], reading: Reading, source: str, read_cell: ReadCell) -> Table | TripleTable:
    """Find the part of every column, or refuse the table."""
    names = tuple(columns)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InputError(Problem("E406", f"{source}: two columns are named {twice!r}", hint="rename one of them"))
    if has_triples(names, reading):
        return TripleTable(names, reading, source)
    roles = find_roles(names, time=reading.time, event=reading.event)
    if roles.event is None:
        _check_named(names, reading, source)
    if not roles.times and reading.needs_time:
        hint = "name a column `at`, `time` or `ts`, or two of them `start` and `end`, or say which it is (--time NAME)"
        raise InputError(Problem("E404", f"{source}: no column of time; columns: {show_columns(names)}", hint=hint))
    event = None if roles.event is None else names.index(roles.event)
    times, free = (tuple(map(names.index, several)) for several in (roles.times, roles.free))
    return Table(names, reading, event, times, free, read_cell)


def _check_named(names: Sequence[str], reading: Reading, source: str) -> None:
    """Refuse rows whose event neither a column nor `reading` names."""
    if reading.event is None:
        hint = "say which column does, or which event every row is: --event NAME; `event` or `type` needs no word"
        message = f"{source}: no column names the event; columns: {show_columns(names)}"
        raise InputError(Problem("E403", message, hint=hint))
    check_event(reading, names)


def check_event(reading: Reading, columns: Sequence[str] = ()) -> None:
    """Refuse a name for the event of every row that no rule reads."""
    if reading.event is not None and reading.known and reading.event not in reading.known:
        hint = suggest(reading.event, [*columns, *reading.known], f"its rules read {', '.join(reading.known)}")
        message = f"event={reading.event!r} is neither a column nor an event of the program"
        raise InputError(Problem("E602", message, hint=hint))


def column_names(events: Sequence[Event]) -> list[str]:
    """Name the columns of results: by their attributes if all are of one kind, else `a1`, `a2`, ..."""
    kinds = {event.kind for event in events}
    if len(kinds) == 1:
        return list(next(iter(kinds)).columns)
    return list(name_columns((), max((kind.arity for kind in kinds), default=0)))
