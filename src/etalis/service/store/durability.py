"""A service with a data folder: its log opened, everything brought to where it was, marks set from time to time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from etalis.service.store.journal import Journal
from etalis.service.store.log import ServiceLog
from etalis.service.store.marks import DurableActor, LogMarks
from etalis.service.worker import Worker


class Recovered(Protocol):
    """The service, as its log sees it."""

    worker: Worker
    journal: Journal | None

    def durable_actors(self) -> list[DurableActor]:
        """Return what has units in the log."""

    def take_journal(self, journal: Journal) -> None:
        """Write what is done from now on."""


class Durability:
    """The log of a service, while it runs; a folder that cannot be used is refused at once."""

    def __init__(self, service: Recovered, folder: Path) -> None:
        self._service = service
        self._log = ServiceLog(folder)
        self._journal: Journal | None = None
        self._marks: LogMarks | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Restore what the folder has, and write from now on."""
        try:
            self._journal = Journal(self._log, self._service.worker)
            self._marks = LogMarks(self._journal, self._service.durable_actors())
            self._marks.restore()
        except BaseException:
            self._log.close()
            raise
        self._service.take_journal(self._journal)
        self._running = asyncio.create_task(self._marks.run())

    async def mark(self) -> None:
        """Set a mark now."""
        assert self._marks is not None
        await self._marks.mark()

    async def stop(self) -> None:
        """Set a last mark, so that the next start is quick, and let the folder go."""
        if self._journal is None or self._marks is None or self._running is None:
            return
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._journal.settled()
        await self._marks.try_mark()
        self._log.close()
