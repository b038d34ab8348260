"""An event: an atom that occurred on an interval.

A tuple in disguise, laid out (end, start, kind, *arguments[, *rope]), made in one allocation; plain comparison, but for
the rope, is the order of definition 6.7 (end, start, standard order of the atom) wherever the arguments are comparable.
The rope, if it is kept, tells what the event is made of (`temporal.rope`). Outside an event shows seconds, unpacks as
(name, args, start, end), and has its attributes as members. Inside it is made by `event_of` or `new_event`, past the
constructor that users call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self, cast

from etalis.data.measure import count_cells
from etalis.data.scalars import show
from etalis.data.values import Value, format_atom, format_value, order_key, to_value
from etalis.errors import EventError, Problem
from etalis.temporal.attribute_names import name_columns
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS, to_datetime, to_iso, to_seconds
from etalis.temporal.json_values import from_plain, to_plain, to_text
from etalis.temporal.record import open_record
from etalis.temporal.rope import SLOT, FlatRope, flatten, rope_of
from etalis.temporal.time_input import are_dates, to_interval

_item = tuple.__getitem__
new_event = tuple.__new__  # of a class of events and what stands in one
_SHOWN_PARTS, _SHOWN_TEXT = 100, 300
_UNBOUND = "null"


class Shown:
    """How an engine's events are shown: times as dates, once a date has come in; values as RDF terms by `term`."""

    __slots__ = ("dates", "term")

    def __init__(self, *, dates: bool = False, term: Callable[[Value], Any] | None = None) -> None:
        self.dates = dates
        self.term = term


AS_SECONDS, AS_DATES = Shown(), Shown(dates=True)


class EventKind:
    """What the events of one head, or of one input name and arity, have in common."""

    __slots__ = ("arity", "attributes", "name", "rule", "shown")
    shape: str = SLOT  # of the ropes of its events

    def __init__(self, name: str, arity: int, rule: str | None = None, attributes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.arity = arity
        self.rule = rule
        self.attributes = attributes
        self.shown = AS_SECONDS

    @property
    def columns(self) -> tuple[str, ...]:
        """What the attributes are called in a table, a name for each."""
        return name_columns(self.attributes, self.arity)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, EventKind) and self.arity == other.arity and self.name == other.name)

    def __hash__(self) -> int:
        return hash((self.arity, self.name))

    def __lt__(self, other: EventKind) -> bool:
        return (self.arity, self.name) < (other.arity, other.name)

    def __repr__(self) -> str:
        return f"{format_atom(self.name)}/{self.arity}"


class EventClass(type):
    """What users call to make events; `event_of` goes past it, as it could not past a constructor of `Event` itself."""

    def __call__(
        cls, name: str, /, *args: Any, at: Any = None, start: Any = None, end: Any = None, **named: Any
    ) -> Event:
        """Build an event, its attributes by position or by name, `at` a time or from `start` to `end`.

        Times are those that `push` takes: seconds, datetimes, text of ISO 8601, a pair (start, end).

        >>> Event("withdrawal", "c1", 20.0, at=0), Event("trip", car="x", start=0, end="1970-01-01T00:00:05Z")
        (withdrawal(c1, 20.0) [0, 0], trip(x) [1970-01-01T00:00:00Z, 1970-01-01T00:00:05Z])
        """
        if not isinstance(name, str):
            raise EventError(Problem("E306", f"{show(name)} is not the name of an event", hint="a name is a text"))
        if args and named:
            hint = "give all attributes by position, or all by name"
            raise EventError(Problem("E302", f"{name}: some attributes have names and some have none", hint=hint))
        time = _one_time(name, at, start, end)
        begin, stop = to_interval(time)
        values = [to_value(given) for given in args or named.values()]
        kind = EventKind(str.__str__(name), len(values), None, tuple(named))
        if are_dates(time):
            kind.shown = AS_DATES
        return new_event(cast("type[Event]", cls), (stop, begin, kind, *values))


