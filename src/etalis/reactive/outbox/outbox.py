"""An outbox as hosts have it: an address, what goes on from it, and what delivers it."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, Protocol
from uuid import uuid4

from etalis.errors import InputError, OptionError, Problem
from etalis.reactive.effects.registry import registry_of
from etalis.reactive.outbox.commit_log import CommitLog
from etalis.reactive.outbox.deliverer import Deliverer, DeliveryOptions
from etalis.reactive.outbox.delivery_queue import DeliveryQueue
from etalis.reactive.outbox.sqlite import SYNCHRONOUS, SqliteStore
from etalis.reactive.outbox.store import OutboxStore, make_tables

_SQLITE, _POSTGRES = "sqlite:///", ("postgresql://", "postgres://")


class Restorable(Protocol):
    """A program: what makes engines, and has a name."""

    @property
    def name(self) -> str: ...

    def engine(self, **options: Any) -> Any: ...

    def restore(self, *data: bytes, **options: Any) -> Any: ...


class Outbox:
    """A database with the state of engines and their effects: `sqlite:///file.db`, or `postgresql://...`.

    What SQLite has written survives the machine; with `?synchronous=normal` or `off` behind the file, which is faster,
    it survives the process. One engine of a program at a time commits to it, one deliverer at a time delivers from it.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._is_made = False
        if not isinstance(address, str) or not address.startswith((_SQLITE, *_POSTGRES)):
            hint = "sqlite:///file.db, sqlite:////folder/file.db or postgresql://user@host/database"
            raise InputError(Problem("E805", f"{address!r} is no address of an outbox", hint=hint))
        if address in (_SQLITE, f"{_SQLITE}:memory:"):
            raise InputError(Problem("E805", "an outbox in memory is lost with its engine", hint="name a file"))
        option = address.partition("?synchronous=")[2] if address.startswith(_SQLITE) else ""
        if option and option not in SYNCHRONOUS:
            message = f"there is no way of writing {option!r}"
            raise InputError(Problem("E805", message, hint=f"synchronous: {', '.join(SYNCHRONOUS)}"))

    def __repr__(self) -> str:
        return f"Outbox({self._shown()!r})"

    def connect(self) -> OutboxStore:
        """Return a connection of its own, with all tables there."""
        store = self._open()
        if not self._is_made:
            make_tables(store, self._shown())
            self._is_made = True
        return store

    def log(self, program: str) -> CommitLog:
        """Return what an engine of a program commits to."""
        return CommitLog(self.connect, self._shown(), program)

    def add(self, rows: Iterable[Mapping[str, Any]], *, program: str) -> None:
        """Have effects delivered that were recorded: rows such as `etalis.effects.recording` writes, in their order.

        Rows whose keys are there are not delivered again. Nobody undoes what cannot be delivered.
        """
        log = self.log(program)
        log.add_rows(rows)
        log.close()

    def restore(self, program: Restorable, **options: Any) -> tuple[Any, Any]:
        """Return an engine that goes on from the last commit, and its position; a fresh one and None at first.

        The options are those of `Program.restore`. The inputs after the position are to be pushed again.
        """
        log = self.log(program.name)
        saved = log.saved()
        log.close()
        if saved is None:
            return program.engine(outbox=self, **options), None
        engine = program.restore(*saved.data, outbox=self, **options)
        engine.core.committer.position = saved.position
        return engine, saved.position

    def deliver(
        self, effects: Any, *, once: bool = False, stop: threading.Event | None = None,
        order: Literal["transaction", "all"] = "transaction", lease: float = 30.0, poll: float = 0.5,
        clock: Callable[[], float] | None = None, wait: Callable[[float], object] | None = None,
    ) -> int:  # fmt: skip
        """Make the effects that were committed, in this thread; return how many were made or compensated.

        `effects` is a program, or functions by name. With `once`, what is due now; else until `stop` is set. A
        deliverer has the outbox for `lease` seconds, and again with every effect: longer than an effect takes. With
        order `all` nothing overtakes an effect that waits to be tried again. New effects are looked for every `poll`
        seconds. `clock` and `wait` are those of the database and of `stop`, if nothing else is given.
        """
        if order not in ("transaction", "all"):
            raise OptionError(Problem("E809", f"there is no order {order!r}", hint="order: transaction, all"))
        asked = threading.Event() if stop is None else stop
        store = self.connect()
        try:
            options = DeliveryOptions(clock or _clock(store), wait or asked.wait, order == "all", poll)
            deliverer = Deliverer(DeliveryQueue(store, _holder(), lease), registry_of(effects), options)
            return deliverer.run_once() if once else deliverer.run(asked.is_set)
        finally:
            store.close()

    @contextmanager
    def delivering(self, effects: Any, **options: Any) -> Iterator[None]:
        """Deliver in a thread of its own, to the end of the block; what is due then stays for the next time."""
        stop, failed = threading.Event(), list[BaseException]()

        def run() -> None:
            try:
                self.deliver(effects, stop=stop, **options)
            except BaseException as error:  # noqa: BLE001 - it is raised where the thread ends
                failed.append(error)

        thread = threading.Thread(target=run, name="etalis deliverer")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        if failed:
            raise failed[0]

    def _open(self) -> OutboxStore:
        if self.address.startswith(_SQLITE):
            path, _, option = self.address.removeprefix(_SQLITE).partition("?synchronous=")
            return SqliteStore(path, self._shown(), option or SYNCHRONOUS[0])
        if find_spec("psycopg") is None:
            hint = "pip install 'etalis[postgres]'"
            raise InputError(
                Problem("E805", "an outbox in PostgreSQL needs psycopg, which is not installed", hint=hint)
            )
        from etalis.reactive.outbox.postgres import PostgresStore  # of an extra

        return PostgresStore(self.address, self._shown())

    def _shown(self) -> str:
        """The address without what may be a password."""
        scheme, found, rest = self.address.partition("://")
        user, at, place = rest.partition("@")
        return f"{scheme}{found}{user.partition(':')[0]}{at}{place}" if at else self.address


def refuse_begun(outbox: Outbox, program: str) -> None:
    """Refuse to begin anew where an engine of a program has committed."""
    log = outbox.log(program)
    is_empty = log.is_empty()
    log.close()
    if not is_empty:
        message = f"{outbox!r} has the state of {program}"
        hint = "engine, position = outbox.restore(program) goes on from it"
        raise InputError(Problem("E806", message, hint=hint))


def _clock(store: OutboxStore) -> Callable[[], float]:
    """Return a clock that tells the time of the database."""
    ahead = store.now() - time.time()
    return lambda: time.time() + ahead


def _holder() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
