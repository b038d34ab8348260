"""Kernels of running aggregates: since the beginning of a group, or over its last elements.

They know aggregates by number. Integers come as `value` (for `LEAST` and `GREATEST` the ranks of values in the standard
order, for `DISTINCT` the numbers of distinct values of a group), floats as `real`; an aggregate that is one of its
elements' values is answered by the row that has it. Law: a sum of floats is exact and rounded once. It is held in three
floats, each of which has what rounding the one before lost; where that is not enough a kernel returns False.
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

    There is room for the `rows` of a window and the `best` of them, as many as there are at all, to `tally` distinct
    values, and for the three `parts` of a sum.
    """

    within: int
    last: int
    rows: Any
    best: Any
    tally: Any
    parts: Any


@inner
def is_better(kind: int, value: Any, x: int, best: int) -> bool:
    """Tell whether row x has the least or the greatest value so far, instead of row `best` (-1: none)."""
    return bool(best < 0 or (value[x] < value[best] if kind == LEAST else value[x] > value[best]))


@inner
def shift(parts: Any, at: int, x: float) -> bool:
    """Add a float to a sum of three parts; tell whether they hold it."""
    high, middle, low = parts[at], parts[at + 1], parts[at + 2]
    first = high + x
    share = first - high
    lost = (high - (first - share)) + (x - share)
    second = middle + lost
    share = second - middle
    lost = (middle - (second - share)) + (lost - share)
    third = low + lost
    parts[at], parts[at + 1], parts[at + 2] = first, second, third
    return bool(third - low == lost and third - lost == low)


@inner
def rounded(parts: Any, at: int) -> float:
    """Return what a sum of three parts comes to, rounded once, half to even."""
    high, middle, low = parts[at], parts[at + 1], parts[at + 2]
    tail = middle + low
    share = tail - middle
    last = (middle - (tail - share)) + (low - share)
    total = high + tail
    share = total - high
    rest = (high - (total - share)) + (tail - share)
    middle = rest + last
    share = middle - rest
    last = (rest - (middle - share)) + (last - share)
    found = total + middle
    share = found - total
    rest = (total - (found - share)) + (middle - share)
    if (rest > 0.0 and last > 0.0) or (rest < 0.0 and last < 0.0):  # half a unit and more, which looked like half
        further = found + 2.0 * rest
        if further - found == 2.0 * rest:
            found = further
    return float(found)


@kernel
def accumulate(kind: int, rows: FoldedRows, state: Totals, found: Totals) -> bool:
    """Fold rows into the `state` of their groups, in order; write what each row reaches.

    The totals of the state have three parts for each group.
    """
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
            if not shift(total, 3 * g, real[x]):
                return False
            totals[x] = rounded(total, 3 * g)
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
    return True


@inner
def refold(kind: int, rows: GroupedRows, bounds: WindowRows, low: int, high: int) -> int:
    """Fold some rows of a window anew; return the integer or the row they come to (-1: no sum is held)."""
    window, tally, parts = bounds.rows, bounds.tally, bounds.parts
    number = -1 if kind in (LEAST, GREATEST) else 0
    parts[0] = parts[1] = parts[2] = 0.0
    exact = True
    for r in range(low, high):
        y = window[r]
        if kind == SUM:
            number += rows.value[y]
        elif kind == TOTAL:
            exact = shift(parts, 0, rows.real[y]) and exact
        elif kind == DISTINCT:
            tally[rows.value[y]] += 1
            number += 1 if tally[rows.value[y]] == 1 else 0
        elif kind in (LEAST, GREATEST) and is_better(kind, rows.value, y, number):
            number = y
    if kind == DISTINCT:
        for r in range(low, high):
            tally[rows.value[window[r]]] -= 1
    return number if exact else -1


@kernel
def slide(kind: int, low: int, rows: GroupedRows, bounds: WindowRows, alive: Any, found: Totals) -> bool:
    """Fold the last elements of each group at every row from `low` on; those before are what the window held.

    `alive` tells afterwards what is in the windows; a count of 0 that nothing was, not even the element itself. Rows
    of a window stand in order of arrival. While they start in that order, too, the oldest leave first; in a `mixed` one
    any may, and of one that is bounded by number too, what others displaced may count again.
    """
    first, order, start, end, value, real = rows
    within, last, window, best, tally, parts = bounds
    counts, leasts, numbers, totals = found
    by_row = kind in (LEAST, GREATEST)
    for g in range(len(first) - 1):
        a = first[g]
        b = a
        head = a
        tail = a
        mixed = False
        refolds = False
        number = -1 if by_row else 0
        for at in range(first[g], first[g + 1]):
            x = order[at]
            if b == a:
                head = tail = a
                mixed = refolds = False
                number = -1 if by_row else 0
                parts[0] = parts[1] = parts[2] = 0.0
            elif not mixed and start[x] < start[window[b - 1]]:
                mixed = True
                refolds = within != NO_WINDOW and last != NO_LAST
                if refolds and kind == DISTINCT:
                    for r in range(a, b):
                        tally[value[window[r]]] -= 1
            window[b] = x
            b += 1
            if refolds:
                pass
            elif kind == SUM:
                number += value[x]
            elif kind == TOTAL:
                if not shift(parts, 0, real[x]):
                    return False
            elif kind == DISTINCT:
                tally[value[x]] += 1
                number += 1 if tally[value[x]] == 1 else 0
            elif by_row and mixed:
                number = x if is_better(kind, value, x, number) else number
            elif by_row:
                while tail > head and not is_better(kind, value, best[tail - 1], x):
                    tail -= 1
                best[tail] = x
                tail += 1
                number = best[head]
            if x < low:
                continue
            limit = end[x] - within
            oldest = b - last if last != NO_LAST and not refolds else a
            stale = False
            kept = a
            r = a
            while r < b:
                y = window[r]
                if r >= oldest and (within == NO_WINDOW or start[y] >= limit):
                    if not mixed or within == NO_WINDOW:
                        break
                    window[kept] = y
                    kept += 1
                elif refolds:
                    pass
                elif kind == SUM:
                    number -= value[y]
                elif kind == TOTAL:
                    if not shift(parts, 0, -real[y]):
                        return False
                elif kind == DISTINCT:
                    tally[value[y]] -= 1
                    number -= 1 if tally[value[y]] == 0 else 0
                elif by_row and mixed:
                    stale = stale or y == number
                elif by_row and best[head] == y:
                    head += 1
                r += 1
            if mixed and within != NO_WINDOW:
                b = kept
            else:
                a = r
            since = max(a, b - last) if refolds else a
            counts[x] = b - since
            if b == a:
                continue
            if by_row and not mixed:
                number = best[head]
            elif refolds or stale:
                number = refold(kind, rows, bounds, since, b)
                if kind == TOTAL and number < 0:
                    return False
            earliest = start[window[since]]
            if mixed:
                for r in range(since + 1, b):
                    earliest = min(earliest, start[window[r]])
            leasts[x] = earliest
            numbers[x] = window[since] if kind == FIRST else window[b - 1] if kind == LAST else number
            if kind == TOTAL:
                totals[x] = rounded(parts, 0)
        if kind == DISTINCT and not refolds:
            for r in range(a, b):
                tally[value[window[r]]] -= 1
        for r in range(a, b):
            alive[window[r]] = True
    return True
