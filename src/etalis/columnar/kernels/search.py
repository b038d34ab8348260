"""Binary search, as kernels call it."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import inner


@inner
def bisect(values: Any, low: int, high: int, value: int) -> int:
    """Return the first place from `low` to `high` of ascending values where one is not below `value`."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
