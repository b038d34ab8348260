"""A row of the table of routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from etalis.service.http.call import JSON, RouteCall


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table.

    `scope` is what a token must have; without one, no token is asked for. `body` is the shape of a body in JSON,
    `takes` are the content types of one that is read otherwise. `query` has what may stand behind the question mark.
    """

    method: str
    path: str
    call: Callable[[RouteCall], Awaitable[Response]]
    scope: str | None
    text: str
    answers: tuple[HTTPStatus, ...] = (HTTPStatus.OK,)
    body: type[msgspec.Struct] | None = None
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = (JSON,)
    query: tuple[str, ...] = ()
