"""Outboxes in PostgreSQL keep what those in SQLite keep; and what only a server does."""

from __future__ import annotations

from threading import Thread

import pytest

from etalis.errors import InputError
from etalis.reactive.outbox.outbox import Outbox
from helpers.outbox_engine_laws import OutboxEngineLaws
from helpers.outbox_laws import OutboxLaws
from helpers.outbox_revision_laws import OutboxRevisionLaws
from helpers.outbox_saga_laws import OutboxSagaLaws


class TestPostgres(OutboxLaws, OutboxEngineLaws, OutboxSagaLaws, OutboxRevisionLaws):
    """All laws; the fixture `outbox` is that of the folder."""


def test_the_tables_are_made_once_however_many_come_at_once(outbox: Outbox) -> None:
    failed: list[Exception] = []

    def connect() -> None:
        try:
            Outbox(outbox.address).connect().close()
        except InputError as error:
            failed.append(error)

    threads = [Thread(target=connect) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_who_connects_waits_for_nobody(outbox: Outbox) -> None:
    store = outbox.connect()
    with store.write():
        store.execute("UPDATE etalis_outbox SET until = 1")
        Outbox(outbox.address).connect().close()
        store.execute("UPDATE etalis_effects SET state = 'waiting'")
    store.close()


def test_the_time_is_that_of_the_server(outbox: Outbox) -> None:
    first, second = outbox.connect(), outbox.connect()
    assert first.now() <= second.now() <= first.now()
    first.close()
    second.close()


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="E804"):
        Outbox("postgresql://etalis@/postgres?host=/nowhere").connect()
