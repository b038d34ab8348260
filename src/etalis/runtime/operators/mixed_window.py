"""A window whose elements leave in another order than they came in: composite ones, each by its own start.

It keeps them by number of arrival, and their starts in a heap. Counts and sums take back what leaves, the least and
greatest are at the ends of a sorted list; other aggregates, and windows that are bounded by number too, fold what is
there anew: an element that newer ones had displaced counts again when those have left.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise
from typing import Any

from etalis.data.values import Value, order_key
from etalis.runtime.operators.sliding import SlidingWindow
from etalis.runtime.operators.two_stacks import Item, fold
from etalis.temporal.aggregate import AggregateFunction


class MixedWindow:
    """Items in any order of their starts; `items` is None, which tells generated code to ask."""

    __slots__ = ("count", "held", "items", "latest", "ranked", "row", "starts", "total")

    def __init__(self, row: AggregateFunction, given: Iterable[Item]) -> None:
        self.row = row
        self.items = None
        self.held: OrderedDict[int, Item] = OrderedDict()
        self.count = 0
        self.latest = -1 << 63
        self.starts: list[tuple[int, int]] = []
        self.total = SlidingWindow(row).total
        self.ranked: list[tuple[Any, int]] | None = [] if row.kernel in ("least", "greatest") else None
        for item in given:
            self._push(item)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.held.values())

    def _push(self, item: Item) -> None:
        self.count += 1
        self.held[self.count] = item
        self.latest = max(self.latest, item[0])
        heappush(self.starts, (item[0], self.count))
        if self.ranked is not None:
            insort(self.ranked, (order_key(item[1]), self.count))
        elif self.total.any_order:
            self.total.push(item)

    def _pop(self, number: int) -> None:
        item = self.held.pop(number)
        if self.ranked is not None:
            del self.ranked[bisect_left(self.ranked, (order_key(item[1]), number))]
        elif self.total.any_order:
            self.total.pop(item, self.held.values())

    def counted(self, last: int | None) -> list[Item]:
        """Return the items that the value is taken over."""
        if last is None:
            return list(self.held.values())
        return list(islice(reversed(self.held.values()), last))[::-1]

    def size(self, last: int | None) -> int:
        """Return how many items the value is taken over."""
        return len(self.held) if last is None else min(len(self.held), last)

    def slide(self, item: Item, limit: int | None, last: int | None) -> tuple[Value, int]:
        """Take an item in, let the old go; return the value and the earliest start, no value if nothing is left."""
        self._push(item)
        starts, held = self.starts, self.held
        while limit is not None and starts and starts[0][0] < limit:
            self._pop(heappop(starts)[1])
        if limit is None and last is not None and len(held) > last:
            self._pop(next(iter(held)))
            if len(starts) > 2 * len(held):
                starts[:] = sorted((other[0], number) for number, other in held.items())
            while starts[0][1] not in held:
                heappop(starts)
        if not held:
            return None, 0
        if limit is not None and last is not None and len(held) > last:
            some = self.counted(last)
            return fold(self.row, some), min(other[0] for other in some)
        return self._value(), starts[0][0]

    def _value(self) -> Value:
        held = self.held
        if self.ranked is not None:
            return held[self.ranked[0 if self.row.kernel == "least" else -1][1]][1]
        if self.total.any_order:
            return self.total.value(held.values())
        if self.row.kernel in ("first", "last"):
            return held[next(iter(held) if self.row.kernel == "first" else reversed(held))][1]
        return fold(self.row, held.values())


def window_of(row: AggregateFunction, items: Iterable[Item]) -> SlidingWindow | MixedWindow:
    """Return a window that holds items, in order of arrival."""
    given = [tuple(item) for item in items]
    if any(a[0] > b[0] for a, b in pairwise(given)):
        return MixedWindow(row, given)
    window = SlidingWindow(row)
    for item in given:
        window.items.append(item)
        window.total.push(item)
    return window
