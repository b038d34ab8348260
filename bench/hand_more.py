"""By hand, in the manner of hand.py, the workloads that it does not have: loops over (type, id, v, t), t increasing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable

Row = tuple[str, int, int, int]
Answer = tuple[object, ...]


def w8(events: Iterable[Row], reaches: Callable[[int, int], bool]) -> list[Answer]:
    """Return pairs at most ten seconds apart of which the first company reaches the second."""
    recent: deque[tuple[int, int]] = deque()
    out: list[Answer] = []
    for _, company, _, t in events:
        while recent and recent[0][1] < t - 10:
            recent.popleft()
        out.extend((a, company, start, t) for a, start in recent if start < t and reaches(a, company))
        recent.append((company, t))
    return out


def w9(events: Iterable[Row], rules: int) -> list[Answer]:
    """Return what a chain of rules derives from each event."""
    return [(f"e{k}", i, t, t) for _, i, _, t in events for k in range(2, rules + 2)]


def w10(events: Iterable[Row]) -> list[Answer]:
    """Return a, one or more b, and c: the earliest a that a b has followed goes with each c, and so do the b."""
    waiting: dict[int, deque[int]] = defaultdict(deque)
    last: dict[int, int] = {}
    out: list[Answer] = []
    for kind, i, _, t in events:
        if kind == "a":
            waiting[i].append(t)
        elif kind == "b":
            last[i] = t
        elif (found := waiting.get(i)) and found[0] < last.get(i, -1):
            out.append((i, found.popleft(), t))
            del last[i]
            if not found:
                del waiting[i]
    return out


def w11(events: Iterable[Row]) -> list[Answer]:
    """Return a and b in sequence, and what the retraction of an a takes back; the last member is the sign."""
    waiting: dict[int, deque[tuple[int, int]]] = defaultdict(deque)
    used: dict[int, tuple[int, int, int, int]] = {}
    out: list[Answer] = []
    for kind, i, v, t in events:
        if kind == "a":
            waiting[i].append((v, t))
        elif kind == "b":
            if found := waiting.get(i):
                x, start = found.popleft()
                if not found:
                    del waiting[i]
                used[i] = (x, v, start, t)
                out.append((i, x, v, start, t, 1))
        elif i in used:
            out.append((i, *used.pop(i), -1))
    return out
