"""Rules event at a time, compiled: a machine that knows no program and runs the tables that `tables_of_rules` writes.

A word of 64 bits stands for a value, a row of words for an event or an instance. An event is offered to the leaves of
its kind; a match climbs to its head before the next leaf is tried, over a stack of frames, one per join on its way.
What it makes waits for the next round, as language.md section 2 says. The machine stops where it needs something, an
array with more room or the answer to a condition, with all it knows in `reg`, and goes on from there. Law: every turn
of the loop takes at most one row, bucket, event and frame, so that room is looked at in one place.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from etalis.columnar.kernels import ALL, HULL, LATEST, NEVER, NEWEST, ON_A, UNMATCHED, allows, kernel, length, stir

# What the machine knows between two calls, by place in `reg`.
(
    MODE, ROW, ROUND, HIGH, AT, LEAF, DEPTH, NODE, TEST, ANSWER, NOW, MADE, EVENTS, FREE_ROW, ROWS, FREE_BUCKET,
    BUCKETS, KEYS, SEEN, EPOCH, LIVE, TURN, REGISTERS,
) = range(23)  # fmt: skip
NEXT, OFFER, UP, TESTING, PROBE, BACK = range(6)  # modes
DONE, MORE_ROWS, MORE_BUCKETS, MORE_EVENTS, MORE_SEEN, WANTS_RANKS, ASKS, TOO_MANY = range(8)  # why it stops

# Nodes: what they are, who reads them, their tests; then what joins have, or where sources have their checks and moves.
SOURCE, JOIN, FILTER, UNION = range(4)
INPUT, HEAD, BLOCKER = range(3)
(
    KIND, READER, READ_BY, PLACE, LIFT, TESTS, WIDTH, SELECT, CONSUME, KEEP, OCCURS, WITHIN, RETAIN, RETAIN_RIGHT,
    RELATION, KEY_OF, KEY_OF_RIGHT, MERGE, MERGE_RIGHT, CHECKS, MOVES, NODE_FIELDS,
) = range(22)  # fmt: skip
OF_ARRIVED, OF_WAITING, END_OF_LEFT, START_OF_RIGHT, NOTHING = range(5)  # where a merge takes a word from
VALUE, PLACE_OF, NO_VALUE = range(3)  # what an attribute must equal
WINDOW, CODE, ASK, ABSENT = range(4)  # tests
T_KIND, T_AT, T_STORE, T_KEY, T_WHERE, T_FIRST, T_LAST, T_WINDOW, T_KEEP, TEST_FIELDS = range(10)
GAP, INSIDE, BEFORE = range(3)
F_JOIN, F_SIDE, F_Y, F_NEXT, F_BUCKET, F_MATCHED, F_WIDTH, FRAME_FIELDS = range(8)
B_STORE, B_HASH, B_LISTS, B_KEY = 0, 1, 2, 6
E_KIND, E_START, E_END, E_RULE, E_TURN, E_WORDS = range(6)
C_START, C_END, C_WORDS = range(3)
WHOLE, REAL, TEXT = range(3)  # types of words

NULL = -0x7EDCBA9876543211  # the word of a null among integers
MINUS_ZERO = -(1 << 63)  # the word of -0.0, which equals 0.0
_SEED = 0x1E3779B97F4A7C15

(
    LOAD, CONST, TO_REAL, ADD, SUB, MUL, LESSER, GREATER, NEGATE, ABSOLUTE, ADD_R, SUB_R, MUL_R, NEGATE_R, ABSOLUTE_R,
    SAME, EQUAL, LESS, AT_MOST, SAME_R, EQUAL_R, LESS_R, AT_MOST_R, NOT, UNLESS, IF_NOT, UNLESS_NOT, JUMP, BIND, END,
) = range(30)  # fmt: skip
CALC = 64  # how many words a calculation may hold
_EXACT = 1 << 53
_LARGE = float(1 << 62)
TRUE, FALSE, INEXACT = 1, 0, 2


def part(function: Any) -> Any:
    """Make a function a part of the kernels that call it: arrays are handed to it for nothing."""
    return njit(inline="always")(function)


@kernel
def plain(word: int, which: int) -> int:
    """Return the word that is the same for all equal values of a type."""
    return 0 if word == MINUS_ZERO and which == REAL else word


@kernel
def locate(
    store: int, at: int, creates: bool, tape: Any, rows: Any, row: int, reg: Any, key: Any, buckets: Any, table: Any
) -> Any:
    """Return the bucket of an instance's key, -1 if there is none and none is to be made."""
    mixed = stir(_SEED, store)
    width = tape[at]
    for i in range(width):
        word = plain(rows[row, C_WORDS + tape[at + 1 + 2 * i]], tape[at + 2 + 2 * i])
        key[i] = word
        mixed = stir(mixed, word)
    mask = len(table) - 1
    place = mixed & mask
    b = table[place]
    while b >= 0:
        if buckets[b, B_HASH] == mixed and buckets[b, B_STORE] == store:
            c = 0
            while c < width and buckets[b, B_KEY + c] == key[c]:
                c += 1
            if c == width:
                return b
        place = (place + 1) & mask
        b = table[place]
    if not creates:
        return -1
    b = reg[FREE_BUCKET]
    if b >= 0:
        reg[FREE_BUCKET] = buckets[b, B_LISTS]
    else:
        b = reg[BUCKETS]
        reg[BUCKETS] = b + 1
    buckets[b, B_STORE] = store
    buckets[b, B_HASH] = mixed
    for c in range(B_LISTS, B_KEY):
        buckets[b, c] = -1
    for c in range(width):
        buckets[b, B_KEY + c] = key[c]
    table[place] = b
    reg[KEYS] += 1
    return b


