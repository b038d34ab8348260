"""Kernels of chains: elements one after the other, with no other strictly between neighbours (definition 13.6)."""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import kernel
from etalis.columnar.kernels.matching import NO_WINDOW
from etalis.columnar.kernels.search import bisect

PLACE, FOUND, STAMP = range(3)  # places of a cursor


@kernel
def find_neighbours(base: Any, start: Any, end: Any, peak: Any, low: Any, high: Any) -> None:
    """Find the elements before each element in chains: those from `low` to `high`.

    Elements of a group stand together, from `base` on, in order of (end, start, arrival); `peak` becomes the latest
    start up to each of them.
    """
    for x in range(len(base)):
        peak[x] = start[x] if x == base[x] else max(peak[x - 1], start[x])
        high[x] = bisect(end, base[x], x, start[x])
        low[x] = bisect(end, base[x], high[x], peak[high[x] - 1])


class ChainLength(NamedTuple):
    """How many elements a chain has, at least and at most (-1: any number), and how long it lasts at most."""

    least: int
    most: int
    window: int


class ChainElements(NamedTuple):
    """Elements by group and rank: where the group of each begins, its neighbours before, and whether it is fresh."""

    base: Any
    start: Any
    end: Any
    low: Any
    high: Any
    fresh: Any


class ChainMarks(NamedTuple):
    """What was found in the present step (`level`), and for the present element (`seen`); and room for two steps."""

    level: Any
    seen: Any
    front: Any
    back: Any


@kernel
def find_chains(
    counts: ChainLength, elements: ChainElements, marks: ChainMarks, last: Any, first: Any, cursor: Any
) -> None:
    """Find from which elements chains lead to the fresh ones: the `last` and the `first` element of each.

    Goes back from each fresh element, a neighbour at a time. An element that is found once the chain is long enough is
    not looked at again: what lies before it was nearer then. Stops when there might be no room; goes on from the
    `cursor`.
    """
    least, most, window = counts
    base, start, end, low, high, fresh = elements
    level, seen, front, back = marks
    x = cursor[PLACE]
    found = cursor[FOUND]
    stamp = cursor[STAMP]
    while x < len(base) and found + x - base[x] < len(last):
        count = 0
        if fresh[x] and (window == NO_WINDOW or end[x] - start[x] <= window):
            front[0] = x
            count = 1
        depth = 1
        while count > 0:
            if depth >= least:
                for at in range(count):
                    y = front[at]
                    seen[y] = x
                    last[found] = x
                    first[found] = y
                    found += 1
            if depth == most:
                break
            depth += 1
            stamp += 1
            reached = 0
            for at in range(count):
                for y in range(low[front[at]], high[front[at]]):
                    if level[y] == stamp or seen[y] == x or (window != NO_WINDOW and end[x] - start[y] > window):
                        continue
                    level[y] = stamp
                    back[reached] = y
                    reached += 1
            for at in range(reached):
                front[at] = back[at]
            count = reached
        x += 1
    cursor[PLACE] = x
    cursor[FOUND] = found
    cursor[STAMP] = stamp


@kernel
def find_beginnings(number: Any, moment: Any, bounds: Any, start: Any, begun: Any) -> None:
    """Find for each question the first start after a moment, of those from bounds[number] on; as it was if none."""
    for q in range(len(number)):
        high = bounds[number[q] + 1]
        at = bisect(start, bounds[number[q]], high, moment[q] + 1)
        if at < high:
            begun[q] = start[at]
