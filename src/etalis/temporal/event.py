"""An event: an atom that occurred on an interval.

A tuple in disguise, laid out (end, start, kind, *arguments[, parts]), made in one allocation; plain comparison is the
order in which language.md section 2 processes events (end, start, standard order of the atom) wherever the arguments
are comparable. Outside it shows seconds and unpacks as (name, args, start, end).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from etalis.logic.measure import count_cells
from etalis.logic.term import Real, Struct, Value, decimal_text, format_atom, format_value, order_key
from etalis.temporal.interval import to_datetime, to_iso, to_seconds

_item = tuple.__getitem__
_WRITABLE = 14_000  # bits of an integer that Python writes
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN_PARTS, _SHOWN_TEXT = 100, 300


class Kind:
    """What the events of one head, or of one input name and arity, have in common."""

    __slots__ = ("arity", "attributes", "name", "rule")

    def __init__(self, name: str, arity: int, rule: str | None = None, attributes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.arity = arity
        self.rule = rule
        self.attributes = attributes

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kind) and self.arity == other.arity and self.name == other.name)

    def __hash__(self) -> int:
        return hash((self.arity, self.name))

    def __lt__(self, other: Kind) -> bool:
        return (self.arity, self.name) < (other.arity, other.name)

    def __repr__(self) -> str:
        return f"{format_atom(self.name)}/{self.arity}"


class Event(tuple[Any, ...]):
    """One event with its interval, the rule that made it and, if asked for, the numbers of the inputs it is made of."""

    __slots__ = ()

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
        return Event((end, start, Kind(name, len(args), rule), *args, *((parts,) if parts else ())))

    @property
    def kind(self) -> Kind:
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
        """Numbers of the received events it is made of, if the engine was asked to keep them."""
        arity = self.kind.arity
        return _item(self, 3 + arity) if len(self) > 3 + arity else ()

    @property
    def atom(self) -> str:
        """The event's atom as program text."""
        name = format_atom(self.name)
        return f"{name}({', '.join(map(format_value, self.args))})" if self.args else name

    def __getitem__(self, key: Any) -> Any:
        """Return an attribute by its declared name, or one of (name, args, start, end) by position."""
        if isinstance(key, str):
            return self.args[self.kind.attributes.index(key)]
        return tuple(iter(self))[key]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.name, self.args, self.start, self.end))

    def _identity(self) -> tuple[Any, ...]:
        return (self.end_time, self.start_time, self.name, self.args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.sign == other.sign and self._identity() == other._identity()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"{self.atom} [{self.start}, {self.end}]"

    def __format__(self, spec: str) -> str:
        """Write the event, with `iso` its times as dates in UTC; other specifications are those of text.

        >>> f"{Event.make('a', (1,), 0, 2_500_000):iso}"
        'a(1) [1970-01-01T00:00:00Z, 1970-01-01T00:00:02.500000Z]'
        """
        if spec != "iso":
            return format(str(self), spec)
        sign = "-" if self.sign < 0 else ""
        return f"{sign}{self.atom} [{to_iso(self.start_time)}, {to_iso(self.end_time)}]"

    def to_dict(self) -> dict[str, Any]:
        """Return name, attributes, start, end and rule as plain Python data."""
        names = self.kind.attributes
        plain = [to_plain(a) for a in self.args]
        return {
            "event": self.name,
            **({"args": plain} if not names else {"attributes": dict(zip(names, plain, strict=True))}),
            "start": self.start,
            "end": self.end,
            "rule": self.rule,
            **({"sign": -1} if self.sign < 0 else {}),
        }

    def to_json(self) -> str:
        return to_text(self.to_dict())


class Retraction(Event):
    """Says that an event reported before did not occur after all."""

    __slots__ = ()

    @property
    def sign(self) -> int:
        return -1

    @property
    def reported(self) -> Event:
        """The event that is taken back."""
        return Event(_item(self, slice(None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Retraction) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((-1, self._identity()))

    def __repr__(self) -> str:
        return f"-{super().__repr__()}"


def sort_key(event: Event) -> tuple[Any, ...]:
    """Return the key of the order of events: (end, start, standard order of the atom)."""
    kind = event.kind
    return (event.end_time, event.start_time, kind.arity, kind.name, tuple(map(order_key, event.args)))


def to_text(plain: Any) -> str:
    """Write plain data as JSON; half of a surrogate pair, which no encoding has, is escaped.

    >>> print(to_text({"é": 1}), to_text("\\ud800"))
    {"é": 1} "\\ud800"
    """
    text = json.dumps(plain, ensure_ascii=False)
    return text if text.isascii() or not _SURROGATE.search(text) else json.dumps(plain)


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


def to_plain(value: Value) -> Any:
    """Turn a value into JSON-ready data; a compound becomes {"name": ..., "args": [...]}, a vast integer its text."""
    if isinstance(value, tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, Struct):
        return {"name": value.name, "args": [to_plain(v) for v in value.args]}
    if isinstance(value, int) and value.bit_length() > _WRITABLE:
        return decimal_text(value)
    return float(value) if isinstance(value, Real) else value
