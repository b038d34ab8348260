"""Matches over HTTP: a list that one may wait for, or a stream of server-sent events.

A stream goes on where `Last-Event-ID` or `after` says. A reader that takes nothing while more than so many matches come
is let go; it comes again with the number that it had, and misses nothing that is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Generic

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from etalis.service.http.call import RouteCall, raw_answer
from etalis.service.http.engine_calls import engine_of, write_entries
from etalis.service.kept import E, Ended, Kind, LostMatches, NumberedLog, Subscription
from etalis.service.matches import MatchEntry, read_kinds
from etalis.service.problems import MalformedError

MOST_WAIT = 30.0
MOST_AT_ONCE = 1_000
EVENT_STREAM = "text/event-stream"
_COMMENT_SECONDS = 15.0
_LAST_SECONDS = 1.0
_COMMENT = b": still here\n\n"


async def list_matches(call: RouteCall) -> Response:
    """Return the matches after a number, or wait for one, or stream them."""
    engine = engine_of(call)
    named = call.query.get("kinds")
    kinds = None if named is None else read_kinds(named)
    if kinds is not None:
        await engine.follow(kinds)
    if call.request.method != "HEAD" and EVENT_STREAM in call.request.headers.get("accept", ""):
        return NumberedStream(call, engine.matches, first_number(call), kinds, write_event)
    after = int(call.number("after", 0, most=1e15))
    limit = int(call.number("limit", MOST_AT_ONCE, least=1, most=MOST_AT_ONCE))
    seconds = call.number("wait", 0, most=MOST_WAIT)
    if not seconds:
        found, reached = engine.matches.after(after, kinds, limit)
    else:
        with call.service.streaming(call.client):
            found, reached = await engine.matches.wait(after, kinds, limit, seconds)
    return raw_answer(b'{"matches":' + write_entries(found) + b',"next":%d}' % reached)


def first_number(call: RouteCall) -> int | None:
    """Return the number after which a stream goes on; None means with the next match."""
    text = call.request.headers.get("last-event-id") or call.query.get("after")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise MalformedError("E823", f"{text!r} is not the number of a match", "send the id of the last event")
    return int(text)


class NumberedStream(Response, Generic[E]):
    """Matches or results as server-sent events, for as long as the reader stays and takes them."""

    def __init__(
        self, call: RouteCall, log: NumberedLog[E], after: int | None, kinds: Collection[Kind] | None,
        write: Callable[[E | LostMatches | Ended], bytes],
    ) -> None:  # fmt: skip
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, media_type=EVENT_STREAM)
        del self.headers["content-length"]
        self.service = call.service
        self.client = call.client
        self.write = write
        call.service.begin_stream(call.client)
        self.reader = log.subscribe(after, kinds)
        self._begun = self._ended = False

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        tasks = [
            asyncio.create_task(self._write(send)),
            asyncio.create_task(self._hear(receive)),
            asyncio.create_task(self._watch()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.reader.close()
            if self.service.closing.is_set():
                await self._finish(send)
            self.service.end_stream(self.client)

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._begun = True
        while True:
            try:
                async with asyncio.timeout(_COMMENT_SECONDS):
                    found = await self.reader.ready()
            except TimeoutError:
                await _send(send, _COMMENT)
                continue
            if not found:
                break
            await _send(send, b"".join(map(self.write, found)))
        self._ended = True
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _finish(self, send: Send) -> None:
        """End the answer, if its reader takes that."""
        if self._begun and not self._ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SECONDS):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})

    @staticmethod
    async def _hear(receive: Receive) -> None:
        """Return when the reader has gone."""
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _watch(self) -> None:
        """Return when the reader takes too little, or the service ends."""
        closing = asyncio.create_task(self.service.closing.wait())
        behind = asyncio.create_task(fall_behind(self.reader, self.service.limits.behind))
        try:
            await asyncio.wait([closing, behind], return_when=asyncio.FIRST_COMPLETED)
        finally:
            closing.cancel()
            behind.cancel()


async def _send(send: Send, text: bytes) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": True})


def write_event(event: MatchEntry | LostMatches | Ended) -> bytes:
    """Return a match, that some are lost, or the end, as a server-sent event.

    >>> write_event(LostMatches(101))
    b'event: gap\\ndata: {"first":101}\\n\\n'
    """
    match event:
        case MatchEntry():
            return b"id: %d\nevent: match\ndata: %b\n\n" % (event.number, event.json)
        case LostMatches(first):
            return b'event: gap\ndata: {"first":%d}\n\n' % first
        case Ended():
            return b"event: end\ndata: {}\n\n"


async def fall_behind(reader: Subscription[Any], most: int, every: float = 0.25) -> None:
    """Return when more than so many matches have come since the reader last took any."""
    number = reader.number
    while True:
        await asyncio.sleep(every)
        if reader.number == number and reader.behind > most:
            return
        number = reader.number
