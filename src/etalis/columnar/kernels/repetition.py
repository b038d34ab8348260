"""Kernels of repetitions: elements counted after left sides, and what follows them.

Three kinds of rows arrive by turn, and `repeat` has a function for each: a left side begins to wait, an element is
counted after left sides that wait, a follower is matched with what was counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import inner, kernel
from etalis.columnar.kernels.lists import Lists, clear, insert, predecessor, remove
from etalis.columnar.kernels.matching import ALL, LATEST, NO_WINDOW

LEFT, ELEMENT, FOLLOWER, FOUND = range(4)  # places of a cursor
NO_MATCH = -(1 << 62)  # the end of a match, where none waits
ANY_NUMBER, NO_COUNT = -1, 0  # as the most and the least of a left side: no bound, and bounds that are no counts
NO_PAIR = -1
NOT_OWN = -1


class Repeating(NamedTuple):
    """What the rule says, of elements and then of followers.

    `alone`: the first element of a run is its left side, which takes its rank from the last one. `newest`: only the
    newest left side waits; `latest_match`: only the newest match does. `counts`: else every element is a match. `asks`
    and `asks_followers`: only `Candidates` may be matched. `grouped`: left sides count per group of elements.
    """

    alone: bool
    select: int
    newest: bool
    counts: bool
    window: int
    asks: bool
    grouped: bool
    followed: bool
    picks: int
    consume: bool
    latest_match: bool
    outer_window: int
    asks_followers: bool


class RepetitionRows(NamedTuple):
    """All rows in one set of arrays: left sides, from `elements` on elements, from `followers` on followers.

    `group` has the list of left sides that a row belongs to, or, of a follower, the list of matches that it looks at.
    """

    elements: int
    followers: int
    turn: Any
    start: Any
    end: Any
    group: Any


class LeftSides(NamedTuple):
    """Left sides that wait, in lists by group; `listed` is the row that put each there, `limit` when it is over."""

    lists: Lists
    size: Any
    waits: Any
    listed: Any
    limit: Any


class Counters(NamedTuple):
    """What left sides have counted, by slot: each is its own, or has one per group of elements (`of_pair`).

    There are to be `least` to `most` elements; `misses` notes where these are no counts, if there is room. The
    first of a `number` of elements began at `begun`, the last ended at `counted`. The `keeper` of a slot has its match.
    """

    least: Any
    most: Any
    misses: Any
    number: Any
    begun: Any
    counted: Any
    owner: Any
    keeper: Any
    of_pair: Any


class Matches(NamedTuple):
    """Matches that wait for followers, by slot, in lists by `home`: the `end` of each, and the row that `placed` it."""

    lists: Lists
    size: Any
    end: Any
    placed: Any
    home: Any


class Candidates(NamedTuple):
    """Row x may be matched with left[first[x]:first[x + 1]] only, if counting began not after the `limit`.

    For a follower: if the match ended not before it. `mark` and `pair` have room to note that of left sides or slots.
    """

    first: Any
    left: Any
    limit: Any
    mark: Any
    pair: Any


class FoundRows(NamedTuple):
    """Room for what is found: a left side or slot, the row, where counting began or the match ended, which pair."""

    left: Any
    right: Any
    first: Any
    pair: Any


@inner
def add_left(x: int, how: Repeating, rows: RepetitionRows, lefts: LeftSides) -> None:
    """Let a left side wait."""
    g = rows.group[x]
    last = lefts.lists.ends[2 * g + 1]
    b = predecessor(lefts.lists, g, rows.start, rows.end, x)
    if how.newest and last >= 0:
        if b != last:
            return
        lefts.waits[last] = 0
        lefts.size[g] -= 1
        clear(lefts.lists, g)
        b = -1
    insert(lefts.lists, g, b, x)
    lefts.size[g] += 1
    lefts.waits[x] = 1
    lefts.listed[x] = x


@inner
def mark_candidates(x: int, candidates: Candidates) -> None:
    """Note which left sides row x may be matched with."""
    for at in range(candidates.first[x], candidates.first[x + 1]):
        candidates.mark[candidates.left[at]] = x
        candidates.pair[candidates.left[at]] = at


@inner
def note_misses(
    x: int, how: Repeating, rows: RepetitionRows, lefts: LeftSides, counters: Counters, candidates: Candidates
) -> None:
    """Note the slots that would count an element, had they bounds that are counts."""
    a = lefts.lists.ends[2 * rows.group[x]]
    while a >= 0:
        s = a
        if how.grouped:
            s = counters.of_pair[candidates.pair[a]] if candidates.mark[a] == x else -1
        inside = how.window == NO_WINDOW or rows.end[x] - rows.start[a] <= how.window
        if s >= 0 and counters.least[s] == NO_COUNT and rows.end[a] < rows.start[x] and inside:
            counters.misses[s] += 1
        a = lefts.lists.after[a]


@inner
def write(found: FoundRows, at: int, left: int, right: int, first: int, pair: int) -> int:
    """Write down what is found; return the next place."""
    found.left[at] = left
    found.right[at] = right
    found.first[at] = first
    found.pair[at] = pair
    return at + 1


@inner
def leave(lefts: LeftSides, g: int, x: int) -> None:
    """Let a left side wait no longer."""
    remove(lefts.lists, g, x)
    lefts.waits[x] = 0
    lefts.size[g] -= 1


@inner
def hold_match(w: int, x: int, start: int, how: Repeating, rows: RepetitionRows, owner: Any, matches: Matches) -> None:
    """Let the match of slot w, which ends with element x, wait for followers."""
    h = matches.home[w]
    b = matches.lists.ends[2 * h + 1]
    if how.latest_match and b >= 0:
        if matches.end[b] >= rows.end[x] and rows.start[owner[b]] > start:
            return
        matches.end[b] = NO_MATCH
        matches.size[h] -= 1
        clear(matches.lists, h)
        b = -1
    while b >= 0 and matches.end[b] == rows.end[x] and rows.start[owner[b]] > start:
        b = matches.lists.before[b]
    insert(matches.lists, h, b, w)
    matches.end[w] = rows.end[x]
    matches.placed[w] = x
    matches.size[h] += 1


@inner
def add_element(
    x: int, at: int, how: Repeating, rows: RepetitionRows, lefts: LeftSides, counters: Counters, matches: Matches,
    candidates: Candidates, found: FoundRows,
) -> int:  # fmt: skip
    """Count an element after the left sides that its policy selects; return the next place in `found`."""
    least, most, misses, number, begun, counted, owner, keeper, of_pair = counters
    x1 = rows.start[x]
    x2 = rows.end[x]
    g = rows.group[x]
    if how.asks:
        mark_candidates(x, candidates)
    if len(misses) > 0:
        if how.alone and least[x] == NO_COUNT:
            misses[x] += 1
            return at
        if not how.alone:
            note_misses(x, how, rows, lefts, counters, candidates)
    y = lefts.lists.ends[2 * g + 1] if how.select == LATEST else lefts.lists.ends[2 * g]
    extended = False
    while y >= 0 or (how.alone and not extended):
        opens = y < 0  # nobody has counted it, so it begins a run
        if opens:
            y = x
            beyond = -1
        else:
            beyond = lefts.lists.before[y] if how.select == LATEST else lefts.lists.after[y]
        hit = False
        gone = False
        passes = True
        s = y
        if how.window != NO_WINDOW and x2 - rows.start[y] > how.window:
            gone = not opens
        elif opens or (counted[y] if how.alone else rows.end[y]) < x1:
            if how.asks:
                passes = candidates.mark[y] == x
                if passes:
                    pair = candidates.pair[y]
                    s = of_pair[pair] if how.grouped else y
                    goes_on = number[s] > 0 and (most[s] == ANY_NUMBER or counted[s] < x1)
                    passes = (begun[s] if goes_on else x1) <= candidates.limit[pair]
            hit = how.alone or (passes and least[s] != NO_COUNT)
        if hit:
            extended = True
            complete = not how.counts
            origin = x1
            if how.counts and (number[s] == 0 or most[s] == ANY_NUMBER or counted[s] < x1):
                if number[s] == 0:
                    begun[s] = x1
                origin = begun[s]
                number[s] += 1
                counted[s] = x2
                complete = number[s] >= least[s]
                if number[s] == most[s] and not how.alone:
                    number[s] = 0
            gone = how.alone and not opens
            if complete and passes:
                if not how.followed:
                    at = write(found, at, y, x, origin, candidates.pair[y] if how.asks else NO_PAIR)
                elif matches.end[keeper[s]] == NO_MATCH:
                    hold_match(keeper[s], x, rows.start[y], how, rows, owner, matches)
        if gone:
            leave(lefts, rows.group[y], y)
        if how.alone and hit and number[y] != most[y]:
            b = lefts.lists.ends[2 * g + 1]
            while b >= 0 and counted[b] == x2 and rows.start[b] > rows.start[y]:
                b = lefts.lists.before[b]
            insert(lefts.lists, g, b, y)
            lefts.waits[y] = 1
            lefts.listed[y] = x
            lefts.size[g] += 1
        if opens or (hit and how.select != ALL):
            break
        y = beyond
    return at


@inner
def add_follower(
    x: int, at: int, how: Repeating, rows: RepetitionRows, lefts: LeftSides, owner: Any, matches: Matches,
    candidates: Candidates, found: FoundRows,
) -> int:  # fmt: skip
    """Match a follower with the matches that its policy picks; return the next place in `found`."""
    x1 = rows.start[x]
    h = rows.group[x]
    if how.asks_followers:
        mark_candidates(x, candidates)
    y = matches.lists.ends[2 * h + 1] if how.picks == LATEST else matches.lists.ends[2 * h]
    while y >= 0:
        beyond = matches.lists.before[y] if how.picks == LATEST else matches.lists.after[y]
        r = owner[y]
        over = how.outer_window != NO_WINDOW and rows.end[x] - rows.start[r] > how.outer_window
        hit = not over and matches.end[y] < x1 and x1 <= lefts.limit[r]
        if hit and how.asks_followers:
            hit = candidates.mark[y] == x and matches.end[y] >= candidates.limit[candidates.pair[y]]
        if hit:
            pair = candidates.pair[y] if how.asks_followers else NO_PAIR
            at = write(found, at, y, x, matches.end[y], pair)
        if over or (hit and how.consume):
            remove(matches.lists, matches.home[y], y)
            matches.end[y] = NO_MATCH
            matches.size[matches.home[y]] -= 1
        if hit and how.consume and lefts.waits[r] == 1:
            leave(lefts, rows.group[r], r)
        if hit and how.picks != ALL:
            break
        y = beyond
    return at


@kernel
def repeat(
    how: Repeating, rows: RepetitionRows, lefts: LeftSides, counters: Counters, matches: Matches,
    candidates: Candidates, found: FoundRows, cursor: Any,
) -> None:  # fmt: skip
    """Count elements after left sides, or alone, and match what follows, by turn.

    Stops when there might be no room for what is found; goes on from the `cursor`.
    """
    turn = rows.turn
    i = cursor[LEFT]
    j = cursor[ELEMENT]
    m = cursor[FOLLOWER]
    at = cursor[FOUND]
    while True:
        x = -1
        if i < rows.elements:
            x = i
        if j < rows.followers and (x < 0 or turn[j] < turn[x]):
            x = j
        if m < len(turn) and (x < 0 or turn[m] < turn[x]):
            x = m
        if x < 0:
            break
        if x < rows.elements:
            i += 1
            add_left(x, how, rows, lefts)
        elif x < rows.followers:
            if not how.followed and at + lefts.size[rows.group[x]] + 1 > len(found.left):
                break
            j += 1
            at = add_element(x, at, how, rows, lefts, counters, matches, candidates, found)
        else:
            if at + matches.size[rows.group[x]] > len(found.left):
                break
            m += 1
            at = add_follower(x, at, how, rows, lefts, counters.owner, matches, candidates, found)
    cursor[LEFT] = i
    cursor[ELEMENT] = j
    cursor[FOLLOWER] = m
    cursor[FOUND] = at


class ByEnd(NamedTuple):
    """Left sides in groups, those of group g at rows[first[g]:first[g + 1]], in order of their ends."""

    first: Any
    rows: Any
    start: Any
    end: Any


@kernel
def list_pairs(
    own: int, window: int, group: Any, start: Any, end: Any, lefts: ByEnd, pairs: Any, pair_left: Any
) -> None:
    """List for each row the left sides of its group that ended before it starts, within a window.

    If `own` is not -1, row x is left side own + x and is listed with itself, too. Counts only where there is no room;
    `pairs` becomes where those of each row begin.
    """
    found = 0
    for x in range(len(pairs) - 1):
        pairs[x] = found
        for at in range(lefts.first[group[x]], lefts.first[group[x] + 1]):
            y = lefts.rows[at]
            if lefts.end[y] >= start[x]:
                break
            if window == NO_WINDOW or end[x] - lefts.start[y] <= window:
                if len(pair_left) > 0:
                    pair_left[found] = y
                found += 1
        if own != NOT_OWN:
            if len(pair_left) > 0:
                pair_left[found] = own + x
            found += 1
    pairs[len(pairs) - 1] = found
