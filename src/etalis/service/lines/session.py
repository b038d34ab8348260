"""One connection's session: requests in, answers in order out, matches behind the answer to what caused them.

It knows no sockets: a `LineCarrier` brings bytes and takes them. Law: a request is answered before the next one is
done, and a match is written behind the answer to the request that caused it. While a request waits for its turn nothing
more is read, so a client that sends too much is slowed down, not refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from etalis.errors import EtalisError, Problem
from etalis.service.access import ANYBODY, LOCAL, Client
from etalis.service.expressions.snoop_service import SnoopService
from etalis.service.host import Service
from etalis.service.hosted_engine import HostedEngine
from etalis.service.intake.batches import Taken
from etalis.service.intake.bodies import BodyOptions
from etalis.service.kept import Ended, Kind, LostMatches, Subscription
from etalis.service.lines.dialects import JSON_LINES, Dialect
from etalis.service.lines.requests import EventText, HttpGreeting, LineRequest, RequestReader, UnreadRequest, VerbCall
from etalis.service.lines.verbs import Pong, Said
from etalis.service.matches import MatchEntry
from etalis.service.problems import ForbiddenError, MalformedError, TooManyError, UnauthorizedError

MOST_TOGETHER = 1_000  # events that are taken as one batch
MOST_READY = 1_000  # matches that are written at once
TRIES = 3  # tokens that may be wrong
_PAUSE = 0.02  # seconds until a full queue is tried again
_LOOK = 0.1  # seconds between two looks at a client that takes nothing
_LOG = logging.getLogger(__name__)


class LineCarrier(Protocol):
    """What brings the bytes of a session, and takes its answers."""

    async def receive(self) -> bytes:
        """Return the bytes that have come; none at the end."""

    async def send(self, data: bytes) -> None:
        """Write, and wait until the other side has taken most of it."""

    def abort(self) -> None:
        """End the connection at once."""


class LineSession:
    """What one client has said: who it is, which engine it uses, which matches it wants."""

    def __init__(self, service: Service, carrier: LineCarrier, client: Client | None = None) -> None:
        self.service = service
        self.access = service.access
        self.carrier = carrier
        self.client = client or (LOCAL if self.access.tokens is None else ANYBODY)
        self._reader = RequestReader(service.limits.line)
        self._engine: HostedEngine | None = None
        self._followers: dict[str, _Follower] = {}
        self._turn = asyncio.Lock()  # who holds it writes
        self._is_over = False
        self._tries = 0
        self._is_sending = False
        self._sends = 0
        self._let_go = asyncio.Event()  # the client takes nothing

    @property
    def dialect(self) -> Dialect:
        """How answers are written."""
        return self._reader.dialect

    @property
    def snoop(self) -> SnoopService:
        """The expressions of the service."""
        return self.service.snoop

    async def run(self) -> None:
        """Answer until one of the sides ends the session."""
        ends = [self.service.closing.wait(), self._let_go.wait()]
        tasks = [asyncio.create_task(self._talk()), *map(asyncio.create_task, ends)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self._is_over = True
        for follower in self._followers.values():
            follower.stop()
            tasks += follower.tasks
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, OSError):
                raise result

    async def _talk(self) -> None:
        async for requests in self._requests():
            for group in groups(requests):
                await self._slow_down()
                async with self._turn:
                    answer = await self._answer(group)
                    await self._send(answer + self._ready_matches())
                if self._is_over:
                    return

    async def _requests(self) -> AsyncIterator[Iterable[LineRequest]]:
        while data := await self.carrier.receive():
            yield self._reader.feed(data)
        yield self._reader.end()

    async def _slow_down(self) -> None:
        """Wait while the client sends more than it may."""
        while True:
            try:
                return self.access.spend(self.client)
            except TooManyError:
                await asyncio.sleep(_PAUSE)

    # answers

    async def _answer(self, group: list[LineRequest]) -> bytes:
        first = group[0]
        try:
            match first:
                case EventText():
                    return await self._take([each.text for each in group if isinstance(each, EventText)])
                case VerbCall(verb, arguments):
                    self._permit(verb.scope)
                    return self._say(await verb.does(self, **arguments))
                case UnreadRequest(error, ends):
                    self._is_over = ends
                    return self._refuse(error)
                case HttpGreeting():
                    self._is_over = True
                    return b""
        except EtalisError as error:
            return self._refuse(error) * len(group)
        except Exception as error:  # noqa: BLE001 - a fault of ours ends no session, nor does it stay unseen
            _LOG.exception("a request of a session failed")
            problem = Problem("E901", f"etalis itself failed: {type(error).__name__}", hint="please report it")
            return self.dialect.error(problem) * len(group)

    def _say(self, said: Said) -> bytes:
        match said:
            case None:
                return self.dialect.ok
            case str():
                return self.dialect.text(said)
            case tuple():
                return self.dialect.answers(*said)
            case _:
                assert said is Pong
                return self.dialect.pong

    def _refuse(self, error: EtalisError) -> bytes:
        return self.dialect.error(error.problems[0])

    def _permit(self, scope: str | None) -> None:
        if scope is None or self.client.may(scope):
            return
        if self.client is ANYBODY:
            raise UnauthorizedError("E830", "the session has no token yet", "begin with token('...').")
        raise ForbiddenError("E831", f"{self.client.name} may not do this", f"it needs the scope {scope}")

    async def _take(self, texts: list[str]) -> bytes:
        """Take events as one batch; answer each of them."""
        self._permit("signal")
        engine = self.engine
        media = "application/x-ndjson" if self.dialect is JSON_LINES else "text/plain"
        data = "\n".join((*texts, "")).encode("utf-8", "surrogateescape")
        while True:
            try:
                taken = await engine.take_body(media, data, BodyOptions(), matches=False)
            except TooManyError:
                await asyncio.sleep(_PAUSE)
            else:
                return b"".join(self._results(taken, len(texts)))

    def _results(self, taken: Taken, count: int) -> Iterable[bytes]:
        """Yield the answers to the events of a batch."""
        refused = {row.index: row.message for row in (*taken.rejected, *taken.late_rows)}
        rows = taken.taken + taken.late + taken.repeated + len(taken.rejected) + taken.more_rejected
        if rows != count:  # elements of RDF have several rows: they are refused together
            refused = dict.fromkeys(range(count), next(iter(refused.values()))) if refused else {}
        for index in range(count):
            if index in refused:
                problem = Problem("E843", refused[index], hint="nothing else of the session is lost")
                yield self.dialect.error(problem)
            else:
                yield self.dialect.ok

    # matches

    def _ready_matches(self) -> bytes:
        """Return the matches that have come, of all engines that are followed."""
        return b"".join(map(self._write, self._followers.values()))

    def _write(self, follower: _Follower) -> bytes:
        pieces = []
        while several := follower.reader.next_ready(MOST_READY):
            for found in several:
                match found:
                    case MatchEntry():
                        pieces.append(self.dialect.match(found))
                    case LostMatches(first):
                        pieces.append(self.dialect.gap(first))
                    case Ended():
                        follower.is_over = True
                        pieces.append(self.dialect.end(follower.engine))
        return b"".join(pieces)

    # what verbs do

    @property
    def engine(self) -> HostedEngine:
        """The engine that is used; without a word the only one there is."""
        if self._engine is None or self._engine.closed:
            seen = list(self.service.engines(self.client)) if self._engine is None else []
            if len(seen) != 1:
                gone = "no engine is used" if self._engine is None else f"{self._engine.name} has ended"
                names = ", ".join(sorted(engine.name for engine in seen)[:10])
                hint = f"say use(name). first; there are: {names}" if names else "POST /engines makes one"
                raise MalformedError("E840", gone, hint)
            self._engine = seen[0]
        return self._engine

    @property
    def own(self) -> HostedEngine:
        """The same, where the client may change it."""
        return self.service.own(self.engine.name, self.client)

    def use(self, name: str) -> None:
        """Use another engine."""
        self._engine = self.service.engine(name, self.client)

    def authenticate(self, token: str) -> None:
        """Be the client of a token."""
        found = self.access.identify_token(token)
        if found is None:
            self._tries += 1
            self._is_over = self._tries >= TRIES
            raise UnauthorizedError("E830", "nobody has this token", "say token('...'). with one that is known")
        self.client = found

    async def subscribe(self, kinds: frozenset[Kind] | None, after: int | None) -> None:
        """Send matches of some kinds, or all that is detected: those after a number, else those to come."""
        engine = self.engine
        if kinds is not None:
            await engine.follow(kinds)
        follower = self._followers.get(engine.name)
        if follower is None or follower.is_over:
            self.unsubscribe(None)
            self.service.begin_stream(self.client)
            counted = partial(self.service.end_stream, self.client)
            follower = _Follower(engine.name, engine.matches.subscribe(after, kinds), counted)
            follower.tasks = [asyncio.create_task(job(follower)) for job in (self._follow, self._watch)]
            self._followers[engine.name] = follower
            return
        reader = follower.reader
        reader.kinds = None if kinds is None or reader.kinds is None else frozenset(reader.kinds) | kinds
        if after is not None:
            reader.number = after

    def unsubscribe(self, kinds: frozenset[Kind] | None) -> None:
        """Send matches of some kinds no more, or none at all."""
        follower = self._followers.get(self.engine.name)
        if follower is None:
            return
        wanted = follower.reader.kinds
        left = None if kinds is None or wanted is None else frozenset(wanted) - kinds
        if left:
            follower.reader.kinds = left
        else:
            follower.stop()
            del self._followers[self.engine.name]

    def leave(self) -> None:
        """End the session."""
        self._is_over = True

    async def _follow(self, follower: _Follower) -> None:
        """Write matches that others cause, as they come."""
        while not follower.is_over:
            await follower.reader.news.wait()
            follower.reader.news.clear()
            async with self._turn:
                await self._send(self._write(follower))

    async def _watch(self, follower: _Follower) -> None:
        """Let go of a client that takes nothing of what is sent, while many matches come.

        That matches wait for an answer of ours is not its fault.
        """
        sends = -1
        while sends != self._sends or not self._is_sending or follower.reader.behind <= self.service.limits.behind:
            sends = self._sends
            await asyncio.sleep(_LOOK)
        self._is_over = True
        self._let_go.set()
        self.carrier.abort()

    async def _send(self, data: bytes) -> None:
        """Write, and note that it is done."""
        self._is_sending = True
        await self.carrier.send(data)
        self._is_sending = False
        self._sends += 1


@dataclass(slots=True)
class _Follower:
    """The matches of one engine that the client wants, and what writes them; `uncount` is called at the end."""

    engine: str
    reader: Subscription[MatchEntry]
    uncount: Callable[[], object]
    is_over: bool = False
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def stop(self) -> None:
        """Want no more of them."""
        self.reader.close()
        self.uncount()
        for task in self.tasks:
            task.cancel()


def groups(requests: Iterable[LineRequest]) -> Iterator[list[LineRequest]]:
    """Yield requests that are done together: events that follow each other, everything else alone.

    >>> a, b, c = EventText("a"), EventText("b"), HttpGreeting()
    >>> [len(group) for group in groups([a, b, c, a])]
    [2, 1, 1]
    """
    events: list[LineRequest] = []
    for request in requests:
        if isinstance(request, EventText) and len(events) < MOST_TOGETHER:
            events.append(request)
            continue
        if events:
            yield events
        events = [request] if isinstance(request, EventText) else []
        if not events:
            yield [request]
    if events:
        yield events