@kernel
def drop_bucket(b: int, reg: Any, buckets: Any, table: Any) -> None:
    """Take an empty bucket out of the table; those that were moved on because of it move back."""
    mask = len(table) - 1
    gap = buckets[b, B_HASH] & mask
    while table[gap] != b:
        gap = (gap + 1) & mask
    place = (gap + 1) & mask
    while table[place] >= 0:
        if ((place - buckets[table[place], B_HASH]) & mask) >= ((place - gap) & mask):
            table[gap] = table[place]
            gap = place
        place = (place + 1) & mask
    table[gap] = -1
    buckets[b, B_STORE] = -1
    buckets[b, B_LISTS] = reg[FREE_BUCKET]
    reg[FREE_BUCKET] = b
    reg[KEYS] -= 1


@part
def new_row(reg: Any, links: Any) -> Any:
    """Return a row that nobody has."""
    x = reg[FREE_ROW]
    if x >= 0:
        reg[FREE_ROW] = links[x, 0]
    else:
        x = reg[ROWS]
        reg[ROWS] = x + 1
    reg[LIVE] += 1
    return x


@kernel
def unlink(x: int, b: int, at: int, reg: Any, links: Any, buckets: Any) -> None:
    """Take a row out of the list of a bucket that begins at `at`."""
    after = links[x, 0]
    before = links[x, 1]
    if before >= 0:
        links[before, 0] = after
    else:
        buckets[b, at] = after
    if after >= 0:
        links[after, 1] = before
    else:
        buckets[b, at + 1] = before
    links[x, 0] = reg[FREE_ROW]
    reg[FREE_ROW] = x
    reg[LIVE] -= 1


@part
def link(x: int, b: int, at: int, cells: Any, links: Any, buckets: Any) -> None:
    """Put a row into the list of a bucket that begins at `at`, in order of (end, start, arrival)."""
    before = buckets[b, at + 1]
    while before >= 0 and (
        cells[before, C_END] > cells[x, C_END]
        or (cells[before, C_END] == cells[x, C_END] and cells[before, C_START] > cells[x, C_START])
    ):
        before = links[before, 1]
    after = buckets[b, at] if before < 0 else links[before, 0]
    links[x, 0] = after
    links[x, 1] = before
    if before >= 0:
        links[before, 0] = x
    else:
        buckets[b, at] = x
    if after >= 0:
        links[after, 1] = x
    else:
        buckets[b, at + 1] = x


