"""Lines over WebSocket at `/ws`: each message is a piece of the session, as if a line break followed it.

The token comes in the header `Authorization`, or as the first request where pages cannot set headers.
"""

from __future__ import annotations

from contextlib import suppress

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from etalis.service.access import ANYBODY
from etalis.service.host import Service
from etalis.service.lines.session import LineSession
from etalis.service.problems import DoorError

POLICY = 1008  # the code of a refusal


class WebSocketCarrier:
    """A socket as a session has it; what is sent is text."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._is_over = False

    async def receive(self) -> bytes:
        """Return the next message; nothing at the end."""
        if self._is_over:
            return b""
        message = await self._socket.receive()
        if message["type"] != "websocket.receive":
            self._is_over = True
            return b""
        text = message.get("text")
        data: bytes = message["bytes"] if text is None else text.encode("utf-8", "surrogateescape")
        return data + b"\n"

    async def send(self, data: bytes) -> None:
        """Send a message."""
        if data:
            await self._socket.send_text(data.decode().removesuffix("\n"))

    def abort(self) -> None:
        """Read no more: the session ends, and with it the socket."""
        self._is_over = True


class LineSocket:
    """The resource `/ws`."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Talk to whoever may."""
        socket = WebSocket(scope, receive, send)
        try:
            client = self.service.access.identify(socket.headers, required=False)
        except DoorError as error:
            await socket.close(POLICY, error.problems[0].message[:120])
            return
        await socket.accept()
        carrier = WebSocketCarrier(socket)
        session = LineSession(self.service, carrier, None if client is ANYBODY else client)
        with suppress(WebSocketDisconnect):
            await session.run()
        if socket.client_state is WebSocketState.CONNECTED:
            with suppress(RuntimeError, WebSocketDisconnect):  # it may have closed meanwhile
                await socket.close()
