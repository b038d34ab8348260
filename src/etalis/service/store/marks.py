"""Marks in the log: everything before a mark is in snapshots, which are taken one at a time between other work.

A mark is an entry itself. What the units of an actor share is taken in the turn of the mark; then each unit that has
changed since its last snapshot, at whatever entry it has come to; then what lies before the mark is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from etalis.service.store.folder import StoreError
from etalis.service.store.journal import Journal
from etalis.service.store.log import Entry, KeptResult, KeptUnit, ServiceLog

_LOG = logging.getLogger(__name__)
MARK = "mark"
EVERY_SECONDS = 300.0


class Frozen(NamedTuple):
    """A unit at an entry: its bytes, its new results, and the first result that it keeps."""

    number: int
    body: bytes
    results: Sequence[KeptResult]
    first: int


class DurableActor(Protocol):
    """What has units in the log."""

    name: str

    def owns(self, actor: str) -> bool:
        """Tell whether entries and units of a name are its own."""

    def restore(self, units: Iterable[KeptUnit], state: bytes | None, log: ServiceLog) -> None:
        """Take what was kept; `replay` follows, then `replayed`."""

    def replay(self, entry: Entry) -> Any:
        """Do once more what an entry says; return what came of it."""

    def replayed(self) -> None:
        """Take it that all entries were replayed."""

    def units(self) -> list[str]:
        """Return the units that there are."""

    def changed(self) -> list[str]:
        """Return the units that have changed since their last snapshot."""

    def freeze(self, unit: str) -> Awaitable[Frozen | None]:
        """Take the snapshot of a unit in its turn, if it is still there; put into the queue at once."""

    def kept(self, unit: str, frozen: Frozen) -> None:
        """Take it that a snapshot is on the disk."""

    def share(self) -> Awaitable[bytes | None]:
        """Return what the units share, in its turn; put into the queue at once."""


class LogMarks:
    """The marks of a log."""

    def __init__(self, journal: Journal, actors: Sequence[DurableActor]) -> None:
        self._journal = journal
        self._log = journal.log
        self._actors = actors
        self._alone = asyncio.Lock()

    def restore(self) -> None:
        """Bring all actors to where they were: snapshots, then the entries behind them."""
        units, states = self._log.units(), self._log.states()
        for actor in self._actors:
            actor.restore([u for u in units if actor.owns(u.name)], states.get(actor.name), self._log)
        for entry in self._log.entries():
            for actor in self._actors:
                if actor.owns(entry.actor):
                    done = actor.replay(entry)
                    if entry.request is not None:
                        self._journal.redone.append((entry.request, entry.kind, done))
        for actor in self._actors:
            actor.replayed()

    async def run(self) -> None:
        """Set marks when many entries have come, or some time has passed."""
        while True:
            try:
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._journal.due.wait()
            except TimeoutError:
                pass
            self._journal.due.clear()
            await self.try_mark()

    async def try_mark(self) -> None:
        """Set a mark, if there is something before it; where the disk takes nothing, the log grows for now."""
        if self._log.last > self._log.mark:
            try:
                await self.mark()
            except StoreError as error:
                _LOG.warning("no mark was set: %s", error.problems[0].message)

    async def mark(self) -> None:
        """Set a mark."""
        async with self._alone:
            mark = await self._log.write("", MARK, b"")
            shared = [(actor.name, actor.share()) for actor in self._actors]
            states = {name: state for name, each in shared if (state := await each) is not None}
            for actor in self._actors:
                for unit in actor.changed():
                    frozen = await actor.freeze(unit)
                    if frozen is not None:
                        await self._log.keep(unit, *frozen)
                        actor.kept(unit, frozen)
            units = [unit for actor in self._actors for unit in actor.units()]
            await self._log.finish(mark, units, states)
