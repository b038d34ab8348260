"""The kernels: loops over keys and end points, compiled once per installation and kept on disk.

They know no program: relation, policy and window come in as numbers, so that their set is closed. Each works on
instances in the order of their arrival and answers with row numbers; payload never comes here. With
`NUMBA_DISABLE_JIT=1` they run as plain Python. What is called within a loop takes plain numbers only: handing over
arrays at every turn costs several times the work.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel, part

ALL, EARLIEST, LATEST = 0, 1, 2
ALWAYS, UNMATCHED, NEWEST, HELD = 0, 1, 2, 3  # `HELD`: the newest, and while its event is under way those before it
HULL, ON_A, ON_B = 0, 1, 2
FOR_EVER, NEVER = -2, -1
ANY, BEFORE = 0x3FFFF, 0x3FE7F  # relations that hold always, and where one ends before the other starts (`allows`)
LEFT, RIGHT, ARRIVED, CANDIDATE, USED, FOUND, MATCHED = range(7)  # places of a cursor
NEXT = -2  # no arrival is under way


@part
def stir(mixed: int, number: int) -> int:
    """Return a well-mixed number, not negative, of one such and a part of a key."""
    mixed = (mixed ^ number) & 0x7FFFFFFFFFFFFFFF
    mixed ^= mixed >> 33
    mixed = ((mixed & 0xFFFFFFFF) * 0x2545F491 + (mixed >> 32) * 0x61C88647) & 0x7FFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 29)


@part
def shift_for(mask: int) -> int:
    """Return the shift with which `spread` gives the places up to `mask`, one less than a power of two."""
    shift = 32
    while (1 << (32 - shift)) <= mask:
        shift -= 1
    return shift


@part
def spread(key: int, shift: int) -> int:
    """Return the place of a key in a table of 2 ** (32 - shift) places: all its bits tell."""
    return ((((key ^ (key >> 32)) & 0xFFFFFFFF) * 0x61C88647) & 0xFFFFFFFF) >> shift


@part
def allows(relation: int, a1: int, a2: int, b1: int, b2: int) -> bool:
    """Tell whether a relation holds, by its bits for <, =, > between a1 b1, a1 b2, a2 b1, a2 b2, a1 a2 and b1 b2."""
    if relation == BEFORE:
        return a2 < b1
    if relation == ANY:
        return True
    return (
        (relation >> (int(a1 >= b1) + int(a1 > b1)))
        & (relation >> (3 + int(a1 >= b2) + int(a1 > b2)))
        & (relation >> (6 + int(a2 >= b1) + int(a2 > b1)))
        & (relation >> (9 + int(a2 >= b2) + int(a2 > b2)))
        & (relation >> (12 + int(a1 >= a2)))
        & (relation >> (15 + int(b1 >= b2)))
        & 1
    ) == 1


@part
def length(occurs_on: int, a1: int, a2: int, b1: int, b2: int) -> int:
    """Return how long a pair lasts."""
    if occurs_on == 1:
        return a2 - a1
    if occurs_on == 2:
        return b2 - b1
    return max(a2, b2) - min(a1, b1)


@kernel
def join(
    select: int, consume: bool, keep: int, relation: int, occurs_on: int, window: int, retain0: int, retain1: int,
    count0: int, turn: Any, start: Any, end: Any, limit: Any, keys: Any, alive: Any, table: Any, lists: Any,
    after: Any, before: Any, left: Any, right: Any, arrived: Any, enough: int, cursor: Any,
) -> None:  # fmt: skip
    """Join two sides whose instances stand in one set of arrays, `count0` of the left side first.

    Instances arrive by turn, those of the left side first where turns are equal. What is `alive` waits, in lists, one
    per key and side, in order of (end, start, arrival), but for what has been waiting too long: `table` is an open
    table of keys, each with an instance that owns it; `lists` has heads and tails of the left and the right list by
    owner, `after` and `before` link them. A left one matches nothing that starts after its `limit`, if there are
    limits. Pairs go to `left`, `right` and `arrived` (whether the right one came last). Stops when all have arrived,
    when the table is half full, when there is no room for a pair, or between arrivals when there are `enough` pairs;
    goes on from the `cursor`.
    """
    n = len(turn)
    mask = len(table) // 2 - 1
    shift = shift_for(mask)
    i = cursor[0]
    j = cursor[1]
    x = cursor[2]
    y = cursor[3]
    used = cursor[4]
    found = cursor[5]
    matched = cursor[6] == 1
    limited = len(limit) > 0
    while True:
        resumes = y != -2
        if not resumes:
            if 2 * used > mask or found >= enough or (i >= count0 and j >= n):
                break
            if j >= n or (i < count0 and turn[i] <= turn[j]):
                x = i
                i += 1
            else:
                x = j
                j += 1
        side = 0 if x < count0 else 1
        key = keys[x]
        place = spread(key, shift)
        while table[2 * place] >= 0 and table[2 * place + 1] != key:
            place = (place + 1) & mask
        known = table[2 * place] >= 0
        owner = table[2 * place] if known else x
        own = 4 * owner + 2 * side
        other = 4 * owner + 2 - 2 * side
        x1 = start[x]
        x2 = end[x]
        if not resumes:
            matched = False
            y = -1
            if keep == 3 and known:
                for at in range(4 * owner, 4 * owner + 4, 2):
                    y = lists[at]
                    while y >= 0 and after[y] >= 0 and turn[after[y]] != turn[x]:
                        alive[y] = False
                        y = after[y]
                        before[y] = -1
                        lists[at] = y
                y = -1
            retain = retain1 if side == 0 else retain0
            if known and retain != -1:
                if retain >= 0:
                    y = lists[other]
                    while y >= 0 and end[y] < x2 - retain:
                        y = after[y]
                    lists[other] = y
                    if y >= 0:
                        before[y] = -1
                    else:
                        lists[other + 1] = -1
                y = lists[other + 1] if select == 2 else lists[other]
        while y >= 0:
            y1 = start[y]
            y2 = end[y]
            if side == 0:
                a1, a2, b1, b2 = x1, x2, y1, y2
            else:
                a1, a2, b1, b2 = y1, y2, x1, x2
            good = allows(relation, a1, a2, b1, b2)
            if window >= 0:
                good = good and length(occurs_on, a1, a2, b1, b2) <= window
            if limited:
                good = good and b1 <= limit[x if side == 0 else y]
            following = before[y] if select == 2 else after[y]
            if good:
                if found == len(left):
                    break
                left[found] = x if side == 0 else y
                right[found] = (y if side == 0 else x) - count0
                arrived[found] = side == 1
                found += 1
                matched = True
                if consume:
                    a = after[y]
                    b = before[y]
                    if b >= 0:
                        after[b] = a
                    else:
                        lists[other] = a
                    if a >= 0:
                        before[a] = b
                    else:
                        lists[other + 1] = b
                    alive[y] = False
                if select != 0:
                    y = -1
                    break
            y = following
        if y >= 0:
            break
        y = -2
        stays = (retain0 if side == 0 else retain1) != -1 and (keep != 1 or not matched)
        if keep >= 2 and known and lists[own] >= 0:
            a = lists[own + 1]
            if end[a] > x2 or (end[a] == x2 and start[a] > x1):
                stays = False
        if stays:
            if not known:
                table[2 * place] = x
                table[2 * place + 1] = key
                for c in range(4):
                    lists[4 * x + c] = -1
                used += 1
            if keep == 2 and lists[own] >= 0:
                alive[lists[own]] = False
                lists[own] = -1
                lists[own + 1] = -1
            b = lists[own + 1]
            while b >= 0 and (end[b] > x2 or (end[b] == x2 and start[b] > x1)):
                b = before[b]
            a = lists[own] if b < 0 else after[b]
            after[x] = a
            before[x] = b
            if b >= 0:
                after[b] = x
            else:
                lists[own] = x
            if a >= 0:
                before[a] = x
            else:
                lists[own + 1] = x
            alive[x] = True
        elif known and lists[own] < 0 and lists[other] < 0:
            used -= 1
            gap = place
            place = (place + 1) & mask
            while table[2 * place] >= 0:
                home = spread(table[2 * place + 1], shift)
                if ((place - home) & mask) >= ((place - gap) & mask):
                    table[2 * gap] = table[2 * place]
                    table[2 * gap + 1] = table[2 * place + 1]
                    gap = place
                place = (place + 1) & mask
            table[2 * gap] = -1
    cursor[0] = i
    cursor[1] = j
    cursor[2] = x
    cursor[3] = y
    cursor[4] = used
    cursor[5] = found
    cursor[6] = 1 if matched else 0


@kernel
def rebuild(
    waiting: Any, count0: int, start: Any, end: Any, keys: Any, table: Any, lists: Any, after: Any, before: Any
) -> int:
    """Put what waits into an empty table and its lists, in the order given; return how many keys there are."""
    mask = len(table) // 2 - 1
    shift = shift_for(mask)
    used = 0
    for at in range(len(waiting)):
        x = waiting[at]
        key = keys[x]
        place = spread(key, shift)
        while table[2 * place] >= 0 and table[2 * place + 1] != key:
            place = (place + 1) & mask
        if table[2 * place] < 0:
            table[2 * place] = x
            table[2 * place + 1] = key
            for c in range(4):
                lists[4 * x + c] = -1
            used += 1
        own = 4 * table[2 * place] + (0 if x < count0 else 2)
        b = lists[own + 1]
        while b >= 0 and (end[b] > end[x] or (end[b] == end[x] and start[b] > start[x])):
            b = before[b]
        a = lists[own] if b < 0 else after[b]
        after[x] = a
        before[x] = b
        if b >= 0:
            after[b] = x
        else:
            lists[own] = x
        if a >= 0:
            before[a] = x
        else:
            lists[own + 1] = x
    return used


@kernel
def choose(select: int, count0: int, left: Any, right: Any, arrived: Any, passes: Any, alive: Any, chosen: Any) -> None:
    """Choose among pairs as a policy that consumes does; pairs of one arrival stand together, in order of rank.

    `chosen` tells afterwards which pairs match, `alive` what still waits, `count0` of the left side first.
    """
    n = len(left)
    low = 0
    while low < n:
        x = right[low] + count0 if arrived[low] else left[low]
        high = low
        while high < n and (right[high] + count0 if arrived[high] else left[high]) == x:
            high += 1
        matched = False
        for step in range(high - low):
            at = high - 1 - step if select == 2 else low + step
            y = left[at] if arrived[at] else right[at] + count0
            if passes[at] and alive[y]:
                chosen[at] = True
                alive[y] = False
                matched = True
                if select != 0:
                    break
        if matched:
            alive[x] = False
        low = high


@kernel
def number_keys(keys: Any, owner: Any, number: Any, first: Any, group: Any) -> int:
    """Number the distinct rows of keys: `first` rows that have each, `group` the number of each row; return how many.

    `owner` is an empty open table, more than large enough; `number` belongs to it.
    """
    mask = len(owner) - 1
    width = keys.shape[1]
    found = 0
    for x in range(len(keys)):
        mixed = 0x1E3779B97F4A7C15
        for c in range(width):
            mixed = stir(mixed, keys[x, c])
        place = mixed & mask
        while owner[place] >= 0:
            c = 0
            while c < width and keys[owner[place], c] == keys[x, c]:
                c += 1
            if c == width:
                break
            place = (place + 1) & mask
        if owner[place] < 0:
            owner[place] = x
            number[place] = found
            first[found] = x
            found += 1
        group[x] = number[place]
    return found


@kernel
def find_keys(keys: Any, known: Any, owner: Any, number: Any, group: Any) -> None:
    """Find for rows of keys the number that `number_keys` gave to an equal row of `known`, -1 where there is none."""
    mask = len(owner) - 1
    width = keys.shape[1]
    for x in range(len(keys)):
        mixed = 0x1E3779B97F4A7C15
        for c in range(width):
            mixed = stir(mixed, keys[x, c])
        place = mixed & mask
        while owner[place] >= 0:
            c = 0
            while c < width and known[owner[place], c] == keys[x, c]:
                c += 1
            if c == width:
                break
            place = (place + 1) & mask
        group[x] = number[place] if owner[place] >= 0 else -1


@kernel
def arrange(group: Any, starts: Any, ends: Any, first: Any, end: Any, latest: Any) -> None:
    """Put blockers together by group, in their order, with the latest start so far; `first` has the groups' places.

    `first` holds one place more than there are groups; when done, group g stands from first[g] to first[g + 1].
    """
    for x in range(len(group)):
        first[group[x] + 1] += 1
    for g in range(1, len(first)):
        first[g] += first[g - 1]
    for x in range(len(group) - 1, -1, -1):
        g = group[x] + 1
        first[g] -= 1
        end[first[g]] = ends[x]
        latest[first[g]] = starts[x]
    for g in range(len(first) - 1):
        first[g] = first[g + 1]
    first[len(first) - 1] = len(group)
    for g in range(len(first) - 1):
        for at in range(first[g] + 1, first[g + 1]):
            latest[at] = max(latest[at], latest[at - 1])


@kernel
def blocked(group: Any, low: Any, high: Any, first: Any, end: Any, latest: Any, answers: Any) -> None:
    """Tell for each question whether its group has a blocker with low < start and end < high."""
    for q in range(len(group)):
        g = group[q]
        if g < 0:
            continue
        a = first[g]
        b = first[g + 1]
        while a < b:
            middle = (a + b) // 2
            if end[middle] < high[q]:
                a = middle + 1
            else:
                b = middle
        answers[q] = a > first[g] and latest[a - 1] > low[q]


@kernel
def first_after(group: Any, moment: Any, first: Any, end: Any, latest: Any, limit: Any) -> None:
    """Lower each limit to the end of the first blocker of its group that starts after a moment."""
    for q in range(len(group)):
        g = group[q]
        if g < 0:
            continue
        a = first[g]
        b = first[g + 1]
        while a < b:
            middle = (a + b) // 2
            if latest[middle] > moment[q]:
                b = middle
            else:
                a = middle + 1
        if a < first[g + 1] and end[a] < limit[q]:
            limit[q] = end[a]
