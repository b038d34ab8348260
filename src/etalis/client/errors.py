"""What a service refuses, as the errors that an engine in the process raises: with code, place and hint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from etalis.errors import (
    ConditionError,
    EtalisError,
    EventError,
    InputError,
    LimitError,
    OptionError,
    Problem,
    ProgramError,
    Source,
    Span,
)

_KINDS: tuple[tuple[str, type[EtalisError]], ...] = (  # by the beginning of the code, the longer ones first
    ("E32", LimitError),
    ("E338", OptionError),
    ("E339", OptionError),
    ("E343", OptionError),
    ("E1", ProgramError),
    ("E2", ProgramError),
    ("E3", EventError),
    ("E4", InputError),
    ("E5", ConditionError),
)


class ServiceError(EtalisError):
    """What a service does not do, or that it cannot be reached; `status` is that of its answer, `more` what it adds."""

    def __init__(self, *problems: Problem, status: int | None = None, more: Mapping[str, Any] | None = None) -> None:
        super().__init__(*problems)
        self.status = status
        self.more = dict(more or {})


class RejectedRowsError(EventError):
    """Rows that the service did not take; `found` is what the others of their batch caused."""

    def __init__(self, problem: Problem, found: tuple[Any, ...]) -> None:
        super().__init__(problem)
        self.found = found


class LostMatchesError(EtalisError):
    """Matches that were asked for and are no longer kept; `first` is the number of the first one that is."""

    def __init__(self, first: int) -> None:
        hint = f"ask after {first - 1}, and take what is lost as lost"
        super().__init__(Problem("E852", f"matches before number {first} are no longer kept", hint=hint))
        self.first = first


def error_of(status: int, body: bytes, source: Source | None = None) -> EtalisError:
    """Return the error of an answer; places are those of the source, where the request had one.

    >>> body = b'{"title": "x", "problems": [{"code": "E204", "message": "unsafe", "line": 1, "column": 3}]}'
    >>> print(error_of(422, body, Source("p", "c(X) <- a.")))
    p:1:3: error E204: unsafe
        1 | c(X) <- a.
              ^
    """
    try:
        document = json.loads(body)
        problems = tuple(_problem(each, source) for each in document["problems"])
        code = problems[0].code
    except (ValueError, LookupError, TypeError, AttributeError):
        text = body[:200].decode("utf-8", "replace").strip()
        hint = "is this the address of an etalis service?"
        return ServiceError(Problem("E851", f"the service answered {status}: {text}", hint=hint), status=status)
    known = ("type", "title", "status", "detail", "problems")
    more = {name: value for name, value in document.items() if name not in known}
    for start, kind in _KINDS:
        if code.startswith(start):
            error = kind(*problems)
            if "taken" in more:
                error.add_note(f"rows taken before it: {more['taken']}")
            return error
    return ServiceError(*problems, status=status, more=more)


def _problem(record: Mapping[str, Any], source: Source | None) -> Problem:
    """Return a problem from its JSON."""
    span = None
    if source is not None and "line" in record:
        start = _offset(source, record["line"], record["column"])
        end = _offset(source, record["end_line"], record["end_column"]) if "end_line" in record else start + 1
        span = Span(source, start, max(start, end))
    message = str(record["message"])
    if span is None and "line" in record:
        message = f"{message} (line {record['line']}, column {record['column']})"
    return Problem(str(record["code"]), message, span, record.get("hint"))


def _offset(source: Source, line: int, column: int) -> int:
    lines = source.text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
