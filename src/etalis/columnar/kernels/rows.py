"""The kernels that move rows: what stands at some rows of an array, which rows are of a kind, in which order.

NumPy can do all of it, in several passes and with arrays in between; each of these takes one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import kernel
from etalis.columnar.kernels.join import Pairs
from etalis.columnar.kernels.matching import ON_A, ON_B


@kernel
def gather(data: Any, rows: Any, found: Any) -> None:
    """Write what stands at some rows."""
    for at in range(len(rows)):
        found[at] = data[rows[at]]


@kernel
def replicate(data: Any, times: int, found: Any) -> None:
    """Write everything so many times."""
    for at in range(len(data)):
        for again in range(times):
            found[at * times + again] = data[at]


@kernel
def pick(above: Any, below: Any, places: Any, rows: Any, found: Any) -> None:
    """Write what stands at some rows of two arrays below each other; the lower one is at `places`, if any are given."""
    n = len(above)
    if len(places):
        for at in range(len(rows)):
            row = rows[at] - n
            found[at] = above[row + n] if row < 0 else below[places[row]]
    else:
        for at in range(len(rows)):
            row = rows[at] - n
            found[at] = above[row + n] if row < 0 else below[row]


class RowTimes(NamedTuple):
    """When rows come, start and end."""

    turn: Any
    start: Any
    end: Any


@kernel
def occur(occurs_on: int, pairs: Pairs, a_side: RowTimes, b_side: RowTimes, found: RowTimes) -> None:
    """Write when pairs occur: the turn of what arrived last, and the end points that the relation says."""
    left, right, arrived, _ = pairs
    turn0, start0, end0 = a_side
    turn1, start1, end1 = b_side
    turn, start, end = found
    for at in range(len(left)):
        a = left[at]
        b = right[at]
        turn[at] = turn1[b] if arrived[at] else turn0[a]
        if occurs_on == ON_A:
            start[at] = start0[a]
            end[at] = end0[a]
        elif occurs_on == ON_B:
            start[at] = start1[b]
            end[at] = end1[b]
        else:
            start[at] = min(start0[a], start1[b])
            end[at] = max(end0[a], end1[b])


@kernel
def sort_out(codes: Any, numbers: Any, first: Any, order: Any) -> None:
    """Put the places together whose codes have equal numbers, in order; numbers below 0 are left out.

    `first` holds zeros, two more than there are numbers; when done, number k stands from first[k] to first[k + 1].
    """
    for at in range(len(codes)):
        first[numbers[codes[at]] + 2] += 1
    first[1] = 0
    for k in range(2, len(first)):
        first[k] += first[k - 1]
    for at in range(len(codes)):
        k = numbers[codes[at]]
        if k >= 0:
            order[first[k + 1]] = at
            first[k + 1] += 1


@kernel
def merge(a: Any, b: Any, order: Any, merged: Any) -> None:
    """Write the order that merges two sorted arrays, of equals those of the first one first, and both merged."""
    n = len(a)
    i = 0
    j = 0
    while i < n and j < len(b):
        first = a[i] <= b[j]
        merged[i + j] = min(a[i], b[j])
        order[i + j] = i if first else n + j
        i += first
        j += not first
    for at in range(i, n):
        order[at + j] = at
        merged[at + j] = a[at]
    for at in range(j, len(b)):
        order[n + at] = n + at
        merged[n + at] = b[at]
