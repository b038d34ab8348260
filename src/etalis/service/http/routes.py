"""The table of routes: method, path, what does it, the scope that it needs, and a line for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from etalis.service.http import engine_calls
from etalis.service.http.call import RouteCall


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table; without a scope, no token is asked for."""

    method: str
    path: str
    call: Callable[[RouteCall], Awaitable[Response]]
    scope: str | None
    text: str


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/engines", engine_calls.create_engine, "write", "make an engine of a program"),
    Endpoint("GET", "/engines", engine_calls.list_engines, "read", "list engines"),
    Endpoint("DELETE", "/engines/{name}", engine_calls.delete_engine, "write", "delete an engine"),
    Endpoint("POST", "/engines/{name}/events", engine_calls.send_events, "signal", "send events"),
    Endpoint("GET", "/engines/{name}/matches", engine_calls.list_matches, "read", "read matches"),
)
