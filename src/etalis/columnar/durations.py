"""Which kinds of events last no longer than what comes in: instants where only instants do."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from etalis.plan import algebra as p


def has_no_duration(node: p.Node, lasting: AbstractSet[p.Kind]) -> bool:
    """Tell whether a pattern matches single events with the duration of what comes in, and none that is `lasting`."""
    return _is_single(node) and lasting.isdisjoint(_kinds(node))


def find_lasting(heads: Sequence[p.Head]) -> frozenset[p.Kind]:
    """Return the kinds of events that rules may make last longer than what comes in."""
    lasting = {head.kind for head in heads if head.alarm is not None or not _is_single(head.body)}
    made_of: dict[p.Kind, list[p.Kind]] = {}
    for head in heads:
        for kind in _kinds(head.body):
            made_of.setdefault(kind, []).append(head.kind)
    waiting = list(lasting)
    while waiting:
        more = set(made_of.get(waiting.pop(), ())) - lasting
        lasting |= more
        waiting += more
    return frozenset(lasting)


def _is_single(node: p.Node) -> bool:
    return all(isinstance(part, p.Filter | p.Union | p.Source) for part in p.walk(node))


def _kinds(node: p.Node) -> list[p.Kind]:
    return [(part.name, len(part.args)) for part in p.walk(node) if isinstance(part, p.Source)]
