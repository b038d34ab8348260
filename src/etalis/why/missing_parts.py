"""Where what a match needs to be missing was looked for: partners of an operand alone, and absent patterns."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from etalis.language.syntax import Negation, NotWithin, Side
from etalis.temporal.relation import Relation

Where: TypeAlias = tuple[int | None, int, str, bool, bool]  # from, to, its name, and whether the bounds are open


def where_missing(relation: Relation, alone: Side, window: int | None, start: int, end: int) -> Where:
    """Return where a partner of an operand on an interval would have started and ended (definition 9.24 to 9.32)."""
    assert relation.alone is not None
    match relation.alone[0 if alone == "left" else 1]:
        case "at once":
            return None if window is None else end - window, start, "before", False, True
        case "after its stamp":
            return start, end, "same", False, False
        case "in its window":
            assert window is not None
            due = start + window
            return (
                (end, due, "gap", True, False) if relation.sequential else (end - window, due, "inside", False, False)
            )
        case other:
            assert_never(other)


def where_absent(absence: NotWithin, end: int) -> Where:
    """Return where an absence looks until its deadline, after a left side that ended at a moment (definition 11.13)."""
    due = end + absence.duration
    return (
        (end, due, "gap", True, False)
        if absence.before is None
        else (end - absence.before, due, "inside", False, False)
    )


def where_before(negation: Negation, window: int | None, end: int) -> Where:
    """Return where `fnot` looks that has a window around it, if any, before a match that ended at a moment."""
    back = min((w for w in (negation.window, window) if w is not None), default=None)
    return None if back is None else end - back, end, "before", False, True


def end_alone(relation: Relation, alone: Side, window: int | None, start: int, end: int) -> int:
    """Return when it is known that an operand on an interval has no partner, which is the end of its match."""
    assert relation.alone is not None
    if relation.alone[0 if alone == "left" else 1] != "in its window":
        return end
    assert window is not None
    return start + window
