"""Retention: what waits on each side of a join, and for how long, by relation, policy and window.

Law: an instance that is dropped by these rules could not be part of any later match, since nothing that arrives ends
earlier than what has arrived (definition 5.4 and 10.8).
"""

from __future__ import annotations

from collections.abc import Sequence

from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.temporal.relation import Relation

NEVER_STORED = -1


def retention(relation: Relation, place: int, window: int | None) -> int | None:
    """Return how long after its end an instance can still find a partner, whose end is never earlier than now.

    None: for ever; -1: never. Derived from the relation's row: `place` 0 is the side of A.

    >>> from etalis.temporal.relation import RELATIONS
    >>> [[retention(RELATIONS[name], place, 5) for place in (0, 1)] for name in ("seq", "meets")]
    [[5, -1], [5, 0]]
    """
    mine, other = ("a", "b") if place == 0 else ("b", "a")
    keep = window
    for x, op, y in relation.comparisons:
        if x == f"{other}2" and y[0] == mine:
            if op == "<":
                return NEVER_STORED
            keep = 0
        if op == "=" and y == f"{other}2" and x[0] == mine:
            keep = 0
    return keep


def waits_as_instant(relation: Relation, place: int) -> bool:
    """Tell whether of one side only instants can still find a partner, since that must have ended where they start.

    >>> from etalis.temporal.relation import RELATIONS
    >>> [waits_as_instant(RELATIONS["meets"], place) for place in (0, 1)]
    [False, True]
    """
    mine, other = ("a", "b") if place == 0 else ("b", "a")
    return any((x, y) == (f"{other}2", f"{mine}1") for x, op, y in relation.comparisons if op != "<")


def equal_times(relation: Relation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which end points of the left side equal which of the right side, wherever a relation holds.

    >>> from etalis.temporal.relation import RELATIONS
    >>> equal_times(RELATIONS["meets"]), equal_times(RELATIONS["equals"])
    ((('end',), ('start',)), (('start', 'end'), ('start', 'end')))
    """
    names = {"1": "start", "2": "end"}
    pairs = [(x, y) if x[0] == "a" else (y, x) for x, op, y in relation.comparisons if op == "=" and x[0] != y[0]]
    return tuple(names[a[1]] for a, _ in pairs), tuple(names[b[1]] for _, b in pairs)


def window_of(tests: Sequence[p.Test]) -> int | None:
    """Return the smallest window among the tests of a node."""
    return min((t.duration for t in tests if isinstance(t, p.Window)), default=None)


def shared_names(join: p.Join) -> tuple[str, ...]:
    """Return the variables that both sides of a join have."""
    return tuple(sorted(v for v in set(join.left.exports) & set(join.right.exports) if v[0] != "$"))


def join_key(join: p.Join) -> tuple[str, ...]:
    """Return the variables that both sides of a join always bind."""
    firm = sure(join.left) & sure(join.right)
    return tuple(v for v in shared_names(join) if v in firm)
