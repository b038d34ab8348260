"""Results sent to the address that an expression was registered with: in order, one at a time, at least once.

A result that is not taken (2xx) is sent again after pauses that double, from a second to an hour; a day after it came
it is a dead letter, and the next one follows. Law: a result is marked when it was taken or given up, and not before;
who begins again begins behind the last mark.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from etalis.service.outbound.sender import Sender, SendFailed
from etalis.service.outbound.signature import read_secret, sign

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 3600.0
GIVE_UP = 24 * 3600.0
MOST_LETTERS = 1_000


@dataclass(frozen=True, slots=True)
class Message:
    """A result as it is sent."""

    number: int
    uri: str
    at: float  # seconds: when it came
    content_type: str
    body: bytes
    traceparent: str | None = None


class Outgoing(Protocol):
    """The results of an expression that are to be sent."""

    @property
    def first(self) -> int:
        """The number of the first result that is kept."""

    def next_after(self, number: int) -> Message | None:
        """Return the first kept result behind a number."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What tells the time, and waits: tests have a clock that does not take any."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass
class CallbackState:
    """How the callbacks of an expression stand."""

    delivered: int = 0  # results up to this number were taken or given up
    attempts: int = 0  # of the next one
    last_error: str | None = None
    dead_letters: dict[int, str] = field(default_factory=dict)  # number -> why; the last thousand

    def describe(self) -> Mapping[str, object]:
        """Return it as plain data."""
        letters = [{"number": number, "why": why} for number, why in self.dead_letters.items()]
        return {
            "delivered": self.delivered,
            "attempts": self.attempts,
            "last_error": self.last_error,
            "dead_letters": letters,
        }


Mark = Callable[[int, str | None], None]


def _mark_nowhere(_number: int, _why: str | None) -> None:
    """Keep no mark: nothing outlives the process."""


class Callback:
    """The sending of one expression's results; there is a task while there is something to send."""

    def __init__(
        self, url: str, secret: Callable[[], str | None], results: Outgoing, sender: Sender, *,
        state: CallbackState | None = None, mark: Mark = _mark_nowhere, timing: Timing = Timing(),  # noqa: B008
    ) -> None:  # fmt: skip
        self.url = url
        self.state = state or CallbackState()
        self._secret = secret
        self._results = results
        self._sender = sender
        self._mark = mark
        self._timing = timing
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Send what there is, if nothing is being sent."""
        if (self._task is None or self._task.done()) and self._results.next_after(self.state.delivered) is not None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def idle(self) -> None:
        """Wait until all that there is was sent, or given up."""
        while self._task is not None and not self._task.done():
            await self._task

    async def stop(self) -> None:
        """Send no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while (message := self._results.next_after(self.state.delivered)) is not None:
            self._give_up_lost(message.number)
            await self._deliver(message)

    def _give_up_lost(self, number: int) -> None:
        """Say of results that were dropped before they could be sent that they are dead letters."""
        lost = number - 1 - self.state.delivered
        if lost > 0:
            self._end(number - 1, f"{lost} results up to this one were no longer kept")

    async def _deliver(self, message: Message) -> None:
        pause = FIRST_PAUSE
        while (error := await self._attempt(message)) is not None:
            self.state.attempts += 1
            self.state.last_error = error
            if self._timing.now() - message.at >= GIVE_UP:
                self._end(message.number, error)
                return
            await self._timing.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        self.state.last_error = None
        self._end(message.number, None)

    async def _attempt(self, message: Message) -> str | None:
        """Send a result once; return why it was not taken."""
        secret = self._secret()
        if secret is None:
            return "the client has no secret any more"
        headers = {"content-type": message.content_type}
        headers |= sign(read_secret(secret), message.uri, int(self._timing.now()), message.body)
        if message.traceparent is not None:
            headers["traceparent"] = message.traceparent
        try:
            reply = await self._sender.send("POST", self.url, message.body, headers)
        except SendFailed as error:
            return str(error)
        if reply.is_good:
            return None
        redirected = " (redirects are not followed)" if 300 <= reply.status < 400 else ""
        return f"answered with status {reply.status}{redirected}"

    def _end(self, number: int, why: str | None) -> None:
        self.state.delivered = number
        self.state.attempts = 0
        if why is not None:
            self.state.dead_letters[number] = why
            if len(self.state.dead_letters) > MOST_LETTERS:
                del self.state.dead_letters[next(iter(self.state.dead_letters))]
        self._mark(number, why)
