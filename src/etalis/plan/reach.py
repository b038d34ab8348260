"""How far back the past reaches that an event depends on: what may be left out when it is asked for.

Law: whether an event of a kind that ends at T is made, and of what, depends on no input that ended more than its reach
before T. Where an operator consumes or replaces what waits, what it did before decides; so there is no bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from etalis.language.syntax import Alarm, Const
from etalis.plan import algebra as p
from etalis.plan.keys import Kind
from etalis.plan.retention import window_of
from etalis.temporal.interval import MICROSECONDS
from etalis.temporal.policy import Policy

_Place: TypeAlias = tuple[
    p.Node, int | None
]  # a node, and how far before the end of the event all of it lies, if known


def needed_heads(heads: Sequence[p.Head], kind: Kind) -> list[p.Head]:
    """Return the rules that events of a kind depend on; all where a rule looks at events of every kind."""
    if any(isinstance(t, p.Alone) for head in heads for node in p.walk(head.body) for t in p.tests(node)):
        return [*heads]
    wanted, before = {kind}, 0
    while len(wanted) > before:
        before = len(wanted)
        wanted |= {read for head in heads if head.kind in wanted for read in p.read_kinds(head.body)}
    return [head for head in heads if head.kind in wanted]


def find_reach(heads: Collection[p.Head], kind: Kind) -> int | None:
    """Return how far before its end the inputs of an event lie, in microseconds; None if there is no bound."""
    made = {head.kind for head in heads}
    known: dict[Kind, int] = {}
    waiting = set(made)
    while waiting:
        ready = {x for x in waiting if all(_needs(head) & made <= known.keys() for head in heads if head.kind == x)}
        for x in ready:
            several = [_reach_of(head, known) for head in heads if head.kind == x]
            if None in several:
                return None
            known[x] = max(each for each in several if each is not None)
        if not ready:  # what depends on itself
            return None
        waiting -= ready
    return known.get(kind, 0)


def _needs(head: p.Head) -> set[Kind]:
    return set(p.read_kinds(head.body))


def _reach_of(head: p.Head, known: Mapping[Kind, int]) -> int | None:
    """Return the reach of one rule's events, from those of the events it reads."""
    delay = _delay(head.alarm)
    if delay is None:
        return None
    most = 0
    waiting: list[_Place] = [(head.body, None)]
    while waiting:
        node, above = waiting.pop()
        back = window_of(p.tests(node)) if above is None else above
        if isinstance(node, p.Source):
            most = max(most, (back or 0) + known.get((node.name, len(node.args)), 0))
        below = _below(node, back, above or 0)
        if below is None:
            return None
        waiting += below
    return delay + most


def _delay(alarm: Alarm | None) -> int | None:
    """Return how long after its match an alarm rings; None if that is not known."""
    if alarm is None:
        return 0
    when = alarm.when.value if isinstance(alarm.when, Const) else None
    if alarm.kind == "after" and isinstance(when, int | float):
        return int(when * MICROSECONDS) + 1
    return None


def _below(node: p.Node, back: int | None, above: int) -> list[_Place] | None:
    """Return what a node is made of, or looks for, and how far back each of them lies; None if nobody knows.

    All of the node lies at most `back` before the end of the event, and its end at most as far as what is `above` it.
    """
    found: list[_Place] = []
    for test in p.tests(node):
        if isinstance(test, p.Alone):
            return None
        if isinstance(test, p.Absent):
            if back is None or (test.kind == "before" and test.window is None):
                return None
            found.append((test.node, back + (test.window or 0)))
    match node:
        case p.Source() | p.Tick():
            return found
        case p.Filter(child=child):
            return [*found, (child, back)]
        case p.Union(branches=branches):
            return [*found, *((branch, back) for branch in branches)]
        case p.Deadline(left=left, absent=absent, duration=duration):
            if back is None and not isinstance(left, p.Source):
                return None
            return [*found, (left, duration if back is None else back), (absent, above + node.span)]
        case p.Fold(opener=None, element=element, within=within) if within is not None:
            return [*found, (element, above + within)]
        case p.Join(policy=policy, left=left, right=right) if back is not None and _is_still(policy):
            return [*found, (left, back), (right, back)]
        case p.Repetition(left=left, element=element, policy=policy) if back is not None and _is_still(policy):
            return None if left is None else [*found, (left, back), (element, back)]
        case _:
            return None


def _is_still(policy: Policy) -> bool:
    """Tell whether what waits stays as it is, whatever matches."""
    return not policy.consume and policy.keep == "always"
