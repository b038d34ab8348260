"""Matches as they come: server-sent events, gone on with where a connection broke off.

`EventStreamReader` cuts bytes into events (WHATWG, server-sent events); `StreamPosition` says what each of them means,
and with which number to ask again. Law: whatever breaks in between, every match that is kept comes once, in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from etalis.client.errors import LostMatchesError, error_of
from etalis.client.exchange import RETRIES, IncomingAnswer, OutgoingRequest, may_succeed, unreachable, wait_of
from etalis.temporal.event import Event

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event of a stream."""

    name: str
    data: str
    id: str | None


class EventStreamReader:
    """Cuts the bytes of a stream into events."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, data: bytes) -> Iterator[SentEvent]:
        r"""Yield the events that these bytes complete.

        >>> list(EventStreamReader().feed(b"id: 3\nevent: match\ndata: {}\n\n: hello\n"))
        [SentEvent(name='match', data='{}', id='3')]
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            field, _, value = line.rstrip(b"\r").decode("utf-8", "replace").partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self._name = value
            elif field == "data":
                self._data.append(value)
            elif field == "id":
                self._id = value
            elif not line.strip() and (self._data or self._name):
                yield SentEvent(self._name or "message", "\n".join(self._data), self._id)
                self._name, self._data = "", []


@dataclass(slots=True)
class StreamPosition:
    """What has been received of the matches of an engine: up to which number, and how often it broke off."""

    path: str
    number: int | None  # the last match that was received; None: those to come
    kinds: str | None = None
    retries: int = RETRIES
    is_over: bool = False
    failures: int = 0
    reader: EventStreamReader = field(default_factory=EventStreamReader)

    def request(self) -> OutgoingRequest:
        """Return the request with which the stream begins or goes on."""
        self.reader = EventStreamReader()
        headers = {"Accept": "text/event-stream"}
        if self.number is not None:
            headers["Last-Event-ID"] = str(self.number)
        return OutgoingRequest("GET", self.path, {} if self.kinds is None else {"kinds": self.kinds}, headers=headers)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the matches in some bytes; raise that some are lost."""
        for sent in self.reader.feed(data):
            self.failures = 0
            if sent.name == "end":
                self.is_over = True
                return
            if sent.name == "gap":
                first = int(json.loads(sent.data)["first"])
                self.number = first - 1
                raise LostMatchesError(first)
            if sent.name == "match":
                record = json.loads(sent.data)
                if self.number is not None and record["number"] <= self.number:
                    continue
                self.number = record["number"]
                yield Event.from_dict(record["match"])

    def pause_after(self, answer: IncomingAnswer) -> float:
        """Return how long to wait before the stream is asked for again; raise what was refused."""
        self.failures += 1
        refused = bool(answer.status) and not 200 <= answer.status < 300
        if self.failures > self.retries or (refused and not may_succeed(answer)):
            if not refused:
                raise unreachable(answer)
            raise error_of(answer.status, answer.body)
        return wait_of(answer, min(_FIRST_PAUSE * 2 ** (self.failures - 1), _LONGEST_PAUSE))


def written_kinds(kinds: str | Iterable[str] | None) -> str | None:
    """Return kinds of events as the service reads them.

    >>> written_kinds(["fraud/2", "a/1"]), written_kinds("a/1"), written_kinds(None)
    ('fraud/2,a/1', 'a/1', None)
    """
    return kinds if kinds is None or isinstance(kinds, str) else ",".join(kinds)
