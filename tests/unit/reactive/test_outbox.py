"""Outboxes in SQLite, and addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.errors import InputError
from etalis.reactive.outbox.outbox import Outbox
from helpers.outbox_engine_laws import OutboxEngineLaws
from helpers.outbox_laws import OutboxLaws
from helpers.outbox_revision_laws import OutboxRevisionLaws
from helpers.outbox_saga_laws import OutboxSagaLaws


class TestSqlite(OutboxLaws, OutboxEngineLaws, OutboxSagaLaws, OutboxRevisionLaws):
    @pytest.fixture
    def outbox(self, tmp_path: Path) -> Outbox:
        return Outbox(f"sqlite:///{tmp_path / 'box.db'}?synchronous=off")


@pytest.mark.parametrize(
    "address", ["box.db", "mysql://x/y", "sqlite:///", "sqlite:///:memory:", "sqlite:///a.db?synchronous=no", 5]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="E805"):
        Outbox(address)


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="E804"):
        Outbox(f"sqlite:///{tmp_path / 'missing' / 'box.db'}").connect()
    (tmp_path / "text.db").write_text("this is no database, but a text that is long enough to look at" * 100)
    with pytest.raises(InputError, match="E804"):
        Outbox(f"sqlite:///{tmp_path / 'text.db'}").connect()


def test_tables_of_another_version_are_refused(tmp_path: Path) -> None:
    box = Outbox(f"sqlite:///{tmp_path / 'box.db'}")
    store = box.connect()
    store.execute("UPDATE etalis_outbox SET format = 9")
    store.close()
    with pytest.raises(InputError, match="has format 9"):
        Outbox(box.address).connect()


def test_no_password_is_shown() -> None:
    shown = repr(Outbox("postgresql://ann:secret@host/shop"))
    assert "secret" not in shown
    assert "ann" in shown
