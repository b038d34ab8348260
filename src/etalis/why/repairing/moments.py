"""When added and moved events come: where their bounds allow it, off the stamps of others where there is a choice."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from etalis.temporal.relation import Relation
from etalis.why.why_not import TimeRange

Span = tuple[int, int]
_MOST = 12  # further moments that are tried
_STEPS = 1000  # microseconds that are looked at for a moment of one's own


class Calendar:
    """The stamps of a history, the range in which the asked event ends, and the last stamp of all."""

    def __init__(
        self, stamps: Collection[int], first: int | None, last: int | None, reached: int | None = None
    ) -> None:
        self.stamps = set(stamps)
        self.first, self.last = first, last
        self.reached = (first or 0) - 1 if reached is None else reached

    def landings(self, start: TimeRange | None, end: TimeRange | None, ahead: int = 0, behind: int = 0) -> list[Span]:
        """Return when an event may come, nearest to its bounds first.

        Of several that are added together, each leaves so many moments to those `ahead` of it and `behind` it.
        """
        start_low, start_high = _closed(start)
        end_low, end_high = _closed(end)
        end_high = _least(end_high, self.last)
        low, high = _most(start_low, end_low), _least(start_high, end_high)
        if low is not None and high is not None and low > high:
            first = start_high if start_high is not None else start_low
            last = end_low if end_low is not None else end_high
            return [(first, last)] if first is not None and last is not None and first <= last else []
        bounded = low is not None or _least(start_high, _closed(end)[1]) is not None
        found = dict.fromkeys(self._instants(low, high, bounded, ahead, behind))
        return [(time, time) for time in islice(found, _MOST)]

    def _instants(self, low: int | None, high: int | None, bounded: bool, ahead: int, behind: int) -> Iterator[int]:
        """Yield moments within closed bounds."""
        if low is not None:
            yield self._free(low + ahead if high is None else min(low + ahead, high), high, 1)
        elif high is not None and bounded:
            yield self._free(high - behind, None, -1)
        else:
            after = self.reached + 1 + ahead
            inside = after if self.first is None else max(after, self.first + ahead)
            yield inside if self.last is None else min(inside, self.last - behind)
        if high is not None:
            yield self._free(high - behind, low, -1)
        for stamp in sorted(self.stamps):
            for time in (stamp + 1, stamp - 1, stamp):
                if (low is None or low <= time) and (high is None or time <= high):
                    yield time

    def _free(self, time: int, limit: int | None, step: int) -> int:
        """Return the first moment from one on that is no stamp; if there is none, the one."""
        for count in range(_STEPS):
            other = time + count * step
            if limit is not None and (other - limit) * step > 0:
                return time
            if other not in self.stamps:
                return other
        return time

    def after(self, time: int) -> int:
        """Return a free moment after one."""
        return self._free(time + 1, self.last, 1)


def shifts(relation: Relation, left: Span, right: Span) -> tuple[int | None, int | None]:
    """Return by how much the left or the right side moves, at least, so that a relation holds."""
    ways = {x - y + by for x in left for y in right for by in (-1, 0, 1)}
    ways |= {-way for way in ways}
    by_left = [way for way in ways if relation.holds((left[0] + way, left[1] + way), right)]
    by_right = [way for way in ways if relation.holds(left, (right[0] + way, right[1] + way))]
    nearest = [min(found, key=lambda way: (abs(way), way), default=None) for found in (by_left, by_right)]
    return nearest[0], nearest[1]


def _closed(bounds: TimeRange | None) -> tuple[int | None, int | None]:
    """Return the first and the last moment of a range."""
    if bounds is None:
        return None, None
    low, high = bounds.after, bounds.before
    return None if low is None else low.time + low.open, None if high is None else high.time - high.open


def _most(one: int | None, other: int | None) -> int | None:
    return max((x for x in (one, other) if x is not None), default=None)


def _least(one: int | None, other: int | None) -> int | None:
    return min((x for x in (one, other) if x is not None), default=None)
