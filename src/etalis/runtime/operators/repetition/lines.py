"""Elements of a repetition in line: which of them a chain comes from that ends at the last (definition 13.6).

A chain goes on from one element to another if none lies strictly between. Those it may have come from are neighbours in
the order of ends: what ended before a start, and not before the latest start of these. As a rule that is the element
before, and so the first one of a chain is found by counting back. Law: what is asked of a line costs as much as there
is to tell, but for a stretch where elements overlap, which is walked back.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from etalis.temporal.interval import EARLIEST

Element = tuple[int, int, Any]
SHORT = 64  # a line of so many elements is not worth cutting


class ElementLine:
    """Elements in the order in which they came, and of each the places of those that a chain may come from."""

    __slots__ = ("cut_at", "due", "ends", "highs", "kink", "lows", "starts", "tops")

    def __init__(self, elements: Iterable[Element] = ()) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.tops: list[int] = []  # the latest start up to a place
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.kink = 0  # the last place that is not reached from the one before alone
        self.cut_at = SHORT
        self.due = EARLIEST  # when it is looked at whether it is still needed
        for start, end, _ in elements:
            self.add(start, end)

    def __iter__(self) -> Iterator[tuple[int, int, tuple[()]]]:
        return ((start, end, ()) for start, end in zip(self.starts, self.ends, strict=True))

    def __len__(self) -> int:
        return len(self.ends)

    def add(self, start: int, end: int) -> None:
        """Add an element.

        >>> line = ElementLine((t, t, ()) for t in (1, 2, 2, 3))
        >>> line.lows, line.highs, line.kink
        ([0, 0, 0, 1], [0, 1, 1, 3], 3)
        """
        ends, tops, place = self.ends, self.tops, len(self.ends)
        if place and ends[-1] < start and (place == 1 or ends[-2] < tops[-1]):  # it comes from the one before alone
            self.lows.append(place - 1)
            self.highs.append(place)
            self.starts.append(start)
            ends.append(end)
            tops.append(start)
            return
        high = place if place and ends[-1] < start else bisect_left(ends, start)
        low = 0
        if high:
            latest = tops[high - 1]
            low = (
                high - 1
                if high == 1 or ends[high - 2] < latest <= ends[high - 1]
                else bisect_left(ends, latest, 0, high)
            )
        if low != place - 1 or high != place:
            self.kink = place
        self.lows.append(low)
        self.highs.append(high)
        self.starts.append(start)
        ends.append(end)
        tops.append(start if not place or start > tops[-1] else tops[-1])

    def firsts(self, least: int, most: int | None) -> Iterable[int]:
        """Return the places of the elements from which a chain of so many leads to the last one, in order.

        >>> list(ElementLine((t, t, ()) for t in (1, 2, 2, 3)).firsts(2, 3))
        [0, 1, 2]
        """
        last = len(self.ends) - 1
        far = 0 if most is None else max(last - most + 1, 0)
        if self.kink <= far:
            return range(far, last - least + 2)
        found: set[int] = set()
        level, number = {last}, 1
        while level and (most is None or number <= most):
            if number >= least:
                level -= found if most is None else set()
                found |= level
            level = {before for place in level for before in range(self.lows[place], self.highs[place])}
            number += 1
        return sorted(found, key=lambda place: (self.ends[place], self.starts[place], place))

    def take(self, start: int, end: int, number: int) -> int:
        """Add an element; return the latest moment at which a chain of so many began that ends there."""
        self.add(start, end)
        first = len(self.ends) - number
        if self.kink <= first:
            return self.starts[first]
        if first < 0:
            return EARLIEST - 1
        return max((self.starts[place] for place in self.firsts(number, number)), default=EARLIEST - 1)

    def cut(self, moment: int) -> int:
        """Forget the elements that did not end after a moment; return how many."""
        count = bisect_left(self.ends, moment + 1)
        del self.starts[:count], self.ends[:count], self.tops[:count]
        left = len(self.ends)
        if self.kink:
            self.lows = [max(low - count, 0) for low in self.lows[count:]]
            self.highs = [max(high - count, 0) for high in self.highs[count:]]
            self.kink = max(self.kink - count, 0)
        else:  # each comes from the one before, wherever the line begins
            del self.lows[left:], self.highs[left:]
        self.cut_at = max(2 * left, SHORT)
        return count

    def reach(self) -> list[tuple[int, int]]:
        """Return for each element how many a chain from it has at most, and where the last one is that it comes to."""
        found = [(1, place) for place in range(len(self.ends))]
        for place in range(len(self.ends) - 1, -1, -1):
            number, last = found[place]
            for before in range(self.lows[place], self.highs[place]):
                found[before] = max(found[before][0], number + 1), max(found[before][1], last)
        return found


def longest_after(elements: Iterable[Element], moment: int) -> int:
    """Return how many elements the longest chain has that begins after a moment."""
    return max((number for number, _ in ElementLine(each for each in elements if each[0] > moment).reach()), default=0)
