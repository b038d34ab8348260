"""The application: admits a request, reads its body, does what its route says, and turns errors into documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router

from etalis.errors import EtalisError
from etalis.service.access import LOCAL
from etalis.service.host import Service
from etalis.service.http.call import RouteCall
from etalis.service.http.routes import ENDPOINTS, Endpoint
from etalis.service.matches import encode
from etalis.service.problems import DoorError, document, status_of

PROBLEM = "application/problem+json"


def make_app(service: Service, *, endpoints: Iterable[Endpoint] = ENDPOINTS, more: Iterable[BaseRoute] = ()) -> Router:
    """Return the application over a service, which starts and stops with it."""

    @asynccontextmanager
    async def lifespan(_app: Router) -> AsyncIterator[Mapping[str, object]]:
        await service.start()
        try:
            yield {}
        finally:
            await service.stop()

    return Router([*(_route(service, endpoint) for endpoint in endpoints), *more], lifespan=lifespan)


def _route(service: Service, endpoint: Endpoint) -> Route:
    async def respond(request: Request) -> Response:
        try:
            body = await request.body()
            return await endpoint.call(RouteCall(service, LOCAL, request, body, request.path_params))
        except EtalisError as error:
            return tell(error)

    return Route(endpoint.path, respond, methods=[endpoint.method])


def tell(error: EtalisError) -> Response:
    """Return an error as a problem document."""
    headers = dict(error.headers) if isinstance(error, DoorError) else {}
    return Response(encode(document(error)), int(status_of(error)), headers, media_type=PROBLEM)