@kernel
def calculate(tape: Any, at: int, flow: Any, depth: int, calc: Any, calc_r: Any) -> Any:
    """Run the code of a condition on an instance; INEXACT where 64 bits do not hold a result, or a number is null."""
    top = -1
    while True:
        op = tape[at]
        at += 1
        if op == LOAD:
            top += 1
            calc[top] = flow[depth, C_WORDS + tape[at]]
            at += 1
        elif op == CONST:
            top += 1
            calc[top] = tape[at]
            at += 1
        elif op == BIND:
            flow[depth, C_WORDS + tape[at]] = calc[top]
            calc[top] = TRUE
            at += 1
        elif op == NOT:
            calc[top] = 1 - calc[top]
        elif op == UNLESS:  # false decides
            if calc[top] == FALSE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == UNLESS_NOT:  # true decides
            if calc[top] == TRUE:
                at += tape[at]
            else:
                top -= 1
                at += 1
        elif op == IF_NOT:
            top -= 1
            at += tape[at] if calc[top + 1] == FALSE else 1
        elif op == JUMP:
            at += tape[at]
        elif op == END:
            return calc[top]
        elif op == SAME:
            top -= 1
            calc[top] = TRUE if calc[top] == calc[top + 1] else FALSE
        elif op == TO_REAL:
            if calc[top] == NULL or calc[top] > _EXACT or calc[top] < -_EXACT:
                return INEXACT
            calc_r[top] = float(calc[top])
        elif NEGATE <= op <= ABSOLUTE:
            if calc[top] == NULL or calc[top] == MINUS_ZERO:
                return INEXACT
            if op == NEGATE or calc[top] < 0:
                calc[top] = -calc[top]
        elif NEGATE_R <= op <= ABSOLUTE_R:
            if calc_r[top] - calc_r[top] != 0.0:
                return INEXACT
            if op == NEGATE_R or calc_r[top] < 0:
                calc_r[top] = -calc_r[top]
        elif op < ADD_R or EQUAL <= op <= AT_MOST:
            top -= 1
            p = calc[top]
            q = calc[top + 1]
            if p == NULL or q == NULL:
                return INEXACT
            if op == EQUAL:
                calc[top] = TRUE if p == q else FALSE
            elif op == LESS:
                calc[top] = TRUE if p < q else FALSE
            elif op == AT_MOST:
                calc[top] = TRUE if p <= q else FALSE
            elif op == LESSER:
                calc[top] = min(p, q)
            elif op == GREATER:
                calc[top] = max(p, q)
            else:
                about = float(p) + q if op == ADD else float(p) - q if op == SUB else float(p) * q
                if about > _LARGE or about < -_LARGE:
                    return INEXACT
                calc[top] = p + q if op == ADD else p - q if op == SUB else p * q
                if calc[top] == NULL:
                    return INEXACT
        else:
            top -= 1
            r = calc_r[top]
            s = calc_r[top + 1]
            if op == SAME_R:
                calc[top] = TRUE if r == s or calc[top] == calc[top + 1] else FALSE
            elif r != r or s != s:
                return INEXACT
            elif op == EQUAL_R:
                calc[top] = TRUE if r == s else FALSE
            elif op == LESS_R:
                calc[top] = TRUE if r < s else FALSE
            elif op == AT_MOST_R:
                calc[top] = TRUE if r <= s else FALSE
            else:
                calc_r[top] = r + s if op == ADD_R else r - s if op == SUB_R else r * s
                if calc_r[top] - calc_r[top] != 0.0:
                    return INEXACT
    return INEXACT


