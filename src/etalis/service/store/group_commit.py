"""Commits in groups: one thread writes all that waits in one transaction, and the disk is asked once for all of it.

Law: writers hear of their commit in the order in which they asked. What fails is rolled back as a whole; nothing that
stood in it was taken, so the next group starts afresh.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from etalis.service.store.folder import StoreError, explaining, refusal

_LARGEST = 5_000  # writes in one transaction

Statement = tuple[str, Sequence[Any]]


class Write(NamedTuple):
    """Statements that are committed together, and who hears of it."""

    statements: Sequence[Statement]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class GroupCommit:
    """The thread that writes to one database."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._waiting: SimpleQueue[Write | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="etalis-store", daemon=True)
        self._thread.start()
        self.commits = 0

    def submit(self, statements: Sequence[Statement]) -> asyncio.Future[None]:
        """Have statements written; the future is done when they are on the disk."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.put(Write(statements, loop, done))
        return done

    def close(self) -> None:
        """Write what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            group, ended = self._gather(first)
            self._settle(group, self._commit(group))
            if ended:
                return

    def _gather(self, first: Write) -> tuple[list[Write], bool]:
        group = [first]
        while len(group) < _LARGEST:
            try:
                write = self._waiting.get_nowait()
            except Empty:
                break
            if write is None:
                return group, True
            group.append(write)
        return group, False

    def _commit(self, group: list[Write]) -> StoreError | None:
        try:
            with explaining(self._folder):
                self._connection.execute("BEGIN IMMEDIATE").close()
                try:
                    for write in group:
                        for sql, values in write.statements:
                            self._connection.execute(sql, values).close()
                    self._connection.execute("COMMIT").close()
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK").close()
                    raise
        except StoreError as error:
            return error
        except (ValueError, OverflowError) as error:  # a value that SQLite has no form for
            return refusal(self._folder, str(error))
        self.commits += 1
        return None

    @staticmethod
    def _settle(group: list[Write], error: StoreError | None) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        for write in group:
            by_loop.setdefault(write.loop, []).append(write.done)
        for loop, futures in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell(futures, error))


def _tell(futures: list[asyncio.Future[None]], error: StoreError | None) -> Callable[[], None]:
    def tell() -> None:
        for future in futures:
            if future.cancelled():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    return tell
