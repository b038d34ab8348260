"""Aggregates of values that no kernel takes, folded as objects: lists, and sums of values of several types.

A list is folded from lists of one element each, so that what stands for all elements before folds like one of them.
Law: values are put together in the order in which the engine does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Flags, Integers
from etalis.data.values import Value

Add = Callable[[Any, Any], Any]


def accumulate(
    add: Add, group: Integers, start: Integers, weight: Integers, values: Sequence[Value]
) -> tuple[Integers, Integers, Any]:
    """Fold rows into their groups, in order; return the count, earliest start and value that each reaches.

    >>> counts, leasts, found = accumulate(lambda x, y: x + y, *np.array([[0, 0], [4, 5], [3, 1]]), [(1, 2), (3,)])
    >>> counts.tolist(), leasts.tolist(), found.tolist()
    ([3, 4], [4, 4], [(1, 2), (1, 2, 3)])
    """
    reached: dict[int, tuple[int, int, Any]] = {}
    counts, leasts, found = _room(len(values))
    rows = zip(group.tolist(), start.tolist(), weight.tolist(), values, strict=True)
    for row, (which, since, count, value) in enumerate(rows):
        if which in reached:
            before, least, total = reached[which]
            count, since, value = before + count, min(least, since), add(total, value)
        reached[which] = counts[row], leasts[row], found[row] = count, since, value
    return counts, leasts, found


def slide(
    add: Add, within: int | None, last: int | None, low: int, group: Integers, start: Integers, end: Integers,
    values: Sequence[Value], alive: Flags,
) -> tuple[Integers, Integers, Any]:  # fmt: skip
    """Fold the last elements of each group at every row from `low` on; tell in `alive` what is in the windows then."""
    windows: dict[int, list[int]] = {}
    counts, leasts, found = _room(len(values))
    starts = start.tolist()
    for row, (which, ended) in enumerate(zip(group.tolist(), end.tolist(), strict=True)):
        window = windows.setdefault(which, [])
        window.append(row)
        if row < low:
            continue
        if within is not None:
            window[:] = [x for x in window if starts[x] >= ended - within]
        if last is not None:
            del window[:-last]
        if window:
            counts[row], leasts[row] = len(window), min(starts[x] for x in window)
            found[row] = _total(add, [values[x] for x in window])
    for window in windows.values():
        alive[window] = True
    return counts, leasts, found


def _total(add: Add, values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = add(total, value)
    return total


def _room(count: int) -> tuple[Integers, Integers, Any]:
    return np.zeros(count, np.int64), np.zeros(count, np.int64), np.empty(count, object)
