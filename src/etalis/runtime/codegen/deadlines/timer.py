"""How a timer is set in generated code."""

from __future__ import annotations

from heapq import heappush

from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import LEVELS, STAGE, Lane, Owner
from etalis.runtime.state import State


def write_timer(
    code: Code, state: State, lane: Lane | None, due: str, since: str, owner: Owner, stage: int, payload: str, *,
    is_parted: bool,
) -> None:  # fmt: skip
    """Write that something is to happen at a moment; in a lane, if such timers are due in the order of setting."""
    shared, timers = code.constant(state), code.constant(state.timers)
    number = code.fresh("n")
    code(f"{shared}.sequence = {number} = {shared}.sequence + 1")
    if owner.level:
        number = f"{number} + {code.constant(owner.level << LEVELS)}"
    if stage:
        since = f"({since} - {code.constant(stage * STAGE)})"
    tag = f"{shared}.tag" if is_parted else "None"
    timer = f"({due}, -{since}, {number}, {code.constant(owner)}, {payload}, {tag})"
    if lane is None:
        code(f"{code.constant(heappush)}({code.constant(state.timers.heap)}, {timer})")
    else:
        code(f"{code.constant(lane)}.append({timer})")
    code(f"if {due} < {timers}.due: {timers}.due = {due}")
