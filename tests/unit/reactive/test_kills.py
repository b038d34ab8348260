"""Engine and deliverer with an outbox in SQLite, ended suddenly: nothing is lost, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.kills import check_kills


def test_a_few_kills(tmp_path: Path) -> None:
    check_kills(f"sqlite:///{tmp_path / 'box.db'}?synchronous=off", tmp_path, count=200, kills=3, seed=1)


@pytest.mark.nightly
def test_a_hundred_kills(tmp_path: Path) -> None:
    check_kills(f"sqlite:///{tmp_path / 'box.db'}?synchronous=off", tmp_path, count=10_000, kills=100, seed=2)
