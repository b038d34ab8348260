"""Common subplans: parts of rules that are evaluated once for several rules (`rule_sharing`).

Parts that are equal up to the names of variables share their matches where that cannot change a result: never twice
within a rule, and only if no other leaf of the rule listens to the same events (then an instance meets the leaves in
the order of definition 6.11 all the same).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from etalis.plan import algebra as p
from etalis.plan.bindings import NodeShape

Listened: TypeAlias = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Shape:
    """A part with its variables numbered: equal keys may be shared, `names` tell whose variable is whose."""

    key: Hashable
    names: tuple[str, ...]


def count_leaves(node: p.Node) -> Listened:
    """Return how many leaves of a part listen to each kind of event."""
    found: Listened = {}
    for leaf in p.walk(node):
        if isinstance(leaf, p.Source):
            kind = (leaf.name, len(leaf.args))
            found[kind] = found.get(kind, 0) + 1
    return found


def meet(left: p.Node, right: p.Node) -> bool:
    """Tell whether one event may come to both of two parts."""
    return not count_leaves(left).keys().isdisjoint(count_leaves(right))


def ends_first(node: p.Node) -> bool:
    """Tell whether an event that may come to both sides of an operator is to be offered to the right one first.

    It is where it cannot follow itself, and what comes to either side does so as soon as the event is offered, with
    nothing reported on the way: the newest that waits is then one that was there before. No such part is shared without
    the whole (`may_share`), so that the order of the leaves is the rule's own.
    """
    match node:
        case p.Join(left=left, right=right, tests=tests) if node.policy.keep == "newest" and _follows(node):
            plain = all(isinstance(t, p.Window | p.Prefilter | p.GoalTest | p.Absent) for t in tests)
            both = count_leaves(left).keys() & count_leaves(right).keys()
            apart = all(both.isdisjoint(count_leaves(absent)) for absent in p.negated(node))
            return plain and bool(both) and apart and _comes_at_once(left) and _comes_at_once(right)
    return False


def _follows(join: p.Join) -> bool:
    return join.alone is None and join.relation.sequential and ("a2", "<", "b1") in join.relation.comparisons


def _comes_at_once(node: p.Node) -> bool:
    """Tell whether all matches of a part come as its last event is offered, and nothing is reported on the way."""
    match node:
        case p.Source():
            return True
        case p.Filter(child=child):
            sides: tuple[p.Node, ...] = (child,)
        case p.Join(left=left, right=right) if _follows(node):
            sides = left, right
        case _:
            return False
    return all(isinstance(t, p.Window | p.Prefilter) for t in p.tests(node)) and all(map(_comes_at_once, sides))


def may_share(node: p.Node, listened: Listened) -> bool:
    """Tell whether all leaves of the rule that listen to this part's events are in this part."""
    if any(isinstance(part, p.Tick) for part in p.walk(node)):
        return False
    return all(listened[kind] == count for kind, count in count_leaves(node).items())


def shape_of(node: p.Node, listened: Listened) -> Shape | None:
    """Return the shape of a part that may be shared; a leaf alone is not worth it.

    What consumes a match that tells what it was counted after takes that along: it is no affair of another rule.
    """
    if isinstance(node, p.Source | p.Tick) or "$token" in node.exports or not may_share(node, listened):
        return None
    signature = NodeShape()
    key = signature.node(node)
    return Shape(key, tuple(signature.numbers))


def find_shared(heads: Iterable[p.Head]) -> dict[Hashable, tuple[str, ...]]:
    """Return the rules that share each part, for those that several share, in order of first use."""
    users: dict[Hashable, list[str]] = {}
    for head in heads:
        listened = count_leaves(head.body)
        waiting = [head.body]
        while waiting:
            node = waiting.pop()
            shape = shape_of(node, listened)
            if shape is not None and shape.key in users:
                users[shape.key].append(head.label)
                continue
            if shape is not None:
                users[shape.key] = [head.label]
            waiting.extend(reversed((*p.children(node), *p.negated(node))))
    return {key: tuple(rules) for key, rules in users.items() if len(rules) > 1}
