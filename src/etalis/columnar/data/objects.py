"""Aggregates of values that no kernel takes, folded as objects: lists, and sums of values of several types.

A list is folded from lists of one element each, so that what stands for all elements before folds like one of them.
Law: values are put together in the order in which the engine does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Integers
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


def _room(count: int) -> tuple[Integers, Integers, Any]:
    return np.zeros(count, np.int64), np.zeros(count, np.int64), np.empty(count, object)
