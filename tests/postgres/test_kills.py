"""Engine and deliverer with an outbox in PostgreSQL, ended suddenly; at night more often."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

from etalis.reactive.outbox.outbox import Outbox
from helpers.kills import check_kills


def test_kills(outbox: Outbox, tmp_path: Path) -> None:
    at_night = settings.default.max_examples >= 50_000  # type: ignore[attr-defined]
    count, kills = (10_000, 20) if at_night else (200, 2)
    check_kills(outbox.address, tmp_path, count=count, kills=kills, seed=3)
