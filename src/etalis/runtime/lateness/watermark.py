"""The watermark: the order of events that come out of order, how far time is settled, and which events are late.

The watermark says that nothing more will end at or before it. It follows the latest end of every source that is not
idle, less the bound on lateness, and never goes back: what is late by just the bound is still taken.
"""

from __future__ import annotations

import logging
from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from etalis.errors import EventError, Problem
from etalis.runtime.state import BEGINNING, NEVER
from etalis.temporal.interval import to_seconds
from etalis.temporal.json_values import to_plain, to_text

_LOG = logging.getLogger("etalis.engine")
Values = tuple[Any, ...]
HeldRow = tuple[Any, ...]  # (end, start, rank, stamp, name, *attributes)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where an event stands in its stream: its time, and if need be its id, its rank among equal times, its source.

    A rank is anything that can be compared with the ranks of other events, a sequence number for example.
    """

    at: Any
    id: Hashable | None = None
    rank: Any = None
    source: Hashable | None = None


PLAIN = Stamp(None)  # of events that came as instants, with nothing but their time


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Something that was not taken, and why: it came too late, from the future, or cannot be read.

    What cannot be read has as much of its name, attributes and times as could be told. `late_by` are the microseconds
    by which it came too late, of which so many were allowed.
    """

    name: str
    args: Values
    start: int | float | None
    end: int | float | None
    reason: str
    cause: str = field(default="", compare=False, repr=False)
    late_by: int | None = field(default=None, compare=False, repr=False)
    allowed: int | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data: an event as it came, and why it was not taken."""
        plain = [to_plain(value) for value in self.args]
        return {"event": self.name, "args": plain, "start": self.start, "end": self.end, "reason": self.reason}

    def to_json(self) -> str:
        """Return it as one JSON object."""
        return to_text(self.to_dict())


CAUSES = {  # why something was rejected: in words, and what to do
    "late": ("came too late", "sort by time (--sort), or let events come late: flags out_of_order and ooo_window"),
    "ahead": ("lie too far ahead", "is the unit of times right? see unit= (--unit), ahead= (--ahead)"),
    "full": ("were rejected at the limit", "raise hard_limit, or let the engine shed: see docs/flags.md"),
    "unknown": ("retract what is not there", "give name, attributes and time as they were"),
    "background": ("have a predicate of the background", "if they are events, name it in streamed="),
    "unreadable": ("cannot be read", "on_dead_letter= (--dead-letters FILE) takes each with its reason"),
}


def describe_background(predicate: Any) -> str:
    """Say why a triple of a stream is not taken."""
    return f"its predicate {predicate} is background: name it in streamed= if triples of it are events"


class DeadLetters:
    """What was rejected: all of it counted, the last ones kept, each handed on."""

    KEPT = 1000

    def __init__(self, hand_on: Callable[[DeadLetter], object] | None, *, strict: bool = False) -> None:
        self.strict = strict
        self.count = 0
        self.letters: list[DeadLetter] = []
        self.causes: dict[str, tuple[DeadLetter, int]] = {}  # by cause the first one, and how many
        self._hand_on = hand_on
        self._is_told = False

    def mark(self) -> Callable[[], None]:
        """Return what forgets those that come from now on."""
        count, letters, causes = self.count, list(self.letters), dict(self.causes)

        def back() -> None:
            self.count, self.letters[:], self.causes = count, letters, causes

        return back

    @property
    def are_handed_on(self) -> bool:
        """Whether someone takes them."""
        return self._hand_on is not None

    def tell_first(self) -> None:
        """Log, once, that something was not taken, where nobody else takes it."""
        if self.causes and not self._is_told and self._hand_on is None:
            self._is_told = True
            cause, (letter, _) = next(iter(self.causes.items()))
            message = "%s was rejected: %s (%s); this is said once, engine.report() counts"
            _LOG.warning(message, letter.name, letter.reason, CAUSES[cause][1])

    def report_since(self, count: int) -> Iterator[Any]:
        """Log, as the end of a stream, how many came after the first so many, where nobody else takes them."""
        if self.count > count and self._hand_on is None:
            message = "%d events were rejected: on_dead_letter= receives them; the last: %s: %s"
            _LOG.warning(message, self.count - count, self.letters[-1].name, self.letters[-1].reason)
        yield from ()

    def add(
        self, name: str, args: Values, start: int | None, end: int | None, reason: str, cause: str = "unreadable",
        late: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Take one in; a cause is one of CAUSES; late: by how much, of how much."""
        self.count += 1
        first, last = (None if time is None else to_seconds(time) for time in (start, end))
        letter = DeadLetter(name, args, first, last, reason, cause, *(late or (None, None)))
        self.letters.append(letter)
        if len(self.letters) > self.KEPT:
            del self.letters[0]
        known, count = self.causes.get(cause, (letter, 0))
        self.causes[cause] = known, count + 1
        if self._hand_on is not None:
            self._hand_on(letter)
        if self.strict:
            raise EventError(Problem("E332", f"{name or 'a row'} was rejected: {reason}", hint=CAUSES[cause][1]))


