"""What is numbered from 1 and kept for a while: matches of an engine, results of an expression.

It lives in the event loop. Law: every reader sees the same numbers, in order and without gaps but for what its filter
leaves out; what is no longer kept is told, not left out.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeAlias, TypeVar

from etalis.service.problems import GoneError

KEPT, KEPT_SECONDS = 10_000, 24 * 3600.0
MOST_BEHIND = 1_000  # entries that may come while a reader takes none

Kind: TypeAlias = tuple[str, int]


class Numbered(Protocol):
    """An entry that is kept."""

    @property
    def number(self) -> int: ...

    @property
    def kept_since(self) -> float: ...

    def is_asked_for(self, kinds: Collection[Kind] | None) -> bool:
        """Tell whether a reader of some kinds, or of what all read, sees it."""


E = TypeVar("E", bound=Numbered)


@dataclass(frozen=True, slots=True)
class LostMatches:
    """Matches that were asked for and are no longer kept; `first` is the first that is."""

    first: int


@dataclass(frozen=True, slots=True)
class Ended:
    """That no more matches come: the engine is gone."""


class FellBehindError(Exception):
    """A reader that took nothing while too many matches came."""


class NumberedLog(Generic[E]):
    """The entries that are kept."""

    what = "matches"  # what they are called in messages

    def __init__(
        self, *, kept: int = KEPT, seconds: float = KEPT_SECONDS, clock: Callable[[], float] = time.time
    ) -> None:  # fmt: skip
        self.last = 0
        self.ended = False
        self._kept: deque[E] = deque(maxlen=kept)
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

    def get(self, number: int) -> E | None:
        """Return the entry of a number, if it is kept."""
        place = number - self.first
        return self._kept[place] if 0 <= place < len(self._kept) else None

    def keep(self, entries: Iterable[E]) -> None:
        """Keep entries, which have the next numbers, and wake up who waits."""
        added = list(entries)
        if added:
            self._kept.extend(added)
            self.last = added[-1].number
            self._wake()

    def kept(self) -> list[E]:
        """Return all that is kept."""
        self._forget()
        return list(self._kept)

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
    ) -> tuple[list[E], int]:  # fmt: skip
        """Return the matches after a number, and the number to ask after next; refuse what is no longer kept."""
        self._forget()
        if number + 1 < self.first:
            message = f"{self.what} up to {self.first - 1} are no longer kept"
            gone = GoneError("E826", message, f"ask after {self.first - 1}, and take what is lost as lost")
            gone.more["first"] = self.first
            raise gone
        found: list[E] = []
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
    ) -> tuple[list[E], int]:  # fmt: skip
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

    def subscribe(self, after: int | None = None, kinds: Collection[Kind] | None = None) -> Subscription[E]:
        """Return an iterator over the matches after a number, without one over those to come, that waits for more."""
        return Subscription(self, self.last if after is None else after, kinds)


class Subscription(Generic[E], AsyncIterator[E | LostMatches | Ended]):
    """A reader of the matches of an engine, from a number on.

    `number` is the last match that the reader has seen; it is `behind` by what came since it began and it did not take.
    """

    def __init__(self, log: NumberedLog[E], number: int, kinds: Collection[Kind] | None) -> None:
        self.log = log
        self.number = number
        self.kinds = kinds
        self.begun = log.last
        self.news = asyncio.Event()
        self.news.set()
        self._over = False
        self._ready: deque[E] = deque()
        log._news.add(self.news)

    @property
    def behind(self) -> int:
        """How many matches have come that the reader might have taken."""
        return self.log.last - max(self.number, self.begun)

    def close(self) -> None:
        """Read no more."""
        self.log._news.discard(self.news)

    def next_ready(self, limit: int = 100) -> list[E | LostMatches | Ended]:
        """Return what can be read without waiting; after the end, nothing."""
        if self._over:
            return []
        if self.number + 1 < self.log.first:
            first = self.log.first
            self.number = first - 1
            return [LostMatches(first)]
        found: list[E | LostMatches | Ended]
        entries, self.number = self.log.after(self.number, self.kinds, limit)
        found = [*entries]
        if not found and self.log.ended:
            self._over = True
            found = [Ended()]
        return found

    async def ready(self, limit: int = 100) -> list[E | LostMatches | Ended]:
        """Return what can be read, as soon as there is something; after the end, nothing."""
        while not self._over:
            self.news.clear()
            found = self.next_ready(limit)
            if found:
                return found
            await self.news.wait()
        return []

    def __aiter__(self) -> Subscription[E]:
        return self

    async def __anext__(self) -> E | LostMatches | Ended:
        if not self._ready:
            several = await self.ready()
            if not several:
                raise StopAsyncIteration
            if isinstance(several[0], LostMatches | Ended):
                return several[0]
            self._ready.extend(entry for entry in several if not isinstance(entry, LostMatches | Ended))
        return self._ready.popleft()
