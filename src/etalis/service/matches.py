"""The matches of one engine, numbered from 1 and kept for a while: what polling and streams read.

Entries are complex events, retractions (sign -1), and events of received kinds that someone follows; who names no kinds
sees the former two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from etalis.service.kept import Kind, NumberedLog
from etalis.service.problems import MalformedError
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_text


class MatchEntry:
    """A match with its number; `by` is the index of the input that completed it, in its body."""

    __slots__ = ("_json", "by", "event", "kept_since", "number", "received")

    def __init__(self, number: int, by: int | None, event: Event, received: bool, kept_since: float) -> None:
        self.number = number
        self.by = by
        self.event = event
        self.received = received
        self.kept_since = kept_since
        self._json: bytes | None = None

    def __repr__(self) -> str:
        return f"<match {self.number}: {self.event!r}>"

    @property
    def sign(self) -> int:
        return self.event.sign

    @property
    def kind(self) -> Kind:
        return self.event.name, self.event.kind.arity

    @property
    def json(self) -> bytes:
        """The entry as it is sent: number, by, sign, and the event, flat."""
        return self._json or self.write()

    def write(self) -> bytes:
        """Write the entry, once for all readers."""
        if self._json is None:
            flat = self.event.to_dict()
            self._json = encode({"number": self.number, "by": self.by, "sign": self.sign, "match": flat})
        return self._json

    def is_asked_for(self, kinds: Collection[Kind] | None) -> bool:
        """Tell whether a reader of some kinds, or of all that is detected, sees it."""
        return not self.received if kinds is None else self.kind in kinds


def encode(plain: Any) -> bytes:
    """Write plain data as JSON; numbers and text that JSON has no form for as `to_text` does."""
    try:
        written = msgspec.json.encode(plain)
    except (UnicodeEncodeError, TypeError, OverflowError):
        return to_text(plain).encode()
    return to_text(plain).encode() if b"null" in written and _has_infinite(plain) else written


def _has_infinite(plain: Any) -> bool:
    """Tell whether plain data holds a number that JSON has no name for; msgspec writes null."""
    if isinstance(plain, dict):
        return any(map(_has_infinite, plain.values()))
    if isinstance(plain, list | tuple):
        return any(map(_has_infinite, plain))
    return isinstance(plain, float) and not math.isfinite(plain)


class MatchLog(NumberedLog[MatchEntry]):
    """The matches of an engine that are kept."""

    def add(self, found: Iterable[tuple[int | None, Event, bool]]) -> list[MatchEntry]:
        """Number what was found, and wake up who waits: (index of the input, event, whether it was received)."""
        now, first = self._clock(), self.last + 1
        added = [
            MatchEntry(number, by, event, received, now) for number, (by, event, received) in enumerate(found, first)
        ]
        self.keep(added)
        return added


def read_kinds(text: str) -> frozenset[Kind]:
    """Read kinds of events, by name and arity.

    >>> sorted(read_kinds("fraud/2,a/1"))
    [('a', 1), ('fraud', 2)]
    """
    return frozenset(map(read_kind, text.split(",")))


def read_kind(text: str) -> Kind:
    """Read one kind of events.

    >>> read_kind("fraud/2")
    ('fraud', 2)
    """
    name, _, arity = text.strip().rpartition("/")
    if not name or not (arity.isascii() and arity.isdigit() and len(arity) < 4):
        raise MalformedError("E306", f"{text!r} names no kind of event", "write name/arity, as in fraud/2,a/1")
    return name, int(arity)
