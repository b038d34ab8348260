"""Work that is written before it is done: a place in the queue, the entry on the disk, then the work, then the answer.

Law: the work of an actor is put into its queue in the order of the numbers of its entries, and what was written is done
also where who asked has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any, TypeVar

from etalis.service.store.log import ServiceLog
from etalis.service.worker import Actor, Work, Worker

T = TypeVar("T")

REQUEST: ContextVar[str | None] = ContextVar("REQUEST", default=None)  # what is done belongs to this request with a key


class Journal:
    """Writes the work of all actors into one log; `due` is set when so many entries have come that a mark is due."""

    def __init__(self, log: ServiceLog, worker: Worker, *, every: int = 20_000) -> None:
        self.log = log
        self.every = every
        self.due = asyncio.Event()
        self.redone: list[tuple[str, str, Any]] = []  # requests with keys that were replayed: request, kind, result
        self._worker = worker
        self._tasks: set[asyncio.Task[object]] = set()

    async def perform(
        self, actor: Actor, name: str, kind: str, body: bytes, make: Callable[[int], tuple[Work, Awaitable[T]]], *,
        stamp: int = 0, ids: Iterable[str] = (), events: int = 0, always: bool = False,
    ) -> T:  # fmt: skip
        """Write an entry, put the job that `make` makes of its number into the queue, and return its answer."""
        self._worker.reserve(actor, events, always=always)
        task = asyncio.get_running_loop().create_task(
            self._write_and_do(actor, name, kind, body, make, stamp, ids, events)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _write_and_do(
        self, actor: Actor, name: str, kind: str, body: bytes, make: Callable[[int], tuple[Work, Awaitable[T]]],
        stamp: int, ids: Iterable[str], events: int,
    ) -> T:  # fmt: skip
        try:
            number = await self.log.write(name, kind, body, stamp, request=REQUEST.get(), ids=ids)
        except BaseException:
            self._worker.release(actor, events)
            raise
        job, answer = make(number)
        self._worker.put(actor, job, events)
        if number - self.log.mark >= self.every:
            self.due.set()
        return await answer

    async def settled(self) -> None:
        """Wait until all that was begun is done."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
