"""The kernel of joins whose right sides never wait: they end after what they match, as in a sequence.

Such a join need not take arrivals one by one, which makes a processor guess wrongly at each of them. Left sides go into
a table a stretch at a time, then come the right sides that arrive before the next stretch; a left side that is there
too early is told by its turn.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.compiler import kernel
from etalis.columnar.kernels import allows, length, shift_for, spread

LOW, HIGH, RIGHT, CANDIDATE, FOUND, WAITING = range(6)  # places of a cursor
STRETCH = 1024  # left sides: few enough for what is done with them to stay in a near cache
NEXT, FRESH = -2, -3  # no right side is under way; and what waits is to be put into the table


@kernel
def follow(
    select: int, consume: bool, keep: int, relation: int, occurs_on: int, window: int, retain: int,
    turn0: Any, start0: Any, end0: Any, limit: Any, keys0: Any, turn1: Any, start1: Any, end1: Any, keys1: Any,
    alive: Any, waiting: Any, table: Any, lists: Any, after: Any, before: Any, left: Any, right: Any, enough: int,
    cursor: Any,
) -> None:  # fmt: skip
    """Match right sides with what is `alive` of the left sides, which end in order of their turns.

    `waiting` are left sides before the stretch from `LOW` to `HIGH`; both are in the table, an open one that has the
    first of each key: the owner of a list, of which `lists` has head, tail, and the last one that has arrived. `after`
    and `before` link it. A left one matches nothing that starts after its `limit`, if there are limits. Pairs go to
    `left` and `right`. Stops when all have come, when the table is too small, when there is no room for a pair, or
    between right sides when there are `enough` pairs; goes on from the `cursor`. Then `waiting` has what is alive.
    """
    n0 = len(turn0)
    n1 = len(turn1)
    mask = len(table) - 1
    shift = shift_for(mask)
    low = cursor[0]
    high = cursor[1]
    j = cursor[2]
    y = cursor[3]
    found = cursor[4]
    count = cursor[5]
    limited = len(limit) > 0
    arriving = select == 2 or keep == 2
    while True:
        if y == -3:
            if 2 * (count + high - low) > len(table):
                break
            for place in range(len(table)):
                table[place] = -1
            for at in range(count + high - low):
                x = waiting[at] if at < count else low + at - count
                if not alive[x]:
                    continue
                key = keys0[x]
                place = spread(key, shift)
                owner = table[place]
                while owner >= 0 and keys0[owner] != key:
                    place = (place + 1) & mask
                    owner = table[place]
                after[x] = -1
                if owner < 0:
                    table[place] = x
                    before[x] = -1
                    lists[4 * x] = x
                    lists[4 * x + 1] = x
                    lists[4 * x + 2] = -1
                else:
                    b = lists[4 * owner + 1]
                    before[x] = b
                    after[b] = x
                    lists[4 * owner + 1] = x
            y = -2
        following = turn0[high] if high < n0 else 0x7FFFFFFFFFFFFFFF
        while j < n1 and turn1[j] < following:
            key = keys1[j]
            place = spread(key, shift)
            owner = table[place]
            while owner >= 0 and keys0[owner] != key:
                place = (place + 1) & mask
                owner = table[place]
            if owner < 0:
                j += 1
                continue
            own = 4 * owner
            t = turn1[j]
            b1 = start1[j]
            b2 = end1[j]
            if y == -2:
                y = lists[own]
                if retain >= 0:
                    while y >= 0 and end0[y] < b2 - retain and turn0[y] <= t:
                        if y == lists[own + 2]:
                            lists[own + 2] = -1
                        y = after[y]
                    lists[own] = y
                    if y >= 0:
                        before[y] = -1
                    else:
                        lists[own + 1] = -1
                if arriving:
                    c = lists[own + 2]
                    if c >= 0:
                        y = after[c]
                    while y >= 0 and turn0[y] <= t:
                        if keep == 2 and c >= 0:
                            alive[c] = False
                            lists[own] = y
                            before[y] = -1
                        c = y
                        y = after[y]
                    lists[own + 2] = c
                    y = c
            while y >= 0 and turn0[y] <= t:
                a1 = start0[y]
                a2 = end0[y]
                good = allows(relation, a1, a2, b1, b2)
                if window >= 0:
                    good = good and length(occurs_on, a1, a2, b1, b2) <= window
                if limited:
                    good = good and b1 <= limit[y]
                beyond = before[y] if select == 2 else after[y]
                if good:
                    if found == len(left):
                        break
                    left[found] = y
                    right[found] = n0 + j
                    found += 1
                    if consume:
                        a = after[y]
                        b = before[y]
                        if b >= 0:
                            after[b] = a
                        else:
                            lists[own] = a
                        if a >= 0:
                            before[a] = b
                        else:
                            lists[own + 1] = b
                        if y == lists[own + 2]:
                            lists[own + 2] = b
                        alive[y] = False
                    if select != 0:
                        y = -1
                        break
                y = beyond
            if found == len(left) and y >= 0 and turn0[y] <= t:
                break
            y = -2
            j += 1
            if found >= enough:
                break
        if y != -2 or found >= enough:
            break
        kept = 0
        for at in range(count + high - low):
            x = waiting[at] if at < count else low + at - count
            if keep == 2 and alive[x] and after[x] >= 0:
                alive[x] = False
            if alive[x]:
                waiting[kept] = x
                kept += 1
        count = kept
        low = high
        if high >= n0:
            break
        high = min(n0, low + max(STRETCH, count))
        y = -3
    cursor[0] = low
    cursor[1] = high
    cursor[2] = j
    cursor[3] = y
    cursor[4] = found
    cursor[5] = count
