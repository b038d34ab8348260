"""A window whose elements leave in another order than they came in: composite ones, each by its own start.

It keeps them by number of arrival, and their starts in a heap. Counts and sums take back what leaves; for the least and
greatest it keeps those that are better than all which stay longer, in the order in which they leave. Other aggregates,
and windows that are bounded by number too, fold what is there anew: an element that newer ones had displaced counts
again when those have left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise

from etalis.data.values import Value
from etalis.runtime.operators.fold_log import FoldLog
from etalis.runtime.operators.sliding import SlidingWindow
from etalis.runtime.operators.two_stacks import Item, fold
from etalis.temporal.aggregate import AggregateFunction
from etalis.temporal.rope import Rope


class MixedWindow:
    """Items in any order of their starts; `items` is None, which tells generated code to ask."""

    __slots__ = ("count", "held", "items", "latest", "limit", "log", "row", "stairs", "starts", "total")

    def __init__(self, row: AggregateFunction, given: Iterable[Item], told: int | None = None) -> None:
        self.row = row
        self.log = None if told is None else FoldLog(told)
        self.limit: int | None = None  # since when items count
        self.items = None
        self.held: OrderedDict[int, Item] = OrderedDict()
        self.count = 0
        self.latest = -1 << 63
        self.starts: list[tuple[int, int]] = []
        self.total = SlidingWindow(row).total
        self.stairs: list[tuple[int, int]] | None = None  # (start or 0, number) of the best; None: not known
        for item in given:
            self._push(item)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.held.values())

    def tell(self, told: int) -> None:
        """Keep what contributes, of the items that are there, too."""
        self.log = FoldLog(told, [(item[0], item[2]) for item in self.held.values()])

    def _push(self, item: Item) -> None:
        self.count += 1
        self.held[self.count] = item
        if self.log is not None:
            self.log.add((item[0], item[2]), self._span())
        self.latest = max(self.latest, item[0])
        heappush(self.starts, (item[0], self.count))
        if self.total.any_order:
            self.total.push(item)

    def _pop(self, number: int) -> None:
        item = self.held.pop(number)
        if self.total.any_order:
            self.total.pop(item, self.held.values())

    def _best(self, by_start: bool) -> Value:
        """Return the least or greatest value; all in front of the best that are left have gone before it."""
        if self.stairs is None:
            self.stairs = []
            for number in self.held:
                self._climb(self.stairs, number, by_start)
        stairs, held, gone = self.stairs, self.held, 0
        while gone < len(stairs) and stairs[gone][1] not in held:
            gone += 1
        del stairs[:gone]
        if self.count in held:
            self._climb(stairs, self.count, by_start)
        return held[stairs[0][1]][1]

    def _climb(self, stairs: list[tuple[int, int]], number: int, by_start: bool) -> None:
        """Put an item among the best, unless one that stays longer is as good; those that it is as good as go."""
        step = (self.held[number][0] if by_start else 0, number)
        place = bisect_left(stairs, step)
        if place < len(stairs) and self._is_as_good(stairs[place][1], number):
            return
        low = place
        while low and self._is_as_good(number, stairs[low - 1][1]):
            low -= 1
        stairs[low:place] = [step]

    def _is_as_good(self, one: int, other: int) -> bool:
        x, y = self.held[one][1], self.held[other][1]
        return bool(x == y) or self.row.step(y, x) is x

    def _span(self) -> int:
        """Return how many items there are from the oldest one on, those that have left included."""
        return self.count - next(iter(self.held)) + 1

    def rope(self, last: int | None) -> Rope:
        """Return what contributes to the value."""
        assert self.log is not None
        return self.log.tell_mixed(self._span(), self.size(last), self.limit, last)

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
        starts, held, self.limit = self.starts, self.held, limit
        while limit is not None and starts and starts[0][0] < limit:
            self._pop(heappop(starts)[1])
        if limit is None and last is not None and len(held) > last:
            self._pop(next(iter(held)))
            if len(starts) > 2 * len(held):
                starts[:] = sorted((other[0], number) for number, other in held.items())
            while starts[0][1] not in held:
                heappop(starts)
        if not held:
            self.stairs = None
            return None, 0
        if limit is not None and last is not None and len(held) > last:
            some, self.stairs = self.counted(last), None
            return fold(self.row, some), min(other[0] for other in some)
        return self._value(limit is not None), starts[0][0]

    def _value(self, by_start: bool) -> Value:
        held = self.held
        if self.row.kernel in ("least", "greatest"):
            return self._best(by_start)
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
