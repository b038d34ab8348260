"""Doubly linked lists of rows, as kernels keep what waits: in order of (end, start, arrival)."""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import inner, kernel


class Lists(NamedTuple):
    """List n begins at ends[2 * n] and ends at ends[2 * n + 1]; a row has neighbours. -1 is none."""

    ends: Any
    after: Any
    before: Any


@inner
def insert(lists: Lists, number: int, b: int, x: int) -> None:
    """Put row x into a list after row b; to the front if that is -1."""
    a = lists.ends[2 * number] if b < 0 else lists.after[b]
    lists.after[x] = a
    lists.before[x] = b
    if b >= 0:
        lists.after[b] = x
    else:
        lists.ends[2 * number] = x
    if a >= 0:
        lists.before[a] = x
    else:
        lists.ends[2 * number + 1] = x


@inner
def remove(lists: Lists, number: int, x: int) -> None:
    """Take row x out of its list."""
    a = lists.after[x]
    b = lists.before[x]
    if b >= 0:
        lists.after[b] = a
    else:
        lists.ends[2 * number] = a
    if a >= 0:
        lists.before[a] = b
    else:
        lists.ends[2 * number + 1] = b


@inner
def clear(lists: Lists, number: int) -> None:
    """Empty a list."""
    lists.ends[2 * number] = -1
    lists.ends[2 * number + 1] = -1


@inner
def predecessor(lists: Lists, number: int, start: Any, end: Any, x: int) -> Any:
    """Return the last row of a list that comes before row x, which arrives now, by (end, start); -1 if none."""
    b = lists.ends[2 * number + 1]
    while b >= 0 and (end[b] > end[x] or (end[b] == end[x] and start[b] > start[x])):
        b = lists.before[b]
    return b


@kernel
def put_in_order(rows: Any, group: Any, end: Any, start: Any, lists: Lists, size: Any) -> None:
    """Put rows into the lists of their groups, in order of (end, start, arrival)."""
    for r in range(len(rows)):
        x = rows[r]
        g = group[x]
        insert(lists, g, predecessor(lists, g, start, end, x), x)
        size[g] += 1
