"""What waits in the machine: rows in lists by store and key, in order of (end, start, arrival).

A store is one side of a join, or what a negated pattern left behind. A bucket holds the two lists of a key; an open
table finds it. Rows and buckets that are free stand in lists of their own.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.hash_tables import stir
from etalis.columnar.kernels.jit import inner, kernel, part
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.opcodes import MachineCode, Memory, Registers


@inner
def plain(word: int, which: int) -> int:
    """Return the word that is the same for all equal values of a type."""
    return 0 if word == t.MINUS_ZERO and which == t.REAL else word


@inner
def locate(store: int, at: int, creates: bool, tape: Any, rows: Any, row: int, work: Registers, memory: Memory) -> Any:
    """Return the bucket of an instance's key, -1 if there is none and none is to be made."""
    reg, key = work.reg, work.key
    buckets, table = memory.buckets, memory.table
    mixed = stir(t.SEED, store)
    width = tape[at]
    for i in range(width):
        word = plain(rows[row, t.C_WORDS + tape[at + 1 + 2 * i]], tape[at + 2 + 2 * i])
        key[i] = word
        mixed = stir(mixed, word)
    mask = len(table) - 1
    place = mixed & mask
    b = table[place]
    while b >= 0:
        if buckets[b, t.B_HASH] == mixed and buckets[b, t.B_STORE] == store:
            c = 0
            while c < width and buckets[b, t.B_KEY + c] == key[c]:
                c += 1
            if c == width:
                return b
        place = (place + 1) & mask
        b = table[place]
    if not creates:
        return -1
    b = reg[t.FREE_BUCKET]
    if b >= 0:
        reg[t.FREE_BUCKET] = buckets[b, t.B_LISTS]
    else:
        b = reg[t.BUCKETS]
        reg[t.BUCKETS] = b + 1
    buckets[b, t.B_STORE] = store
    buckets[b, t.B_HASH] = mixed
    for c in range(t.B_LISTS, t.B_KEY):
        buckets[b, c] = -1
    for c in range(width):
        buckets[b, t.B_KEY + c] = key[c]
    table[place] = b
    reg[t.KEYS] += 1
    return b


@part
def drop_bucket(b: int, reg: Any, buckets: Any, table: Any) -> None:
    """Take an empty bucket out of the table; those that were moved on because of it move back."""
    mask = len(table) - 1
    gap = buckets[b, t.B_HASH] & mask
    while table[gap] != b:
        gap = (gap + 1) & mask
    place = (gap + 1) & mask
    while table[place] >= 0:
        if ((place - buckets[table[place], t.B_HASH]) & mask) >= ((place - gap) & mask):
            table[gap] = table[place]
            gap = place
        place = (place + 1) & mask
    table[gap] = -1
    buckets[b, t.B_STORE] = -1
    buckets[b, t.B_LISTS] = reg[t.FREE_BUCKET]
    reg[t.FREE_BUCKET] = b
    reg[t.KEYS] -= 1


@inner
def new_row(reg: Any, links: Any) -> Any:
    """Return a row that nobody has."""
    x = reg[t.FREE_ROW]
    if x >= 0:
        reg[t.FREE_ROW] = links[x, 0]
    else:
        x = reg[t.ROWS]
        reg[t.ROWS] = x + 1
    reg[t.LIVE] += 1
    return x


@part
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
    links[x, 0] = reg[t.FREE_ROW]
    reg[t.FREE_ROW] = x
    reg[t.LIVE] -= 1


