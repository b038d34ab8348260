"""The project's own cases, all of them (tests/cases/README.md says what stands in one)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from etalis.cases.case_file import (
    Advance,
    Case,
    Change,
    Delete,
    Insert,
    Step,
    find_cases,
    read_cases,
    read_event,
    read_value,
)
from etalis.temporal.event import Event
from etalis.testing.backends import placed

__all__ = [
    "CASES",
    "Advance",
    "Case",
    "Change",
    "Delete",
    "Insert",
    "Step",
    "all_cases",
    "attribute_columns",
    "read_cases",
    "read_event",
    "read_value",
]

CASES = Path(__file__).parents[1] / "cases"


def all_cases(root: Path = CASES) -> list[Case]:
    """Return what stands in every case file below a folder, in order of path; they are read once."""
    return list(_cases_below(root))


@cache
def _cases_below(root: Path) -> tuple[Case, ...]:
    return tuple(placed(case) for case in find_cases(root))


def attribute_columns(events: Sequence[Event], types: Iterable[object]) -> dict[str, str]:
    """Return the columns in which attributes of one kind come, with their types: by their names if they have some."""
    named = events[0].kind.attributes
    return {named[i] if named else f"x{i}": str(column_type) for i, column_type in enumerate(types)}
