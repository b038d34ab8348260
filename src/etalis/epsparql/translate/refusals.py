"""What a query asks for and rules cannot do: one problem, with its place and what to write instead."""

from __future__ import annotations

from etalis.errors import Problem, ProgramError, Span


def refuse(code: str, message: str, span: Span | None, hint: str) -> ProgramError:
    """Return the refusal of a query."""
    return ProgramError(Problem(code, message, span, hint))


def has_no_time(span: Span | None, what: str) -> ProgramError:
    """Return the refusal of what reads the background alone where an interval is needed."""
    message = f"{what} has no time: no part of it is a stream"
    return refuse("E291", message, span, "add a pattern that reads the stream, or name its predicate in streamed=")