@inner
def link(x: int, b: int, at: int, cells: Any, links: Any, buckets: Any) -> None:
    """Put a row into the list of a bucket that begins at `at`, in order of (end, start, arrival)."""
    before = buckets[b, at + 1]
    while before >= 0 and (
        cells[before, t.C_END] > cells[x, t.C_END]
        or (cells[before, t.C_END] == cells[x, t.C_END] and cells[before, t.C_START] > cells[x, t.C_START])
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


@inner
def block(number: int, at: int, code: MachineCode, rows: Any, row: int, work: Registers, memory: Memory) -> None:
    """Note that a negated pattern has occurred, with the latest start so far; of one kind the first is enough."""
    tests = code.tests
    cells, links, buckets, _ = memory
    store = tests[number, t.T_STORE]
    b = locate(store, at, True, code.tape, rows, row, work, memory)
    if buckets[b, t.B_LISTS] >= 0 and tests[number, t.T_WHERE] == t.BEFORE and tests[number, t.T_WINDOW] < 0:
        return
    x = new_row(work.reg, links)
    last = buckets[b, t.B_LISTS + 1]
    cells[x, t.C_START] = rows[row, t.C_START]
    cells[x, t.C_END] = rows[row, t.C_END]
    cells[x, t.C_WORDS] = max(rows[row, t.C_START], rows[row, t.C_START] if last < 0 else cells[last, t.C_WORDS])
    links[x, 0] = -1
    links[x, 1] = last
    if last >= 0:
        links[last, 0] = x
    else:
        buckets[b, t.B_LISTS] = x
    buckets[b, t.B_LISTS + 1] = x
    while (
        tests[number, t.T_KEEP] >= 0
        and cells[buckets[b, t.B_LISTS], t.C_END] < rows[row, t.C_END] - tests[number, t.T_KEEP]
    ):
        unlink(buckets[b, t.B_LISTS], b, t.B_LISTS, work.reg, links, buckets)


@inner
def is_blocked(number: int, code: MachineCode, depth: int, work: Registers, memory: Memory) -> bool:
    """Tell whether a negated pattern occurred where it must not, for an instance."""
    tests, flow = code.tests, work.flow
    cells, links, buckets, _ = memory
    store = tests[number, t.T_STORE]
    b = locate(store, tests[number, t.T_KEY], False, code.tape, flow, depth, work, memory)
    if b < 0:
        return False
    high = flow[depth, t.C_END]
    low = t.MINUS_ZERO
    if tests[number, t.T_WHERE] == t.GAP:
        low = flow[depth, t.C_WORDS + tests[number, t.T_FIRST]]
        high = flow[depth, t.C_WORDS + tests[number, t.T_LAST]]
    elif tests[number, t.T_WHERE] == t.INSIDE:
        low = flow[depth, t.C_START]
    elif tests[number, t.T_WINDOW] >= 0:
        low = high - tests[number, t.T_WINDOW] - 1
    y = buckets[b, t.B_LISTS + 1]
    while y >= 0 and cells[y, t.C_END] >= high:
        y = links[y, 1]
    return bool(y >= 0 and cells[y, t.C_WORDS] > low)


@kernel
def fill_table(buckets: Any, table: Any) -> None:
    """Put buckets into an empty table, those that are free aside."""
    mask = len(table) - 1
    for b in range(len(buckets)):
        if buckets[b, t.B_STORE] != -1:
            place = buckets[b, t.B_HASH] & mask
            while table[place] >= 0:
                place = (place + 1) & mask
            table[place] = b


@kernel
def sweep(now: int, code: MachineCode, reg: Any, memory: Memory) -> None:
    """Drop what has waited too long, and buckets that nothing is left in."""
    nodes, tests = code.nodes, code.tests
    cells, links, buckets, table = memory
    for b in range(reg[t.BUCKETS]):
        store = buckets[b, t.B_STORE]
        if store == -1:
            continue
        for side in range(2):
            at = t.B_LISTS + 2 * side
            keep = nodes[store, t.RETAIN + side] if store >= 0 else tests[-2 - store, t.T_KEEP]
            while keep >= 0 and buckets[b, at] >= 0 and cells[buckets[b, at], t.C_END] < now - keep:
                unlink(buckets[b, at], b, at, reg, links, buckets)
        if buckets[b, t.B_LISTS] < 0 and buckets[b, t.B_LISTS + 2] < 0:
            drop_bucket(b, reg, buckets, table)


@kernel
def list_rows(reg: Any, memory: Memory, found: Any) -> None:
    """List all rows that wait, those of a list in order: the row, its bucket, its side."""
    links, buckets = memory.links, memory.buckets
    at = 0
    for b in range(reg[t.BUCKETS]):
        if buckets[b, t.B_STORE] == -1:
            continue
        for side in range(2):
            x = buckets[b, t.B_LISTS + 2 * side]
            while x >= 0:
                found[at, 0] = x
                found[at, 1] = b
                found[at, 2] = side
                at += 1
                x = links[x, 0]


@kernel
def put_rows(store: int, side: int, rows: Any, code: MachineCode, work: Registers, memory: Memory) -> None:
    """Let rows wait in a store, for which there is room; those of one key come in order."""
    cells, links, buckets, _ = memory
    for row in range(len(rows)):
        if store < 0:
            block(-2 - store, code.tests[-2 - store, t.T_OWN], code, rows, row, work, memory)
            continue
        b = locate(store, code.nodes[store, t.KEY_OF + side], True, code.tape, rows, row, work, memory)
        x = new_row(work.reg, links)
        for c in range(rows.shape[1]):
            cells[x, c] = rows[row, c]
        link(x, b, t.B_LISTS + 2 * side, cells, links, buckets)
