"""What an engine knows at a moment: its clock, its numbering, what is due, and what it has made at this stamp."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from etalis.temporal.event import Event, Kind

NEVER = 1 << 200
BEGINNING = -(1 << 200)

_item = tuple.__getitem__


class State:
    """The moving parts that generated code and operators share."""

    __slots__ = ("current", "due", "floor", "now", "number", "parts", "queue", "sequence", "timers")

    def __init__(self) -> None:
        self.now = BEGINNING
        self.floor = BEGINNING
        self.number = 0
        self.current = 0
        self.parts: tuple[int, ...] = ()
        self.queue: list[Event] = []
        self.timers: list[tuple[int, int, int, Callable[[], bool], Callable[[], None]]] = []
        self.sequence = 0
        self.due = NEVER

    def schedule(self, due: int, since: int, stands: Callable[[], bool], fire: Callable[[], None]) -> None:
        """Have something judged at a moment, after the inputs that end then.

        Of what is due together, alarms (since NEVER) come first, then absences whose left side ended last: what these
        make may block the others.
        """
        self.sequence += 1
        heappush(self.timers, (due, -since, self.sequence, stands, fire))
        self.due = self.timers[0][0]

    def fall_due(self) -> None:
        """Judge and fire what is due first, as one step."""
        due, since = self.timers[0][:2]
        ready = []
        while self.timers and self.timers[0][:2] == (due, since):
            ready.append(heappop(self.timers)[3:])
        self.due = self.timers[0][0] if self.timers else NEVER
        for fire in [fire for stands, fire in ready if stands()]:
            fire()


class Made:
    """The events of one name and arity made at the current stamp: each (atom, interval) is made once.

    Generated code notes the first of a stamp in line; `seen` is filled only when a second comes.
    """

    __slots__ = ("first", "seen", "seen_at", "stamp")

    def __init__(self) -> None:
        self.stamp = BEGINNING
        self.first: Event | None = None
        self.seen: set[tuple[Any, ...]] = set()
        self.seen_at = BEGINNING

    def note(self, event: Event, stamp: int, arity: int) -> bool:
        """Note an event; tell whether it is new."""
        if self.stamp != stamp:
            self.stamp, self.first = stamp, event
            return True
        return self.add(event, arity)

    def add(self, event: Event, arity: int) -> bool:
        """Note a further event of this stamp; tell whether it is new."""
        if self.seen_at != self.stamp:
            assert self.first is not None
            self.seen_at = self.stamp
            self.seen = {_item(self.first, slice(1, 2)) + _item(self.first, slice(3, 3 + arity))}
        key = _item(event, slice(1, 2)) + _item(event, slice(3, 3 + arity))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


Reported = bool | Callable[..., bool]  # of every event of a kind, or of those whose arguments pass a test


class HeadKind(Kind):
    """The kind of a rule's events, with what the engine does with them."""

    __slots__ = ("alive", "feeds", "made", "reported")

    def __init__(
        self, name: str, arity: int, rule: str, attributes: tuple[str, ...], made: Made, reported: Reported
    ) -> None:
        super().__init__(name, arity, rule, attributes)
        self.made = made
        self.reported = reported
        self.alive = True
        self.feeds: Callable[..., None] | None = None
