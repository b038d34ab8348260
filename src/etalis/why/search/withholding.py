"""Whether a policy withheld the pair of an operator: what the run of the history has noted is asked."""

from __future__ import annotations

from etalis.language import syntax as s
from etalis.temporal.policy import POLICIES
from etalis.why.justification import Occurred
from etalis.why.search.extents import Choice, Counted, Lost, PartExtent, Taken, events_of
from etalis.why.search.shape import RuleShape, ShapeNode
from etalis.why.search.sightings import Holding
from etalis.why.selecting.stays import InstanceKey
from etalis.why.selection import Selection


def withheld(
    shape: RuleShape, node: ShapeNode, choice: Choice, selection: Selection
) -> tuple[str, Taken, tuple[Occurred, ...]] | None:
    """Return why a policy did not make a match of the sides of an operator: how, which part of it, for whom."""
    if not POLICIES[shape.policy].restricts:
        return None
    sides = _pair_of(shape, node, choice)
    if sides is None:
        return None
    keys = [_key_of(side) for side in sides]
    found = selection.withheld(shape.label, node.path, *keys)
    if found is None:
        return None
    lost = sides[0] if _is_same(found.part, keys[0]) else sides[1]
    alike = [x for x in lost.taken if _is_same(found.part, x)]
    return found.kind, alike[0] if alike else lost.ends, found.by


def _pair_of(shape: RuleShape, node: ShapeNode, choice: Choice) -> list[PartExtent] | None:
    """Return what a policy selects at an operator: its sides, or an element and what it is counted after."""
    taken = None if node.leaf is None else choice.taken[node.leaf]
    if isinstance(taken, Counted) and isinstance(shape.leaves[node.leaf or 0].counted, s.Repeat):
        first, last = (_of_element(taken.elements[place]) for place in (0, -1))
        return [choice.extents[node.below[0].number] if node.below else first, last]
    if node.leaf is not None or node.operator is None:
        return None
    return [choice.extents[x.number] for x in node.below]


def _key_of(x: PartExtent) -> InstanceKey:
    """Return an instance as a selection knows it."""
    events = tuple(InstanceKey(e.name, tuple(e.args), e.start, e.end) for e in events_of(x))
    if len(events) == 1 and events[0][2:4] == x.times:
        return events[0]
    return InstanceKey(None, (), *x.times, events)


def _is_same(found: Occurred, x: InstanceKey | Taken) -> bool:
    if isinstance(x, Lost) or (found.start, found.end) != (x.start, x.end):
        return False
    return found.name is None or (found.name == x.name and (isinstance(x, Counted) or found.args == tuple(x.args)))


def _of_element(x: Holding) -> PartExtent:
    events = x.events
    return PartExtent(True, x.start, x.end, x.end, x.start, x.bound, (True, True), events[0], events[-1], taken=events)
