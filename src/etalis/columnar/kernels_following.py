"""The kernel of joins whose right sides never wait: they end after what they match, as in a sequence.

Such a join need not take arrivals one by one, which makes a processor guess wrongly at each of them. Left sides go into
a table a stretch at a time, then come the right sides that arrive before the next stretch; a left side that is there
too early is told by its turn.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.compiler import kernel
from etalis.columnar.kernels import BEFORE, allows, length, shift_for, spread

NEXT_LEFT, NEXT_RIGHT, CANDIDATE, FOUND, WAITING = range(5)  # places of a cursor
STRETCH = 1024  # left sides: few enough for what is done with them to stay in a near cache
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
    arriving = select == 2 or keep == 2
    while True:
        least = end1[j] - retain if retain >= 0 and j < n1 else -0x7FFFFFFFFFFFFFFF
        if y == -3:
            if 2 * count > len(table) or 5 * count > len(lists):
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
                own = 5 * owner
                b = -1
                if owner < 0:
                    table[place] = at
                    own = 5 * at
                    lists[own] = at
                    lists[own + 2] = -1
                else:
                    b = lists[own + 1]
                    lists[5 * b + 3] = at
                lists[own + 1] = at
                lists[5 * at + 3] = -1
                lists[5 * at + 4] = b
            y = -2
        following = turn0[i] if i < n0 else 0x7FFFFFFFFFFFFFFF
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
            own = 5 * owner
            turn = turn1[j]
            b1 = start1[j]
            if y == -2:
                y = lists[own]
                if retain >= 0:
                    while y >= 0 and end0[waiting[y]] < end1[j] - retain and turn0[waiting[y]] <= turn:
                        if y == lists[own + 2]:
                            lists[own + 2] = -1
                        y = lists[5 * y + 3]
                    lists[own] = y
                    if y >= 0:
                        lists[5 * y + 4] = -1
                    else:
                        lists[own + 1] = -1
                if arriving:
                    c = lists[own + 2]
                    if c >= 0:
                        y = lists[5 * c + 3]
                    while y >= 0 and turn0[waiting[y]] <= turn:
                        if keep == 2 and c >= 0:
                            alive[waiting[c]] = False
                            lists[own] = y
                            lists[5 * y + 4] = -1
                        c = y
                        y = lists[5 * y + 3]
                    lists[own + 2] = c
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
                a = lists[5 * y + 3]
                b = lists[5 * y + 4]
                if good:
                    if found == len(left):
                        break
                    left[found] = x
                    right[found] = j
                    found += 1
                    if consume:
                        if b >= 0:
                            lists[5 * b + 3] = a
                        else:
                            lists[own] = a
                        if a >= 0:
                            lists[5 * a + 4] = b
                        else:
                            lists[own + 1] = b
                        if y == lists[own + 2]:
                            lists[own + 2] = b
                        alive[x] = False
                    if select != 0:
                        y = -1
                        break
                y = b if select == 2 else a
            if y >= 0:
                break
            y = -2
            j += 1
        if y != -2 or (j < n1 and turn1[j] < following):
            break
        least = end1[j] - retain if retain >= 0 and j < n1 else -0x7FFFFFFFFFFFFFFF
        kept = 0
        for at in range(count):
            x = waiting[at]
            if keep == 2 and alive[x] and lists[5 * at + 3] >= 0:
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
        y = -3
    cursor[0] = i
    cursor[1] = j
    cursor[2] = y
    cursor[3] = found
    cursor[4] = count