class Watermark:
    """How far the stream is settled, by source.

    While there is but one source, without a name, and it sends, `newest` alone is moved, by whoever takes its events,
    and all else follows; otherwise it is NEVER.
    """

    __slots__ = ("_latest", "_reached", "bound", "idle", "newest")

    def __init__(self, bound: int, sources: Iterable[Hashable] = ()) -> None:
        self.bound = bound
        self._reached = BEGINNING
        self._latest: dict[Hashable, int] = dict.fromkeys(sources, BEGINNING)
        self.idle: set[Hashable] = set()
        self.newest = NEVER

    @property
    def reached(self) -> int:
        """The moment up to which the stream is settled."""
        if self.newest < NEVER and self.bound < NEVER:
            self._reached = max(self._reached, self.newest - self.bound - 1)
        return self._reached

    @reached.setter
    def reached(self, time: int) -> None:
        self._reached = time

    @property
    def latest(self) -> dict[Hashable, int]:
        """The latest end of every source."""
        if self.newest < NEVER:
            self._latest[None] = self.newest
        return self._latest

    def mark(self) -> Callable[[], None]:
        """Return what goes back to where it stands now."""
        reached, latest, idle, newest = self._reached, dict(self._latest), set(self.idle), self.newest

        def back() -> None:
            self._reached, self._latest, self.idle, self.newest = reached, dict(latest), set(idle), newest

        return back

    def see(self, source: Hashable, end: int) -> int:
        """Note an event of a source; return the watermark."""
        if source is None and self.newest < NEVER:
            if end > self.newest:
                self.newest = end
            return self.reached
        self.idle.discard(source)
        latest = self.latest
        if end > latest.get(source, BEGINNING):
            latest[source] = end
            self._follow()
        return self.reached

    def rest(self, source: Hashable) -> int:
        """Wait for a source no more until it sends again; return the watermark."""
        self.latest.setdefault(source, BEGINNING)
        self.idle.add(source)
        self._follow()
        return self.reached

    def _follow(self) -> None:
        latest, idle = self._latest, self.idle
        self._reached = self.reached
        awake = [end for source, end in latest.items() if source not in idle]
        self.newest = latest[None] if list(latest) == [None] and not idle else NEVER
        if awake and self.bound < NEVER:
            self.reached = max(self.reached, min(awake) - self.bound - 1)


class Held:
    """Events held until they are settled, in order of (end, start, rank)."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: deque[HeldRow] = deque()

    def add(self, row: HeldRow) -> None:
        """Hold one."""
        rows = self.rows
        if rows and rows[-1][:3] > row[:3]:
            insort(rows, row, key=by_place)
        else:
            rows.append(row)

    def release(self, until: int) -> Iterator[HeldRow]:
        """Yield what ends at or before a moment, in order, and hold it no more."""
        rows = self.rows
        while rows and rows[0][0] <= until:
            yield rows.popleft()

    def release_oldest(self, number: int) -> Iterator[HeldRow]:
        """Yield so many of the first to come, and hold them no more."""
        for _ in range(min(number, len(self.rows))):
            yield self.rows.popleft()

    def remove(self, wanted: Callable[[HeldRow], bool]) -> HeldRow | None:
        """Take out the last event that is wanted; None if none is held."""
        for behind, row in enumerate(reversed(self.rows), 1):
            if wanted(row):
                del self.rows[-behind]
                return row
        return None

    def __iter__(self) -> Iterator[HeldRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def by_place(row: HeldRow) -> tuple[int, int, int]:
    """Return the key of the order in which events are taken."""
    end, start, rank, *_ = row
    return end, start, rank


def atom_of(row: HeldRow) -> tuple[str, Values]:
    """Return name and attributes of an event that is held."""
    return row[4], row[5:]
