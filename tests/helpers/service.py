"""A service in the process: a client over ASGI without a network, a clock that stands, a live server on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from etalis.service.clock import ServiceClock
from etalis.service.host import Service
from etalis.service.http.app import make_app
from etalis.service.http.server import bind, make_server

URL = "http://127.0.0.1:8123"
LINES = {"Content-Type": "application/x-ndjson"}
TERMS = {"Content-Type": "text/plain"}


class StandingClock(ServiceClock):
    """A clock that tests move."""

    def __init__(self, moment: int = 0) -> None:
        self.moment = moment

    def now(self) -> int:
        return self.moment

    def monotonic(self) -> float:
        return self.moment / 1_000_000


@asynccontextmanager
async def served(service: Service | None = None, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a service in this process."""
    service = service or Service(public_url=URL, **options)
    await service.start()
    transport = httpx.ASGITransport(make_app(service))
    try:
        async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
            client.service = service  # type: ignore[attr-defined]
            yield client
    finally:
        await service.stop()


@contextmanager
def live(service: Service | None = None, **options: Any) -> Iterator[str]:
    """Yield the address of a server on loopback, which runs in a thread and is ended."""
    with bind("127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        service = service or Service(public_url=url, **options)
        ready = threading.Event()
        server = make_server(make_app(service), service, ready=ready.set)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            assert ready.wait(10)
            yield url
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


def lines(rows: Iterable[Mapping[str, Any] | list[Any]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_stream(text: str) -> list[tuple[str, Any]]:
    """Return the events of a stream of server-sent events: what each is, and its data."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found
