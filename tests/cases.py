"""The project's own cases, all of them (tests/cases/README.md says what stands in one)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from etalis.cases import Advance, Case, Change, Delete, Insert, Step, read_cases, read_event, read_value
from etalis.temporal.event import Event, Kind

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

CASES = Path(__file__).parent / "cases"


def all_cases(root: Path = CASES) -> list[Case]:
    """Read every case file below a folder, in order of path."""
    return [placed(case) for path in sorted(root.rglob("*.case")) for case in read_cases(path, root)]


def attribute_columns(events: Sequence[Event], types: Iterable[object]) -> dict[str, str]:
    """Return the columns in which attributes of one kind come, with their types: by their names if they have some."""
    named = events[0].kind.attributes
    return {named[i] if named else f"x{i}": str(column_type) for i, column_type in enumerate(types)}


def placed(case: Case) -> Case:
    """Return a case with the attributes that its events name in their places; they keep their names."""
    if not any(isinstance(step, Event) and step.kind.attributes for step in case.steps):
        return case
    from etalis.language.modules import load_collect
    from etalis.language.rules import declarations

    program, _ = load_collect(case.program, read=dict(case.files).get)
    declared = {name: [a for a, _ in item.attributes] for (name, _), item in declarations(program).items()}
    return replace(case, steps=tuple(_placed(step, declared) for step in case.steps))


def _placed(step: Step, declared: dict[str, list[str]]) -> Step:
    if not isinstance(step, Event) or sorted(step.kind.attributes) != sorted(declared.get(step.name, [""])):
        return step
    names = tuple(declared[step.name])
    kind = Kind(step.name, len(names), None, names)
    return Event((step.end_time, step.start_time, kind, *(step[name] for name in names)))
