"""The application: admits a request, reads its body, does what its route says, and turns errors into documents."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from socket import socket

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router, WebSocketRoute
from starlette.types import Receive, Scope, Send

from etalis.errors import EtalisError, Problem
from etalis.service.host import Service
from etalis.service.http.call import RouteCall
from etalis.service.http.endpoint import Endpoint
from etalis.service.http.idempotency import FirstAnswers
from etalis.service.http.kept_answers import KeptAnswers
from etalis.service.http.openapi import PROBLEM
from etalis.service.http.routes import ENDPOINTS
from etalis.service.http.snoop_calls import tell_in_xml, wants_xml
from etalis.service.lines.tcp import serving_lines
from etalis.service.lines.websocket import LineSocket
from etalis.service.matches import encode
from etalis.service.problems import (
    DoorError,
    LargeBodyError,
    NotFoundError,
    WrongMethodError,
    WrongTypeError,
    document,
    status_of,
)

_LOG = logging.getLogger(__name__)
_REPEATED = "Idempotency-Replayed"
_REPORT = "no request should do that: please report it, with what the log of the service says"


def make_app(
    service: Service, *, endpoints: Iterable[Endpoint] = ENDPOINTS, more: Iterable[BaseRoute] = (),
    lines: socket | None = None,
) -> Router:  # fmt: skip
    """Return the application over a service, which starts and stops with it; `lines` is a port for sessions."""

    @asynccontextmanager
    async def lifespan(_app: Router) -> AsyncIterator[Mapping[str, object]]:
        await service.start()
        try:
            async with serving_lines(service, lines):
                yield {}
        finally:
            await service.stop()

    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    kept = KeptAnswers(service)
    answers: FirstAnswers[Response] = FirstAnswers(keep=kept.keep)
    routes = [Route(path, Resource(service, several, answers, kept)) for path, several in by_path.items()]
    sockets = WebSocketRoute("/ws", LineSocket(service))
    return Router([*more, sockets, *routes], redirect_slashes=False, default=_Nowhere(service), lifespan=lifespan)


class _Nowhere:
    """Answers requests for what does not exist."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "there is no such socket"})
            return
        error = NotFoundError("E820", f"there is no {scope['path']}", "/openapi.json tells what there is")
        self.service.figures.answers[404] += 1
        await tell(error)(scope, receive, send)


class Resource:
    """What answers at one path, by method."""

    def __init__(
        self, service: Service, endpoints: Mapping[str, Endpoint], answers: FirstAnswers[Response], kept: KeptAnswers
    ) -> None:
        self.service = service
        self.endpoints = endpoints
        self.answers = answers
        self.kept = kept
        self.methods = ", ".join(sorted({*endpoints, *(["HEAD"] if "GET" in endpoints else [])}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "not a socket"})
            return
        try:
            response = await self._respond(Request(scope, receive))
        except EtalisError as error:
            in_xml = scope["path"].startswith("/snoop/") and wants_xml(Headers(scope=scope))
            response = tell_in_xml(error) if in_xml else tell(error)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - a fault of ours ends one request, and is told
            _LOG.exception("a request failed: %s %s", scope["method"], scope["path"])
            response = tell(EtalisError(Problem("E901", f"etalis itself failed: {type(error).__name__}", hint=_REPORT)))
            response.status_code = 500
        self.service.figures.answers[response.status_code] += 1
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = self.endpoints.get(method)
        if endpoint is None:
            message = f"{request.url.path} has no method {request.method}"
            raise WrongMethodError("E820", message, f"it has {self.methods}", {"Allow": self.methods})
        client = self.service.access.admit(request.headers, endpoint.scope)
        body = await self._read(request) if method != "GET" else b""
        call = RouteCall(self.service, client, request, body, request.path_params)
        key = request.headers.get("idempotency-key") if method == "POST" else None
        if key is None:
            return await endpoint.call(call)
        self.kept.recall(self.answers)
        asked = b"\0".join((request.url.path.encode(), str(request.query_params).encode(), call.media.encode(), body))
        found, repeated = await self.answers.answer(client.name, key, asked, partial(_answered, endpoint, call), _final)
        if not repeated:
            return found
        again = Response(found.body, found.status_code, media_type=found.media_type)
        again.raw_headers = [*found.raw_headers, (_REPEATED.lower().encode(), b"true")]
        return again

    async def _read(self, request: Request) -> bytes:
        """Return the body of a request, or refuse one that is too large or of no type."""
        most = self.service.limits.body
        length = request.headers.get("content-length", "0")
        parts, size = [], int(length) if length.isdigit() else 0
        if size <= most:
            size = 0
            async for part in request.stream():
                size += len(part)
                if size > most:
                    break
                parts.append(part)
        if size > most:
            message = f"the body has more than {most} bytes"
            raise LargeBodyError("E824", message, "send it in several requests", {"Connection": "close"})
        packed = request.headers.get("content-encoding", "identity")
        if packed.lower() != "identity":
            raise WrongTypeError(
                "E822", f"the body is packed: {packed!r}", "send it as it is, without Content-Encoding"
            )
        if parts and parts[0] and "content-type" not in request.headers:
            raise WrongTypeError(
                "E822", "the body has no Content-Type", "say what it is: Content-Type: application/json"
            )
        return parts[0] if len(parts) == 1 else b"".join(parts)


async def _answered(endpoint: Endpoint, call: RouteCall) -> Response:
    """Return the answer of a route; that something is wrong is an answer too."""
    try:
        return await endpoint.call(call)
    except EtalisError as error:
        return tell(error)


def _final(response: Response) -> bool:
    """Tell whether the same request would be answered so again: not where there was no room, or a stream."""
    return response.status_code < 500 and response.status_code != 429


def tell(error: EtalisError) -> Response:
    """Return an error as a problem document."""
    headers = dict(error.headers) if isinstance(error, DoorError) else {}
    return Response(encode(document(error)), int(status_of(error)), headers, media_type=PROBLEM)


def headers_of(scope: Scope) -> Mapping[str, str]:
    """Return the headers of a socket or request."""
    return Headers(scope=scope)
