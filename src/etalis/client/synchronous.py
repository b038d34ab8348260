"""The client that waits for answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from etalis.client.calls import EngineCalls, ServiceCalls
from etalis.client.exchange import RETRIES, IncomingAnswer, OutgoingRequest, Steps, Wait, WaitingSide
from etalis.client.rows import BATCH, OnRejected, bodies, events_of
from etalis.client.streams import StreamPosition, written_kinds
from etalis.client.transport import READ_SECONDS, STREAM_TIMEOUT, broken, heading
from etalis.temporal.event import Event

T = TypeVar("T")


class Client(ServiceCalls["RemoteEngine"], WaitingSide):
    """A service and what can be asked of it: `Client("http://localhost:8123")`.

    `token` is sent with every request. What may not have arrived is sent again, `retries` times, and done once. Other
    options are those of `httpx.Client`. Used as a context it closes its connections.
    """

    def __init__(self, url: str, *, token: str | None = None, retries: int = RETRIES, **options: Any) -> None:
        self.retries = retries
        self._http = httpx.Client(base_url=url, headers=heading(token), **{"timeout": READ_SECONDS, **options})

    def engine(self, name: str) -> RemoteEngine:
        """Return an engine by its name, which nobody is asked for yet."""
        return RemoteEngine(self, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _do(self, steps: Steps[T]) -> T:
        left = self.retries
        try:
            step = next(steps)
            while True:
                if isinstance(step, Wait):
                    left -= 1
                    time.sleep(step.seconds)
                    step = next(steps)
                else:
                    step = steps.send(replace(self._send(step), is_last=left == 0))
        except StopIteration as done:
            result: T = done.value
            return result

    def _send(self, request: OutgoingRequest) -> IncomingAnswer:
        try:
            found = self._http.request(
                request.method, request.path, params=dict(request.query), content=request.content or None,
                headers=dict(request.headers),
            )  # fmt: skip
        except httpx.TransportError as error:
            return broken(error)
        return IncomingAnswer(found.status_code, found.headers, found.content)

    def receive(self, position: StreamPosition) -> Iterator[Event]:
        """Yield matches as they come, over as many connections as it takes."""
        while not position.is_over:
            request = position.request()
            answer = IncomingAnswer(0, body=b"the stream broke off")
            try:
                with self._http.stream(
                    request.method, request.path, params=dict(request.query), headers=dict(request.headers),
                    timeout=STREAM_TIMEOUT,
                ) as found:  # fmt: skip
                    if found.status_code == 200:
                        for data in found.iter_bytes():
                            yield from position.feed(data)
                            if position.is_over:
                                return
                    else:
                        answer = IncomingAnswer(found.status_code, found.headers, found.read())
            except httpx.TransportError as error:
                answer = broken(error)
            time.sleep(position.pause_after(answer))


class RemoteEngine(EngineCalls, WaitingSide):
    """An engine of a service."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"<engine {self.name} of {self.client._http.base_url}>"

    def run(
        self, rows: Any, *, batch: int = BATCH, on_rejected: OnRejected | None = None, **how: str
    ) -> Iterator[Event]:  # fmt: skip
        """Send many events, so many at once, and yield the complex events that they cause.

        Rows are those that `etalis.Engine.run` takes; a table of Arrow, pandas, Polars or DuckDB is taken too, of which
        `event`, `time` and `unit` say how it is read. A row that cannot be taken is an error, unless `on_rejected` is
        told its place and the reason; events that come too late are dead letters of the service.
        """
        for place, (media, body) in enumerate(bodies(rows, batch, how)):
            yield from events_of(self.send(media, body, **how), place * batch, on_rejected)

    def matches(self, after: int | None = None, kinds: str | Iterable[str] | None = None) -> RemoteMatches:
        """Return the matches after a number, without one those to come, as an iterator that waits for more."""
        position = StreamPosition(f"{self.path}/matches", after, written_kinds(kinds), self.client.retries)
        return RemoteMatches(self.client, position)

    def _do(self, steps: Steps[T]) -> T:
        return self.client._do(steps)


class RemoteMatches(Iterator[Event]):
    """Matches as they come; `number` is that of the last one."""

    def __init__(self, client: Client, position: StreamPosition) -> None:
        self._reception = position
        self._client = client
        self._events = client.receive(position)

    @property
    def number(self) -> int | None:
        """The number of the last match: `matches(after=number)` goes on behind it."""
        return self._reception.number

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Receive no more."""
        self._events.close()  # type: ignore[attr-defined]  # a generator has it
