"""Kernels of running aggregates: since the beginning of a group, or over its last elements.

They know aggregates by number. Integers come as `value` (for `LEAST` and `GREATEST` the ranks of values in the standard
order, for `DISTINCT` the numbers of distinct values of a group), floats as `real`; an aggregate that is one of its
elements' values is answered by the row that has it. Law: floats are added in the order in which the engine adds them.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel

COUNT, SUM, TOTAL, LEAST, GREATEST, FIRST, LAST, DISTINCT = range(8)


@kernel
def accumulate(
    kind: int, group: Any, start: Any, weight: Any, value: Any, real: Any, fresh: Any, count: Any, least: Any,
    number: Any, total: Any, counts: Any, leasts: Any, numbers: Any, totals: Any,
) -> None:  # fmt: skip
    """Fold rows into their groups, in order; write what each row reaches.

    A row stands for `weight` elements; `fresh` tells the first row of each value of a group. `count`, `least` (the
    earliest start), `number` and `total` are what a group has reached, the plurals the same row by row.
    """
    for x in range(len(group)):
        g = group[x]
        count[g] += weight[x]
        least[g] = min(least[g], start[x])
        if kind == 1:
            number[g] += value[x]
        elif kind == 2:
            total[g] += real[x]
        elif kind == 7:
            number[g] += 1 if fresh[x] else 0
        elif kind != 0 and (
            number[g] < 0
            or kind == 6
            or (kind == 3 and value[x] < value[number[g]])
            or (kind == 4 and value[x] > value[number[g]])
        ):
            number[g] = x
        counts[x] = count[g]
        leasts[x] = least[g]
        numbers[x] = number[g]
        totals[x] = total[g]


@kernel
def slide(
    kind: int, within: int, last: int, low: int, first: Any, order: Any, start: Any, end: Any, value: Any, real: Any,
    window: Any, tally: Any, alive: Any, counts: Any, leasts: Any, numbers: Any, totals: Any,
) -> None:  # fmt: skip
    """Fold the last elements of each group at every row from `low` on; those before are what the window held.

    Group g has the rows order[first[g]:first[g + 1]]; `window` is as long as `order`. Elements leave that start before
    the end of the current one less `within` (-1: never), then the oldest but `last` (0: all stay). `alive` tells
    afterwards what is in the windows; a count of 0 that nothing was, not even the element itself.
    """
    for g in range(len(first) - 1):
        a = first[g]
        b = a
        mixed = False
        number = -1 if kind == 3 or kind == 4 else 0
        total = 0.0
        for at in range(first[g], first[g + 1]):
            x = order[at]
            mixed = b > a and (mixed or start[x] < start[window[b - 1]])
            window[b] = x
            b += 1
            if kind == 1:
                number += value[x]
            elif kind == 2:
                total += real[x]
            elif kind == 7:
                tally[value[x]] += 1
                number += 1 if tally[value[x]] == 1 else 0
            elif (kind == 3 or kind == 4) and (
                number < 0 or (value[x] < value[number] if kind == 3 else value[x] > value[number])
            ):
                number = x
            if x < low:
                continue
            limit = end[x] - within
            stale = False
            front = a
            if within >= 0 and not mixed:
                while front < b and start[window[front]] < limit:
                    front += 1
            elif within >= 0:
                kept = a
                for r in range(a, b):
                    y = window[r]
                    if start[y] >= limit:
                        window[kept] = y
                        kept += 1
                    elif kind == 7:
                        tally[value[y]] -= 1
                        number -= 1 if tally[value[y]] == 0 else 0
                stale = kept < b
                b = kept
            if last > 0 and b - front > last:
                front = b - last
            for r in range(a, front):
                y = window[r]
                if kind == 1:
                    number -= 0 if stale else value[y]
                elif kind == 7:
                    tally[value[y]] -= 1
                    number -= 1 if tally[value[y]] == 0 else 0
                elif kind == 2 or y == number:
                    stale = True
            a = front
            if stale and 1 <= kind <= 4:
                number = -1 if kind == 3 or kind == 4 else 0
                total = 0.0
                for r in range(a, b):
                    y = window[r]
                    if kind == 1:
                        number += value[y]
                    elif kind == 2:
                        total += real[y]
                    elif number < 0 or (value[y] < value[number] if kind == 3 else value[y] > value[number]):
                        number = y
            counts[x] = b - a
            if b == a:
                continue
            earliest = start[window[a]]
            if mixed:
                for r in range(a + 1, b):
                    earliest = min(earliest, start[window[r]])
            leasts[x] = earliest
            numbers[x] = window[a] if kind == 5 else x if kind == 6 else number
            totals[x] = total
        for r in range(a, b):
            alive[window[r]] = True
