"""How a timer is set in generated code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappush

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import to_moment
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import LEVELS, MOST_LANES, STAGE, Lane, Owner, OwnLane
from etalis.runtime.state import State


def write_timer(
    code: Code, state: State, lane: Lane | OwnLane | None, due: str, since: str, owner: Owner, stage: int,
    payload: str, *, is_parted: bool,
) -> None:  # fmt: skip
    """Write that something is to happen at a moment; in a lane, if such timers are due in the order of setting."""
    timers = code.constant(state.timers)
    if isinstance(lane, OwnLane):
        with code.block(f"if not {code.constant(lane)}:"):  # behind another it is not the first that is due
            code.add([f"d = {due}", f"if d < {timers}.due: {timers}.due = d"])
        code(f"{code.constant(lane)}.append({payload})")
        return
    shared, number, moment = code.constant(state), code.fresh("n"), code.fresh("d")
    code(f"{moment} = {due}")
    code(f"{shared}.sequence = {number} = {shared}.sequence + 1")
    if owner.level:
        number = f"{number} + {code.constant(owner.level << LEVELS)}"
    if stage:
        since = f"({since} - {code.constant(stage * STAGE)})"
    tag = f"{shared}.tag" if is_parted else "None"
    timer = f"({moment}, -{since}, {number}, {code.constant(owner)}, {payload}, {tag})"
    if lane is None:
        code(f"{code.constant(heappush)}({code.constant(state.timers.heap)}, {timer})")
    else:
        code(f"{code.constant(lane)}.append({timer})")
    code(f"if {moment} < {timers}.due: {timers}.due = {moment}")


def delay_of(alarm: s.Alarm) -> int | None:
    """Return how long after its cause an alarm rings; None where that is not known, an error, or no delay."""
    if not isinstance(alarm.when, s.Const):
        return None
    try:
        after = to_moment(alarm.when.value)
    except (TypeError, ValueError, OverflowError):
        return None
    return after if alarm.kind == "after" and after > 0 else None


def have_own_lanes(entries: Sequence[Wired], heads: Sequence[p.Head]) -> bool:
    """Tell whether few set timers: outer joins of inputs, absences, alarms due so long after they are set.

    Where something acts it is seen in which order these were set.
    """
    waiting = [entry.node for entry in entries if p.falls_due(entry.node)]
    alarms = [head.alarm for head in heads if head.alarm is not None]
    made = {head.kind for head in heads}
    return (
        not do_act(entries, heads)
        and 0 < len(waiting) + len(alarms) <= MOST_LANES
        and all(isinstance(node, p.Deadline) or _is_input(_lone_side(node), made) for node in waiting)
        and all(delay_of(alarm) is not None for alarm in alarms)
    )


def _lone_side(node: p.Node) -> p.Node:
    assert isinstance(node, p.Join)
    return p.children(node)[0 if node.alone == "left" else 1]


def _is_input(node: p.Node, made: Collection[p.Kind]) -> bool:
    """Tell whether the instances of a node are inputs, most of which are instants."""
    match node:
        case p.Source(name=name, args=args):
            return (name, len(args)) not in made
        case p.Filter() | p.Union():
            return all(_is_input(part, made) for part in p.children(node))
    return False


def do_act(entries: Sequence[Wired], heads: Sequence[p.Head]) -> bool:
    """Tell whether rules act, at a match or within one."""
    tests = (test for entry in entries for test in p.tests(entry.node))
    return any(head.actions for head in heads) or any(isinstance(test, p.Action) for test in tests)
