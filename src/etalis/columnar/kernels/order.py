"""Kernels over numbers that come in order, as turns and times do: each goes through them once, hand in hand.

NumPy searches for each of some numbers anew, and sorts as if nothing were known of their order.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel
from etalis.columnar.kernels.search import bisect

_NEAR = 8  # places that are looked at one by one before those behind are searched


@kernel
def find_places(known: Any, asked: Any, after: bool, found: Any) -> None:
    """Write where each number belongs among ascending ones: before equal ones, or `after` them.

    Fast where the numbers that are asked for mostly ascend.
    """
    n = len(known)
    at = 0
    for q in range(len(asked)):
        x = asked[q] + 1 if after else asked[q]
        if at > 0 and known[at - 1] >= x:
            at = bisect(known, 0, at, x)
        near = min(n, at + _NEAR)
        while at < near and known[at] < x:
            at += 1
        if at == near and at < n and known[at] < x:
            at = bisect(known, at, n, x)
        found[q] = at


@kernel
def number_runs(numbers: Any, found: Any) -> None:
    """Write how many equal numbers stand before each, of numbers that come in order."""
    place = 0
    for at in range(len(numbers)):
        place = place + 1 if at > 0 and numbers[at] == numbers[at - 1] else 0
        found[at] = place


@kernel
def have_in_common(a: Any, b: Any, shift: int) -> bool:
    """Tell whether a number of one ascending array is one of the other, but for their last bits."""
    i = 0
    j = 0
    while i < len(a) and j < len(b):
        x = a[i] >> shift
        y = b[j] >> shift
        if x == y:
            return True
        i += x < y
        j += x > y
    return False


@kernel
def sort_in_runs(runs: Any, keys: Any, order: Any) -> None:
    """Put the places of `order`, which stand by run, into the order of their keys within each; runs are short.

    Each row of `keys` holds numbers by which equal ones of the rows before are told apart.
    """
    width = len(keys)
    for at in range(1, len(order)):
        x = order[at]
        to = at
        while to > 0 and runs[to - 1] == runs[at]:
            y = order[to - 1]
            k = 0
            while k < width - 1 and keys[k, x] == keys[k, y]:
                k += 1
            if keys[k, y] <= keys[k, x]:
                break
            order[to] = y
            to -= 1
        order[to] = x
