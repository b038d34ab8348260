"""Databases that hold outboxes: what is asked of them, in SQL that all of them read, and which address means which.

Law: a write is one transaction, and no two writes overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from etalis.errors import InputError, Problem
from etalis.reactive.outbox.schema import FORMAT, INDEXES, TABLES

Row = tuple[Any, ...]


class OutboxStore(Protocol):
    """A connection to a database; in its statements `?` stands for a value."""

    bytes_type: str

    def read(self, sql: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""

    def execute(self, sql: str, *values: Any) -> int:
        """Run a statement; return how many rows it changed."""

    def execute_many(self, sql: str, rows: list[Row]) -> int:
        """Run a statement for each of some rows; return how many rows all of them changed."""

    def write(self, *, making: bool = False) -> AbstractContextManager[None]:
        """Return a block of statements that are one transaction; with `making` there may be no tables yet."""

    def has_tables(self) -> bool:
        """Tell whether the tables of an outbox are there."""

    def now(self) -> float:
        """Return the time of the database, in seconds."""

    def close(self) -> None:
        """Give the connection back."""


def make_tables(store: OutboxStore, address: str) -> None:
    """Make the tables of an outbox where they are missing; refuse those of another version.

    Where they are there nothing is locked, since others are at work on them.
    """
    if not store.has_tables():
        with store.write(making=True):
            if not store.has_tables():
                _make_tables(store)
    ((found,),) = store.read("SELECT format FROM etalis_outbox")
    if found != FORMAT:
        message = f"the outbox {address} has format {found}, this version uses format {FORMAT}"
        raise InputError(Problem("E804", message, hint="use the version that made it, or another database"))


def _make_tables(store: OutboxStore) -> None:
    for name, columns in TABLES.items():
        store.execute(f"CREATE TABLE {name} ({columns.replace('BYTES', store.bytes_type)})")
    for name, columns in INDEXES.items():
        store.execute(f"CREATE INDEX {name} ON {columns}")
    store.execute(
        "INSERT INTO etalis_outbox (one, format, holder, until, transactions, changes) VALUES (1, ?, NULL, 0, 0, 0)",
        FORMAT,
    )


@contextmanager
def explaining(address: str, *errors: type[Exception]) -> Iterator[None]:
    """Say of what a database raises which outbox it was."""
    try:
        yield
    except errors as error:
        told = " ".join(str(error).split()) or type(error).__name__
        message = f"the outbox {address} cannot be used: {told}"
        raise InputError(Problem("E804", message, hint="look after the database")) from error
