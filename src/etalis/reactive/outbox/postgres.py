"""Outboxes in PostgreSQL, by psycopg (the extra `etalis[postgres]`); writes lock the one row that all of them need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import finalize

import psycopg

from etalis.reactive.outbox.store import Row, explaining

_MAKING = 7_265_843_001  # the lock of those who make the tables


class PostgresStore:
    """A connection to a server."""

    bytes_type = "BYTEA"

    def __init__(self, address: str, shown: str) -> None:
        self._address = shown
        with explaining(shown, psycopg.Error):
            self._connection = psycopg.connect(address, autocommit=True)
            self._end = finalize(self, self._connection.close)

    def read(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""
        with explaining(self._address, psycopg.Error):
            rows: list[Row] = self._connection.execute(_translate(sql), values).fetchall()
            return rows

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement; return how many rows it changed."""
        with explaining(self._address, psycopg.Error):
            return int(self._connection.execute(_translate(sql), values).rowcount)

    def execute_many(self, sql: str, rows: list[Row]) -> int:
        """Run a statement for each of some rows; return how many rows all of them changed."""
        with explaining(self._address, psycopg.Error), self._connection.cursor() as cursor:
            cursor.executemany(_translate(sql), rows)
            return int(cursor.rowcount)

    @contextmanager
    def write(self, *, making: bool = False) -> Iterator[None]:
        """Write in one transaction, alone."""
        with explaining(self._address, psycopg.Error), self._connection.transaction():
            if making:
                self.execute("SELECT pg_advisory_xact_lock(?)", _MAKING)
            else:
                self.execute("SELECT one FROM etalis_outbox FOR UPDATE")
            yield

    def has_tables(self) -> bool:
        """Tell whether the tables of an outbox are there, where names without a schema are looked for."""
        found = (
            "SELECT 1 FROM pg_tables WHERE tablename = 'etalis_outbox' AND schemaname = ANY (current_schemas(false))"
        )
        return bool(self.read(found))

    def now(self) -> float:
        """Return the time of the server, which is one for all machines."""
        ((now,),) = self.read("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(now)

    def close(self) -> None:
        """Close the connection."""
        self._end()


def _translate(sql: str) -> Any:
    """Return a statement with the places for values that psycopg knows."""
    return sql.replace("?", "%s")
