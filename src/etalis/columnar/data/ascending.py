"""Numbers that come in order, such as turns and times: where others belong among them, and what stands in runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.kernels import order as o

Integers: TypeAlias = Any  # numpy.ndarray of int64
_FEW = 256  # numbers for which a kernel is not worth its call
_SHORT = 16  # of equal numbers, for which sorting by insertion is fast


def places(known: Integers, asked: Integers, *, after: bool = False) -> Integers:
    """Return where numbers belong among ascending ones, before equal ones or after them.

    >>> places(np.array([2, 4, 4]), np.array([1, 4, 9])).tolist(), places(np.array([2, 4, 4]), 4, after=True).tolist()
    ([0, 1, 3], 3)
    """
    if np.ndim(asked) != 1 or len(asked) < _FEW or not (_is_plain(known) and _is_plain(asked)):
        return np.searchsorted(known, asked, side="right" if after else "left")
    found = np.empty(len(asked), np.int64)
    o.find_places(known, asked, after, found)
    return found


def place_in_run(numbers: Integers) -> Integers:
    """Return how many equal ones stand before each of some numbers that come in order.

    >>> place_in_run(np.array([3, 3, 5, 7, 7, 7])).tolist(), place_in_run(np.zeros(0, np.int64)).tolist()
    ([0, 1, 0, 0, 1, 2], [])
    """
    if len(numbers) >= _FEW and _is_plain(numbers):
        found = np.empty(len(numbers), np.int64)
        o.number_runs(numbers, found)
        return found
    rows = np.arange(len(numbers))
    begins = np.ones(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    return rows - np.maximum.accumulate(np.where(begins, rows, 0))


def have_in_common(a: Integers, b: Integers, shift: int) -> bool:
    """Tell whether two ascending arrays share a number, but for its last bits.

    >>> have_in_common(np.array([8, 17]), np.array([3, 16]), 3), have_in_common(np.array([8, 17]), np.array([3]), 3)
    (True, False)
    """
    if max(len(a), len(b)) < _FEW or not (_is_plain(a) and _is_plain(b)):
        return bool(np.isin(a >> shift, b >> shift).any())
    return bool(o.have_in_common(a, b, shift))


def order_in_runs(runs: Integers, keys: Sequence[Integers]) -> Integers:
    """Return the order of rows, which stand by run, by keys within each run, the first key before the others.

    >>> order_in_runs(np.array([5, 5, 6, 6]), [np.array([1, 1, 4, 2]), np.array([3, 2, 0, 0])]).tolist()
    [1, 0, 3, 2]
    """
    if len(runs) < _FEW or (runs[_SHORT:] == runs[:-_SHORT]).any():
        return np.lexsort((*reversed(keys), runs))
    order = np.arange(len(runs))
    o.sort_in_runs(np.ascontiguousarray(runs), np.stack(keys), order)
    return order


def _is_plain(numbers: Any) -> bool:
    return numbers.dtype == np.int64 and bool(numbers.flags.c_contiguous)
