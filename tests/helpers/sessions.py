"""Sessions of lines in the process: a carrier whose other end is a test, and a live port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from etalis.service.access import Client
from etalis.service.host import EngineSpec, Service
from etalis.service.http.server import bind
from etalis.service.lines.session import LineSession
from helpers.service import live

PROGRAM = ":- set_flag(event_consumption_policy, unrestricted). c(X) <- (a(X) seq b(X)) within 9."


class TestedCarrier:
    """What a session reads is put here, what it writes is kept; taking can be held up."""

    __test__ = False

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self.written = b""
        self.changed = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.aborted = False

    async def receive(self) -> bytes:
        return await self.incoming.get()

    async def send(self, data: bytes) -> None:
        await self.open.wait()
        self.written += data
        self.changed.set()

    def abort(self) -> None:
        self.aborted = True
        self.incoming.put_nowait(b"")
        self.open.set()


class Conversation:
    """A session, and what is said in it."""

    def __init__(self, service: Service, client: Client | None = None) -> None:
        self.service = service
        self.carrier = TestedCarrier()
        self.session = LineSession(service, self.carrier, client)
        self.task = asyncio.create_task(self.session.run())

    def write(self, data: bytes | str) -> None:
        """Send something."""
        self.carrier.incoming.put_nowait(data if isinstance(data, bytes) else data.encode())

    async def read(self, lines: int) -> list[str]:
        """Return the next lines, as soon as so many have been written or the session has ended."""
        while self.carrier.written.count(b"\n") < lines and not self.task.done():
            self.carrier.changed.clear()
            waiting = asyncio.create_task(self.carrier.changed.wait())
            await asyncio.wait([waiting, self.task], return_when=asyncio.FIRST_COMPLETED, timeout=20)
            waiting.cancel()
        *found, rest = self.carrier.written.decode().split("\n")
        self.carrier.written = "\n".join([*found[lines:], rest]).encode()
        return found[:lines]

    async def say(self, data: bytes | str, lines: int = 1) -> list[str]:
        """Send something, and return so many lines of answers."""
        self.write(data)
        return await self.read(lines)

    async def end(self) -> str:
        """End the connection, and return all that was written and not read."""
        self.carrier.incoming.put_nowait(b"")
        await self.task
        return self.carrier.written.decode()


@asynccontextmanager
async def talking(program: str = PROGRAM, *, time: str = "events", **options: Any) -> AsyncIterator[Conversation]:
    """Yield a conversation with a service that has an engine of this program, named `main`."""
    service = Service(time=time, **options)
    await service.start()
    try:
        await service.create(EngineSpec(program=program, name="main", scratch=True))
        conversation = Conversation(service)
        yield conversation
        await conversation.end()
    finally:
        await service.stop()


@dataclass(frozen=True)
class LiveSessions:
    """Where a live service answers lines."""

    url: str
    port: int
    service: Service

    @property
    def addresses(self) -> tuple[str, str]:
        return f"tcp://127.0.0.1:{self.port}", self.url


@contextmanager
def live_sessions(**options: Any) -> Iterator[LiveSessions]:
    """Yield a server on loopback with a port for lines."""
    with bind("127.0.0.1", 0) as lines:
        service = Service(**options)
        with live(service, lines=lines) as url:
            yield LiveSessions(url, lines.getsockname()[1], service)