class Event(tuple[Any, ...], metaclass=EventClass):
    """One event with its interval, the rule that made it and, if asked for, the numbers of the inputs it is made of."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __new__(
            cls, name: str, /, *args: Any, at: Any = None, start: Any = None, end: Any = None, **named: Any
        ) -> Self: ...

    @staticmethod
    def make(
        name: str,
        args: tuple[Value, ...],
        start: int,
        end: int,
        rule: str | None = None,
        parts: tuple[int, ...] = (),
    ) -> Event:
        """Build an event from microseconds."""
        made_of = (FlatRope(tuple(sorted(set(parts)))),) if parts else ()
        return new_event(Event, (end, start, EventKind(name, len(args), rule), *args, *made_of))

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Event:
        """Return the event that `to_dict` has written; attributes stand in the order of the dict.

        >>> event = Event("w", card="c1", amount=2.0, at=7)
        >>> Event.from_dict(event.to_dict()) == event
        True
        """
        found = open_record(record)
        start, end = to_interval(found.at)
        values = [to_value(from_plain(given)) for given in found.values]
        kind = EventKind(found.name, len(values), found.rule, found.names)
        return new_event(Event if found.sign > 0 else Retraction, (end, start, kind, *values))

    @property
    def kind(self) -> EventKind:
        return _item(self, 2)  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def args(self) -> tuple[Value, ...]:
        return _item(self, slice(3, 3 + self.kind.arity))

    @property
    def start_time(self) -> int:
        """Start in microseconds."""
        return _item(self, 1)  # type: ignore[no-any-return]

    @property
    def end_time(self) -> int:
        """End in microseconds."""
        return _item(self, 0)  # type: ignore[no-any-return]

    @property
    def start(self) -> int | float:
        """Start in seconds."""
        return to_seconds(self.start_time)

    @property
    def end(self) -> int | float:
        """End in seconds."""
        return to_seconds(self.end_time)

    @property
    def start_datetime(self) -> datetime:
        return to_datetime(self.start_time)

    @property
    def end_datetime(self) -> datetime:
        return to_datetime(self.end_time)

    @property
    def duration(self) -> int | float:
        """How long it lasts, in seconds."""
        return to_seconds(self.end_time - self.start_time)

    @property
    def rule(self) -> str | None:
        """Label or number of the rule that made it; None for an input."""
        return self.kind.rule

    @property
    def sign(self) -> int:
        """1: it occurred; -1: it is taken back."""
        return 1

    @property
    def id(self) -> str:
        """The same for every report of one derived event: its atom and interval in microseconds."""
        return f"{self.atom}@{self.start_time}..{self.end_time}"

    @property
    def parts(self) -> tuple[int, ...]:
        """Numbers of the received events it is made of, in order, if the engine was asked to keep them."""
        return flatten(rope_of(self))

    @property
    def bindings(self) -> dict[str, Any]:
        """The attributes of an engine's event as terms of pyoxigraph; unbound ones are left out."""
        term = self.kind.shown.term
        if term is None:
            raise AttributeError("bindings are those of an engine's events")
        kind = self.kind
        names = kind.attributes if len(kind.attributes) == kind.arity else kind.columns
        named = zip(names, self.args, strict=True)
        return {name: term(value) for name, value in named if value is not None and value != _UNBOUND}

    @property
    def atom(self) -> str:
        """The event's atom as program text."""
        name = format_atom(self.name)
        return f"{name}({', '.join(map(format_value, self.args))})" if self.args else name

    @property
    def attributes(self) -> dict[str, Value]:
        """The attributes by the names that columns of results have."""
        return dict(zip(self.kind.columns, self.args, strict=True))

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute by its name; if there is none of this name, something else."""
        place = self._place(name)
        return default if place is None else self.args[place]

    def __getitem__(self, key: Any) -> Any:
        """Return an attribute by its name, or one of (name, args, start, end) by position."""
        if not isinstance(key, str):
            return tuple(iter(self))[key]
        place = self._place(key)
        if place is None:
            raise KeyError(self._no_attribute(key))
        return self.args[place]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of which the name, whatever its capitals, is no member of events."""
        if not name.startswith("__"):
            place = self._place(name)
            alike = [i for i, known in enumerate(self.kind.columns) if known.casefold() == name.casefold()]
            if place is None and len(alike) == 1:
                place = alike[0]
            if place is not None:
                return self.args[place]
        raise AttributeError(self._no_attribute(name))

    count = property(lambda self: self.__getattr__("count"))  # a tuple's are no event's
    index = property(lambda self: self.__getattr__("index"))

    def _place(self, name: str) -> int | None:
        """Return which attribute has a name: its own, or that of its column."""
        for names in (self.kind.attributes, self.kind.columns):
            if name in names:
                return names.index(name)
        return None

    def _no_attribute(self, name: str) -> str:
        known = self.kind.columns
        near = get_close_matches(name.casefold(), [other.casefold() for other in known], n=1, cutoff=0.7)
        hint = next((f": did you mean {other}? It" for other in known if other.casefold() in near), "; it")
        return f"{self.name} has no attribute {name}{hint} has {', '.join(known) or 'no attributes'}"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kind.columns]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.kind.columns)

    def __reduce__(self) -> tuple[Any, ...]:
        kind = self.kind
        plain = EventKind(kind.name, kind.arity, kind.rule, kind.attributes)  # without what an engine keeps with it
        made_of = (FlatRope(self.parts),) if len(self) > 3 + kind.arity else ()
        return new_event, (type(self), (self.end_time, self.start_time, plain, *self.args, *made_of))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def _repr_html_(self) -> str:
        """Return the event as a table of one row, for notebooks."""
        from etalis.temporal.html import write_table  # of use in notebooks alone

        times = {"start": self.start, "end": self.end, "rule": self.rule or ""}
        cells = dict(zip(self.kind.columns, map(format_value, self.args), strict=True))
        sign = "-" if self.sign < 0 else ""
        return write_table([{"event": f"{sign}{self.name}", **cells, **times}])

    def __iter__(self) -> Iterator[Any]:
        return iter((self.name, self.args, self.start, self.end))

    def _identity(self) -> tuple[Any, ...]:
        return (self.end_time, self.start_time, self.name, self.args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.sign == other.sign and self._identity() == other._identity()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        return _compared(self) < _compared(other)

    def __le__(self, other: tuple[Any, ...]) -> bool:
        return _compared(self) <= _compared(other)

    def __gt__(self, other: tuple[Any, ...]) -> bool:
        return _compared(self) > _compared(other)

    def __ge__(self, other: tuple[Any, ...]) -> bool:
        return _compared(self) >= _compared(other)

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        is_date = self.kind.shown.dates and EARLIEST <= self.start_time <= self.end_time <= LATEST
        start, end = map(to_iso, (self.start_time, self.end_time)) if is_date else (self.start, self.end)
        return f"{self.atom} [{start}, {end}]"

    def __format__(self, spec: str) -> str:
        """Write the event, with `iso` its times as dates in UTC; other specifications are those of text.

        >>> f"{Event.make('a', (1,), 0, 2_500_000):iso}"
        'a(1) [1970-01-01T00:00:00Z, 1970-01-01T00:00:02.500000Z]'
        """
        if spec != "iso" or not EARLIEST <= self.start_time <= self.end_time <= LATEST:
            return format(str(self), "" if spec == "iso" else spec)
        sign = "-" if self.sign < 0 else ""
        return f"{sign}{self.atom} [{to_iso(self.start_time)}, {to_iso(self.end_time)}]"

    def to_dict(self) -> dict[str, Any]:
        """Return the event as plain data, flat: a row of the tables of results, with times in seconds.

        >>> Event("w", card="c1", amount=2.5, at=7).to_dict()
        {'event': 'w', 'card': 'c1', 'amount': 2.5, 'start': 7, 'end': 7, 'rule': None}
        """
        cells = [None if value == "null" else to_plain(value) for value in self.args]
        return {
            "event": self.name,
            **dict(zip(self.kind.columns, cells, strict=True)),
            "start": _moment(self.start_time),
            "end": _moment(self.end_time),
            "rule": self.rule,
            **({"sign": -1} if self.sign < 0 else {}),
        }

    def to_json(self) -> str:
        """Return `to_dict` as one JSON object, which readers of JSON lines take back."""
        return to_text(self.to_dict())


event_of = cast("Callable[[tuple[Any, ...]], Event]", type.__call__.__get__(Event))  # faster than `new_event`


class Retraction(Event):
    """Says that an event reported before did not occur after all."""

    __slots__ = ()

    @property
    def sign(self) -> int:
        return -1

    @staticmethod
    def of(event: Event) -> Retraction:
        """Return that an event did not occur."""
        return new_event(Retraction, _item(event, slice(None)))

    @property
    def reported(self) -> Event:
        """The event that is taken back."""
        return new_event(Event, _item(self, slice(None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Retraction) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((-1, self._identity()))

    def __repr__(self) -> str:
        return f"-{super().__repr__()}"


def _compared(event: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what of an event is compared: all but the rope."""
    return _item(event, slice(3 + event.kind.arity)) if isinstance(event, Event) else event


def sort_key(event: Event) -> tuple[Any, ...]:
    """Return the key of the order of events: (end, start, standard order of the atom)."""
    kind = event.kind
    return (event.end_time, event.start_time, kind.arity, kind.name, tuple(map(order_key, event.args)))


def brief(event: Event) -> str:
    """Write an event for a message, one with large attributes by its kind and their size alone.

    >>> brief(Event.make("d", (tuple(range(1000)),), 0, 0))
    'd/1 with attributes of 1001 parts'
    """
    cells = count_cells(event.args)
    if cells > _SHOWN_PARTS:
        return f"{event.kind!r} with attributes of {cells} parts"
    text = repr(event)
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}..."


def _one_time(name: str, at: Any, start: Any, end: Any) -> Any:
    """Return the one time that is given for an event."""
    given = tuple(moment is not None for moment in (at, start, end))
    if given == (True, False, False):
        return at
    if given == (False, True, True):
        return start, end
    hint = "give `at=`, or `start=` and `end=`"
    found = "no time is given" if not any(given) else "not one time is given"
    raise EventError(Problem("E303", f"{found} for {name}", hint=hint))


def _moment(time: int) -> int | float | str:
    """Return a time in seconds, as a date where no float is so exact; the deadline of a last event may have no date."""
    seconds = to_seconds(time)
    return seconds if round(seconds * MICROSECONDS) == time or not EARLIEST <= time <= LATEST else to_iso(time)
