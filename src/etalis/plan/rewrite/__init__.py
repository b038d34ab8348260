"""Rewrites of plans: each turns a plan into one with the same matches that is cheaper to run; in this order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from etalis.plan import algebra as p
from etalis.plan.rewrite.join_keys import key_joins
from etalis.plan.rewrite.push_down import push_down

REWRITES: tuple[Callable[[p.Node], p.Node], ...] = (push_down, key_joins)


def rewrite(head: p.Head) -> p.Head:
    """Apply all rewrites to the plan of a rule."""
    body = head.body
    for step in REWRITES:
        body = step(body)
    return head if body is head.body else replace(head, body=body)
