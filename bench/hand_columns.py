"""W1 written by hand with Numba: two queues per id in typed dictionaries, so that ids may come again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.typed import Dict


@njit(cache=True)
def w1(kinds: Any, ids: Any) -> Any:
    """Return the rows of each a, b, c in sequence; kinds are 0, 1, 2."""
    n = len(kinds)
    first_a = Dict.empty(types.int64, types.int64)
    last_a = Dict.empty(types.int64, types.int64)
    first_b = Dict.empty(types.int64, types.int64)
    last_b = Dict.empty(types.int64, types.int64)
    after = np.empty(n, np.int64)
    begun = np.empty(n, np.int64)
    found = np.empty((n, 3), np.int64)
    count = 0
    for i in range(n):
        key = ids[i]
        if kinds[i] == 0:
            after[i] = -1
            if key in first_a:
                after[last_a[key]] = i
            else:
                first_a[key] = i
            last_a[key] = i
        elif kinds[i] == 1:
            if key in first_a:
                a = first_a[key]
                if after[a] < 0:
                    del first_a[key]
                    del last_a[key]
                else:
                    first_a[key] = after[a]
                begun[i] = a
                after[i] = -1
                if key in first_b:
                    after[last_b[key]] = i
                else:
                    first_b[key] = i
                last_b[key] = i
        elif key in first_b:
            b = first_b[key]
            if after[b] < 0:
                del first_b[key]
                del last_b[key]
            else:
                first_b[key] = after[b]
            found[count, 0] = begun[b]
            found[count, 1] = b
            found[count, 2] = i
            count += 1
    return found[:count]
