"""A program of the kind that users write: its text, its stream, and a plain loop that finds the same matches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]  # (name, attributes..., time), as `run` takes it
Match = tuple[str, tuple[Any, ...], Any, Any]  # name, attributes, start, end
Loop = Callable[[list[Any]], list[Match]]


@dataclass(frozen=True)
class Case:
    """What a program needs to be run and checked; `closes`: the loop also tells what falls due after the last event."""

    name: str
    text: str
    policy: str
    rows: Callable[[int], list[Any]]
    loop: Loop
    facts: Mapping[str, list[Row]] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    events: int = 200_000
    closes: bool = False


def named(*cases: Case) -> dict[str, Case]:
    return {case.name: case for case in cases}


def unique(found: list[Match]) -> list[Match]:
    """Return each match once: a derived event occurs once per attributes and interval."""
    return list(dict.fromkeys(found))
