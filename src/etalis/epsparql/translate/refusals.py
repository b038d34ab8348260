"""What a query asks for and rules cannot do: one problem, with its place and what to write instead."""

from __future__ import annotations

from etalis.errors import Problem, ProgramError, Span


def refuse(message: str, span: Span | None, hint: str) -> ProgramError:
    """Return the refusal of a query that means something, which no rule says."""
    return ProgramError(Problem("E265", message, span, hint))
