"""Columns of DataFrames to kinds of events: which names the event, tells the time, breaks ties, holds an attribute.

Everything is decided from names and types of columns, before a job starts, and what does not fit is refused by name.
Attributes of a declared event are found by name (by position if no column has one of its names), of any other event by
position. Columns travel to the engine in slots, one per type and use, so that frames of different events can be united.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etalis.data.values import Value
from etalis.errors import InputError, Problem
from etalis.formats.roles import Roles, Signature, UnboundError, bind, find_roles, without_added
from etalis.formats.row import UNITS
from etalis.language.check.spelling import suggest
from etalis.plan.keys import Kind, show
from etalis.tables.column_types import (
    DECIMALS,
    MOMENTS,
    NUMBERS,
    STRINGS,
    base_of,
    declarable,
    fitting,
    has_order,
    misfit,
    own_type,
    transport,
    way_out,
)  # fmt: skip

Columns: TypeAlias = Mapping[str, str]  # name -> type as Spark writes it, in order

JSON = "json"  # how a column is read whose cells are values of any kind
TEXT = "text"  # what stands for the declared type of an attribute that travels as program text
_TYPES: Mapping[str, str] = {"bigint": "int", "double": "float", "string": "string", "boolean": "bool"}


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One DataFrame as it was given: its columns, and the event that all its rows are, if the caller said so."""

    columns: Columns
    event: str | None = None

    @property
    def label(self) -> str:
        return "the DataFrame" if self.event is None else f"the DataFrame of {self.event}"


@dataclass(frozen=True, slots=True)
class Options:
    """How the caller says that columns are to be read."""

    time: str | tuple[str, str] | None = None
    event: str | None = None
    order: str | None = None
    unit: str = "s"
    id: str | None = None
    encoding: str | None = None


