"""What engines of the service are made of: what is asked for, what was made of it, what they have seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from etalis.engine import Engine
from etalis.program import Program
from etalis.runtime.lateness.watermark import DeadLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """What is asked for when an engine is made."""

    program: str
    name: str | None = None
    language: str = "rules"
    policy: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    time: str | None = None
    scratch: bool = False
    background: str | None = None


@dataclass(slots=True)
class EngineCounts:
    """What an engine has seen."""

    events: int = 0
    late: int = 0
    rejected: int = 0
    repeated: int = 0
    matches: int = 0
    retractions: int = 0


class LetterSlot:
    """Where an engine puts its dead letters: in the hands of the batch that is being processed."""

    def __init__(self) -> None:
        self.receive: Callable[[DeadLetter], object] = lambda _: None

    def __call__(self, letter: DeadLetter) -> None:
        self.receive(letter)


@dataclass(frozen=True, slots=True)
class MadeEngine:
    """A program with its engine, as the worker's thread made them."""

    program: Program
    engine: Engine
    letters: LetterSlot