@kernel
def is_blocked(
    tests: Any, t: int, tape: Any, reg: Any, flow: Any, depth: int, key: Any, cells: Any, links: Any, buckets: Any,
    table: Any,
) -> bool:  # fmt: skip
    """Tell whether a negated pattern occurred where it must not, for an instance."""
    store = tests[t, T_STORE]
    b = locate(store, tests[t, T_KEY], False, tape, flow, depth, reg, key, buckets, table)
    if b < 0:
        return False
    high = flow[depth, C_END]
    low = MINUS_ZERO
    if tests[t, T_WHERE] == GAP:
        low = flow[depth, C_WORDS + tests[t, T_FIRST]]
        high = flow[depth, C_WORDS + tests[t, T_LAST]]
    elif tests[t, T_WHERE] == INSIDE:
        low = flow[depth, C_START]
    elif tests[t, T_WINDOW] >= 0:
        low = high - tests[t, T_WINDOW] - 1
    y = buckets[b, B_LISTS + 1]
    while y >= 0 and cells[y, C_END] >= high:
        y = links[y, 1]
    return bool(y >= 0 and cells[y, C_WORDS] > low)


@kernel
def compare(e: int, f: int, events: Any, kinds: Any, ranks: Any) -> int:
    """Compare two events of a round and a start by the standard order of their atoms; 2 if texts have no ranks yet."""
    if events[e, E_KIND] != events[f, E_KIND]:
        return -1 if events[e, E_KIND] < events[f, E_KIND] else 1
    kind = events[e, E_KIND]
    for c in range(kinds[kind, 1]):
        p = events[e, E_WORDS + c]
        q = events[f, E_WORDS + c]
        if p == q:
            continue
        which = kinds[kind, 2 + c]
        if which == WHOLE:
            if p == NULL or q == NULL:
                return 1 if p == NULL else -1
        elif which == TEXT:
            if max(p, q) >= len(ranks):
                return 2
            p = ranks[p]
            q = ranks[q]
        else:
            # Bits of floats are in their order, but for negative ones, whose order is turned round; a null is last.
            if p == MINUS_ZERO:
                p = 0
            if q == MINUS_ZERO:
                q = 0
            if p < 0:
                p = MINUS_ZERO - p
            if q < 0:
                q = MINUS_ZERO - q
            if p == q:
                continue
        return -1 if p < q else 1
    return 0


@part
def by_order(e: int, f: int, events: Any, kinds: Any, ranks: Any) -> int:
    """Compare two events as `compare` does; mostly the start decides."""
    if events[e, E_START] != events[f, E_START]:
        return -1 if events[e, E_START] < events[f, E_START] else 1
    return compare(e, f, events, kinds, ranks)


