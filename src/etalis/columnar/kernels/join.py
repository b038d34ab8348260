"""The kernel of joins in which either side may wait for the other, one arrival at a time.

It works on instances in the order of their arrival and answers with row numbers; payload never comes here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.hash_tables import find_place, free_place, shift_for
from etalis.columnar.kernels.jit import inner, kernel
from etalis.columnar.kernels.lists import Lists, clear, insert, predecessor, remove
from etalis.columnar.kernels.matching import (
    ALL,
    LATEST,
    NEVER,
    NEWEST,
    NEWEST_BY_TURN,
    NO_WINDOW,
    UNMATCHED,
    Matching,
    allows,
    length,
)

LEFT, RIGHT, ARRIVAL, CANDIDATE, USED, FOUND, MATCHED, PLACES = range(8)  # places of a cursor
NEXT = -2  # instead of a candidate: no arrival is under way
NONE = -1  # no candidate, or no more of them


class ArrivingRows(NamedTuple):
    """What kernels see of instances, in the order of their arrival."""

    turn: Any
    start: Any
    end: Any
    keys: Any


class WaitingRows(NamedTuple):
    """What waits: rows that are `alive`, in two lists per key, 2 * owner for left sides and 2 * owner + 1 for right.

    `table` is an open table of keys, which may be `near` each other, each with the row that owns it.
    """

    alive: Any
    table: Any
    lists: Lists
    near: bool


class Pairs(NamedTuple):
    """Room for pairs, whether the right one `arrived` last, and how many are `enough` to stop between arrivals."""

    left: Any
    right: Any
    arrived: Any
    enough: int = 0


@inner
def keep_this_turn(store: WaitingRows, number: int, turn: Any, x: int) -> None:
    """Let go what was replaced before the turn of arrival x, so that a list begins with what counts now."""
    ends, after, before = store.lists
    y = ends[2 * number]
    while y >= 0 and after[y] >= 0 and turn[after[y]] != turn[x]:
        store.alive[y] = False
        y = after[y]
        before[y] = -1
        ends[2 * number] = y


@inner
def expire(lists: Lists, number: int, end: Any, least: int) -> None:
    """Drop the first ones of a list that end before `least`."""
    y = lists.ends[2 * number]
    while y >= 0 and end[y] < least:
        y = lists.after[y]
    lists.ends[2 * number] = y
    if y >= 0:
        lists.before[y] = -1
    else:
        lists.ends[2 * number + 1] = -1


@inner
def is_older(lists: Lists, number: int, rows: ArrivingRows, x: int) -> bool:
    """Tell whether arrival x ranks before the last one of a list."""
    a = lists.ends[2 * number + 1]
    if a < 0:
        return False
    return bool(rows.end[a] > rows.end[x] or (rows.end[a] == rows.end[x] and rows.start[a] > rows.start[x]))


@inner
def own_key(store: WaitingRows, place: int, key: int, x: int) -> None:
    """Let arrival x own a key, at a free place."""
    store.table[2 * place] = x
    store.table[2 * place + 1] = key
    clear(store.lists, 2 * x)
    clear(store.lists, 2 * x + 1)


@kernel
def join(
    how: Matching, rows: ArrivingRows, count: int, limit: Any, store: WaitingRows, pairs: Pairs, cursor: Any
) -> None:
    """Join two sides whose instances stand in one set of arrays, `count` of the left side first.

    Instances arrive by turn, those of the left side first where turns are equal. A left one matches nothing that starts
    after its `limit`, if there are limits. Stops when all have arrived, when the table is half full, when there is no
    room for a pair, or between arrivals when there are enough pairs; goes on from the `cursor`.
    """
    select, consume, keep, relation, occurs_on, window, (retain0, retain1) = how
    turn, start, end, keys = rows
    alive, table, lists, near = store
    left, right, arrived, enough = pairs
    n = len(turn)
    mask = len(table) // 2 - 1
    shift = shift_for(mask, near)
    i = cursor[LEFT]
    j = cursor[RIGHT]
    x = cursor[ARRIVAL]
    y = cursor[CANDIDATE]
    used = cursor[USED]
    found = cursor[FOUND]
    matched = cursor[MATCHED] == 1
    limited = len(limit) > 0
    while True:
        resumes = y != NEXT
        if not resumes:
            if 2 * used > mask or found >= enough or (i >= count and j >= n):
                break
            if j >= n or (i < count and turn[i] <= turn[j]):
                x = i
                i += 1
            else:
                x = j
                j += 1
        side = 0 if x < count else 1
        place = find_place(table, shift, keys[x])
        known = table[2 * place] >= 0
        owner = table[2 * place] if known else x
        own = 2 * owner + side
        other = 2 * owner + 1 - side
        x1 = start[x]
        x2 = end[x]
        if not resumes:
            matched = False
            y = NONE
            if keep == NEWEST_BY_TURN and known:
                keep_this_turn(store, own, turn, x)
                keep_this_turn(store, other, turn, x)
            retain = retain1 if side == 0 else retain0
            if known and retain != NEVER:
                if retain >= 0:
                    expire(lists, other, end, x2 - retain)
                y = lists.ends[2 * other + 1] if select == LATEST else lists.ends[2 * other]
        while y >= 0:
            y1 = start[y]
            y2 = end[y]
            if side == 0:
                a1, a2, b1, b2 = x1, x2, y1, y2
            else:
                a1, a2, b1, b2 = y1, y2, x1, x2
            good = allows(relation, a1, a2, b1, b2)
            if window != NO_WINDOW:
                good = good and length(occurs_on, a1, a2, b1, b2) <= window
            if limited:
                good = good and b1 <= limit[x if side == 0 else y]
            following = lists.before[y] if select == LATEST else lists.after[y]
            if good:
                if found == len(left):
                    break
                left[found] = x if side == 0 else y
                right[found] = (y if side == 0 else x) - count
                arrived[found] = side == 1
                found += 1
                matched = True
                if consume:
                    remove(lists, other, y)
                    alive[y] = False
                if select != ALL:
                    y = NONE
                    break
            y = following
        if y >= 0:
            break
        y = NEXT
        stays = (retain0 if side == 0 else retain1) != NEVER and (keep != UNMATCHED or not matched)
        if keep >= NEWEST and known:
            stays = stays and not is_older(lists, own, rows, x)
        if stays:
            if not known:
                own_key(store, place, keys[x], x)
                used += 1
            if keep == NEWEST and lists.ends[2 * own] >= 0:
                alive[lists.ends[2 * own]] = False
                clear(lists, own)
            insert(lists, own, predecessor(lists, own, start, end, x), x)
            alive[x] = True
        elif known and lists.ends[2 * own] < 0 and lists.ends[2 * other] < 0:
            used -= 1
            free_place(table, shift, place)
    cursor[LEFT] = i
    cursor[RIGHT] = j
    cursor[ARRIVAL] = x
    cursor[CANDIDATE] = y
    cursor[USED] = used
    cursor[FOUND] = found
    cursor[MATCHED] = 1 if matched else 0


@kernel
def rebuild(waiting: Any, count: int, rows: ArrivingRows, store: WaitingRows) -> int:
    """Put what waits into an empty table and its lists, in the order given; return how many keys there are."""
    shift = shift_for(len(store.table) // 2 - 1, store.near)
    used = 0
    for at in range(len(waiting)):
        x = waiting[at]
        place = find_place(store.table, shift, rows.keys[x])
        if store.table[2 * place] < 0:
            own_key(store, place, rows.keys[x], x)
            used += 1
        own = 2 * store.table[2 * place] + (0 if x < count else 1)
        insert(store.lists, own, predecessor(store.lists, own, rows.start, rows.end, x), x)
    return used


@kernel
def choose(select: int, count: int, pairs: Pairs, passes: Any, alive: Any, chosen: Any) -> None:
    """Choose among pairs as a policy that consumes does; pairs of one arrival stand together, in order of rank.

    `chosen` tells afterwards which pairs match, `alive` what still waits, `count` of the left side first.
    """
    left, right, arrived, _ = pairs
    n = len(left)
    low = 0
    while low < n:
        x = right[low] + count if arrived[low] else left[low]
        high = low
        while high < n and (right[high] + count if arrived[high] else left[high]) == x:
            high += 1
        matched = False
        for step in range(high - low):
            at = high - 1 - step if select == LATEST else low + step
            y = left[at] if arrived[at] else right[at] + count
            if passes[at] and alive[y]:
                chosen[at] = True
                alive[y] = False
                matched = True
                if select != ALL:
                    break
        if matched:
            alive[x] = False
        low = high
