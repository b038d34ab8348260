"""Rules event at a time, compiled: a machine that knows no program and runs the tables that `lowering` writes.

An event is offered to the leaves of its kind; a match climbs to its head before the next leaf is tried, over a stack of
frames, one per join on its way. What it makes waits for the next round (definition 6.6). The machine
stops where it needs something, an array with more room or the answer to a condition, with all it knows in `reg`, and
goes on from there. Law: every turn of the loop takes at most two rows, a bucket and an event, so that room is looked at
in one place.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import inner, kernel
from etalis.columnar.kernels.matching import ALL, HULL, LATEST, NEVER, NEWEST, ON_A, UNMATCHED, allows, length
from etalis.columnar.recursion.evaluate import calculate
from etalis.columnar.recursion.opcodes import (
    ABSENT,
    ANSWER,
    ASKS,
    AT,
    B_LISTS,
    BACK,
    BLOCKER,
    C_END,
    C_START,
    C_WORDS,
    CHECKS,
    CODE,
    CONSUME,
    DEPTH,
    DONE,
    E_END,
    E_KIND,
    E_START,
    E_TURN,
    E_WORDS,
    END_OF_LEFT,
    EPOCH,
    EVENT,
    EVENTS,
    F_BUCKET,
    F_JOIN,
    F_MATCHED,
    F_NEXT,
    F_SIDE,
    F_WIDTH,
    F_Y,
    FALSE,
    HEAD,
    HIGH,
    INEXACT,
    JOIN,
    KEEP,
    KEY_OF,
    KEYS,
    KIND,
    LAST_ROW,
    LEAF,
    LIFT,
    LIVE,
    MADE,
    MERGE,
    MODE,
    MORE_BUCKETS,
    MORE_EVENTS,
    MORE_ROWS,
    MORE_SEEN,
    MOVES,
    NEXT,
    NO_VALUE,
    NODE,
    NOW,
    OCCURS,
    OF_ARRIVED,
    OF_WAITING,
    OFFER,
    PLACE,
    PLACE_OF,
    PROBE,
    READ_BY,
    READER,
    RELATION,
    RETAIN,
    ROUND,
    ROW,
    SEEN,
    SELECT,
    SINCE,
    START_OF_RIGHT,
    T_AT,
    T_KIND,
    T_WINDOW,
    TEST,
    TESTING,
    TESTS,
    TOO_MANY,
    TRUE,
    TURN,
    UP,
    WANTS_RANKS,
    WIDTH,
    WINDOW,
    WITHIN,
    Code,
    Events,
    Memory,
    Registers,
)
from etalis.columnar.recursion.rounds import make, sort_round
from etalis.columnar.recursion.store import block, drop_bucket, is_blocked, link, locate, new_row, plain, unlink


@inner
def matches(tape: Any, at: int, events: Any, e: int) -> bool:
    """Tell whether the attributes of an event are what a source asks for."""
    n = tape[at]
    at += 1
    for _ in range(n):
        word = tape[at + 3]
        if tape[at + 2] == PLACE_OF:
            word = plain(events[e, E_WORDS + word], tape[at + 1])
        if tape[at + 2] == NO_VALUE or plain(events[e, E_WORDS + tape[at]], tape[at + 1]) != word:
            return False
        at += 4
    return True


@inner
def next_candidate(join: int, side: int, y: int, nodes: Any, flow: Any, depth: int, memory: Memory) -> int:
    """Return the first from `y` on that fits what has arrived, by relation and window."""
    cells, links = memory.cells, memory.links
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


@inner
def pair(join: int, side: int, y: int, code: Code, flow: Any, depth: int, cells: Any) -> None:
    """Put a pair, what has arrived and what waited, on the next place of the stack."""
    nodes, tape = code.nodes, code.tape
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


@inner
def arrive(join: int, side: int, width: int, code: Code, depth: int, work: Registers, memory: Memory) -> None:
    """Open the frame of an instance that comes to one side of a join; what has waited too long goes."""
    nodes = code.nodes
    reg, flow, frames, _, _, _ = work
    cells, links, buckets, _ = memory
    waits = nodes[join, RETAIN + side] != NEVER
    b = locate(join, nodes[join, KEY_OF + side], waits, code.tape, flow, depth, work, memory)
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


@inner
def stay(join: int, side: int, b: int, nodes: Any, depth: int, work: Registers, memory: Memory) -> None:
    """Let what has arrived wait on its side, if the policy says so."""
    reg, flow, frames, _, _, _ = work
    cells, links, buckets, table = memory
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


@inner
def next_event(limit: int, kinds: Any, reg: Any, rounds: Events) -> Any:
    """Return the next event: of this round, else of the next one, else of the batch; -1 less why there is none."""
    events, order, _, _ = rounds
    if reg[AT] + 1 < reg[HIGH]:
        reg[AT] += 1
        return order[reg[AT]]
    if reg[EVENTS] > reg[HIGH]:
        if not sort_round(reg[HIGH], reg[EVENTS], rounds, kinds):
            return -1 - WANTS_RANKS
        reg[AT] = reg[HIGH]
        reg[HIGH] = reg[EVENTS]
        reg[ROUND] += 1
        for c in range(reg[AT], reg[HIGH]):
            events[order[c], E_TURN] += c - reg[AT]
        reg[MADE] += reg[HIGH] - reg[AT]
        return order[reg[AT]] if reg[MADE] <= limit else -1 - TOO_MANY
    if reg[ROW] >= reg[LAST_ROW]:
        return -1 - DONE
    e = reg[ROW]
    reg[ROW] += 1
    reg[ROUND] = 0
    reg[MADE] = 0
    reg[AT] = reg[HIGH] - 1
    reg[TURN] = events[e, E_TURN]
    if events[e, E_END] != reg[NOW]:
        reg[NOW] = events[e, E_END]
        reg[EPOCH] += 1
        reg[SEEN] = 0
        reg[SINCE] = reg[EVENTS]
    return e


@inner
def test(node: int, code: Code, depth: int, work: Registers, memory: Memory) -> int:
    """Return whether an instance passes the tests of a node, from reg[TEST] on; INEXACT if one is to be asked."""
    tests, tape = code.tests, code.tape
    reg, flow, _, calc, calc_r, _ = work
    at = code.nodes[node, TESTS]
    passes = TRUE
    while passes == TRUE and reg[TEST] < tape[at]:
        t = tape[at + 1 + reg[TEST]]
        if tests[t, T_KIND] == WINDOW:
            passes = TRUE if flow[depth, C_END] - flow[depth, C_START] <= tests[t, T_WINDOW] else FALSE
        elif tests[t, T_KIND] == ABSENT:
            if is_blocked(t, code, depth, work, memory):
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
    return passes


@inner
def end_pair(join: int, passes: bool, nodes: Any, depth: int, work: Registers, memory: Memory) -> None:
    """Go on with the next candidate of a frame; a pair that passes is consumed and selected as the policy says."""
    frames = work.frames
    y = frames[depth, F_Y]
    frames[depth, F_Y] = frames[depth, F_NEXT]
    if passes:
        frames[depth, F_MATCHED] = 1
        if nodes[join, CONSUME] != 0:
            at = B_LISTS + 2 - 2 * frames[depth, F_SIDE]
            unlink(y, frames[depth, F_BUCKET], at, work.reg, memory.links, memory.buckets)
        if nodes[join, SELECT] != ALL:
            frames[depth, F_Y] = -1


@kernel
def run(limit: int, place_bits: int, code: Code, work: Registers, memory: Memory, rounds: Events) -> int:
    """Process the events from reg[ROW] to reg[LAST_ROW] until all are or something is wanted; return why it stops.

    What is made follows them; `rounds.order` sorts it (definition 6.7). Turns are as in `schedule`, places in
    a round having so many bits.
    """
    nodes, _, _, kinds, tape = code
    reg, flow, frames, calc, _, _ = work
    cells, links, buckets, table = memory
    events, _, seen, _ = rounds
    mode = reg[MODE]
    depth = reg[DEPTH]
    node = reg[NODE]
    e = reg[EVENT]
    room = 0
    why = DONE
    while True:
        if room == 0:
            rows = (len(cells) - reg[LIVE]) // 2
            keys = min(len(buckets), len(table) // 2) - reg[KEYS]
            room = min(min(rows, keys), min(len(events) - reg[EVENTS], len(seen) // 2 - reg[SEEN]))
            if room <= 0:
                if rows <= 0:
                    why = MORE_ROWS
                elif keys <= 0:
                    why = MORE_BUCKETS
                else:
                    why = MORE_EVENTS if reg[EVENTS] >= len(events) else MORE_SEEN
                break
        room -= 1
        if mode == NEXT:
            e = next_event(limit, kinds, reg, rounds)
            if e < 0:
                why = -1 - e
                break
            reg[LEAF] = 0
            mode = OFFER
        if mode == OFFER:
            at = kinds[events[e, E_KIND], 0]
            leaf = reg[LEAF]
            while leaf < tape[at] and not matches(tape, nodes[tape[at + 1 + leaf], CHECKS], events, e):
                leaf += 1
            reg[LEAF] = leaf + 1
            if leaf >= tape[at]:
                mode = NEXT
                continue
            node = tape[at + 1 + leaf]
            at = nodes[node, MOVES]
            for c in range(nodes[node, WIDTH]):
                flow[0, C_WORDS + c] = events[e, E_WORDS + tape[at + c]]
            flow[0, C_START] = events[e, E_START]
            flow[0, C_END] = events[e, E_END]
            mode = UP
        if mode == UP:
            reader = nodes[node, READ_BY]
            if nodes[node, READER] == HEAD:
                turn = reg[TURN] + ((reg[ROUND] + 1) << place_bits)
                make(reader, turn, code, depth, work, rounds)
                mode = BACK
            elif nodes[node, READER] == BLOCKER:
                block(reader, nodes[node, LIFT], code, flow, depth, work, memory)
                mode = BACK
            elif nodes[reader, KIND] == JOIN:
                arrive(reader, nodes[node, PLACE], nodes[node, WIDTH], code, depth, work, memory)
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
        if mode == BACK:
            if depth == 0:
                mode = OFFER
                continue
            depth -= 1
            mode = PROBE
        if mode == PROBE:
            join = frames[depth, F_JOIN]
            side = frames[depth, F_SIDE]
            y = frames[depth, F_Y]
            if y >= 0:
                y = next_candidate(join, side, y, nodes, flow, depth, memory)
            if y < 0:
                b = frames[depth, F_BUCKET]
                if b >= 0:
                    stay(join, side, b, nodes, depth, work, memory)
                mode = BACK
                if depth == 0:
                    mode = OFFER if reg[LEAF] < tape[kinds[events[e, E_KIND], 0]] else NEXT
                continue
            frames[depth, F_Y] = y
            frames[depth, F_NEXT] = links[y, 1] if nodes[join, SELECT] == LATEST else links[y, 0]
            pair(join, side, y, code, flow, depth, cells)
            depth += 1
            node = join
            reg[TEST] = 0
            mode = TESTING
        if mode == TESTING:
            passes = test(node, code, depth, work, memory)
            if passes == INEXACT:
                why = ASKS
                break
            if nodes[node, KIND] == JOIN:
                end_pair(node, passes == TRUE, nodes, depth - 1, work, memory)
            mode = UP if passes == TRUE else BACK
    reg[MODE] = mode
    reg[DEPTH] = depth
    reg[NODE] = node
    reg[EVENT] = e
    return why
