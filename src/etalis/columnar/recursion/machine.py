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
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.evaluate import calculate
from etalis.columnar.recursion.opcodes import Events, MachineCode, Memory, Registers
from etalis.columnar.recursion.rounds import make, sort_round
from etalis.columnar.recursion.store import block, drop_bucket, is_blocked, link, locate, new_row, plain, unlink


@inner
def matches(tape: Any, at: int, events: Any, e: int) -> bool:
    """Tell whether the attributes of an event are what a source asks for."""
    n = tape[at]
    at += 1
    for _ in range(n):
        word = tape[at + 3]
        if tape[at + 2] == t.PLACE_OF:
            word = plain(events[e, t.E_WORDS + word], tape[at + 1])
        if tape[at + 2] == t.NO_VALUE or plain(events[e, t.E_WORDS + tape[at]], tape[at + 1]) != word:
            return False
        at += 4
    return True


@inner
def next_candidate(join: int, side: int, y: int, nodes: Any, flow: Any, depth: int, memory: Memory) -> int:
    """Return the first from `y` on that fits what has arrived, by relation and window."""
    cells, links = memory.cells, memory.links
    a1 = b1 = flow[depth, t.C_START]
    a2 = b2 = flow[depth, t.C_END]
    while y >= 0:
        if side == 0:
            b1 = cells[y, t.C_START]
            b2 = cells[y, t.C_END]
        else:
            a1 = cells[y, t.C_START]
            a2 = cells[y, t.C_END]
        good = nodes[join, t.WITHIN] < 0 or length(nodes[join, t.OCCURS], a1, a2, b1, b2) <= nodes[join, t.WITHIN]
        if good and allows(nodes[join, t.RELATION], a1, a2, b1, b2):
            break
        y = links[y, 1] if nodes[join, t.SELECT] == LATEST else links[y, 0]
    return y


@inner
def pair(join: int, side: int, y: int, code: MachineCode, flow: Any, depth: int, cells: Any) -> None:
    """Put a pair, what has arrived and what waited, on the next place of the stack."""
    nodes, tape = code.nodes, code.tape
    at = nodes[join, t.MERGE + side]
    up = depth + 1
    for c in range(tape[at]):
        source = tape[at + 1 + 2 * c]
        slot = t.C_WORDS + tape[at + 2 + 2 * c]
        if source == t.OF_ARRIVED:
            flow[up, t.C_WORDS + c] = flow[depth, slot]
        elif source == t.OF_WAITING:
            flow[up, t.C_WORDS + c] = cells[y, slot]
        elif source == t.END_OF_LEFT:
            flow[up, t.C_WORDS + c] = flow[depth, t.C_END] if side == 0 else cells[y, t.C_END]
        elif source == t.START_OF_RIGHT:
            flow[up, t.C_WORDS + c] = flow[depth, t.C_START] if side == 1 else cells[y, t.C_START]
    occurs = nodes[join, t.OCCURS]
    if occurs == HULL:
        flow[up, t.C_START] = min(flow[depth, t.C_START], cells[y, t.C_START])
        flow[up, t.C_END] = max(flow[depth, t.C_END], cells[y, t.C_END])
    elif (occurs == ON_A) == (side == 0):
        flow[up, t.C_START] = flow[depth, t.C_START]
        flow[up, t.C_END] = flow[depth, t.C_END]
    else:
        flow[up, t.C_START] = cells[y, t.C_START]
        flow[up, t.C_END] = cells[y, t.C_END]


@inner
def arrive(join: int, side: int, width: int, code: MachineCode, depth: int, work: Registers, memory: Memory) -> None:
    """Open the frame of an instance that comes to one side of a join; what has waited too long goes."""
    nodes = code.nodes
    reg, flow, frames, _, _, _ = work
    cells, links, buckets, _ = memory
    waits = nodes[join, t.RETAIN + side] != NEVER
    b = locate(join, nodes[join, t.KEY_OF + side], waits, code.tape, flow, depth, work, memory)
    y = -1
    if b >= 0:
        other = t.B_LISTS + 2 - 2 * side
        retain = nodes[join, t.RETAIN + 1 - side]
        while (
            retain >= 0 and buckets[b, other] >= 0 and cells[buckets[b, other], t.C_END] < flow[depth, t.C_END] - retain
        ):
            unlink(buckets[b, other], b, other, reg, links, buckets)
        y = buckets[b, other + 1] if nodes[join, t.SELECT] == LATEST else buckets[b, other]
    frames[depth, t.F_JOIN] = join
    frames[depth, t.F_SIDE] = side
    frames[depth, t.F_Y] = y
    frames[depth, t.F_BUCKET] = b
    frames[depth, t.F_MATCHED] = 0
    frames[depth, t.F_WIDTH] = width


