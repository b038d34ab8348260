"""Which of many intervals a number lies in: a sorted list of their bounds, and a tree over what is between two.

`P > 17.3` is an interval without an end. A look-up is one bisection; what a stretch between two bounds lies in is put
together once. A bound that does not belong to an interval, or does, is the next float: no number lies between the two.
Law: a number is found in every interval that it lies in, and in no other as long as bounds are less than 2**52 and no
interval has come later.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import inf, nextafter
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])  # a number and what it stands for

_KEPT = 16  # items that are kept put together, for each interval that there was at first


_EXACT = 2**52  # from here on there may be integers between two floats


class Interval(NamedTuple, Generic[T]):
    """The numbers from `start` on and before `end`, without an end where there is none, and what it stands for."""

    start: float | None
    end: float | None
    item: T


def after(bound: float) -> float | None:
    """Return where the numbers begin that are greater than a bound; None where no float says it.

    >>> after(17), after(10**400)
    (17.000000000000004, None)
    """
    return nextafter(bound, inf) if -_EXACT < bound < _EXACT else None


class Segments(Generic[T]):
    """Intervals by the numbers in them; `points` are their bounds, `found` what is between them, where that is known.

    The stretch of a number has as many bounds at or before it as its place in `found` says. An interval that comes
    later is widened to whole stretches. Items are given in their own order.
    """

    def __init__(self, intervals: Sequence[Interval[T]]) -> None:
        bounds = {bound for interval in intervals for bound in interval[:2] if bound is not None}
        self.points = [bound + 0 for bound in sorted(bounds)]  # numbers of its own: next to each other in memory
        self.found: list[tuple[T, ...] | None] = [None] * (len(self.points) + 1)
        self.added = 0
        self._most = _KEPT * len(intervals)
        self._kept = 0
        self._tree: dict[int, list[T]] = {}
        for interval in intervals:
            for node in self._nodes(interval):
                self._tree.setdefault(node, []).append(interval.item)
        spans = [(interval.item, self._span(interval)) for interval in intervals]
        if sum(map(len, (span for _, span in spans))) <= self._most:
            self._put_all_together(sorted(spans, key=lambda each: each[0]))

    def _put_all_together(self, spans: Sequence[tuple[T, range]]) -> None:
        """Keep the items of all stretches, which are few: what waits for its first number costs most of all."""
        several: list[list[T]] = [[] for _ in self.found]
        for item, span in spans:
            for place in span:
                several[place].append(item)
        self.found[:] = map(tuple, several)
        self._kept = sum(map(len, several))

    def _span(self, interval: Interval[T]) -> range:
        """Return the stretches that an interval has a part of."""
        left = 0 if interval.start is None else bisect_right(self.points, interval.start)
        right = len(self.points) if interval.end is None else bisect_left(self.points, interval.end)
        return range(left, right + 1)

    def _nodes(self, interval: Interval[T]) -> Iterator[int]:
        """Yield the nodes of the tree that cover an interval: a pair of children is their parent."""
        span = self._span(interval)
        left, right = len(self.found) + span.start, len(self.found) + span.stop
        while left < right:
            if left & 1:
                yield left
                left += 1
            if right & 1:
                right -= 1
                yield right
            left >>= 1
            right >>= 1

    def at(self, number: float) -> tuple[T, ...]:
        """Return the items of the intervals that a number lies in."""
        place = bisect_right(self.points, number)
        known = self.found[place]
        return self.put_together(place) if known is None else known

    def put_together(self, place: int) -> tuple[T, ...]:
        """Return the items of a stretch, and keep them; all that are kept are forgotten when they are too many."""
        items: list[T] = []
        node = len(self.found) + place
        while node:
            items += self._tree.get(node, ())
            node >>= 1
        items.sort()
        self._kept += len(items)
        if self._kept > self._most:
            self._forget()
            self._kept = len(items)
        found = self.found[place] = tuple(items)
        return found

    def add(self, interval: Interval[T]) -> None:
        """Add an interval."""
        self.added += 1
        for node in self._nodes(interval):
            self._tree.setdefault(node, []).append(interval.item)
        self._forget()

    def remove(self, interval: Interval[T]) -> None:
        """Remove an interval that is there."""
        for node in self._nodes(interval):
            self._tree[node].remove(interval.item)
        self._forget()

    def _forget(self) -> None:
        self.found[:] = [None] * len(self.found)
        self._kept = 0
