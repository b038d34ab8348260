"""Refusals of the service, and every error as a document of RFC 9457: `application/problem+json`.

An error of the engine keeps its problems, with their places as lines and columns from 1; a refusal adds the status that
a door answers with.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from etalis.errors import DocumentError, EtalisError, LimitError, Problem, Span
from etalis.service.store.folder import StoreError

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class DoorError(EtalisError):
    """What a door does not do, with the status of its answer."""

    status = HTTPStatus.BAD_REQUEST

    def __init__(self, code: str, message: str, hint: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        super().__init__(Problem(code, message, hint=hint))
        self.headers = headers
        self.more: dict[str, Any] = {}  # members of the document beside those that all have


class MalformedError(DoorError):
    """A request that cannot be read."""


class UnauthorizedError(DoorError):
    """A request without a token that is known."""

    status = HTTPStatus.UNAUTHORIZED


class ForbiddenError(DoorError):
    """A request of a client that may not do this."""

    status = HTTPStatus.FORBIDDEN


class NotFoundError(DoorError):
    """Something that does not exist, or not for this client."""

    status = HTTPStatus.NOT_FOUND


class WrongMethodError(DoorError):
    """A method that a resource does not have."""

    status = HTTPStatus.METHOD_NOT_ALLOWED


class ConflictError(DoorError):
    """A request that does not fit the state of a resource."""

    status = HTTPStatus.CONFLICT


class GoneError(DoorError):
    """Matches that are no longer kept."""

    status = HTTPStatus.GONE


class LargeBodyError(DoorError):
    """A body or a line that is longer than the limit."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class WrongTypeError(DoorError):
    """A body of a type that is not read."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class UnprocessableError(DoorError):
    """A request that is well written and still asks for what cannot be done."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class TooManyError(DoorError):
    """A limit of a client, or a queue that is full."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class UnavailableError(DoorError):
    """An engine that has no room, or a service that ends."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


def status_of(error: EtalisError) -> HTTPStatus:
    """Return the status that an error is answered with."""
    if isinstance(error, DoorError):
        return error.status
    if isinstance(error, DocumentError):
        return HTTPStatus.BAD_REQUEST
    if isinstance(error, StoreError) or (isinstance(error, LimitError) and error.code == "E321"):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.UNPROCESSABLE_ENTITY


def document(error: EtalisError) -> dict[str, Any]:
    """Return an error as a problem document.

    >>> document(NotFoundError("E822", "there is no engine x", "GET /engines lists them"))["status"]
    404
    """
    status = status_of(error)
    more = error.more if isinstance(error, DoorError) else {}
    return {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": "; ".join(problem.message for problem in error.problems),
        "problems": [describe(problem) for problem in error.problems],
        **more,
    }


def describe(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain data: code, severity, message, and hint and place where it has them."""
    found: dict[str, Any] = {
        "code": problem.code,
        "severity": "error" if problem.is_error else "warning",
        "message": problem.message,
    }
    if problem.hint:
        found["hint"] = problem.hint
    if problem.span is not None:
        found |= place(problem.span)
    return found


def place(span: Span) -> dict[str, int]:
    """Return where something stands, by lines and columns from 1."""
    line, column = span.source.place(span.start)
    end_line, end_column = span.source.place(span.end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
