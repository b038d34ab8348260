"""The client that is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from etalis.client.calls import EngineCalls, ServiceCalls
from etalis.client.exchange import RETRIES, AwaitedSide, IncomingAnswer, OutgoingRequest, Steps, Wait
from etalis.client.rows import BATCH, OnRejected, bodies, events_of
from etalis.client.streams import StreamPosition, written_kinds
from etalis.client.transport import READ_SECONDS, STREAM_TIMEOUT, broken, heading
from etalis.temporal.event import Event

T = TypeVar("T")


class AsyncClient(ServiceCalls["AsyncRemoteEngine"], AwaitedSide):
    """A service and what can be asked of it, awaited; the options are those of `Client`."""

    def __init__(self, url: str, *, token: str | None = None, retries: int = RETRIES, **options: Any) -> None:
        self.retries = retries
        self._http = httpx.AsyncClient(base_url=url, headers=heading(token), **{"timeout": READ_SECONDS, **options})

    def engine(self, name: str) -> AsyncRemoteEngine:
        """Return an engine by its name, which nobody is asked for yet."""
        return AsyncRemoteEngine(self, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _do(self, steps: Steps[T]) -> T:
        left = self.retries
        try:
            step = next(steps)
            while True:
                if isinstance(step, Wait):
                    left -= 1
                    await asyncio.sleep(step.seconds)
                    step = next(steps)
                else:
                    step = steps.send(replace(await self._send(step), is_last=left == 0))
        except StopIteration as done:
            result: T = done.value
            return result

    async def _send(self, request: OutgoingRequest) -> IncomingAnswer:
        try:
            found = await self._http.request(
                request.method, request.path, params=dict(request.query), content=request.content or None,
                headers=dict(request.headers),
            )  # fmt: skip
        except httpx.TransportError as error:
            return broken(error)
        return IncomingAnswer(found.status_code, found.headers, found.content)

    async def receive(self, position: StreamPosition) -> AsyncIterator[Event]:
        """Yield matches as they come, over as many connections as it takes."""
        while not position.is_over:
            request = position.request()
            answer = IncomingAnswer(0, body=b"the stream broke off")
            try:
                async with self._http.stream(
                    request.method, request.path, params=dict(request.query), headers=dict(request.headers),
                    timeout=STREAM_TIMEOUT,
                ) as found:  # fmt: skip
                    if found.status_code == 200:
                        async for data in found.aiter_bytes():
                            for event in position.feed(data):
                                yield event
                            if position.is_over:
                                return
                    else:
                        answer = IncomingAnswer(found.status_code, found.headers, await found.aread())
            except httpx.TransportError as error:
                answer = broken(error)
            await asyncio.sleep(position.pause_after(answer))


class AsyncRemoteEngine(EngineCalls, AwaitedSide):
    """An engine of a service, awaited."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"<engine {self.name} of {self.client._http.base_url}>"

    async def run(
        self, rows: Any, *, batch: int = BATCH, on_rejected: OnRejected | None = None, **how: str
    ) -> AsyncIterator[Event]:  # fmt: skip
        """Send many events, so many at once, and yield the complex events that they cause; see `RemoteEngine.run`."""
        for place, (media, body) in enumerate(bodies(rows, batch, how)):
            for event in events_of(await self.send(media, body, **how), place * batch, on_rejected):
                yield event

    def matches(self, after: int | None = None, kinds: str | Iterable[str] | None = None) -> AsyncRemoteMatches:
        """Return the matches after a number, without one those to come, as an iterator that waits for more."""
        position = StreamPosition(f"{self.path}/matches", after, written_kinds(kinds), self.client.retries)
        return AsyncRemoteMatches(self.client, position)

    async def _do(self, steps: Steps[T]) -> T:
        return await self.client._do(steps)


class AsyncRemoteMatches(AsyncIterator[Event]):
    """Matches as they come, awaited; `number` is that of the last one."""

    def __init__(self, client: AsyncClient, position: StreamPosition) -> None:
        self._reception = position
        self._events = client.receive(position)

    @property
    def number(self) -> int | None:
        """The number of the last match: `matches(after=number)` goes on behind it."""
        return self._reception.number

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Receive no more."""
        await self._events.aclose()  # type: ignore[attr-defined]  # a generator has it
