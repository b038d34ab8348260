"""Rows of withdrawals for tests on Spark, and what one engine makes of them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import etalis
from etalis.data.values import to_value
from etalis.temporal.event import Event, sort_key
from etalis.temporal.json_values import to_plain

SCHEMA = "type string, ts bigint, card string, city string, amount double"
CITIES = ("basel", "weil", "geneva", "bern")


def make_rows(count: int, seed: int = 0) -> list[tuple[Any, ...]]:
    """Rows with many ties, out of order, and some nulls."""
    chance = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for _ in range(count):
        name = chance.choice(("withdrawal", "withdrawal", "withdrawal", "confirmed", "unknown"))
        card = chance.choice((None, *(f"c{i}" for i in range(9))))
        rows.append((name, chance.randrange(60), card, chance.choice(CITIES), chance.choice((None, 1.0, 2.5, 20.0))))
    return rows


def expected(program: etalis.Program, rows: Sequence[tuple[Any, ...]]) -> list[Event]:
    """What one engine gives on all rows, in the order in which Spark takes them."""
    events = [Event.make(name, tuple(map(to_value, values)), ts * 10**6, ts * 10**6) for name, ts, *values in rows]
    engine = program.engine()
    return [*engine.run(sorted(events, key=sort_key)), *engine.close()]


def enveloped(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    rows = [(e.name, json.dumps([to_plain(a) for a in e.args]), e.start, e.end, e.rule or "", e.id) for e in events]
    return sorted(rows)
