"""Runs whose effects nobody makes."""

from __future__ import annotations

import json

from etalis.data.values import Struct, to_value
from etalis.effects import dry, recording
from etalis.reactive.effects.transaction import Cause, make_transaction

CAUSE = Cause("shop", "sell", 1, ("rose",), (1_500_000, 2_000_000))
MADE = make_transaction(CAUSE, [Struct("book", ("Ann", to_value(8.0))), "ship"])


def test_a_dry_run_tells_what_would_be_made() -> None:
    lines: list[str] = []
    done = dry(lines.append).perform(MADE)
    assert done.state == "done"
    keys = [row.key for row in MADE.rows]
    assert lines == [
        f"effect book('Ann',8.0) [1.5, 2] of sell, key {keys[0]}",
        f"effect ship [1.5, 2] of sell, key {keys[1]}",
    ]


def test_a_recording_has_the_columns_of_an_outbox() -> None:
    lines: list[str] = []
    sink = recording(lines.append)
    assert sink.undo(sink.perform(MADE)).state == "undone"
    assert next(json.loads(line) for line in lines) == {
        "key": MADE.rows[0].key, "transaction": MADE.id, "position": 0, "reaction": "sell", "name": "book",
        "args": ["Ann", 8.0], "start": 1.5, "end": 2,
    }  # fmt: skip
