"""The matches of one engine, numbered from 1 and kept for a while: what polling and streams read.

It lives in the event loop. Entries are complex events, retractions (sign -1), and events of received kinds that someone
follows; who names no kinds sees the former two. Law: every reader sees the same numbers, in order and without gaps
but for what its filter leaves out; what is no longer kept is told, not left out.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from etalis.service.problems import GoneError, MalformedError
from etalis.temporal.event import Event
from etalis.temporal.json_values import to_text

KEPT, KEPT_SECONDS = 10_000, 24 * 3600.0
MOST_BEHIND = 1_000  # entries that may come while a reader takes none

Kind = tuple[str, int]


class MatchEntry:
    """A match with its number; `by` is the index of the input that completed it, in its body."""

    __slots__ = ("_json", "by", "event", "kept_since", "number", "received")

    def __init__(self, number: int, by: int | None, event: Event, received: bool, kept_since: float) -> None:
        self.number = number
        self.by = by
        self.event = event
        self.received = received
        self.kept_since = kept_since
        self._json: bytes | None = None

    def __repr__(self) -> str:
        return f"<match {self.number}: {self.event!r}>"

    @property
    def sign(self) -> int:
        return self.event.sign

    @property
    def kind(self) -> Kind:
        return self.event.name, self.event.kind.arity

    @property
    def json(self) -> bytes:
        """The entry as it is sent: number, by, sign, and the event, flat; written once for all readers."""
        if self._json is None:
            flat = self.event.to_dict()
            self._json = encode({"number": self.number, "by": self.by, "sign": self.sign, "match": flat})
        return self._json

    def is_asked_for(self, kinds: Collection[Kind] | None) -> bool:
        """Tell whether a reader of some kinds, or of all that is detected, sees it."""
        return not self.received if kinds is None else self.kind in kinds


def encode(plain: Any) -> bytes:
    """Write plain data as JSON; numbers and text that JSON has no form for as `to_text` does."""
    try:
        written = msgspec.json.encode(plain)
    except (UnicodeEncodeError, TypeError, OverflowError):
        return to_text(plain).encode()
    return to_text(plain).encode() if b"null" in written and _has_infinite(plain) else written


def _has_infinite(plain: Any) -> bool:
    """Tell whether plain data holds a number that JSON has no name for; msgspec writes null."""
    if isinstance(plain, dict):
        return any(map(_has_infinite, plain.values()))
    if isinstance(plain, list | tuple):
        return any(map(_has_infinite, plain))
    return isinstance(plain, float) and not math.isfinite(plain)


@dataclass(frozen=True, slots=True)
class LostMatches:
    """Matches that were asked for and are no longer kept; `first` is the first that is."""

    first: int


@dataclass(frozen=True, slots=True)
class Ended:
    """That no more matches come: the engine is gone."""


class FellBehindError(Exception):
    """A reader that took nothing while too many matches came."""


class MatchLog:
    """The matches of an engine that are kept."""

    def __init__(
        self, *, kept: int = KEPT, seconds: float = KEPT_SECONDS, clock: Callable[[], float] = time.time
    ) -> None:  # fmt: skip
        self.last = 0
        self.ended = False
        self._kept: deque[MatchEntry] = deque(maxlen=kept)
        self._seconds = seconds
        self._clock = clock
        self._news: set[asyncio.Event] = set()

    @property
    def first(self) -> int:
        """The number of the first match that is kept, or of the next one that comes."""
        return self._kept[0].number if self._kept else self.last + 1

    @property
    def readers(self) -> int:
        """How many wait for more."""
        return len(self._news)

    def get(self, number: int) -> MatchEntry | None:
        """Return the match of a number, if it is kept."""
        place = number - self.first
        return self._kept[place] if 0 <= place < len(self._kept) else None

    def add(self, found: Iterable[tuple[int | None, Event, bool]]) -> list[MatchEntry]:
        """Number what was found, and wake up who waits: (index of the input, event, whether it was received)."""
        now, first = self._clock(), self.last + 1
        added = [
            MatchEntry(number, by, event, received, now) for number, (by, event, received) in enumerate(found, first)
        ]
        self.last += len(added)
        self._kept.extend(added)
        if added:
            self._wake()
        return added

    def end(self) -> None:
        """Say that no more comes."""
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        for news in self._news:
            news.set()

    def _forget(self) -> None:
        oldest = self._clock() - self._seconds
        while self._kept and self._kept[0].kept_since < oldest:
            self._kept.popleft()

    def after(
        self, number: int, kinds: Collection[Kind] | None = None, limit: int = 1_000
    ) -> tuple[list[MatchEntry], int]:  # fmt: skip
        """Return the matches after a number, and the number to ask after next; refuse what is no longer kept."""
        self._forget()
        if number + 1 < self.first:
            message = f"matches up to {self.first - 1} are no longer kept"
            gone = GoneError("E826", message, f"ask after {self.first - 1}, and take what is lost as lost")
            gone.more["first"] = self.first
            raise gone
        found: list[MatchEntry] = []
        reached = number
        for entry in islice(self._kept, max(0, number + 1 - self.first), None):
            if len(found) == limit:
                return found, reached
            reached = entry.number
            if entry.is_asked_for(kinds):
                found.append(entry)
        return found, max(reached, number)

    async def wait(
        self, number: int, kinds: Collection[Kind] | None, limit: int, seconds: float
    ) -> tuple[list[MatchEntry], int]:  # fmt: skip
        """Return the matches after a number; if there is none, wait so long for one."""
        news = asyncio.Event()
        self._news.add(news)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        try:
            while True:
                found, reached = self.after(number, kinds, limit)
                left = until - loop.time()
                if found or left <= 0 or self.ended:
                    return found, reached
                news.clear()
                try:
                    async with asyncio.timeout(left):
                        await news.wait()
                except TimeoutError:
                    return self.after(number, kinds, limit)
        finally:
            self._news.discard(news)

    def subscribe(self, after: int | None = None, kinds: Collection[Kind] | None = None) -> Subscription:
        """Return an iterator over the matches after a number, without one over those to come, that waits for more."""
        return Subscription(self, self.last if after is None else after, kinds)


class Subscription(AsyncIterator[MatchEntry | LostMatches | Ended]):
    """A reader of the matches of an engine, from a number on.

    `number` is the last match that the reader has seen; it is `behind` by what came since it began and it did not take.
    """

    def __init__(self, log: MatchLog, number: int, kinds: Collection[Kind] | None) -> None:
        self.log = log
        self.number = number
        self.kinds = kinds
        self.begun = log.last
        self.news = asyncio.Event()
        self.news.set()
        self._over = False
        self._ready: deque[MatchEntry] = deque()
        log._news.add(self.news)

    @property
    def behind(self) -> int:
        """How many matches have come that the reader might have taken."""
        return self.log.last - max(self.number, self.begun)

    def close(self) -> None:
        """Read no more."""
        self.log._news.discard(self.news)

    def next_ready(self, limit: int = 100) -> list[MatchEntry | LostMatches | Ended]:
        """Return what can be read without waiting; after the end, nothing."""
        if self._over:
            return []
        if self.number + 1 < self.log.first:
            first = self.log.first
            self.number = first - 1
            return [LostMatches(first)]
        found: list[MatchEntry | LostMatches | Ended]
        entries, self.number = self.log.after(self.number, self.kinds, limit)
        found = [*entries]
        if not found and self.log.ended:
            self._over = True
            found = [Ended()]
        return found

    async def ready(self, limit: int = 100) -> list[MatchEntry | LostMatches | Ended]:
        """Return what can be read, as soon as there is something; after the end, nothing."""
        while not self._over:
            self.news.clear()
            found = self.next_ready(limit)
            if found:
                return found
            await self.news.wait()
        return []

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> MatchEntry | LostMatches | Ended:
        if not self._ready:
            several = await self.ready()
            if not several:
                raise StopAsyncIteration
            if not isinstance(several[0], MatchEntry):
                return several[0]
            self._ready.extend(entry for entry in several if isinstance(entry, MatchEntry))
        return self._ready.popleft()


def read_kinds(text: str) -> frozenset[Kind]:
    """Read kinds of events, by name and arity.

    >>> sorted(read_kinds("fraud/2,a/1"))
    [('a', 1), ('fraud', 2)]
    """
    return frozenset(map(read_kind, text.split(",")))


def read_kind(text: str) -> Kind:
    """Read one kind of events.

    >>> read_kind("fraud/2")
    ('fraud', 2)
    """
    name, _, arity = text.strip().rpartition("/")
    if not name or not (arity.isascii() and arity.isdigit() and len(arity) < 4):
        raise MalformedError("E306", f"{text!r} names no kind of event", "write name/arity, as in fraud/2,a/1")
    return name, int(arity)
