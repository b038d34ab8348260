"""Chains of elements (definition 13.6), and which of them contribute to a match (definition 23.6 to 23.9)."""

from __future__ import annotations

from collections.abc import Callable

from etalis.semantics.matches import Instance, Numbers, Told, tell
from etalis.semantics.operators import rank

Limits = tuple[int, int | None]


def joined_by_chain(first: Instance, last: Instance, elements: list[Instance], limits: Limits) -> bool:
    """Tell whether a chain of as many elements as asked for, none skipped on the way, leads from first to last."""
    least, most = limits
    lengths: dict[Instance, set[int]] = {x: set() for x in elements}
    lengths[first] = {1}
    for b in sorted(elements, key=rank):
        for a in elements:
            if a.end < b.start and not any(a.end < c.start and c.end < b.start for c in elements):
                # Beyond what is asked for, longer is as good as `least` (no upper limit) or no good at all.
                lengths[b] |= {min(n + 1, least if most is None else most + 1) for n in lengths[a]}
    return any(least <= n and (most is None or n <= most) for n in lengths[last])


def first_chain(firsts: list[Instance], last: Instance, elements: list[Instance], limits: Limits) -> list[Instance]:
    """Return of the chains that lead to `last` the first, compared element by element by (start, arrival)."""
    least, most = limits
    lengths: dict[Instance, set[int]] = {x: set() for x in elements}
    lengths[last] = {1}
    following: dict[Instance, list[Instance]] = {}
    for a in sorted(elements, key=rank, reverse=True):
        after = [b for b in elements if a.end < b.start]
        following[a] = [b for b in after if not any(a.end < c.start and c.end < b.start for c in elements)]
        lengths[a].update(n + 1 for b in following[a] for n in lengths[b])
    allowed = set(range(least, (least if most is None else most) + 1))
    chain: list[Instance] = []
    while not chain or chain[-1] is not last:
        possible = following[chain[-1]] if chain else firsts
        chain.append(min((b for b in possible if lengths[b] & allowed), key=lambda b: b.start))
        allowed = {n - 1 for n in lengths[chain[-1]] & allowed}
    return chain


def told_of(left: Instance | None, take: Callable[[int | None], list[Instance]]) -> Told:
    """Return what contributes to a repetition: the elements taken, and what they were counted after."""

    def told(before: int | None) -> Numbers:
        taken = take(before)
        first = min((b.start for b in taken), default=None)
        return tell(*taken) | (frozenset() if left is None else left.told(first))

    return told


def taking(elements: list[Instance], limits: Limits) -> Callable[[int | None], list[Instance]]:
    """Return how those of a list that grows are taken: as many as there are now, without an upper limit further."""
    count = len(elements)

    def take(before: int | None) -> list[Instance]:
        if before is None or limits[1] is not None:
            return elements[:count]
        return [b for b in elements if b.end < before]

    return take