@kernel
def sort_round(order: Any, low: int, high: int, events: Any, kinds: Any, ranks: Any) -> bool:
    """Sort the events of a round in place, as a heap; False if texts have no ranks yet."""
    at = low + 1
    while at < high:
        found = by_order(order[at - 1], order[at], events, kinds, ranks)
        if found == 2:
            return False
        if found > 0:
            break
        at += 1
    if at >= high:
        return True
    n = high - low
    for phase in range(n // 2 + n - 1):
        root = n // 2 - 1 - phase
        size = n
        if root < 0:  # the heap stands: its largest goes to the end
            root = 0
            size = n - 1 - (phase - n // 2)
            last = order[low + size]
            order[low + size] = order[low]
            order[low] = last
        moved = order[low + root]
        child = 2 * root + 1
        found = 0
        while child < size and found != 2:
            if child + 1 < size:
                found = by_order(order[low + child], order[low + child + 1], events, kinds, ranks)
                if found == -1:
                    child += 1
            if found != 2:
                found = by_order(order[low + child], moved, events, kinds, ranks)
                if found != 1:
                    break
                order[low + root] = order[low + child]
                root = child
                child = 2 * root + 1
        order[low + root] = moved
        if found == 2:
            return False
    return True


@kernel
def note(e: int, arity: int, kinds: Any, epoch: int, events: Any, seen: Any) -> bool:
    """Note an event among those of this stamp; tell whether it is new."""
    kind = events[e, E_KIND]
    mixed = stir(stir(_SEED, kind), events[e, E_START])
    for c in range(arity):
        mixed = stir(mixed, plain(events[e, E_WORDS + c], kinds[kind, 2 + c]))
    mask = len(seen) - 1
    place = mixed & mask
    while seen[place, 0] == epoch:
        f = seen[place, 1]
        if events[f, E_KIND] == kind and events[f, E_START] == events[e, E_START]:
            c = 0
            while c < arity and plain(events[e, E_WORDS + c], kinds[kind, 2 + c]) == plain(
                events[f, E_WORDS + c], kinds[kind, 2 + c]
            ):
                c += 1
            if c == arity:
                return False
        place = (place + 1) & mask
    seen[place, 0] = epoch
    seen[place, 1] = e
    return True


@kernel
def note_all(first: int, kinds: Any, reg: Any, events: Any, seen: Any) -> None:
    """Note the events from one on, which are of this stamp."""
    for e in range(first, reg[EVENTS]):
        note(e, kinds[events[e, E_KIND], 1], kinds, reg[EPOCH], events, seen)
        reg[SEEN] += 1


@kernel
def spread(buckets: Any, table: Any) -> None:
    """Put buckets into an empty table, those that are free aside."""
    mask = len(table) - 1
    for b in range(len(buckets)):
        if buckets[b, B_STORE] != -1:
            place = buckets[b, B_HASH] & mask
            while table[place] >= 0:
                place = (place + 1) & mask
            table[place] = b


@part
def make(head: int, turn: int, heads: Any, kinds: Any, tape: Any, reg: Any, flow: Any, depth: int, events: Any,
         order: Any, seen: Any) -> None:  # fmt: skip
    """Let a match become an event, unless there is such a one already; `turn` is where it would be the first."""
    e = reg[EVENTS]
    kind = heads[head, 0]
    events[e, E_KIND] = kind
    events[e, E_START] = flow[depth, C_START]
    events[e, E_END] = flow[depth, C_END]
    events[e, E_RULE] = heads[head, 1]
    events[e, E_TURN] = turn
    at = heads[head, 2]
    for c in range(kinds[kind, 1]):
        slot = tape[at + 2 * c]
        events[e, E_WORDS + c] = tape[at + 2 * c + 1] if slot < 0 else flow[depth, C_WORDS + slot]
    if note(e, kinds[kind, 1], kinds, reg[EPOCH], events, seen):
        order[e] = e
        reg[EVENTS] = e + 1
        reg[SEEN] += 1


@part
def matches(tape: Any, at: int, current: Any) -> bool:
    """Tell whether the attributes of an event are what a source asks for."""
    n = tape[at]
    at += 1
    for _ in range(n):
        word = tape[at + 3]
        if tape[at + 2] == PLACE_OF:
            word = plain(current[E_WORDS + word], tape[at + 1])
        if tape[at + 2] == NO_VALUE or plain(current[E_WORDS + tape[at]], tape[at + 1]) != word:
            return False
        at += 4
    return True


@part
def next_candidate(join: int, side: int, y: int, nodes: Any, flow: Any, depth: int, cells: Any, links: Any) -> int:
    """Return the first from `y` on that fits what has arrived, by relation and window."""
    a1 = b1 = flow[depth, C_START]
    a2 = b2 = flow[depth, C_END]
    while y >= 0:
        if side == 0:
            b1 = cells[y, C_START]
            b2 = cells[y, C_END]
        else:
            a1 = cells[y, C_START]
            a2 = cells[y, C_END]
        good = nodes[join, WITHIN] < 0 or length(nodes[join, OCCURS], a1, a2, b1, b2) <= nodes[join, WITHIN]
        if good and allows(nodes[join, RELATION], a1, a2, b1, b2):
            break
        y = links[y, 1] if nodes[join, SELECT] == LATEST else links[y, 0]
    return y


@part
def pair(join: int, side: int, y: int, nodes: Any, tape: Any, flow: Any, depth: int, cells: Any) -> None:
    """Put a pair, what has arrived and what waited, on the next place of the stack."""
    at = nodes[join, MERGE + side]
    up = depth + 1
    for c in range(tape[at]):
        source = tape[at + 1 + 2 * c]
        slot = C_WORDS + tape[at + 2 + 2 * c]
        if source == OF_ARRIVED:
            flow[up, C_WORDS + c] = flow[depth, slot]
        elif source == OF_WAITING:
            flow[up, C_WORDS + c] = cells[y, slot]
        elif source == END_OF_LEFT:
            flow[up, C_WORDS + c] = flow[depth, C_END] if side == 0 else cells[y, C_END]
        elif source == START_OF_RIGHT:
            flow[up, C_WORDS + c] = flow[depth, C_START] if side == 1 else cells[y, C_START]
    occurs = nodes[join, OCCURS]
    if occurs == HULL:
        flow[up, C_START] = min(flow[depth, C_START], cells[y, C_START])
        flow[up, C_END] = max(flow[depth, C_END], cells[y, C_END])
    elif (occurs == ON_A) == (side == 0):
        flow[up, C_START] = flow[depth, C_START]
        flow[up, C_END] = flow[depth, C_END]
    else:
        flow[up, C_START] = cells[y, C_START]
        flow[up, C_END] = cells[y, C_END]


@part
def stay(
    join: int, side: int, b: int, nodes: Any, reg: Any, flow: Any, depth: int, frames: Any, cells: Any, links: Any,
    buckets: Any, table: Any,
) -> None:  # fmt: skip
    """Let what has arrived wait on its side, if the policy says so."""
    own = B_LISTS + 2 * side
    keep = nodes[join, KEEP]
    stays = nodes[join, RETAIN + side] != NEVER and (keep != UNMATCHED or frames[depth, F_MATCHED] == 0)
    if keep == NEWEST and stays and b >= 0 and buckets[b, own] >= 0:
        z = buckets[b, own]
        x2 = flow[depth, C_END]
        if cells[z, C_END] > x2 or (cells[z, C_END] == x2 and cells[z, C_START] > flow[depth, C_START]):
            stays = False
        else:
            unlink(z, b, own, reg, links, buckets)
    if stays:
        x = new_row(reg, links)
        for c in range(C_WORDS + frames[depth, F_WIDTH]):
            cells[x, c] = flow[depth, c]
        link(x, b, own, cells, links, buckets)
    elif b >= 0 and buckets[b, B_LISTS] < 0 and buckets[b, B_LISTS + 2] < 0:
        drop_bucket(b, reg, buckets, table)


@part
def arrive(
    join: int, side: int, width: int, nodes: Any, tape: Any, reg: Any, flow: Any, depth: int, frames: Any, key: Any,
    cells: Any, links: Any, buckets: Any, table: Any,
) -> None:  # fmt: skip
    """Open the frame of an instance that comes to one side of a join; what has waited too long goes."""
    waits = nodes[join, RETAIN + side] != NEVER
    b = locate(join, nodes[join, KEY_OF + side], waits, tape, flow, depth, reg, key, buckets, table)
    y = -1
    if b >= 0:
        other = B_LISTS + 2 - 2 * side
        retain = nodes[join, RETAIN + 1 - side]
        while retain >= 0 and buckets[b, other] >= 0 and cells[buckets[b, other], C_END] < flow[depth, C_END] - retain:
            unlink(buckets[b, other], b, other, reg, links, buckets)
        y = buckets[b, other + 1] if nodes[join, SELECT] == LATEST else buckets[b, other]
    frames[depth, F_JOIN] = join
    frames[depth, F_SIDE] = side
    frames[depth, F_Y] = y
    frames[depth, F_BUCKET] = b
    frames[depth, F_MATCHED] = 0
    frames[depth, F_WIDTH] = width


@kernel
def block(
    t: int, at: int, tests: Any, tape: Any, reg: Any, flow: Any, depth: int, key: Any, cells: Any, links: Any,
    buckets: Any, table: Any,
) -> None:  # fmt: skip
    """Note that a negated pattern has occurred, with the latest start so far; of one kind the first is enough."""
    store = tests[t, T_STORE]
    b = locate(store, at, True, tape, flow, depth, reg, key, buckets, table)
    if buckets[b, B_LISTS] >= 0 and tests[t, T_WHERE] == BEFORE and tests[t, T_WINDOW] < 0:
        return
    x = new_row(reg, links)
    last = buckets[b, B_LISTS + 1]
    cells[x, C_START] = flow[depth, C_START]
    cells[x, C_END] = flow[depth, C_END]
    cells[x, C_WORDS] = max(flow[depth, C_START], flow[depth, C_START] if last < 0 else cells[last, C_WORDS])
    links[x, 0] = -1
    links[x, 1] = last
    if last >= 0:
        links[last, 0] = x
    else:
        buckets[b, B_LISTS] = x
    buckets[b, B_LISTS + 1] = x
    while tests[t, T_KEEP] >= 0 and cells[buckets[b, B_LISTS], C_END] < flow[depth, C_END] - tests[t, T_KEEP]:
        unlink(buckets[b, B_LISTS], b, B_LISTS, reg, links, buckets)


@kernel
def run(
    limit: int, place_bits: int, nodes: Any, tests: Any, heads: Any, kinds: Any, tape: Any,
    given: Any, reg: Any, current: Any, flow: Any, calc: Any, calc_r: Any, key: Any, frames: Any, cells: Any,
    links: Any, buckets: Any, table: Any, events: Any, order: Any, seen: Any, ranks: Any,
) -> int:  # fmt: skip
    """Take what is given, event by event, until it is over or something is wanted; return why it stops.

    A row of `given` is an event as in `events`. `order` has the events made, in the order of section 2; turns are
    as in `execute`, places in a round having so many bits.
    """
    mode = reg[MODE]
    depth = reg[DEPTH]
    node = reg[NODE]
    why = DONE
    while True:
        if reg[FREE_ROW] < 0 and reg[ROWS] >= len(cells):
            why = MORE_ROWS
            break
        if (reg[FREE_BUCKET] < 0 and reg[BUCKETS] >= len(buckets)) or 2 * reg[KEYS] >= len(table):
            why = MORE_BUCKETS
            break
        if reg[EVENTS] >= len(events):
            why = MORE_EVENTS
            break
        if 2 * reg[SEEN] >= len(seen):
            why = MORE_SEEN
            break
        if mode == BACK:
            if depth == 0:
                mode = OFFER
            else:
                depth -= 1
                mode = PROBE
        if mode == PROBE:
            join = frames[depth, F_JOIN]
            side = frames[depth, F_SIDE]
            y = next_candidate(join, side, frames[depth, F_Y], nodes, flow, depth, cells, links)
            if y < 0:
                b = frames[depth, F_BUCKET]
                stay(join, side, b, nodes, reg, flow, depth, frames, cells, links, buckets, table)
                mode = BACK
                continue
            frames[depth, F_Y] = y
            frames[depth, F_NEXT] = links[y, 1] if nodes[join, SELECT] == LATEST else links[y, 0]
            pair(join, side, y, nodes, tape, flow, depth, cells)
            depth += 1
            node = join
            reg[TEST] = 0
            mode = TESTING
        elif mode == OFFER:
            at = kinds[current[E_KIND], 0]
            if reg[LEAF] >= tape[at]:
                mode = NEXT
            else:
                reg[LEAF] += 1
                node = tape[at + reg[LEAF]]
                if not matches(tape, nodes[node, CHECKS], current):
                    continue
                at = nodes[node, MOVES]
                for c in range(nodes[node, WIDTH]):
                    flow[0, C_WORDS + c] = current[E_WORDS + tape[at + c]]
                flow[0, C_START] = current[E_START]
                flow[0, C_END] = current[E_END]
                mode = UP
        if mode == TESTING:
            at = nodes[node, TESTS]
            passes = TRUE
            while passes == TRUE and reg[TEST] < tape[at]:
                t = tape[at + 1 + reg[TEST]]
                if tests[t, T_KIND] == WINDOW:
                    passes = TRUE if flow[depth, C_END] - flow[depth, C_START] <= tests[t, T_WINDOW] else FALSE
                elif tests[t, T_KIND] == ABSENT:
                    if is_blocked(tests, t, tape, reg, flow, depth, key, cells, links, buckets, table):
                        passes = FALSE
                elif reg[ANSWER] != INEXACT:
                    passes = reg[ANSWER]
                    reg[ANSWER] = INEXACT
                elif tests[t, T_KIND] == CODE:
                    passes = calculate(tape, tests[t, T_AT], flow, depth, calc, calc_r)
                else:
                    passes = INEXACT
                if passes == TRUE:
                    reg[TEST] += 1
            if passes == INEXACT:
                why = ASKS
                break
            if nodes[node, KIND] == JOIN:
                y = frames[depth - 1, F_Y]
                frames[depth - 1, F_Y] = frames[depth - 1, F_NEXT]
                if passes == TRUE:
                    frames[depth - 1, F_MATCHED] = 1
                    if nodes[node, CONSUME] != 0:
                        at = B_LISTS + 2 - 2 * frames[depth - 1, F_SIDE]
                        unlink(y, frames[depth - 1, F_BUCKET], at, reg, links, buckets)
                    if nodes[node, SELECT] != ALL:
                        frames[depth - 1, F_Y] = -1
            mode = UP if passes == TRUE else BACK
        if mode == UP:
            reader = nodes[node, READ_BY]
            if nodes[node, READER] == HEAD:
                turn = reg[TURN] + ((reg[ROUND] + 1) << place_bits)
                make(reader, turn, heads, kinds, tape, reg, flow, depth, events, order, seen)
                mode = BACK
            elif nodes[node, READER] == BLOCKER:
                at = nodes[node, LIFT]
                block(reader, at, tests, tape, reg, flow, depth, key, cells, links, buckets, table)
                mode = BACK
            elif nodes[reader, KIND] == JOIN:
                side = nodes[node, PLACE]
                width = nodes[node, WIDTH]
                arrive(
                    reader, side, width, nodes, tape, reg, flow, depth, frames, key, cells, links, buckets, table
                )  # fmt: skip
                mode = PROBE
            else:
                at = nodes[node, LIFT]
                for c in range(tape[at]):
                    calc[c] = flow[depth, C_WORDS + tape[at + 1 + c]]
                for c in range(tape[at]):
                    flow[depth, C_WORDS + c] = calc[c]
                node = reader
                reg[TEST] = 0
                mode = TESTING
        if mode == NEXT:
            if reg[AT] + 1 < reg[HIGH]:
                reg[AT] += 1
            elif reg[EVENTS] > reg[HIGH]:
                if not sort_round(order, reg[HIGH], reg[EVENTS], events, kinds, ranks):
                    why = WANTS_RANKS
                    break
                reg[AT] = reg[HIGH]
                reg[HIGH] = reg[EVENTS]
                reg[ROUND] += 1
                for c in range(reg[AT], reg[HIGH]):
                    events[order[c], E_TURN] += c - reg[AT]
                reg[MADE] += reg[HIGH] - reg[AT]
                if reg[MADE] > limit:
                    why = TOO_MANY
                    break
            elif reg[ROW] + 1 < len(given):
                reg[ROW] += 1
                reg[ROUND] = 0
                reg[MADE] = 0
                reg[AT] = reg[HIGH] - 1
                for c in range(len(current)):
                    current[c] = given[reg[ROW], c]
                reg[TURN] = current[E_TURN]
                if current[E_END] != reg[NOW]:
                    reg[NOW] = current[E_END]
                    reg[EPOCH] += 1
                    reg[SEEN] = 0
                reg[LEAF] = 0
                mode = OFFER
                continue
            else:
                break
            e = order[reg[AT]]
            for c in range(len(current)):
                current[c] = events[e, c]
            reg[LEAF] = 0
            mode = OFFER
    reg[MODE] = mode
    reg[DEPTH] = depth
    reg[NODE] = node
    return why
