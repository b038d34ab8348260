"""What the machine makes: events once per atom and stamp, in rounds that are sorted (definition 6.6, 6.7 and 7.2)."""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.hash_tables import stir
from etalis.columnar.kernels.jit import inner, kernel, part
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.opcodes import Events, MachineCode, Registers
from etalis.columnar.recursion.store import plain


@part
def compare(e: int, f: int, events: Any, kinds: Any, ranks: Any) -> int:
    """Compare two events of a round and a start by the standard order of their atoms; 2 if texts have no ranks yet."""
    if events[e, t.E_KIND] != events[f, t.E_KIND]:
        return -1 if events[e, t.E_KIND] < events[f, t.E_KIND] else 1
    kind = events[e, t.E_KIND]
    for c in range(kinds[kind, 1]):
        p = events[e, t.E_WORDS + c]
        q = events[f, t.E_WORDS + c]
        if p == q:
            continue
        which = kinds[kind, 2 + c]
        if which == t.WHOLE:
            if p == t.NULL or q == t.NULL:
                return 1 if p == t.NULL else -1
        elif which == t.TEXT:
            if max(p, q) >= len(ranks):
                return 2
            p = ranks[p]
            q = ranks[q]
        else:
            # Bits of floats are in their order, but for negative ones, whose order is turned round; a null is last.
            if p == t.MINUS_ZERO:
                p = 0
            if q == t.MINUS_ZERO:
                q = 0
            if p < 0:
                p = t.MINUS_ZERO - p
            if q < 0:
                q = t.MINUS_ZERO - q
            if p == q:
                continue
        return -1 if p < q else 1
    return 0


@inner
def by_order(e: int, f: int, events: Any, kinds: Any, ranks: Any) -> int:
    """Compare two events as `compare` does; mostly the start decides."""
    if events[e, t.E_START] != events[f, t.E_START]:
        return -1 if events[e, t.E_START] < events[f, t.E_START] else 1
    return compare(e, f, events, kinds, ranks)


@part
def sort_round(low: int, high: int, rounds: Events, kinds: Any) -> bool:
    """Sort the events of a round in place, as a heap; False if texts have no ranks yet."""
    events, order, _, ranks = rounds
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


@inner
def note(e: int, arity: int, kinds: Any, epoch: int, events: Any, seen: Any) -> bool:
    """Note an event among those of this stamp; tell whether it is new."""
    kind = events[e, t.E_KIND]
    mixed = stir(stir(t.SEED, kind), events[e, t.E_START])
    for c in range(arity):
        mixed = stir(mixed, plain(events[e, t.E_WORDS + c], kinds[kind, 2 + c]))
    mask = len(seen) - 1
    place = mixed & mask
    while seen[place, 0] == epoch:
        f = seen[place, 1]
        if events[f, t.E_KIND] == kind and events[f, t.E_START] == events[e, t.E_START]:
            c = 0
            while c < arity and plain(events[e, t.E_WORDS + c], kinds[kind, 2 + c]) == plain(
                events[f, t.E_WORDS + c], kinds[kind, 2 + c]
            ):
                c += 1
            if c == arity:
                return False
        place = (place + 1) & mask
    seen[place, 0] = epoch
    seen[place, 1] = e
    return True


@kernel
def note_all(kinds: Any, reg: Any, rounds: Events) -> None:
    """Note the events that were made at this stamp anew."""
    events, order, seen, _ = rounds
    reg[t.EPOCH] += 1
    reg[t.SEEN] = 0
    for at in range(reg[t.SINCE], reg[t.EVENTS]):
        e = order[at]
        note(e, kinds[events[e, t.E_KIND], 1], kinds, reg[t.EPOCH], events, seen)
        reg[t.SEEN] += 1


@inner
def make(head: int, turn: int, code: MachineCode, depth: int, work: Registers, rounds: Events) -> None:
    """Let a match become an event, unless there is such a one already; `turn` is where it would be the first."""
    heads, kinds, tape = code.heads, code.kinds, code.tape
    reg, flow = work.reg, work.flow
    events, order, seen, _ = rounds
    e = reg[t.EVENTS]
    kind = heads[head, 0]
    events[e, t.E_KIND] = kind
    events[e, t.E_START] = flow[depth, t.C_START]
    events[e, t.E_END] = flow[depth, t.C_END]
    events[e, t.E_RULE] = heads[head, 1]
    events[e, t.E_TURN] = turn
    at = heads[head, 2]
    for c in range(kinds[kind, 1]):
        slot = tape[at + 2 * c]
        events[e, t.E_WORDS + c] = tape[at + 2 * c + 1] if slot < 0 else flow[depth, t.C_WORDS + slot]
    if note(e, kinds[kind, 1], kinds, reg[t.EPOCH], events, seen):
        order[e] = e
        reg[t.EVENTS] = e + 1
        reg[t.SEEN] += 1
