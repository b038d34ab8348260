"""Every error a user can cause: one hierarchy, each with code, place, message and hint.

A `Problem` is the datum (what `check` collects); an `EtalisError` carries one or more problems and is what is raised.
Codes are stable: `E...` refuses a program or an input, `W...` warns. Spans are character offsets into a `Source`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=4)
def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(found.end() for found in re.finditer("\n", text)))


@dataclass(frozen=True, slots=True)
class Source:
    """A text with the name to show for it, and the number of its first line where it is part of a longer one."""

    name: str
    text: str
    first: int = 1

    def place(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of an offset, both from 1."""
        starts = _line_starts(self.text)
        line = bisect_right(starts, offset)
        return line - 1 + self.first, offset - starts[line - 1] + 1

    def line_at(self, offset: int) -> str:
        """Return the line that holds an offset, without its end."""
        end = self.text.find("\n", offset)
        return self.text[self.text.rfind("\n", 0, offset) + 1 : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: offsets [start, end) in a source."""

    source: Source
    start: int
    end: int

    def __repr__(self) -> str:
        line, column = self.source.place(self.start)
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: code, what is wrong, where, and what to do about it."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E")

    def is_within(self, span: Span | None) -> bool:
        """Tell whether the place lies in a span."""
        if self.span is None or span is None or self.span.source != span.source:
            return False
        return span.start <= self.span.start and self.span.end <= span.end

    def __str__(self) -> str:
        kind = "error" if self.is_error else "warning"
        parts = [f"{kind} {self.code}: {self.message}"]
        if self.span is not None:
            parts = [f"{self.span!r}: {parts[0]}", draw_caret(self.span)]
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


def draw_caret(span: Span) -> str:
    """Return the source line of a span with carets under the part it covers."""
    number, column = span.source.place(span.start)
    text = span.source.line_at(span.start)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    first = max(0, column - 1 - 100)
    shown = text[first : first + 160]
    pad = "".join("\t" if c == "\t" else " " for c in text[first : column - 1])
    gutter = f"{number:>5} | "
    return f"{gutter}{shown}\n{' ' * len(gutter)}{pad}{'^' * min(width, 160)}"


class EtalisError(Exception):
    """Base of all errors of this package that input can cause; `.problems` holds the findings."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(p) for p in problems))

    @property
    def code(self) -> str:
        return self.problems[0].code


class ProgramError(EtalisError):
    """A program that cannot be run: syntax, unsafe variables, unknown flags."""


class ProgramWarning(UserWarning):
    """A program that runs, but probably not as it is meant; its text is a problem with place and hint."""


class EventError(EtalisError):
    """An event that cannot be taken: unknown attribute, wrong type, out of order."""


class ConditionError(EtalisError):
    """A condition or action that raised; it fails its own match and stops nothing else."""

    kind: Hashable = None  # what it has in common with others of the same goal


class Failure(ConditionError):  # noqa: N818  the word of the definition
    """A reaction without an execution: nothing of it was done, and what comes after it goes on.

    `bindings` are those of its match, on the `interval` (start and end in seconds); `input` is the number of the input
    that brought it about, where inputs are numbered. The longest attempt had `reached` some steps when `failed`, a test
    or an effect with its values, stopped it; `why`: no execution, limit, error, effect refused, or illegal state.
    """

    def __init__(
        self, problem: Problem, reaction: str, bindings: Mapping[str, Any], interval: tuple[float, float],
        input: int | None, reached: tuple[str, ...], failed: str, why: str,  # noqa: A002
    ) -> None:  # fmt: skip
        super().__init__(problem)
        self.reaction = reaction
        self.bindings = bindings
        self.interval = interval
        self.input = input
        self.reached = reached
        self.failed = failed
        self.why = why


class LimitError(EtalisError):
    """A configured limit was reached (derivations of one input, size of a term)."""


class InputError(EtalisError):
    """A file, row or option that cannot be read."""


class DocumentError(InputError):
    """A document of SNOOP-R that cannot be read: not of its notation, too large, too deep, against the schema."""


class RegistrationError(EtalisError):
    """An expression of SNOOP-R that was read and cannot be detected, with all that is wrong with it."""


class OptionError(InputError, TypeError):
    """An option that does not exist."""


class SnapshotError(EtalisError):
    """A snapshot that cannot be taken, read, or continued by this program."""


class ReportWarning(UserWarning):
    """What a run came across: events that no rule reads, rules that never fired, what was refused or failed."""
