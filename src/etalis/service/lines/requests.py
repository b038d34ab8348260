"""Bytes as they come -> requests: terms that end in a full stop, or JSON texts, one per line.

The first byte says which: `{` opens JSON lines. Law: whatever the bytes, each clause or line is one request, and what
cannot be one is refused as `UnreadRequest`; only a request that is too long, or a first line of HTTP, ends the session.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from etalis.errors import EtalisError
from etalis.formats.full_stops import ClauseReader
from etalis.service.lines.dialects import JSON_LINES, TERMS, Dialect
from etalis.service.lines.verbs import LineVerb, read_json_verb, read_term_verb
from etalis.service.problems import LargeBodyError

_HTTP = re.compile(rb"[A-Z]{3,16} ")  # no term begins with a variable and a blank
_LONGEST_WORD = 17
_LAYOUT = b" \t\r\n\f\v"
_BOM = b"\xef\xbb\xbf"
_EVENT_TERM = re.compile(r"(?:\s|%[^\n]*\n)*event\s*\(")
_EVENT_LINE = re.compile(r'\s*\{\s*"event"\s*:')


@dataclass(frozen=True, slots=True)
class EventText:
    """An event, as it was sent."""

    text: str


@dataclass(frozen=True, slots=True)
class VerbCall:
    """Something that is asked for, with its arguments by name."""

    verb: LineVerb
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class UnreadRequest:
    """A request that cannot be read; some end the session."""

    error: EtalisError
    ends: bool = False


@dataclass(frozen=True, slots=True)
class HttpGreeting:
    """That the other side speaks HTTP: the session ends without an answer."""


LineRequest: TypeAlias = EventText | VerbCall | UnreadRequest | HttpGreeting


class RequestReader:
    """Cuts what a connection brings into requests."""

    def __init__(self, limit: int) -> None:
        self.dialect: Dialect = TERMS
        self._limit = limit
        self._first: bytes | None = b""  # what came before the dialect was known
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._clauses = ClauseReader()
        self._line: list[str] = []  # the pieces of a JSON line that has not ended
        self._length = 0  # of what waits for its end

    def feed(self, data: bytes) -> Iterator[LineRequest]:
        """Yield the requests that these bytes complete."""
        if self._first is not None:
            data = (self._first + data).removeprefix(_BOM).lstrip(_LAYOUT)
            if b"\n" not in data and len(data) < _LONGEST_WORD:  # it may still be a first line of HTTP
                self._first = data
                return
            self._first = None
            if self._speaks_http(data):
                yield HttpGreeting()
                return
        yield from self._texts(self._decoder.decode(data))

    def end(self) -> Iterator[LineRequest]:
        """Yield the request that lacks its end, where the connection ends."""
        if self._first is not None:
            first, self._first = self._first, None
            if self._speaks_http(first):
                yield HttpGreeting()
                return
            yield from self._texts(self._decoder.decode(first))
        yield from self._texts(self._decoder.decode(b"", final=True) + "\n")
        rest = self._clauses.close()
        if rest:
            yield self._read(rest)

    def _speaks_http(self, start: bytes) -> bool:
        """Choose the dialect; tell whether the other side speaks HTTP."""
        if start[:1] == b"{":
            self.dialect = JSON_LINES
        return _HTTP.match(start) is not None

    def _texts(self, text: str) -> Iterator[LineRequest]:
        if self.dialect is JSON_LINES:
            yield from self._json_lines(text)
            return
        for clause in self._clauses.feed(text):
            yield self._read(clause)
        yield from self._refuse_long(len(self._clauses.waiting))

    def _json_lines(self, text: str) -> Iterator[LineRequest]:
        *ended, rest = text.split("\n")
        for piece in ended:
            line = "".join([*self._line, piece])
            self._line, self._length = [], 0
            if line.strip():
                yield self._read(line)
        self._line.append(rest)
        self._length += len(rest)
        yield from self._refuse_long(self._length)

    def _refuse_long(self, length: int) -> Iterator[LineRequest]:
        if length > self._limit:
            message = f"a request of more than {self._limit:,} characters"
            error = LargeBodyError("E842", message, "end each with a full stop, JSON with its line")
            yield UnreadRequest(error, ends=True)

    def _read(self, text: str) -> LineRequest:
        """Return what a clause or a line asks for."""
        if len(text) > self._limit:
            return next(self._refuse_long(len(text)))
        try:
            if self.dialect is JSON_LINES:
                if _EVENT_LINE.match(text):
                    return EventText(text)
                name, arguments = read_json_verb(text)
            else:
                if _EVENT_TERM.match(text):
                    return EventText(text)
                name, arguments = read_term_verb(text)
            if name is None:
                return EventText(text)
            return VerbCall(name, arguments)
        except EtalisError as error:
            return UnreadRequest(error)
