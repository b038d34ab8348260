"""A service that answers on loopback while a block runs: HTTP, WebSocket, and lines over TCP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from etalis.service.host import Service
from etalis.service.http.app import make_app
from etalis.service.http.server import bind, make_server

READY_SECONDS = 20.0


@dataclass(frozen=True)
class Live:
    """Where a service answers."""

    http: int
    tcp: int
    service: Service

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}"


@contextmanager
def live_service(**options: Any) -> Iterator[Live]:
    """Serve engines from a thread of their own, with free ports."""
    ready = threading.Event()
    with bind("127.0.0.1", 0) as http, bind("127.0.0.1", 0) as tcp:
        told: list[Service] = []
        servers: list[Any] = []

        async def serve() -> None:
            service = Service(public_url=f"http://127.0.0.1:{http.getsockname()[1]}", **options)
            told.append(service)
            server = make_server(make_app(service, lines=tcp), service, ready=ready.set)
            servers.append(server)
            await server.serve([http])

        thread = threading.Thread(target=asyncio.run, args=(serve(),), name="live service")
        thread.start()
        try:
            assert ready.wait(READY_SECONDS), "the service did not start"
            yield Live(http.getsockname()[1], tcp.getsockname()[1], told[0])
        finally:
            if servers:
                servers[0].should_exit = True
            thread.join()
