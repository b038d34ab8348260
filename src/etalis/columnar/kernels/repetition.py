"""Kernels of repetitions: elements counted after left sides, and what follows them."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import kernel

LEFT, ELEMENT, FOLLOWER, FOUND = range(4)  # places of a cursor
NO_MATCH = -(1 << 62)


@kernel
def put_in_order(rows: Any, group: Any, end: Any, start: Any, lists: Any, after: Any, before: Any, size: Any) -> None:
    """Put rows into the lists of their groups, in order of (end, start, arrival)."""
    for r in range(len(rows)):
        x = rows[r]
        g = group[x]
        b = lists[2 * g + 1]
        while b >= 0 and (end[b] > end[x] or (end[b] == end[x] and start[b] > start[x])):
            b = before[b]
        a = lists[2 * g] if b < 0 else after[b]
        after[x] = a
        before[x] = b
        if b >= 0:
            after[b] = x
        else:
            lists[2 * g] = x
        if a >= 0:
            before[a] = x
        else:
            lists[2 * g + 1] = x
        size[g] += 1


@kernel
def repeat(
    alone: bool, select: int, newest: bool, counts: bool, least: Any, most: Any, misses: Any, window: int,
    followed: bool, picks: int, consume: bool, latest: bool, outer: int, count0: int, count1: int, turn: Any,
    start: Any, end: Any, limit: Any, group: Any, lists: Any, after: Any, before: Any, size: Any, waits: Any,
    number: Any, begun: Any, counted: Any, listed: Any, other: Any, stores: Any, following: Any, preceding: Any,
    held: Any, matched: Any, placed: Any, asks: bool, asks_then: bool, pairs: Any, pair_left: Any, pair_limit: Any,
    mark: Any, pair: Any, grouped: bool, slot: Any, owner: Any, keeper: Any, home: Any, left: Any, right: Any,
    first: Any, which: Any, cursor: Any,
) -> None:  # fmt: skip
    """Count elements after left sides, or `alone`, and match what follows, by turn.

    All stand in one set of arrays: left sides, from `count0` on elements, from `count1` on followers. Left sides that
    wait are in `lists`, by `group`. Those with a match that waits for a follower are in `stores`, by `home`, the end
    of that match being `matched`; of those in the store of its `other` a follower `picks`, and consumes, as its policy
    says, and `latest` tells that the newest alone is held. Nothing follows that starts after the `limit` of a left
    side.

    A left side has counted `number` elements, the first of which began at `begun` and the last of which ended at
    `counted`; there are to be `least` to `most` (-1: any number); where `least` is 0 these are no counts, which is
    noted in `misses`, if there is room. Without `counts` every element is a match. Alone, a left side is the first
    element of a run, and takes its rank from the last. `listed` and `placed` tell by which row something came into the
    lists and stores.

    Left sides that are `grouped` have slots for `number`, `begun`, `counted`, `matched` and `placed`, one per group of
    elements: the `slot` of each pair, the `owner` of each slot, the slot that keeps matches for it (`keeper`) and its
    `home` in the stores. Else each left side is a slot.

    Where it `asks` about elements, or `asks_then` about followers, row x may only be matched with the left sides
    pair_left[pairs[x]:pairs[x + 1]], and only if counting began not after their `pair_limit`, or if the match that
    waits ended not before it; `mark` and `pair` have room to note that of left sides. Alone, a run counts an element
    all the same.

    What is found, a left side with an element or a follower, goes to `left`, `right`, `first` (where counting began,
    or the end of the match that waited) and `which` (pair). Stops when there might be no room for it; goes on from the
    `cursor`.
    """
    i = cursor[0]
    j = cursor[1]
    m = cursor[2]
    found = cursor[3]
    while True:
        x = -1
        if i < count0:
            x = i
        if j < count1 and (x < 0 or turn[j] < turn[x]):
            x = j
        if m < len(turn) and (x < 0 or turn[m] < turn[x]):
            x = m
        if x < 0:
            break
        x1 = start[x]
        x2 = end[x]
        g = group[x]
        if x < count0:
            i += 1
            b = lists[2 * g + 1]
            if newest and b >= 0:
                if end[b] > x2 or (end[b] == x2 and start[b] > x1):
                    continue
                waits[b] = 0
                size[g] -= 1
                lists[2 * g] = -1
                lists[2 * g + 1] = -1
                b = -1
            while b >= 0 and (end[b] > x2 or (end[b] == x2 and start[b] > x1)):
                b = before[b]
            a = lists[2 * g] if b < 0 else after[b]
            after[x] = a
            before[x] = b
            if b >= 0:
                after[b] = x
            else:
                lists[2 * g] = x
            if a >= 0:
                before[a] = x
            else:
                lists[2 * g + 1] = x
            size[g] += 1
            waits[x] = 1
            listed[x] = x
            continue
        if x >= count1:
            h = other[x]
            if found + held[h] > len(left):
                break
            m += 1
            y = stores[2 * h + 1] if picks == 2 else stores[2 * h]
        else:
            if not followed and found + size[g] + 1 > len(left):
                break
            j += 1
            y = lists[2 * g + 1] if select == 2 else lists[2 * g]
        asked = asks_then if x >= count1 else asks
        if asked:
            for at in range(pairs[x], pairs[x + 1]):
                mark[pair_left[at]] = x
                pair[pair_left[at]] = at
        if len(misses) > 0 and x < count1:
            if alone and least[x] == 0:
                misses[x] += 1
                continue
            a = -1 if alone else lists[2 * g]
            while a >= 0:
                s = a if not grouped else slot[pair[a]] if mark[a] == x else -1
                if s >= 0 and least[s] == 0 and end[a] < x1 and (window < 0 or x2 - start[a] <= window):
                    misses[s] += 1
                a = after[a]
        extended = False
        while True:
            opens = False
            if y < 0:
                if not alone or x >= count1 or extended:
                    break
                y = x
                beyond = -1
                opens = True
            elif x >= count1:
                beyond = preceding[y] if picks == 2 else following[y]
            else:
                beyond = before[y] if select == 2 else after[y]
            hit = False
            gone = False
            unheld = False
            passes = True
            r = y
            s = y
            if x >= count1:
                r = owner[y]
                unheld = outer >= 0 and x2 - start[r] > outer
                hit = not unheld and matched[y] < x1 and x1 <= limit[r]
                if hit and asked:
                    hit = mark[y] == x and matched[y] >= pair_limit[pair[y]]
                if hit:
                    left[found] = y
                    right[found] = x
                    which[found] = pair[y] if asked else -1
                    first[found] = matched[y]
                    found += 1
                    unheld = consume
                    gone = consume and waits[r] == 1
            elif window >= 0 and x2 - start[y] > window:
                gone = True
            elif opens or (counted[y] if alone else end[y]) < x1:
                passes = not asked or mark[y] == x
                if passes and asked:
                    s = slot[pair[y]] if grouped else y
                    goes_on = number[s] > 0 and (most[s] < 0 or counted[s] < x1)
                    passes = (begun[s] if goes_on else x1) <= pair_limit[pair[y]]
                hit = alone or (passes and least[s] > 0)
            if hit and x < count1:
                extended = True
                complete = not counts
                origin = x1
                if counts and (number[s] == 0 or most[s] < 0 or counted[s] < x1):
                    if number[s] == 0:
                        begun[s] = x1
                    origin = begun[s]
                    number[s] += 1
                    counted[s] = x2
                    complete = number[s] >= least[s]
                    if number[s] == most[s] and not alone:
                        number[s] = 0
                gone = alone and not opens
                complete = complete and passes
                if complete and not followed:
                    left[found] = y
                    right[found] = x
                    which[found] = pair[y] if asked else -1
                    first[found] = origin
                    found += 1
                elif complete and matched[keeper[s]] == -4611686018427387904:
                    w = keeper[s]
                    h = home[w]
                    b = stores[2 * h + 1]
                    keeps = True
                    if latest and b >= 0:
                        keeps = matched[b] < x2 or start[owner[b]] <= start[y]
                        if keeps:
                            matched[b] = -4611686018427387904
                            held[h] -= 1
                            stores[2 * h] = -1
                            stores[2 * h + 1] = -1
                            b = -1
                    if keeps:
                        while b >= 0 and matched[b] == x2 and start[owner[b]] > start[y]:
                            b = preceding[b]
                        a = stores[2 * h] if b < 0 else following[b]
                        following[w] = a
                        preceding[w] = b
                        if b >= 0:
                            following[b] = w
                        else:
                            stores[2 * h] = w
                        if a >= 0:
                            preceding[a] = w
                        else:
                            stores[2 * h + 1] = w
                        matched[w] = x2
                        placed[w] = x
                        held[h] += 1
            if unheld:
                a = following[y]
                b = preceding[y]
                if b >= 0:
                    following[b] = a
                else:
                    stores[2 * home[y]] = a
                if a >= 0:
                    preceding[a] = b
                else:
                    stores[2 * home[y] + 1] = b
                matched[y] = -4611686018427387904
                held[home[y]] -= 1
            if gone:
                a = after[r]
                b = before[r]
                if b >= 0:
                    after[b] = a
                else:
                    lists[2 * group[r]] = a
                if a >= 0:
                    before[a] = b
                else:
                    lists[2 * group[r] + 1] = b
                waits[r] = 0
                size[group[r]] -= 1
            if alone and hit and x < count1 and number[y] != most[y]:
                b = lists[2 * g + 1]
                while b >= 0 and counted[b] == x2 and start[b] > start[y]:
                    b = before[b]
                a = lists[2 * g] if b < 0 else after[b]
                after[y] = a
                before[y] = b
                if b >= 0:
                    after[b] = y
                else:
                    lists[2 * g] = y
                if a >= 0:
                    before[a] = y
                else:
                    lists[2 * g + 1] = y
                waits[y] = 1
                listed[y] = x
                size[g] += 1
            if opens or (hit and (picks if x >= count1 else select) != 0):
                break
            y = beyond
    cursor[0] = i
    cursor[1] = j
    cursor[2] = m
    cursor[3] = found


@kernel
def list_pairs(
    own: int, window: int, group: Any, start: Any, end: Any, begins: Any, by_end: Any, left_start: Any, left_end: Any,
    pairs: Any, pair_left: Any,
) -> None:  # fmt: skip
    """List for each row the left sides of its group that ended before it starts, within a window.

    Group g has the left sides by_end[begins[g]:begins[g + 1]], in order of their ends; if `own` is not -1, row x is
    left side own + x and is listed with itself, too. Counts only where there is no room; `pairs` becomes where those of
    each row begin.
    """
    found = 0
    for x in range(len(pairs) - 1):
        pairs[x] = found
        for at in range(begins[group[x]], begins[group[x] + 1]):
            y = by_end[at]
            if left_end[y] >= start[x]:
                break
            if window < 0 or end[x] - left_start[y] <= window:
                if len(pair_left) > 0:
                    pair_left[found] = y
                found += 1
        if own >= 0:
            if len(pair_left) > 0:
                pair_left[found] = own + x
            found += 1
    pairs[len(pairs) - 1] = found


@kernel
def latest_before(group: Any, moment: Any, first: Any, end: Any, latest: Any, found: Any) -> None:
    """Raise each number to the latest start of a blocker of its group that ended before a moment."""
    for q in range(len(group)):
        if group[q] < 0:
            continue
        a = first[group[q]]
        b = first[group[q] + 1]
        while a < b:
            middle = (a + b) // 2
            if end[middle] < moment[q]:
                a = middle + 1
            else:
                b = middle
        if a > first[group[q]]:
            found[q] = max(found[q], latest[a - 1])
