"""Outboxes in a file of SQLite: readers see the last commit, a write waits until the one before it has ended."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from weakref import finalize

from etalis.reactive.outbox.store import Row, explaining

SYNCHRONOUS = ("full", "normal", "off")
_PATIENCE = 60.0  # seconds for which a write waits for another


class SqliteStore:
    """A connection to a file."""

    bytes_type = "BLOB"

    def __init__(self, path: str, address: str, synchronous: str = "full") -> None:
        self._address = address
        with explaining(address, sqlite3.Error):
            self._connection = sqlite3.connect(path, _PATIENCE, isolation_level=None, check_same_thread=False)
            self._end = finalize(self, self._connection.close)
            self._connection.execute("PRAGMA journal_mode = WAL").close()
            self._connection.execute(f"PRAGMA synchronous = {synchronous}").close()

    def read(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""
        with explaining(self._address, sqlite3.Error), closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement; return how many rows it changed."""
        with explaining(self._address, sqlite3.Error), closing(self._connection.execute(sql, values)) as cursor:
            return cursor.rowcount

    def execute_many(self, sql: str, rows: list[Row]) -> int:
        """Run a statement for each of some rows; return how many rows all of them changed."""
        with explaining(self._address, sqlite3.Error), closing(self._connection.executemany(sql, rows)) as cursor:
            return cursor.rowcount

    @contextmanager
    def write(self, *, making: bool = False) -> Iterator[None]:
        """Write in one transaction, alone."""
        del making
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def has_tables(self) -> bool:
        """Tell whether the tables of an outbox are there."""
        return bool(self.read("SELECT 1 FROM sqlite_master WHERE name = 'etalis_outbox'"))

    def now(self) -> float:
        """Return the time of this machine: all that use the file are on it."""
        return time.time()

    def close(self) -> None:
        """Close the connection."""
        self._end()
