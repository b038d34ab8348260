"""The client's end of a session of lines: text out, text in, over TCP or WebSocket."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from etalis.client.errors import ServiceError
from etalis.errors import Problem

CHUNK = 64 * 1024
_SOCKETS = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_FORMS = "write tcp://host:port, or http://host:port/engine"


class LineConnection(Protocol):
    """A connection that carries lines."""

    async def send(self, text: str) -> None:
        """Send lines."""

    async def receive(self) -> str:
        """Return what has come; nothing at the end."""


class _TcpConnection:
    """Lines over TCP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    async def send(self, text: str) -> None:
        """Send lines."""
        self._writer.write(text.encode("utf-8", "surrogateescape"))
        await self._writer.drain()

    async def receive(self) -> str:
        """Return what has come; nothing at the end."""
        text = ""
        while not text:
            data = await self._reader.read(CHUNK)
            if not data:
                break
            text = self._decoder.decode(data)
        return text


class _SocketConnection:
    """Lines over WebSocket."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        """Send lines."""
        await self._socket.send(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))

    async def receive(self) -> str:
        """Return what has come; nothing at the end."""
        from websockets.exceptions import ConnectionClosed

        try:
            message: str = await self._socket.recv(decode=True)
        except ConnectionClosed:
            return ""
        return f"{message}\n"


@asynccontextmanager
async def connect(url: str, token: str | None = None) -> AsyncIterator[LineConnection]:
    """Connect with a service: by its port for lines, `tcp://host:port`, or by its address for HTTP.

    Over HTTP the token is in a header; over TCP it is for the caller to send.
    """
    address = address_of(url)
    if address.scheme == "tcp":
        async with _tcp(address) as connection:
            yield connection
        return
    from websockets.asyncio.client import connect as connect_socket
    from websockets.exceptions import InvalidHandshake

    target = f"{_SOCKETS[address.scheme]}://{address.netloc}/ws"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        socket = await connect_socket(target, additional_headers=headers, max_size=None, proxy=None)
    except (OSError, InvalidHandshake, TimeoutError) as error:
        raise unreachable(url, error) from None
    try:
        yield _SocketConnection(socket)
    finally:
        await socket.close()


@asynccontextmanager
async def _tcp(address: SplitResult) -> AsyncIterator[LineConnection]:
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    except OSError as error:
        raise unreachable(address.geturl(), error) from None
    try:
        yield _TcpConnection(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def address_of(url: str) -> SplitResult:
    """Return the parts of an address; HOST:PORT is one for TCP.

    >>> address_of("localhost:1600").scheme, address_of("http://localhost:8123/shop").path
    ('tcp', '/shop')
    """
    try:
        parts = urlsplit(url if "://" in url else f"tcp://{url}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not parts.hostname or parts.scheme not in ("tcp", *_SOCKETS) or (parts.scheme == "tcp" and port is None):
        raise ServiceError(Problem("E854", f"{url} is no address of a service", hint=_FORMS))
    return parts


def engine_of(url: str) -> str | None:
    """Return the engine that an address names behind the port.

    >>> engine_of("tcp://localhost:1600/shop"), engine_of("http://h/engines/shop"), engine_of("localhost:1600")
    ('shop', 'shop', None)
    """
    path = unquote(address_of(url).path).strip("/").removeprefix("engines/")
    return path or None


def unreachable(url: str, error: Exception) -> ServiceError:
    """Return the error that nobody answers at an address."""
    what = getattr(error, "strerror", None) or str(error) or type(error).__name__
    hint = "does it run, and is the address right? `etalis serve` says where it listens"
    return ServiceError(Problem("E850", f"the service at {url} cannot be reached: {what}", hint=hint))
