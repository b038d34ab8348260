"""The project's own cases, all of them (tests/cases/README.md says what stands in one)."""

from __future__ import annotations

from pathlib import Path

from etalis.cases import Advance, Case, Change, Delete, Insert, Step, read_cases, read_event, read_value

__all__ = [
    "CASES",
    "Advance",
    "Case",
    "Change",
    "Delete",
    "Insert",
    "Step",
    "all_cases",
    "read_cases",
    "read_event",
    "read_value",
]

CASES = Path(__file__).parent / "cases"


def all_cases(root: Path = CASES) -> list[Case]:
    """Read every case file below a folder, in order of path."""
    return [case for path in sorted(root.rglob("*.case")) for case in read_cases(path, root)]