def check_id(options: Options, contributors: bool) -> None:
    """Refuse a column that names rows where no contributors are told."""
    if options.id is not None and not contributors:
        raise refuse("E605", "id names the rows that contribute to matches", "give contributors=True as well")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one tag: the kind of event they are, and its attributes by column, with their types in the language.

    `names` are those of the attributes, for messages, where columns have other ones. Of triples `background` are the
    predicates that no row has.
    """

    tag: str
    kind: Kind
    columns: tuple[str, ...]
    types: tuple[str, ...]
    names: tuple[str, ...] = ()
    background: frozenset[Value] = frozenset()

    def attribute(self, column: str) -> str:
        """Return the name of the attribute that a column holds."""
        return self.names[self.columns.index(column)] if self.names else column


@dataclass(frozen=True, slots=True)
class Layout:
    """One kind of event in one frame: the tag of its rows; per attribute the column, its type, the declared type."""

    tag: str
    kind: Kind
    columns: tuple[str, ...]
    types: tuple[str, ...]
    declared: tuple[str | None, ...]
    readings: tuple[str, ...] | None = None  # how cells are read, if not by the types of the attributes
    background: frozenset[Value] = frozenset()  # predicates that no row of triples has

    @property
    def part(self) -> Part:
        """How rows become events over columns."""
        types = self.readings or self.attribute_types
        return Part(self.tag, self.kind, self.columns, types, background=self.background)

    @property
    def attribute_types(self) -> tuple[str, ...]:
        """The type of each attribute as the language sees it."""
        pairs = zip(self.types, self.declared, strict=True)
        return tuple(declared or _TYPES.get(transport(t), "term") for t, declared in pairs)

    @property
    def slot_types(self) -> tuple[str, ...]:
        """The type in which each attribute travels: a decimal that is to be a float as one."""
        pairs = zip(self.types, self.declared, strict=True)
        return tuple(
            "double" if declared == "float" and base_of(t) in DECIMALS else transport(t) for t, declared in pairs
        )

    @property
    def result_types(self) -> tuple[str, ...]:
        """The type of each attribute where it comes back as it is: a list, say, has that of its column."""
        pairs = zip(self.attribute_types, self.types, strict=True)
        return tuple(own_type(column) or known if known == "term" else known for known, column in pairs)


@dataclass(frozen=True, slots=True)
class Frame:
    """One DataFrame with the part of every column; `event` is None where all rows are of one kind.

    Columns that are `spared` are not looked at.
    """

    event: str | None
    times: tuple[str, ...]
    time_types: tuple[str, ...]
    order: str | None
    order_type: str | None
    layouts: tuple[Layout, ...]
    id: str | None = None
    spared: frozenset[str] = frozenset()


def read_frames(
    given: Sequence[TableSchema | Frame], known: Sequence[Signature], options: Options
) -> tuple[Frame, ...]:
    """Find the part of every column of every frame, or refuse what is missing or wrong."""
    if options.unit not in UNITS:
        raise refuse("E605", f"unknown unit of time {options.unit!r}", f"one of {', '.join(UNITS)}")
    frames = tuple(x if isinstance(x, Frame) else _read_frame(x, known, options) for x in given)
    if len({frame.time_types[0] in NUMBERS for frame in frames}) > 1:
        hint = "convert the numbers: timestamp_seconds(...)"
        raise refuse("E603", "some DataFrames have time stamps, others numbers as time", hint)
    orders = {transport(frame.order_type) for frame in frames if frame.order_type is not None}
    if len(orders) > 1:
        raise refuse("E603", f"the column {options.order} is {' or '.join(sorted(orders))}", "give it in one type")
    return frames


def _read_frame(given: TableSchema, known: Sequence[Signature], options: Options) -> Frame:
    columns = given.columns
    if len({name.casefold() for name in columns}) < len(columns):
        raise refuse("E602", f"{given.label} has two columns of one name: {_listed(columns)}", "rename one of them")
    if options.time is not None and not isinstance(options.time, str) and len(options.time) not in (1, 2):
        raise refuse("E605", f"time is one column or two, not {len(options.time)}", "give time=(start, end)")
    roles = find_roles(
        columns, time=options.time, event=options.event, order=options.order, id=options.id,
        is_named=given.event is not None,
    )  # fmt: skip
    _check_roles(roles, given)
    free = {name: columns[name] for name in roles.free}
    if roles.event is None:
        name = given.event or _only_event(given, known, options)
        layouts = _named_layouts(name, given, free, known, roles.times)
    else:
        layouts = _tagged_layouts(given, free, known, roles.times)
    time_types = tuple(base_of(columns[name]) for name in roles.times)
    order_type = None if roles.order is None else _order_type(columns[roles.order])
    return Frame(roles.event, roles.times, time_types, roles.order, order_type, layouts, roles.id)


_PARTS = {"time": "is the time", "order": "breaks ties of time", "id": "identifies rows"}


def _check_roles(roles: Roles, given: TableSchema) -> None:
    """Refuse columns that are missing, or that have types with which they cannot play their parts."""
    for part, name in roles.missing:
        hint = suggest(name, given.columns, f"its columns are {_listed(given.columns)}")
        raise refuse("E602", f"{given.label} has no column {name}, which {_PARTS[part]}", hint)
    if not roles.times:
        hint = f'say which it is: time="..." or time=(start, end); its columns are {_listed(given.columns)}'
        raise refuse("E602", f"{given.label} has no column of time", hint)
    types = [given.columns[name] for name in roles.times]
    for name, column_type in zip(roles.times, types, strict=True):
        if not has_order(column_type):
            hint = "convert it: to_timestamp(...), or to a number of seconds"
            raise refuse("E603", f"the column {name} of type {column_type} cannot be the time", hint)
    if len({base_of(t) in NUMBERS for t in types}) > 1:
        message = f"{roles.times[0]} is {types[0]} and {roles.times[1]} is {types[1]}"
        raise refuse("E603", message, "give both in one type")
    if roles.order is not None and not has_order(given.columns[roles.order]):
        hint = "order by a number, a string or a time stamp"
        raise refuse("E603", f"the column {roles.order} of type {given.columns[roles.order]} has no order", hint)
    if roles.event is not None and base_of(given.columns[roles.event]) not in STRINGS:
        message = f"the column {roles.event} of type {given.columns[roles.event]} cannot name events"
        raise refuse("E603", message, "it must hold strings")


def _order_type(column_type: str) -> str:
    """Return the type in which rows are ordered."""
    base = base_of(column_type)
    return "double" if base in DECIMALS else base


def _only_event(given: TableSchema, known: Sequence[Signature], options: Options) -> str:
    """Return the name of the event that all rows are."""
    received = [s.kind[0] for s in known if not s.made]
    if options.event is not None:
        if any(options.event in (s.kind[0], show(s.kind)) for s in known):
            return options.event
        hint = suggest(options.event, [*given.columns, *received], f"its columns are {_listed(given.columns)}")
        raise refuse("E602", f"event={options.event!r} is neither a column nor an event of the program", hint)
    if len(received) == 1:
        return received[0]
    hint = f'say which it is: event="..."; its columns are {_listed(given.columns)}'
    raise refuse("E602", f"{given.label} has no column that names the event", hint)


def _named_layouts(
    name: str, given: TableSchema, free: Columns, known: Sequence[Signature], times: Sequence[str]
) -> tuple[Layout, ...]:
    """Return the layout of a frame whose rows are all of one kind; none if no rule reads that kind."""
    found = [s for s in known if name in (s.kind[0], show(s.kind))]
    if not found:
        hint = suggest(name, {s.kind[0] for s in known}, f"its rules read {_listed(show(s.kind) for s in known)}")
        raise refuse("E604", f"no rule of the program reads the event {name}", hint)
    _one_arity(name, found, given)
    return (_layout(name, found[0], given, free, times),)


def _one_arity(name: str, found: Sequence[Signature], given: TableSchema) -> None:
    if len(found) > 1:
        several = _listed(show(s.kind) for s in found)
        hint = f"give one DataFrame per kind: {{{', '.join(f'{show(s.kind)!r}: ...' for s in found)}}}"
        raise refuse("E604", f"{name} in {given.label} can be {several}", hint)


def _tagged_layouts(
    given: TableSchema, free: Columns, known: Sequence[Signature], times: Sequence[str]
) -> tuple[Layout, ...]:
    """Return the layouts of a frame whose rows name their event; what only rules make is not received."""
    received = [s for s in known if not s.made or s.attributes is not None]
    for signature in received:
        _one_arity(signature.kind[0], [s for s in received if s.kind[0] == signature.kind[0]], given)
    return tuple(_layout(s.kind[0], s, given, free, times) for s in received)


def _layout(tag: str, signature: Signature, given: TableSchema, free: Columns, times: Sequence[str]) -> Layout:
    likely = {name: declarable(column_type) for name, column_type in free.items()}
    try:
        columns = bind(signature, without_added([signature], list(free), times), likely)
    except UnboundError as error:
        raise refuse("E602", f"{given.label}: {error.message}", error.hint) from None
    declared = tuple(None if t == "any" else t for _, t in signature.attributes or [("", None)] * len(columns))
    for column, wanted in zip(columns, declared, strict=True):
        _check_type(column, free[column], wanted, signature.kind[0])
    return Layout(tag, signature.kind, columns, tuple(free[c] for c in columns), declared)


def _check_type(column: str, column_type: str, declared: str | None, event: str) -> None:
    wrong = misfit(column_type, declared or "term")
    if wrong is None:
        return
    inside = "" if wrong == column_type else f" with {wrong} in it"
    if declared is not None:
        message = f"the column {column} of type {column_type}{inside} cannot be {declared}, as {event} declares it"
        better = fitting(column_type)
        hint = (
            way_out(wrong)
            if better is None or base_of(wrong) in DECIMALS
            else f"convert it, or declare the attribute {better}"
        )
        raise refuse("E603", message, hint)
    is_moment = base_of(column_type) in MOMENTS
    hint = "declare the attribute time" if is_moment else way_out(wrong)
    raise refuse("E603", f"the column {column} of type {column_type}{inside} cannot be an attribute of {event}", hint)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def refuse(code: str, message: str, hint: str | None) -> InputError:
    """Return the error for something that the caller gave."""
    return InputError(Problem(code, message, hint=hint))
