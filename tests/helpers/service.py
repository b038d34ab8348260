"""A service in the process: a client over ASGI without a network, a clock that stands, a live server on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from socket import socket
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
def live(service: Service | None = None, *, lines: socket | None = None, **options: Any) -> Iterator[str]:
    """Yield the address of a server on loopback, which runs in a thread and is ended; `lines` is a port for lines."""
    with bind("127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        service = service or Service(public_url=url, **options)
        ready = threading.Event()
        server = make_server(make_app(service, lines=lines), service, ready=ready.set)
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
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line[1:])
        if "data" in fields:
            found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


class Stream:
    """A reader of a stream in this process: it takes what the application sends as fast as the test lets it."""

    def __init__(self, service: Service, path: str, headers: Mapping[str, str] | None = None) -> None:
        path, _, query = path.partition("?")
        given = {"host": "127.0.0.1:8123", "accept": "text/event-stream", **(headers or {})}
        self.scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "root_path": "",
            "scheme": "http", "http_version": "1.1", "query_string": query.encode(), "server": ("127.0.0.1", 8123),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()], "client": ("127.0.0.1", 1),
        }  # fmt: skip
        self.app = make_app(service)
        self.text = ""
        self.status = 0
        self.takes = asyncio.Event()
        self.takes.set()
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self.app(self.scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.takes.wait()
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()
        self._news.set()

    async def read(self, most: int) -> list[tuple[str, Any]]:
        """Return what has come, when it is so many events, or the stream has ended."""
        while len(read_stream(self.text)) < most and not self.task.done():
            self._news.clear()
            ended = asyncio.create_task(self._news.wait())
            await asyncio.wait([ended, self.task], return_when=asyncio.FIRST_COMPLETED, timeout=20)
            ended.cancel()
        return read_stream(self.text)

    async def close(self) -> None:
        """Go away."""
        self._gone.set()
        await self.task
