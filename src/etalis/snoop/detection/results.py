"""What a registration tells: results, with the events that contributed, nested as the expression; failures.

An instance travels through the engine as one text: its number, its interval and what the sender said of its time. So
nothing beside the engine keeps instances, and what has left its stores is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from etalis.snoop.values import Bound


@dataclass(frozen=True, slots=True)
class Contribution:
    """An event that contributed: of a leaf with its instance, else with what its arguments contributed.

    Times are microseconds. `number` is that of the signal, `12.2` of its second tuple; `at` is the time that the sender
    gave, where another one counts.
    """

    operator: str | None
    start: int
    end: int
    language: str | None = None
    number: str | None = None
    at: str | None = None
    arguments: tuple[tuple[str, Contribution], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One result of an expression; the last one may have no bindings and no events."""

    number: int
    bindings: Mapping[str, Bound] = field(default_factory=dict)
    start: int | None = None
    end: int | None = None
    events: Contribution | None = None
    is_last: bool = False

    def as_last(self) -> Result:
        """Return the result, after which none comes."""
        return replace(self, is_last=True)


@dataclass(frozen=True, slots=True)
class ExpressionFailed:
    """Says that an expression cannot be detected any more, because a part of it failed."""

    code: str
    text: str


Notice: TypeAlias = Result | ExpressionFailed


@dataclass(frozen=True, slots=True)
class Stamped:
    """An instance as the engine keeps it."""

    number: str
    start: int
    end: int
    at: str | None = None

    def write(self) -> str:
        """Write it as one text."""
        text = f"{self.number} {self.start} {self.end}"
        return text if self.at is None else f"{text} {self.at}"

    @staticmethod
    def read(text: str) -> Stamped:
        """Read what `write` has written.

        >>> Stamped.read(Stamped("12.2", 5, 7, "9 Feb").write())
        Stamped(number='12.2', start=5, end=7, at='9 Feb')
        """
        number, start, end, *at = text.split(" ", 3)
        return Stamped(number, int(start), int(end), at[0] if at else None)
