"""A data folder: one database of SQLite, held by one process alone.

The lock is the database's own (exclusive from the first read on), so that a process that was killed holds nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from etalis.errors import InputError, Problem
from etalis.service.store.schema import FILE, FORMAT, INDEXES, TABLES

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PATIENCE = 0.2  # seconds: who holds a folder holds it for long


class StoreError(InputError):
    """A data folder that cannot be used, or not be written."""


def open_folder(folder: Path) -> sqlite3.Connection:
    """Open the database of a folder for this process alone, and make it where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(folder, error.strerror or str(error)) from error
    with explaining(folder):
        connection = sqlite3.connect(folder / FILE, _PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, folder)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").close()
    connection.execute("BEGIN IMMEDIATE").close()
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'etalis_service'").fetchone():
        _make_tables(connection, folder)
    connection.execute("COMMIT").close()
    ((found,),) = connection.execute("SELECT format FROM etalis_service").fetchall()
    if found != FORMAT:
        message = f"the data folder {folder} has format {found}, this version uses format {FORMAT}"
        raise StoreError(Problem("E812", message, hint="use the version that wrote it, or another folder"))
    ((told,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if told != "ok":
        raise refusal(folder, f"it is damaged: {told}")


def _make_tables(connection: sqlite3.Connection, folder: Path) -> None:
    if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise refusal(folder, f"{FILE} is another program's database")
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns})").close()
    for name, columns in INDEXES.items():
        connection.execute(f"CREATE INDEX {name} ON {columns}").close()
    connection.execute("INSERT INTO etalis_service VALUES (?, 0)", (FORMAT,)).close()


@contextmanager
def explaining(folder: Path) -> Iterator[None]:
    """Say of what SQLite raises which folder it was, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) in _BUSY:
            message = f"the data folder {folder} is in use by another process"
            hint = "stop the service that runs there, or give this one a folder of its own"
            raise StoreError(Problem("E811", message, hint=hint)) from error
        raise refusal(folder, " ".join(str(error).split())) from error


def refusal(folder: Path, why: str) -> StoreError:
    """Return the error of a folder that cannot be used."""
    hint = "look after the disk and the folder's permissions; nothing that was not answered is taken"
    return StoreError(Problem("E810", f"the data folder {folder} cannot be used: {why}", hint=hint))
