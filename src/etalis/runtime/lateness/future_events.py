"""Events from the future: how far ahead an event may end before it is a dead letter.

One time in milliseconds instead of seconds would settle the stream for ever: every deadline would pass, and every later
event come too late. The present is that of a wall clock where there is one, else the latest time before the event, of
those that were taken; then there is no bound for the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from etalis.runtime.lateness.lateness import Disorder
from etalis.runtime.lateness.watermark import DeadLetters
from etalis.runtime.state import BEGINNING, NEVER, State
from etalis.temporal.interval import show_moment, to_seconds

_UNITS = ((1_000, "milliseconds"), (1_000_000, "microseconds"), (1_000_000_000, "nanoseconds"))


def last_end(latest: int, bound: int, wall: int | None = None) -> int:
    """Return the last moment at which an event may end, all in microseconds.

    >>> last_end(5_000_000, 60_000_000), last_end(5_000_000, 60_000_000, wall=100_000_000)
    (65000000, 160000000)
    """
    present = latest if wall is None else wall
    return NEVER if present == BEGINNING else present + bound


def find_ahead(ends: Iterable[int], latest: int, bound: int, wall: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield place and reason of every event that ends too far ahead; those that are taken move the latest time.

    >>> [place for place, _ in find_ahead([1, 2, 1_000, 3, 12], latest=0, bound=10)]
    [2]
    """
    for place, end in enumerate(ends):
        if end > last_end(latest, bound, wall):
            yield place, describe_ahead(end, latest, bound, wall)
        elif end > latest:
            latest = end


def describe_ahead(end: int, latest: int, bound: int, wall: int | None = None) -> str:
    """Say why an event that ends too far ahead is not taken.

    >>> describe_ahead(1_700_000_000_000_000_000, 1_700_000_000_000_000, 60_000_000)
    'it ends at 1700000000000, more than 60 s after the latest time, 1700000000 (2023-11-14T22:13:20Z); is its time ...'
    """
    present, name = (latest, "the latest time") if wall is None else (wall, "the wall clock")
    likely = [unit for factor, unit in _UNITS if abs(end // factor - present) * 10 < abs(present)]
    question = f"; is its time in {likely[0]}?" if likely else ""
    shown = to_seconds(end) if likely else show_moment(end)
    return f"it ends at {shown}, more than {to_seconds(bound)} s after {name}, {show_moment(present)}{question}"


class Horizon:
    """Refuses what ends too far ahead of an engine's present; `wall` is a clock in microseconds."""

    def __init__(
        self, bound: int, wall: Callable[[], int] | None, state: State, disorder: Disorder | None, dead: DeadLetters
    ) -> None:
        self.bound = bound
        self.wall = wall
        self._state = state
        self._disorder = disorder
        self._dead = dead

    def latest(self) -> int:
        """Return the latest time before the next event."""
        now = self._state.now
        mark = None if self._disorder is None else self._disorder.watermark
        return now if mark is None else max((now, *mark.latest.values()))

    def refuses(self, name: str, values: tuple[Any, ...], start: int, end: int) -> bool:
        """Make a dead letter of an event that ends too far ahead; tell whether it does."""
        wall = None if self.wall is None else self.wall()
        latest = self.latest()
        if end <= last_end(latest, self.bound, wall):
            return False
        self._dead.add(name, values, start, end, describe_ahead(end, latest, self.bound, wall), "ahead")
        return True
