"""When a signal occurs: at its receipt (`--time clock`), or when it says (`--time events`), in the order of time.

By the clock every signal has a stamp of its own, a microsecond after the one before it at least, also where the clock
steps back or the service begins again. By events a signal waits until the watermark, the latest time so far less the
lateness, has reached it; one that the watermark has passed is late. Law: stamps that are handed on never decrease.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
NEVER = -(1 << 62)


@dataclass(slots=True)
class ClockStamps:
    """The stamps of signals by their receipt."""

    last: int = NEVER

    def stamp(self, now: int) -> int:
        """Return the next stamp, in microseconds.

        >>> stamps = ClockStamps()
        >>> stamps.stamp(10), stamps.stamp(10), stamps.stamp(7), stamps.stamp(50)
        (10, 11, 12, 50)
        """
        self.last = max(now, self.last + 1)
        return self.last


class EventStamps(Generic[T]):
    """Signals by their own time, held until all that is earlier has come; `lateness` in microseconds."""

    def __init__(self, lateness: int = 0) -> None:
        self.lateness = lateness
        self.latest = NEVER
        self.watermark = NEVER
        self._held: list[tuple[int, int, T]] = []
        self._count = 0

    def is_late(self, at: int) -> bool:
        """Tell whether the watermark has passed a time."""
        return at < self.watermark

    def take(self, at: int, signal: T) -> Iterator[tuple[int, T]]:
        """Hold a signal; yield what is ripe now, in order of time, then of receipt."""
        self._count += 1
        heapq.heappush(self._held, (at, self._count, signal))
        if at > self.latest:
            self.latest = at
            self.watermark = max(self.watermark, at - self.lateness)
        return self._ripe()

    def advance(self, to: int) -> Iterator[tuple[int, T]]:
        """Say that nothing up to a time is to come; yield what is ripe now."""
        self.latest = max(self.latest, to)
        self.watermark = max(self.watermark, to)
        return self._ripe()

    def _ripe(self) -> Iterator[tuple[int, T]]:
        while self._held and self._held[0][0] <= self.watermark:
            at, _, signal = heapq.heappop(self._held)
            yield at, signal

    @property
    def held(self) -> int:
        """How many signals wait."""
        return len(self._held)

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes."""
        waiting = [[at, signal] for at, _, signal in sorted(self._held)]
        return {"latest": self.latest, "watermark": self.watermark, "held": waiting}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the state of another run."""
        self.latest, self.watermark = state["latest"], state["watermark"]
        self._held = [(at, number, signal) for number, (at, signal) in enumerate(state["held"])]
        self._count = len(self._held)
