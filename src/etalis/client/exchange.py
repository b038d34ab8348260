"""Requests and answers without a network: a call is a generator that yields requests and is sent their answers.

`attempt` sends a request again where it may not have arrived, after a while that grows. Law: a request that changes
something carries an `Idempotency-Key`, so that however often it is sent it is done once.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from etalis.client.errors import ServiceError, error_of
from etalis.errors import Problem, Source

T = TypeVar("T")
P = ParamSpec("P")

JSON = "application/json"
RETRIES = 5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # seconds
_AGAIN = frozenset({429, 502, 503, 504})  # answers after which the same request may succeed


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to be sent."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncomingAnswer:
    """What came back; status 0 says that nothing did, and the body why. After the last one nothing is sent again."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_last: bool = False

    def plain(self) -> Any:
        """Return the JSON of the body."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise error_of(self.status, self.body) from None


@dataclass(frozen=True, slots=True)
class Wait:
    """That nothing is to be done for some seconds."""

    seconds: float


Steps: TypeAlias = Generator[OutgoingRequest | Wait, IncomingAnswer, T]


def attempt(request: OutgoingRequest, source: Source | None = None) -> Steps[IncomingAnswer]:
    """Send a request until it is answered; raise what the service refuses."""
    if request.method in ("POST", "DELETE"):
        headers = {"Idempotency-Key": token_hex(16), **request.headers}
        request = OutgoingRequest(request.method, request.path, request.query, request.content, headers)
    pause = _FIRST_PAUSE
    while True:
        answer = yield request
        if 200 <= answer.status < 300:
            return answer
        if answer.is_last or not may_succeed(answer):
            break
        yield Wait(wait_of(answer, pause))
        pause = min(2 * pause, _LONGEST_PAUSE)
    if not answer.status:
        raise unreachable(answer)
    raise error_of(answer.status, answer.body, source)


def may_succeed(answer: IncomingAnswer) -> bool:
    """Tell whether the same request may be answered otherwise later; one that was taken in part is not sent again."""
    return not answer.status or (answer.status in _AGAIN and b'"taken"' not in answer.body)


def wait_of(answer: IncomingAnswer, pause: float) -> float:
    """Return how long to wait: as long as the service says, else a while that grows."""
    told = answer.headers.get("retry-after", "")
    return min(float(told), _LONGEST_PAUSE) if told.isdigit() else pause


def unreachable(answer: IncomingAnswer) -> ServiceError:
    """Return the error that no answer came."""
    hint = "does it run, and is the address right? `etalis serve` says where it listens"
    return ServiceError(Problem("E850", f"the service cannot be reached: {answer.body.decode()}", hint=hint))


def post(path: str, plain: Any = None, source: Source | None = None, **query: str) -> Steps[Any]:
    """Send JSON, return the JSON of the answer; None where it has none."""
    content = b"" if plain is None else json.dumps(plain).encode()
    headers = {} if plain is None else {"Content-Type": JSON}
    answer = yield from attempt(OutgoingRequest("POST", path, query, content, headers), source)
    return answer.plain() if answer.body else None


def get(path: str, **query: str) -> Steps[Any]:
    """Return the JSON that stands at a path."""
    return (yield from attempt(OutgoingRequest("GET", path, query))).plain()


class WaitingSide:
    """What carries out calls, and returns when they are done."""

    def _do(self, steps: Steps[T]) -> T:
        raise NotImplementedError


class AwaitedSide:
    """What carries out calls that are awaited."""

    async def _do(self, steps: Steps[T]) -> T:
        raise NotImplementedError


class ServiceCall(Generic[P, T]):
    """A method that is written once, as a generator of requests, and called by both sides."""

    def __init__(self, steps: Callable[..., Steps[T]]) -> None:
        self._steps = steps
        self.__doc__ = steps.__doc__
        self.__name__ = steps.__name__

    @overload
    def __get__(self, side: WaitingSide, owner: type | None = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, side: AwaitedSide, owner: type | None = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, side: None, owner: type | None = None) -> ServiceCall[P, T]: ...

    def __get__(self, side: Any, owner: type | None = None) -> Any:
        """Return the method of a side."""
        if side is None:
            return self

        def call(*args: P.args, **named: P.kwargs) -> Any:
            return side._do(self._steps(side, *args, **named))

        call.__doc__, call.__name__ = self.__doc__, self.__name__
        return call


def service_call(steps: Callable[Concatenate[Any, P], Steps[T]]) -> ServiceCall[P, T]:
    """Make a method of both sides from a generator of requests."""
    return cast("ServiceCall[P, T]", ServiceCall(steps))
