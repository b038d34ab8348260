"""Workloads written by hand with Numba: queues per id, in typed dictionaries, so that ids may come again.

A queue is the row of its first instance, by id; rows know the one after them, and the first one the last. Kinds are 0,
1 and 2 for a, b and c. Each loop returns the rows of the instances that make a match.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.typed import Dict


@njit(cache=True)
def put(queue: Any, after: Any, last: Any, key: Any, row: Any) -> None:
    """Append a row to the queue of an id."""
    after[row] = -1
    if key in queue:
        first = queue[key]
        after[last[first]] = row
        last[first] = row
    else:
        queue[key] = row
        last[row] = row


@njit(cache=True)
def take(queue: Any, after: Any, last: Any, key: Any) -> int:
    """Remove the first row of the queue of an id; -1 if there is none."""
    if key not in queue:
        return -1
    first = queue[key]
    following = after[first]
    if following < 0:
        del queue[key]
    else:
        last[following] = last[first]
        queue[key] = following
    return first


@njit(cache=True)
def w1(kinds: Any, ids: Any) -> Any:
    """Return the rows of each a, b, c in sequence."""
    n = len(kinds)
    waiting_a = Dict.empty(types.int64, types.int64)
    waiting_b = Dict.empty(types.int64, types.int64)
    after, last, begun = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    found = np.empty((n, 3), np.int64)
    count = 0
    for i in range(n):
        key = ids[i]
        if kinds[i] == 0:
            put(waiting_a, after, last, key, i)
        elif kinds[i] == 1:
            a = take(waiting_a, after, last, key)
            if a >= 0:
                begun[i] = a
                put(waiting_b, after, last, key, i)
        else:
            b = take(waiting_b, after, last, key)
            if b >= 0:
                found[count, 0] = begun[b]
                found[count, 1] = b
                found[count, 2] = i
                count += 1
    return found[:count]


@njit(cache=True)
def w2(kinds: Any, ids: Any, values: Any, limit: int) -> Any:
    """Return the rows of each a and b in sequence, where the value of b is below a limit."""
    n = len(kinds)
    waiting = Dict.empty(types.int64, types.int64)
    after, last = np.empty(n, np.int64), np.empty(n, np.int64)
    found = np.empty((n, 2), np.int64)
    count = 0
    for i in range(n):
        key = ids[i]
        if kinds[i] == 0:
            put(waiting, after, last, key, i)
        elif kinds[i] == 1 and values[i] < limit:
            a = take(waiting, after, last, key)
            if a >= 0:
                found[count, 0] = a
                found[count, 1] = i
                count += 1
    return found[:count]


@njit(cache=True)
def w3(kinds: Any, ids: Any) -> Any:
    """Return the rows of each a and b in sequence with no c between them: a c ends the wait of all a before it."""
    n = len(kinds)
    waiting = Dict.empty(types.int64, types.int64)
    after, last = np.empty(n, np.int64), np.empty(n, np.int64)
    found = np.empty((n, 2), np.int64)
    count = 0
    for i in range(n):
        key = ids[i]
        if kinds[i] == 0:
            put(waiting, after, last, key, i)
        elif kinds[i] == 2:
            if key in waiting:
                del waiting[key]
        else:
            a = take(waiting, after, last, key)
            if a >= 0:
                found[count, 0] = a
                found[count, 1] = i
                count += 1
    return found[:count]


@njit(cache=True)
def w5(kinds: Any, ids: Any) -> Any:
    """Return the rows of each a and b, or a and c, in sequence."""
    n = len(kinds)
    waiting = Dict.empty(types.int64, types.int64)
    after, last = np.empty(n, np.int64), np.empty(n, np.int64)
    found = np.empty((n, 2), np.int64)
    count = 0
    for i in range(n):
        key = ids[i]
        if kinds[i] == 0:
            put(waiting, after, last, key, i)
        else:
            a = take(waiting, after, last, key)
            if a >= 0:
                found[count, 0] = a
                found[count, 1] = i
                count += 1
    return found[:count]
