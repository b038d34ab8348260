"""The kernel of joins whose right sides never wait: they end after what they match, as in a sequence.

Such a join need not look at arrivals one by one, which makes a processor guess wrongly at each of them. Left sides go
into a table a block at a time, then come the right sides that arrive before the next block; a left side that is there
too early is known by its turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.hash_tables import shift_for, spread
from etalis.columnar.kernels.jit import inner, kernel
from etalis.columnar.kernels.join import ArrivingRows, Pairs
from etalis.columnar.kernels.matching import ALL, BEFORE, LATEST, NEWEST, NO_WINDOW, Matching, allows, length

NEXT_LEFT, NEXT_RIGHT, CANDIDATE, FOUND, WAITING = range(5)  # places of a cursor
BLOCK = 1024  # left sides: few enough for what is done with them to stay in a near cache
HEAD, TAIL, ARRIVED, AFTER, AHEAD, WIDTH = range(6)  # places of what is linked, and how many
FAR = (1 << 63) - 1
NEXT, FRESH = -2, -3  # no right side is under way; and what waits is to be put into the table


class LeftBlock(NamedTuple):
    """What waits of the left sides: which are `alive`, and the `rows` so far, a block of new ones last.

    They stand by their places in `rows` in the `table`, an open one that has the first of each key: the owner of a
    list; keys may be `near` each other. `lists` has numbers for each place: head, tail and the last one that has
    arrived of the list it owns, and what comes after and before it in a list.
    """

    alive: Any
    rows: Any
    table: Any
    lists: Any
    near: bool


@inner
def find_owner(table: Any, rows: Any, keys: Any, shift: int, key: int) -> tuple[int, int]:
    """Return the place of a key in the table and what owns it; -1 if it is not there."""
    mask = len(table) - 1
    place = spread(key, shift)
    owner = table[place]
    while owner >= 0 and keys[rows[owner]] != key:
        place = (place + 1) & mask
        owner = table[place]
    return place, owner


@inner
def fill(store: LeftBlock, count: int, left: ArrivingRows, shift: int, least: int) -> None:
    """Put those of the `count` rows that are alive and do not end before `least` into the table and its lists."""
    alive, rows, table, lists, _ = store
    for place in range(len(table)):
        table[place] = -1
    for at in range(count):
        x = rows[at]
        if not alive[x] or left.end[x] < least:
            continue
        place, owner = find_owner(table, rows, left.keys, shift, left.keys[x])
        own = WIDTH * owner
        b = -1
        if owner < 0:
            table[place] = at
            own = WIDTH * at
            lists[own + HEAD] = at
            lists[own + ARRIVED] = -1
        else:
            b = lists[own + TAIL]
            lists[WIDTH * b + AFTER] = at
        lists[own + TAIL] = at
        lists[WIDTH * at + AFTER] = -1
        lists[WIDTH * at + AHEAD] = b


@inner
def expire(store: LeftBlock, own: int, left: ArrivingRows, turn: int, least: int) -> None:
    """Drop the first ones of a list that have arrived and end before `least`."""
    lists = store.lists
    y = lists[own + HEAD]
    while y >= 0 and left.end[store.rows[y]] < least and left.turn[store.rows[y]] <= turn:
        if y == lists[own + ARRIVED]:
            lists[own + ARRIVED] = -1
        y = lists[WIDTH * y + AFTER]
    lists[own + HEAD] = y
    if y >= 0:
        lists[WIDTH * y + AHEAD] = -1
    else:
        lists[own + TAIL] = -1


@inner
def last_arrived(store: LeftBlock, own: int, left: ArrivingRows, turn: int, newest: bool) -> Any:
    """Return the last one of a list that has arrived by a turn; if the `newest` alone waits, it replaces the others."""
    alive, rows, _, lists, _ = store
    y = lists[own + HEAD]
    c = lists[own + ARRIVED]
    if c >= 0:
        y = lists[WIDTH * c + AFTER]
    while y >= 0 and left.turn[rows[y]] <= turn:
        if newest and c >= 0:
            alive[rows[c]] = False
            lists[own + HEAD] = y
            lists[WIDTH * y + AHEAD] = -1
        c = y
        y = lists[WIDTH * y + AFTER]
    lists[own + ARRIVED] = c
    return c


@inner
def remove(lists: Any, own: int, y: int, a: int, b: int) -> None:
    """Take what is consumed out of its list, between what comes after and before it."""
    if b >= 0:
        lists[WIDTH * b + AFTER] = a
    else:
        lists[own + HEAD] = a
    if a >= 0:
        lists[WIDTH * a + AHEAD] = b
    else:
        lists[own + TAIL] = b
    if y == lists[own + ARRIVED]:
        lists[own + ARRIVED] = b


@kernel
def follow(
    how: Matching,
    left: ArrivingRows,
    right: ArrivingRows,
    limit: Any,
    ebbs: bool,
    store: LeftBlock,
    pairs: Pairs,
    cursor: Any,
) -> None:
    """Match right sides with what is alive of the left sides; both end in order of their turns.

    A left one matches nothing that starts after its `limit`, if there are limits; where nothing starts before what has
    ended any more, it `ebbs` away then, as what has waited too long does. Stops when all have come, when there is no
    room for what waits, or for a pair, or between right sides when there are enough pairs; goes on from the `cursor`.
    """
    select, consume, keep, relation, occurs_on, window, (retain, _) = how
    turn0, start0, end0, _ = left
    turn1, start1, end1, keys1 = right
    alive, waiting, table, lists, near = store
    found_left, found_right, _, enough = pairs
    n0 = len(turn0)
    n1 = len(turn1)
    shift = shift_for(len(table) - 1, near)
    i = cursor[NEXT_LEFT]
    j = cursor[NEXT_RIGHT]
    y = cursor[CANDIDATE]
    found = cursor[FOUND]
    count = cursor[WAITING]
    limited = len(limit) > 0
    while True:
        least = end1[j] - retain if retain >= 0 and j < n1 else -FAR
        if y == FRESH:
            if 2 * count > len(table) or WIDTH * count > len(lists):
                break
            fill(store, count, left, shift, least)
            y = NEXT
        following = turn0[i] if i < n0 else FAR
        while j < n1 and turn1[j] < following and found < enough:
            _, owner = find_owner(table, waiting, left.keys, shift, keys1[j])
            if owner < 0:
                j += 1
                continue
            own = WIDTH * owner
            turn = turn1[j]
            b1 = start1[j]
            if y == NEXT:
                if retain >= 0:
                    expire(store, own, left, turn, end1[j] - retain)
                y = lists[own + HEAD]
                if select == LATEST or keep == NEWEST:
                    y = last_arrived(store, own, left, turn, keep == NEWEST)
            while y >= 0:
                x = waiting[y]
                if turn0[x] > turn:
                    y = -1
                    break
                a2 = end0[x]
                good = a2 < b1 if relation == BEFORE else allows(relation, start0[x], a2, b1, end1[j])
                if window != NO_WINDOW:
                    good = good and length(occurs_on, start0[x], a2, b1, end1[j]) <= window
                a = lists[WIDTH * y + AFTER]
                b = lists[WIDTH * y + AHEAD]
                if limited and b1 > limit[x]:
                    good = False
                    if ebbs:  # what comes later starts no earlier
                        remove(lists, own, y, a, b)
                if good:
                    if found == len(found_left):
                        break
                    found_left[found] = x
                    found_right[found] = j
                    found += 1
                    if consume:
                        remove(lists, own, y, a, b)
                        alive[x] = False
                    if select != ALL:
                        y = -1
                        break
                y = b if select == LATEST else a
            if y >= 0:
                break
            y = NEXT
            j += 1
        if y != NEXT or (j < n1 and turn1[j] < following):
            break
        least = end1[j] - retain if retain >= 0 and j < n1 else -FAR
        kept = 0
        for at in range(count):
            x = waiting[at]
            if keep == NEWEST and alive[x] and lists[WIDTH * at + AFTER] >= 0:
                alive[x] = False
            waiting[kept] = x
            if alive[x] and end0[x] >= least and not (ebbs and limit[x] < end0[i - 1]):
                kept += 1
        count = kept
        if i >= n0:
            break
        new = min(n0 - i, max(BLOCK, count))
        for at in range(new):
            waiting[count + at] = i + at
        i += new
        count += new
        y = FRESH
    cursor[NEXT_LEFT] = i
    cursor[NEXT_RIGHT] = j
    cursor[CANDIDATE] = y
    cursor[FOUND] = found
    cursor[WAITING] = count
