"""The kernel of joins whose right sides never wait: they end after what they match, as in a sequence.

Such a join need not take arrivals one by one, which makes a processor guess wrongly at each of them. Left sides go into
a table a stretch at a time, then come the right sides that arrive before the next stretch; a left side that is there
too early is told by its turn.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel
from etalis.columnar.kernels.join import ALL, BEFORE, LATEST, NEWEST, allows, length, shift_for, spread

NEXT_LEFT, NEXT_RIGHT, CANDIDATE, FOUND, WAITING = range(5)  # places of a cursor
STRETCH = 1024  # left sides: few enough for what is done with them to stay in a near cache
HEAD, TAIL, ARRIVED, AFTER, AHEAD = range(5)  # places of what is linked
WIDTH = 5
FAR = (1 << 63) - 1
NEXT, FRESH = -2, -3  # no right side is under way; and what waits is to be put into the table


@kernel
def follow(
    select: int, consume: bool, keep: int, relation: int, occurs_on: int, window: int, retain: int, ebbs: bool,
    turn0: Any, start0: Any, end0: Any, limit: Any, keys0: Any, turn1: Any, start1: Any, end1: Any, keys1: Any,
    alive: Any, waiting: Any, table: Any, lists: Any, left: Any, right: Any, enough: int, cursor: Any,
) -> None:  # fmt: skip
    """Match right sides with what is `alive` of the left sides; both end in order of their turns.

    `waiting` are the left sides that have been taken so far and are left, a stretch of new ones last. They stand by
    their places there in the table, an open one that has the first of each key: the owner of a list. `lists` has five
    numbers for each place: head, tail and the last one that has arrived of the list it owns, and what comes after and
    before it in a list. A left one matches nothing that starts after its `limit`, if there are limits; where nothing
    starts before what has ended any more, it `ebbs` away then, as what has waited too long does. Pairs go to `left` and
    `right`. Stops when all have come, when there is no room for what waits, or for a pair, or between right sides when
    there are `enough` pairs; goes on from the `cursor`.
    """
    n0 = len(turn0)
    n1 = len(turn1)
    mask = len(table) - 1
    shift = shift_for(mask)
    i = cursor[0]
    j = cursor[1]
    y = cursor[2]
    found = cursor[3]
    count = cursor[4]
    limited = len(limit) > 0
    arriving = select == LATEST or keep == NEWEST
    while True:
        least = end1[j] - retain if retain >= 0 and j < n1 else -FAR
        if y == FRESH:
            if 2 * count > len(table) or WIDTH * count > len(lists):
                break
            for place in range(len(table)):
                table[place] = -1
            for at in range(count):
                x = waiting[at]
                if not alive[x] or end0[x] < least:
                    continue
                key = keys0[x]
                place = spread(key, shift)
                owner = table[place]
                while owner >= 0 and keys0[waiting[owner]] != key:
                    place = (place + 1) & mask
                    owner = table[place]
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
            y = NEXT
        following = turn0[i] if i < n0 else FAR
        while j < n1 and turn1[j] < following and found < enough:
            key = keys1[j]
            place = spread(key, shift)
            owner = table[place]
            while owner >= 0 and keys0[waiting[owner]] != key:
                place = (place + 1) & mask
                owner = table[place]
            if owner < 0:
                j += 1
                continue
            own = WIDTH * owner
            turn = turn1[j]
            b1 = start1[j]
            if y == NEXT:
                y = lists[own + HEAD]
                if retain >= 0:
                    while y >= 0 and end0[waiting[y]] < end1[j] - retain and turn0[waiting[y]] <= turn:
                        if y == lists[own + ARRIVED]:
                            lists[own + ARRIVED] = -1
                        y = lists[WIDTH * y + AFTER]
                    lists[own + HEAD] = y
                    if y >= 0:
                        lists[WIDTH * y + AHEAD] = -1
                    else:
                        lists[own + TAIL] = -1
                if arriving:
                    c = lists[own + ARRIVED]
                    if c >= 0:
                        y = lists[WIDTH * c + AFTER]
                    while y >= 0 and turn0[waiting[y]] <= turn:
                        if keep == NEWEST and c >= 0:
                            alive[waiting[c]] = False
                            lists[own + HEAD] = y
                            lists[WIDTH * y + AHEAD] = -1
                        c = y
                        y = lists[WIDTH * y + AFTER]
                    lists[own + ARRIVED] = c
                    y = c
            while y >= 0:
                x = waiting[y]
                if turn0[x] > turn:
                    y = -1
                    break
                a2 = end0[x]
                good = a2 < b1 if relation == BEFORE else allows(relation, start0[x], a2, b1, end1[j])
                if window >= 0:
                    good = good and length(occurs_on, start0[x], a2, b1, end1[j]) <= window
                if limited:
                    good = good and b1 <= limit[x]
                a = lists[WIDTH * y + AFTER]
                b = lists[WIDTH * y + AHEAD]
                if good:
                    if found == len(left):
                        break
                    left[found] = x
                    right[found] = j
                    found += 1
                    if consume:
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
        new = min(n0 - i, max(STRETCH, count))
        for at in range(new):
            waiting[count + at] = i + at
        i += new
        count += new
        y = FRESH
    cursor[0] = i
    cursor[1] = j
    cursor[2] = y
    cursor[3] = found
    cursor[4] = count
