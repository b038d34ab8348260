"""Events that come out of order: where they stand in the stream, how far the stream is settled, what came too late.

The watermark says that nothing more will end at or before it. It follows the latest end of every source that is not
idle, less the bound on lateness, and never goes back: what is late by just the bound is still taken.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from etalis.runtime.state import BEGINNING, NEVER
from etalis.temporal.event import to_plain
from etalis.temporal.interval import to_seconds

Values = tuple[Any, ...]
HeldRow = tuple[int, int, int, Any]  # end, start, rank, what came: (name, attributes, stamp)

LEAST_DROPPED = 1024


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where an event stands in its stream: its time, and if need be its id, its rank among equal times, its source.

    A rank is anything that can be compared with the ranks of other events, a sequence number for example.
    """

    at: Any
    id: Hashable | None = None
    rank: Any = None
    source: Hashable | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Something that came too late to be taken, and why."""

    name: str
    args: Values
    start: int | float
    end: int | float
    reason: str

    def to_json(self) -> str:
        """Return it as one JSON object: an event as it came, and why it was not taken."""
        plain = [to_plain(value) for value in self.args]
        found = {"event": self.name, "args": plain, "start": self.start, "end": self.end, "reason": self.reason}
        return json.dumps(found, ensure_ascii=False)


class DeadLetters:
    """What came too late: all of it counted, the last ones kept, each handed on."""

    KEPT = 1000

    def __init__(self, hand_on: Callable[[DeadLetter], object] | None) -> None:
        self.count = 0
        self.letters: list[DeadLetter] = []
        self._hand_on = hand_on

    def add(self, name: str, args: Values, start: int, end: int, reason: str) -> None:
        """Take one in."""
        self.count += 1
        letter = DeadLetter(name, args, to_seconds(start), to_seconds(end), reason)
        self.letters.append(letter)
        if len(self.letters) > self.KEPT:
            del self.letters[0]
        if self._hand_on is not None:
            self._hand_on(letter)


class Watermark:
    """How far the stream is settled, by source."""

    __slots__ = ("bound", "idle", "latest", "reached")

    def __init__(self, bound: int, sources: Iterable[Hashable] = ()) -> None:
        self.bound = bound
        self.reached = BEGINNING
        self.latest: dict[Hashable, int] = dict.fromkeys(sources, BEGINNING)
        self.idle: set[Hashable] = set()

    def see(self, source: Hashable, end: int) -> int:
        """Note an event of a source; return the watermark."""
        self.idle.discard(source)
        if end > self.latest.get(source, BEGINNING):
            self.latest[source] = end
            self._follow()
        return self.reached

    def rest(self, source: Hashable) -> int:
        """Wait for a source no more until it sends again; return the watermark."""
        self.latest.setdefault(source, BEGINNING)
        self.idle.add(source)
        self._follow()
        return self.reached

    def _follow(self) -> None:
        awake = [end for source, end in self.latest.items() if source not in self.idle]
        if awake and self.bound < NEVER:
            self.reached = max(self.reached, min(awake) - self.bound - 1)


class Held:
    """Events held until they are settled, in order of (end, start, rank)."""

    __slots__ = ("head", "rows")

    def __init__(self) -> None:
        self.rows: list[HeldRow] = []
        self.head = 0  # rows before it have been released

    def add(self, row: HeldRow) -> None:
        """Hold one."""
        rows = self.rows
        if len(rows) > self.head and rows[-1][:3] > row[:3]:
            insort(rows, row, lo=self.head, key=by_place)
        else:
            rows.append(row)

    def release(self, until: int) -> Iterator[HeldRow]:
        """Yield what ends at or before a moment, in order, and hold it no more."""
        rows = self.rows
        while self.head < len(rows) and rows[self.head][0] <= until:
            self.head += 1
            yield rows[self.head - 1]
        if self.head > LEAST_DROPPED:
            self.drop_released()

    def drop_released(self) -> None:
        """Let go what has been released."""
        del self.rows[: self.head]
        self.head = 0

    def remove(self, wanted: Callable[[HeldRow], bool]) -> HeldRow | None:
        """Take out the last event that is wanted; None if none is held."""
        for place in range(len(self.rows) - 1, self.head - 1, -1):
            if wanted(self.rows[place]):
                return self.rows.pop(place)
        return None

    def __iter__(self) -> Iterator[HeldRow]:
        return iter(self.rows[self.head :])

    def __len__(self) -> int:
        return len(self.rows) - self.head


def by_place(row: HeldRow) -> tuple[int, int, int]:
    """Return the key of the order in which events are taken."""
    return row[:3]
