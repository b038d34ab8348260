"""Kernels of running aggregates: since the beginning of a group, or over its last elements.

They know aggregates by number. Integers come as `value` (for `LEAST` and `GREATEST` the ranks of values in the standard
order, for `DISTINCT` the numbers of distinct values of a group), floats as `real`; an aggregate that is one of its
elements' values is answered by the row that has it. Law: floats are added in the order in which the engine adds them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import inner, kernel

COUNT, SUM, TOTAL, LEAST, GREATEST, FIRST, LAST, DISTINCT = range(8)
NO_WINDOW, NO_LAST = -1, 0  # as `within` and `last` of a window: no such bound


class FoldedRows(NamedTuple):
    """Rows to fold: each stands for `weight` elements; `fresh` tells the first row of each value of a group."""

    group: Any
    start: Any
    weight: Any
    value: Any
    real: Any
    fresh: Any


class Totals(NamedTuple):
    """What groups, or rows, have reached: how many elements, their earliest start, the value as integer or float."""

    counts: Any
    leasts: Any
    numbers: Any
    totals: Any


class GroupedRows(NamedTuple):
    """Rows by group, those of group g at order[first[g]:first[g + 1]]."""

    first: Any
    order: Any
    start: Any
    end: Any
    value: Any
    real: Any


class WindowRows(NamedTuple):
    """Elements leave that start before the end of the current one less `within`, then the oldest but `last`.

    There is room for the `rows` of a window, as many as there are at all, and to `tally` distinct values.
    """

    within: int
    last: int
    rows: Any
    tally: Any


@inner
def is_better(kind: int, value: Any, x: int, best: int) -> bool:
    """Tell whether row x has the least or the greatest value so far, instead of row `best` (-1: none)."""
    return bool(best < 0 or (value[x] < value[best] if kind == LEAST else value[x] > value[best]))


@kernel
def accumulate(kind: int, rows: FoldedRows, state: Totals, found: Totals) -> None:
    """Fold rows into the `state` of their groups, in order; write what each row reaches."""
    group, start, weight, value, real, fresh = rows
    count, least, number, total = state
    counts, leasts, numbers, totals = found
    for x in range(len(group)):
        g = group[x]
        count[g] += weight[x]
        least[g] = min(least[g], start[x])
        if kind == SUM:
            number[g] += value[x]
        elif kind == TOTAL:
            total[g] += real[x]
        elif kind == DISTINCT:
            number[g] += 1 if fresh[x] else 0
        elif (
            kind == LAST
            or (kind == FIRST and number[g] < 0)
            or (kind in (LEAST, GREATEST) and is_better(kind, value, x, number[g]))
        ):
            number[g] = x
        counts[x] = count[g]
        leasts[x] = least[g]
        numbers[x] = number[g]
        totals[x] = total[g]


@kernel
def slide(kind: int, low: int, rows: GroupedRows, bounds: WindowRows, alive: Any, found: Totals) -> None:
    """Fold the last elements of each group at every row from `low` on; those before are what the window held.

    `alive` tells afterwards what is in the windows; a count of 0 that nothing was, not even the element itself.
    """
    first, order, start, end, value, real = rows
    within, last, window, tally = bounds
    counts, leasts, numbers, totals = found
    by_row = kind in (LEAST, GREATEST)
    for g in range(len(first) - 1):
        a = first[g]
        b = a
        mixed = False
        number = -1 if by_row else 0
        total = 0.0
        for at in range(first[g], first[g + 1]):
            x = order[at]
            mixed = b > a and (mixed or start[x] < start[window[b - 1]])
            window[b] = x
            b += 1
            if kind == SUM:
                number += value[x]
            elif kind == TOTAL:
                total += real[x]
            elif kind == DISTINCT:
                tally[value[x]] += 1
                number += 1 if tally[value[x]] == 1 else 0
            elif by_row and is_better(kind, value, x, number):
                number = x
            if x < low:
                continue
            limit = end[x] - within
            stale = False
            front = a
            if within != NO_WINDOW and not mixed:
                while front < b and start[window[front]] < limit:
                    front += 1
            elif within != NO_WINDOW:
                kept = a
                for r in range(a, b):
                    y = window[r]
                    if start[y] >= limit:
                        window[kept] = y
                        kept += 1
                    elif kind == DISTINCT:
                        tally[value[y]] -= 1
                        number -= 1 if tally[value[y]] == 0 else 0
                stale = kept < b
                b = kept
            if last != NO_LAST and b - front > last:
                front = b - last
            for r in range(a, front):
                y = window[r]
                if kind == SUM:
                    number -= 0 if stale else value[y]
                elif kind == DISTINCT:
                    tally[value[y]] -= 1
                    number -= 1 if tally[value[y]] == 0 else 0
                elif kind == TOTAL or y == number:
                    stale = True
            a = front
            if stale and (kind in (SUM, TOTAL) or by_row):
                number = -1 if by_row else 0
                total = 0.0
                for r in range(a, b):
                    y = window[r]
                    if kind == SUM:
                        number += value[y]
                    elif kind == TOTAL:
                        total += real[y]
                    elif is_better(kind, value, y, number):
                        number = y
            counts[x] = b - a
            if b == a:
                continue
            earliest = start[window[a]]
            if mixed:
                for r in range(a + 1, b):
                    earliest = min(earliest, start[window[r]])
            leasts[x] = earliest
            numbers[x] = window[a] if kind == FIRST else x if kind == LAST else number
            totals[x] = total
        for r in range(a, b):
            alive[window[r]] = True
