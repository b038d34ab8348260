"""What the fronts of the console need of whoever answers: the engine in the process, or a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from etalis.errors import Problem


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that can be typed, each with what it is, and what may stand in the brackets of some commands."""

    words: Mapping[str, str] = field(default_factory=dict)  # with what they are: event, predicate, command
    inside: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by the word before the bracket
    files: frozenset[str] = frozenset()  # commands whose argument is a file


class Console(Protocol):
    """Whoever answers what is typed, and writes the answers."""

    @property
    def is_over(self) -> bool:
        """Whether the console is to end."""

    @property
    def asks(self) -> bool:
        """Whether there may be more answers to the last goal."""

    @property
    def errors(self) -> list[Problem]:
        """All problems that were told."""

    async def answer(self, clause: str) -> None:
        """Do what a clause says."""

    async def more(self) -> None:
        """Write the next answer to the last goal."""

    def enough(self) -> None:
        """Ask for no more answers."""

    async def stay_awake(self) -> None:
        """Do what is due while nothing is typed, until cancelled."""

    def vocabulary(self) -> Vocabulary:
        """Return the words that can be typed now."""