@inner
def stay(join: int, side: int, b: int, nodes: Any, depth: int, work: Registers, memory: Memory) -> None:
    """Let what has arrived wait on its side, if the policy says so."""
    reg, flow, frames, _, _, _ = work
    cells, links, buckets, table = memory
    own = t.B_LISTS + 2 * side
    keep = nodes[join, t.KEEP]
    stays = nodes[join, t.RETAIN + side] != NEVER and (keep != UNMATCHED or frames[depth, t.F_MATCHED] == 0)
    if keep == NEWEST and stays and b >= 0 and buckets[b, own] >= 0:
        z = buckets[b, own]
        x2 = flow[depth, t.C_END]
        if cells[z, t.C_END] > x2 or (cells[z, t.C_END] == x2 and cells[z, t.C_START] > flow[depth, t.C_START]):
            stays = False
        else:
            unlink(z, b, own, reg, links, buckets)
    if stays:
        x = new_row(reg, links)
        for c in range(t.C_WORDS + frames[depth, t.F_WIDTH]):
            cells[x, c] = flow[depth, c]
        link(x, b, own, cells, links, buckets)
    elif b >= 0 and buckets[b, t.B_LISTS] < 0 and buckets[b, t.B_LISTS + 2] < 0:
        drop_bucket(b, reg, buckets, table)


@inner
def next_event(limit: int, kinds: Any, reg: Any, rounds: Events) -> Any:
    """Return the next event: of this round, else of the next one, else of the batch; -1 less why there is none."""
    events, order, _, _ = rounds
    if reg[t.AT] + 1 < reg[t.HIGH]:
        reg[t.AT] += 1
        return order[reg[t.AT]]
    if reg[t.EVENTS] > reg[t.HIGH]:
        if not sort_round(reg[t.HIGH], reg[t.EVENTS], rounds, kinds):
            return -1 - t.WANTS_RANKS
        reg[t.AT] = reg[t.HIGH]
        reg[t.HIGH] = reg[t.EVENTS]
        reg[t.ROUND] += 1
        for c in range(reg[t.AT], reg[t.HIGH]):
            events[order[c], t.E_TURN] += c - reg[t.AT]
        reg[t.MADE] += reg[t.HIGH] - reg[t.AT]
        return order[reg[t.AT]] if reg[t.MADE] <= limit else -1 - t.TOO_MANY
    if reg[t.ROW] >= reg[t.LAST_ROW]:
        return -1 - t.DONE
    e = reg[t.ROW]
    reg[t.ROW] += 1
    reg[t.ROUND] = 0
    reg[t.MADE] = 0
    reg[t.AT] = reg[t.HIGH] - 1
    reg[t.TURN] = events[e, t.E_TURN]
    if events[e, t.E_END] != reg[t.NOW]:
        reg[t.NOW] = events[e, t.E_END]
        reg[t.EPOCH] += 1
        reg[t.SEEN] = 0
        reg[t.SINCE] = reg[t.EVENTS]
    return e


@inner
def test(node: int, code: MachineCode, depth: int, work: Registers, memory: Memory) -> int:
    """Return whether an instance passes the tests of a node, from reg[TEST] on; INEXACT if one is to be asked."""
    tests, tape = code.tests, code.tape
    reg, flow, _, calc, calc_r, _ = work
    at = code.nodes[node, t.TESTS]
    passes = t.TRUE
    while passes == t.TRUE and reg[t.TEST] < tape[at]:
        number = tape[at + 1 + reg[t.TEST]]
        if tests[number, t.T_KIND] == t.WINDOW:
            passes = t.TRUE if flow[depth, t.C_END] - flow[depth, t.C_START] <= tests[number, t.T_WINDOW] else t.FALSE
        elif tests[number, t.T_KIND] == t.ABSENT:
            if is_blocked(number, code, depth, work, memory):
                passes = t.FALSE
        elif reg[t.ANSWER] != t.INEXACT:
            passes = reg[t.ANSWER]
            reg[t.ANSWER] = t.INEXACT
        elif tests[number, t.T_KIND] == t.CODE:
            passes = calculate(tape, tests[number, t.T_AT], flow, depth, calc, calc_r)
        else:
            passes = t.INEXACT
        if passes == t.TRUE:
            reg[t.TEST] += 1
    return passes


@inner
def end_pair(join: int, passes: bool, nodes: Any, depth: int, work: Registers, memory: Memory) -> None:
    """Go on with the next candidate of a frame; a pair that passes is consumed and selected as the policy says."""
    frames = work.frames
    y = frames[depth, t.F_Y]
    frames[depth, t.F_Y] = frames[depth, t.F_NEXT]
    if passes:
        frames[depth, t.F_MATCHED] = 1
        if nodes[join, t.CONSUME] != 0:
            at = t.B_LISTS + 2 - 2 * frames[depth, t.F_SIDE]
            unlink(y, frames[depth, t.F_BUCKET], at, work.reg, memory.links, memory.buckets)
        if nodes[join, t.SELECT] != ALL:
            frames[depth, t.F_Y] = -1


