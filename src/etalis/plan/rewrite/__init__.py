"""Rewrites of plans: each turns a rule's plan into one that does the same with less work. They run in this order."""

from __future__ import annotations

from collections.abc import Callable

from etalis.plan import algebra as p
from etalis.plan.rewrite.join_keys import key_joins

REWRITES: tuple[Callable[[p.Head], p.Head], ...] = (key_joins,)


def rewrite(head: p.Head) -> p.Head:
    """Apply all rewrites to the plan of a rule."""
    for step in REWRITES:
        head = step(head)
    return head
