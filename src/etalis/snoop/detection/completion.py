"""Whether an expression can still be detected when parts of it have failed or ended (004, section 3.3: active or not).

A leaf can while it is alive; OR if a branch can; a sequence if its last part can, and what comes before it can or
waits; ANY of n if some constituent can, and those that can or wait are at least n. What must not occur has no say.
"""

from __future__ import annotations

from collections.abc import Container

from etalis.snoop.detection.rules import count_of, parts_of
from etalis.snoop.expression import OPERATORS, Expression, Path


def can_complete(node: Expression, path: Path, alive: Container[Path], waiting: Container[Path]) -> bool:
    """Tell whether a node can still occur; `waiting` are the arguments of which instances are kept for partners."""
    if node.is_leaf:
        return path in alive
    parts = list(parts_of(node, path))
    can = [can_complete(argument.expression, place, alive, waiting) for place, argument in parts]
    match node.operator:
        case "OR":
            return any(can)
        case "ANY":
            ready = sum(able or place in waiting for able, (place, _) in zip(can, parts, strict=True))
            return any(can) and ready >= count_of(node)
        case _:
            absent = OPERATORS[node.operator or ""].absent
            told = zip(can, parts, strict=True)
            return _can_follow([(able, place in waiting) for able, (place, _) in told if place[-1] != absent])


def _can_follow(parts: list[tuple[bool, bool]]) -> bool:
    """Tell whether a sequence can be completed; what waits at a place is all of it up to there."""
    reached = True
    for number, (can, waits) in enumerate(parts, 1):
        reached = (reached and can) or (waits and number < len(parts))
    return reached