@kernel
def run(limit: int, place_bits: int, code: MachineCode, work: Registers, memory: Memory, rounds: Events) -> int:
    """Process the events from reg[ROW] to reg[LAST_ROW] until all are or something is wanted; return why it stops.

    What is made follows them; `rounds.order` sorts it (definition 6.7). Turns are as in `schedule`, places in
    a round having so many bits.
    """
    nodes, _, _, kinds, tape = code
    reg, flow, frames, calc, _, _ = work
    cells, links, buckets, table = memory
    events, _, seen, _ = rounds
    mode = reg[t.MODE]
    depth = reg[t.DEPTH]
    node = reg[t.NODE]
    e = reg[t.EVENT]
    room = 0
    why = t.DONE
    while True:
        if room == 0:
            rows = (len(cells) - reg[t.LIVE]) // 2
            keys = min(len(buckets), len(table) // 2) - reg[t.KEYS]
            room = min(min(rows, keys), min(len(events) - reg[t.EVENTS], len(seen) // 2 - reg[t.SEEN]))
            if room <= 0:
                if rows <= 0:
                    why = t.MORE_ROWS
                elif keys <= 0:
                    why = t.MORE_BUCKETS
                else:
                    why = t.MORE_EVENTS if reg[t.EVENTS] >= len(events) else t.MORE_SEEN
                break
        room -= 1
        if mode == t.NEXT:
            e = next_event(limit, kinds, reg, rounds)
            if e < 0:
                why = -1 - e
                break
            reg[t.LEAF] = 0
            mode = t.OFFER
        if mode == t.OFFER:
            at = kinds[events[e, t.E_KIND], 0]
            leaf = reg[t.LEAF]
            while leaf < tape[at] and not matches(tape, nodes[tape[at + 1 + leaf], t.CHECKS], events, e):
                leaf += 1
            reg[t.LEAF] = leaf + 1
            if leaf >= tape[at]:
                mode = t.NEXT
                continue
            node = tape[at + 1 + leaf]
            at = nodes[node, t.MOVES]
            for c in range(nodes[node, t.WIDTH]):
                flow[0, t.C_WORDS + c] = events[e, t.E_WORDS + tape[at + c]]
            flow[0, t.C_START] = events[e, t.E_START]
            flow[0, t.C_END] = events[e, t.E_END]
            mode = t.UP
        if mode == t.UP:
            reader = nodes[node, t.READ_BY]
            if nodes[node, t.READER] == t.HEAD:
                turn = reg[t.TURN] + ((reg[t.ROUND] + 1) << place_bits)
                make(reader, turn, code, depth, work, rounds)
                mode = t.BACK
            elif nodes[node, t.READER] == t.BLOCKER:
                block(reader, nodes[node, t.LIFT], code, flow, depth, work, memory)
                mode = t.BACK
            elif nodes[reader, t.KIND] == t.JOIN:
                arrive(reader, nodes[node, t.PLACE], nodes[node, t.WIDTH], code, depth, work, memory)
                mode = t.PROBE
            else:
                at = nodes[node, t.LIFT]
                for c in range(tape[at]):
                    calc[c] = flow[depth, t.C_WORDS + tape[at + 1 + c]]
                for c in range(tape[at]):
                    flow[depth, t.C_WORDS + c] = calc[c]
                node = reader
                reg[t.TEST] = 0
                mode = t.TESTING
        if mode == t.BACK:
            if depth == 0:
                mode = t.OFFER
                continue
            depth -= 1
            mode = t.PROBE
        if mode == t.PROBE:
            join = frames[depth, t.F_JOIN]
            side = frames[depth, t.F_SIDE]
            y = frames[depth, t.F_Y]
            if y >= 0:
                y = next_candidate(join, side, y, nodes, flow, depth, memory)
            if y < 0:
                b = frames[depth, t.F_BUCKET]
                if b >= 0:
                    stay(join, side, b, nodes, depth, work, memory)
                mode = t.BACK
                if depth == 0:
                    mode = t.OFFER if reg[t.LEAF] < tape[kinds[events[e, t.E_KIND], 0]] else t.NEXT
                continue
            frames[depth, t.F_Y] = y
            frames[depth, t.F_NEXT] = links[y, 1] if nodes[join, t.SELECT] == LATEST else links[y, 0]
            pair(join, side, y, code, flow, depth, cells)
            depth += 1
            node = join
            reg[t.TEST] = 0
            mode = t.TESTING
        if mode == t.TESTING:
            passes = test(node, code, depth, work, memory)
            if passes == t.INEXACT:
                why = t.ASKS
                break
            if nodes[node, t.KIND] == t.JOIN:
                end_pair(node, passes == t.TRUE, nodes, depth - 1, work, memory)
            mode = t.UP if passes == t.TRUE else t.BACK
    reg[t.MODE] = mode
    reg[t.DEPTH] = depth
    reg[t.NODE] = node
    reg[t.EVENT] = e
    return why
