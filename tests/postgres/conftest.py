"""One server for all tests; without its programs or psycopg they are reported as skipped, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from etalis.reactive.outbox.outbox import Outbox
from helpers.postgres_server import find_programs, server


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a running server."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: etalis[postgres]")
    programs = find_programs()
    if programs is None:
        pytest.skip("no server of PostgreSQL is installed")
    with server(programs) as started:
        yield started


@pytest.fixture
def outbox(address: str) -> Outbox:
    """An outbox without tables."""
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return Outbox(address)
