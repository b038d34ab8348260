"""Kernels of chains: elements one after the other, with no other strictly between neighbours (definition 13.6)."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel

PLACE, FOUND, STAMP = range(3)  # places of a cursor


@kernel
def find_neighbours(base: Any, start: Any, end: Any, peak: Any, low: Any, high: Any) -> None:
    """Find the elements before each element in chains: those from `low` to `high`.

    Elements of a group stand together, from `base` on, in order of (end, start, arrival); `peak` becomes the latest
    start up to each of them.
    """
    for x in range(len(base)):
        peak[x] = start[x] if x == base[x] else max(peak[x - 1], start[x])
        a = base[x]
        b = x
        while a < b:
            middle = (a + b) // 2
            if end[middle] >= start[x]:
                b = middle
            else:
                a = middle + 1
        high[x] = a
        b = a
        a = base[x]
        while a < b:
            middle = (a + b) // 2
            if end[middle] >= peak[high[x] - 1]:
                b = middle
            else:
                a = middle + 1
        low[x] = a


@kernel
def find_chains(
    least: int, most: int, window: int, base: Any, start: Any, end: Any, low: Any, high: Any, fresh: Any, level: Any,
    seen: Any, front: Any, back: Any, last: Any, first: Any, cursor: Any,
) -> None:  # fmt: skip
    """Find from which elements chains of `least` to `most` (-1: any number) lead to the fresh ones, within a window.

    Goes back from each fresh element, a neighbour at a time. An element that is found once the chain is long enough is
    not looked at again: what lies before it was nearer then. `level` and `seen` mark what was found in the present
    step, and for the present element; both hold no mark at first. Stops when there might be no room; goes on from the
    `cursor`.
    """
    x = cursor[0]
    found = cursor[1]
    stamp = cursor[2]
    while x < len(base) and found + x - base[x] < len(last):
        count = 0
        if fresh[x] and (window < 0 or end[x] - start[x] <= window):
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
                    if level[y] == stamp or seen[y] == x or (window >= 0 and end[x] - start[y] > window):
                        continue
                    level[y] = stamp
                    back[reached] = y
                    reached += 1
            for at in range(reached):
                front[at] = back[at]
            count = reached
        x += 1
    cursor[0] = x
    cursor[1] = found
    cursor[2] = stamp


@kernel
def find_beginnings(number: Any, moment: Any, bounds: Any, start: Any, begun: Any) -> None:
    """Find for each question the first start after a moment, of those from bounds[number] on; as it was if none."""
    for q in range(len(number)):
        a = bounds[number[q]]
        b = bounds[number[q] + 1]
        while a < b:
            middle = (a + b) // 2
            if start[middle] > moment[q]:
                b = middle
            else:
                a = middle + 1
        if a < bounds[number[q] + 1]:
            begun[q] = start[a]
