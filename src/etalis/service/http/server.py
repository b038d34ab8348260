"""A server of the application: uvicorn with httptools on a socket that is bound first, ended cleanly by signals."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from etalis.errors import InputError, Problem
from etalis.service.host import Service

SWITCH_SECONDS = 0.0005  # so often the event loop may take its turn beside the worker
_INCOMPLETE = "returned without completing response"
_GRACE = 5  # seconds in which answers may still go out
MOST_HEADERS = 64 * 1024  # bytes of a request before its body
HEADER_SECONDS = 30.0  # until those of the first request have come


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or asyncio would not set TCP_NODELAY
    except OSError as error:
        hint = "give a name or address of this machine: --host 127.0.0.1"
        raise InputError(Problem("E834", f"there is no host {host}: {error.strerror}", hint=hint)) from None
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        found.close()
        hint = "give another port: --port 8124; 0 takes a free one"
        message = f"cannot listen on {host}, port {port}: {error.strerror}"
        raise InputError(Problem("E834", message, hint=hint)) from None
    return found


def check_certificate(certificate: Path, key: Path) -> None:
    """Refuse a certificate and a key that cannot be used, or do not belong together."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        hint = "give a certificate and its private key, both PEM: --cert FILE --key FILE"
        message = f"the certificate {certificate} and the key {key} cannot be used: {error.strerror or error}"
        raise InputError(Problem("E834", message, hint=hint)) from None


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed where the headers of a request are too long, or take too long."""

    _is_in_headers = True
    _length = 0
    _hurry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._hurry = self.loop.call_later(HEADER_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, of headers not too many."""
        super().data_received(data)
        if self._is_in_headers:
            self._length += len(data)
            if self._length > MOST_HEADERS:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._is_in_headers, self._length = True, 0

    def on_headers_complete(self) -> None:
        """Hear that what is left of the request is its body."""
        self._is_in_headers = False
        self._relax()
        super().on_headers_complete()

    def _relax(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None


class EtalisServer(uvicorn.Server):
    """A server that lets go of its streams when it ends, and ends its process with no signal."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self.service = service
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: streams first, which would go on for ever."""
        self.service.hang_up()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End the server on SIGINT and SIGTERM, a second SIGINT at once; afterwards the program goes on."""
        before = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(ValueError):  # not in the main thread: who started the server ends it
                before[number] = signal.signal(number, self._end)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def serve(
    app: ASGIApp, service: Service, listening: socket.socket, *, certificate: Path | None = None,
    key: Path | None = None, ready: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Answer requests until a signal ends it."""
    asyncio.run(make_server(app, service, certificate=certificate, key=key, ready=ready).serve([listening]))


def make_server(
    app: ASGIApp, service: Service, *, certificate: Path | None = None, key: Path | None = None,
    ready: Callable[[], object] = lambda: None,
) -> EtalisServer:  # fmt: skip
    """Return a server for an application; `serve([socket])` runs it."""
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    config = uvicorn.Config(
        app, http=BoundedProtocol, ws="websockets-sansio", loop="asyncio", lifespan="on", log_level="warning",
        access_log=False, server_header=False, date_header=False, timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=75, ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key), proxy_headers=False,
    )  # fmt: skip
    return EtalisServer(config, service, ready)


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether a message of the server says what we do not know: a reader that is let go has no complete answer."""
    return _INCOMPLETE not in record.getMessage()


@contextmanager
def quick_switches() -> Iterator[None]:
    """Let threads take turns often, so that the worker holds up the event loop but shortly."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
