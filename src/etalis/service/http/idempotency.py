"""First answers, kept by the `Idempotency-Key` of their requests, so that what is sent again is done once.

An answer is kept for a day, at most 10,000 of them, the oldest go first. A request that is still being answered lets
the same one wait. Law: a key means one request; another body under the same key is refused.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Generic, TypeVar

from etalis.service.problems import MalformedError, UnprocessableError
from etalis.service.store.journal import REQUEST

T = TypeVar("T")
Keep = Callable[[str, str, bytes, T], Awaitable[None]]
KEPT, KEPT_SECONDS = 10_000, 24 * 3600.0
_LONGEST = 255


@dataclass(slots=True)
class _Kept(Generic[T]):
    request: bytes
    answer: asyncio.Future[T]
    since: float


class FirstAnswers(Generic[T]):
    """The answers to requests that had a key."""

    def __init__(
        self, *, most: int = KEPT, seconds: float = KEPT_SECONDS, clock: Callable[[], float] = monotonic,
        keep: Keep[T] | None = None,
    ) -> None:  # fmt: skip
        self._kept: OrderedDict[tuple[str, str], _Kept[T]] = OrderedDict()
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._keep = keep

    def restore(self, client: str, key: str, request: bytes, answer: T) -> None:
        """Take an answer of an earlier run; `request` is the digest of what was asked."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        future.set_result(answer)
        self._kept.setdefault((client, key), _Kept(request, future, self._clock()))

    async def answer(
        self, client: str, key: str, request: bytes, respond: Callable[[], Awaitable[T]], is_final: Callable[[T], bool]
    ) -> tuple[T, bool]:  # fmt: skip
        """Return the answer to a request, and whether it is one given before; what is not final is asked again."""
        if not 0 < len(key) <= _LONGEST:
            raise MalformedError("E823", "the Idempotency-Key is empty or too long", f"up to {_LONGEST} characters")
        self._forget()
        digest, place = sha256(request).digest(), (client, key)
        known = self._kept.get(place)
        if known is not None:
            if known.request != digest:
                hint = "take another key for another request"
                raise UnprocessableError("E825", f"the Idempotency-Key {key} belongs to another request", hint)
            return await asyncio.shield(known.answer), True
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._kept[place] = _Kept(digest, future, self._clock())
        token = REQUEST.set(f"{client}\0{key}\0{digest.hex()}")
        try:
            found = await respond()
            if self._keep is not None and is_final(found):
                await self._keep(client, key, digest, found)
        except BaseException as error:
            self._kept.pop(place, None)
            if not future.done():
                future.set_exception(error)
            raise
        finally:
            REQUEST.reset(token)
        if not is_final(found):
            self._kept.pop(place, None)
        if not future.done():
            future.set_result(found)
        return found, False

    def _forget(self) -> None:
        oldest = self._clock() - self._seconds
        while self._kept:
            first = next(iter(self._kept.values()))
            if len(self._kept) < self._most and first.since >= oldest:
                return
            self._kept.popitem(last=False)
