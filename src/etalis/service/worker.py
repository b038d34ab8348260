"""The one thread in which all engines run: it serves their queues in turn, a piece at a time.

A job is done in pieces: a request is one, a batch of events several. Law: the jobs of an actor are done in the order in
which they came, and results reach the event loop in that order too; between two pieces every other actor that has work
gets its turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, Generic, Protocol, TypeVar

from etalis.service.problems import TooManyError, UnavailableError

T = TypeVar("T")

MOST_REQUESTS, MOST_EVENTS = 1_000, 100_000  # that may wait for one actor
_SOON = {"Retry-After": "1"}


class Work(Protocol):
    """Something to be done for an actor, in pieces."""

    def step(self) -> tuple[Any, bool]:
        """Do a piece in the worker's thread; return what came of it, and whether there is more to do."""
        ...

    def deliver(self, found: Any) -> None:
        """Take what came of a piece, in the event loop."""
        ...

    def finish(self) -> None:
        """Hear that all is done, in the event loop."""
        ...

    def fail(self, error: BaseException) -> None:
        """Take the error that ended the job, in the event loop."""
        ...


class Actor:
    """The queue of one engine: at most so many requests and events wait in it."""

    __slots__ = ("_is_ready", "events", "jobs", "name", "requests")

    def __init__(self, name: str) -> None:
        self.name = name
        self.jobs: deque[tuple[Work, int]] = deque()
        self.requests = 0  # that wait or are being done; changed in the event loop alone
        self.events = 0
        self._is_ready = False  # it stands in the worker's line

    def __repr__(self) -> str:
        return f"<actor {self.name}: {self.requests} requests, {self.events} events>"


class QueuedCall(Generic[T]):
    """A job of one piece: a call."""

    def __init__(self, function: Callable[[], T], answer: asyncio.Future[T]) -> None:
        self.function = function
        self.answer = answer

    def step(self) -> tuple[T, bool]:
        return self.function(), False

    def deliver(self, found: T) -> None:
        if not self.answer.done():
            self.answer.set_result(found)

    def finish(self) -> None:
        """Say no more: the answer was the only piece."""

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Worker:
    """The thread that does the jobs of all actors."""

    def __init__(self, *, most_requests: int = MOST_REQUESTS, most_events: int = MOST_EVENTS) -> None:
        self.most_requests = most_requests
        self.most_events = most_events
        self._line: deque[Actor] = deque()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends = False

    def start(self) -> None:
        """Begin to work, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._ends = False
        self._thread = Thread(target=self._work, name="etalis engines", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Do what waits, and end."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with self._changed:
            self._ends = True
            self._changed.notify()
        await asyncio.get_running_loop().run_in_executor(None, thread.join)

    async def do(self, actor: Actor, function: Callable[[], T], *, always: bool = False) -> T:
        """Call a function in its turn, and return what it returns."""
        return await self.ask(actor, function, always=always)

    def ask(self, actor: Actor, function: Callable[[], T], *, always: bool = False) -> asyncio.Future[T]:
        """Put a call into a queue; what it returns is awaited."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(actor, QueuedCall(function, answer), always=always)
        return answer

    def submit(self, actor: Actor, job: Work, *, events: int = 0, always: bool = False) -> None:
        """Put a job of so many events into the queue of an actor, or refuse it because the queue is full.

        What the service itself has to do is `always` put there.
        """
        self.reserve(actor, events, always=always)
        self.put(actor, job, events)

    def reserve(self, actor: Actor, events: int = 0, *, always: bool = False) -> None:
        """Take a place in a queue for a job that comes later, or refuse it because the queue is full."""
        if self._thread is None or self._ends:
            raise UnavailableError("E829", "the service has ended", "ask again when it runs", _SOON)
        full = actor.requests >= self.most_requests or (actor.events and actor.events + events > self.most_events)
        if full and not always:
            message = f"the queue of {actor.name} is full: {actor.requests} requests, {actor.events} events"
            raise TooManyError("E828", message, "wait as long as Retry-After says, and send it again", _SOON)
        actor.requests += 1
        actor.events += events

    @staticmethod
    def release(actor: Actor, events: int = 0) -> None:
        """Give a place back that no job comes for."""
        actor.requests -= 1
        actor.events -= events

    def put(self, actor: Actor, job: Work, events: int = 0) -> None:
        """Put a job into the place that was taken for it."""
        with self._changed:
            actor.jobs.append((job, events))
            if not actor._is_ready:
                actor._is_ready = True
                self._line.append(actor)
                self._changed.notify()

    def _work(self) -> None:
        assert self._loop is not None
        tell = self._loop.call_soon_threadsafe
        while True:
            with self._changed:
                while not self._line:
                    if self._ends:
                        return
                    self._changed.wait()
                actor = self._line.popleft()
                job, events = actor.jobs[0]
            try:
                found, more = job.step()
            except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this job alone
                self._next(actor, more=False)
                tell(self._failed, actor, job, events, error)
            else:
                self._next(actor, more=more)
                tell(self._delivered, actor, job, events, found, more)

    def _next(self, actor: Actor, *, more: bool) -> None:
        """Let an actor stand in line again, if it has more to do."""
        with self._changed:
            if not more:
                actor.jobs.popleft()
            if actor.jobs:
                self._line.append(actor)
            else:
                actor._is_ready = False

    @staticmethod
    def _delivered(actor: Actor, job: Work, events: int, found: Any, more: bool) -> None:
        if not more:
            actor.requests -= 1
            actor.events -= events
        job.deliver(found)
        if not more:
            job.finish()

    @staticmethod
    def _failed(actor: Actor, job: Work, events: int, error: BaseException) -> None:
        actor.requests -= 1
        actor.events -= events
        job.fail(error)
