"""Lines over TCP: a session for each connection; `etalis serve --tcp PORT` opens the port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from socket import socket

from etalis.service.host import Service
from etalis.service.lines.session import LineSession

CHUNK = 64 * 1024  # bytes that are read at once
_LOG = logging.getLogger(__name__)


class TcpCarrier:
    """The two ends of a connection as a session has them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes:
        """Return the bytes that have come; none at the end."""
        return await self._reader.read(CHUNK)

    async def send(self, data: bytes) -> None:
        """Write, and wait until the other side has taken most of it."""
        if data:
            self._writer.write(data)
            await self._writer.drain()

    def abort(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()


@asynccontextmanager
async def serving_lines(service: Service, port: socket | None) -> AsyncIterator[None]:
    """Answer sessions at a port, if there is one, until the block ends."""
    if port is None:
        yield
        return

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await LineSession(service, TcpCarrier(reader, writer)).run()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the other side has gone, or the service ends
        except Exception:  # noqa: BLE001 - a fault of ours ends this connection alone, and does not stay unseen
            _LOG.exception("a session failed")
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    server = await asyncio.start_server(talk, sock=port, limit=CHUNK)
    try:
        yield
    finally:
        server.close()
