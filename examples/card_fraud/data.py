"""Makes the data of this example, always the same: a day of withdrawals as history, and as rows that arrive.

They arrive out of order by up to five minutes, and a few come hours too late.
"""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

CITIES = ("basel", "weil", "zurich", "winterthur", "bern", "geneva", "lugano")
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
CARDS, WITHDRAWALS, FILES = 60, 3_000, 4
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("card", pa.string()), ("city", pa.string()), ("amount", pa.float64())]
)


def make_rows(seed: int = 7) -> list[dict[str, Any]]:
    """Return the events of a day in order of time; one withdrawal in fifty is made in another city."""
    chance = random.Random(seed)
    rows = []
    for i in range(WITHDRAWALS):
        card = chance.randrange(CARDS)
        city = CITIES[card % len(CITIES)] if chance.random() < 0.98 else chance.choice(CITIES)
        ts = BEGIN + timedelta(seconds=i * 86_400 / WITHDRAWALS)
        row = {
            "type": "withdrawal",
            "ts": ts,
            "card": f"c{card}",
            "city": city,
            "amount": 10.0 * chance.randrange(1, 60),
        }
        rows.append(row)
        if chance.random() < 0.02:
            rows.append({"type": "confirmed", "ts": ts + timedelta(seconds=5), "card": f"c{chance.randrange(CARDS)}"})
    return sorted(rows, key=lambda row: (row["ts"], row["card"]))


def arrive(rows: list[dict[str, Any]], seed: int = 8) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows in the order in which they arrive, and those that are too late; the last row settles all others."""
    chance = random.Random(seed)
    late = [row for row in rows[100 : len(rows) // 2] if chance.random() < 0.005]
    in_time = [row for row in rows if row not in late]
    arrived = sorted(in_time, key=lambda row: row["ts"] + timedelta(seconds=chance.uniform(0, 300)))
    last = {"type": "withdrawal", "ts": BEGIN + timedelta(days=2), "card": "control", "city": "bern", "amount": 0.0}
    return [*arrived[: len(arrived) * 3 // 4], *late, *arrived[len(arrived) * 3 // 4 :], last], late


def write_data(folder: Path) -> None:
    """Write history as Parquet, and arrivals as files of JSON lines, the older ones first."""
    rows = make_rows()
    for name, kind, columns in (("withdrawals", "withdrawal", 4), ("confirmations", "confirmed", 2)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        alike = [row for row in rows if row["type"] == kind]
        parquet.write_table(pa.Table.from_pylist(alike, pa.schema(list(SCHEMA)[:columns])), folder / name / "1.parquet")
    (folder / "arrivals").mkdir(exist_ok=True)
    arrived, _ = arrive(rows)
    size = -(-len(arrived) // FILES)
    for number in range(FILES):
        path = folder / "arrivals" / f"{number}.json"
        lines = [
            json.dumps({**row, "ts": row["ts"].isoformat()}) for row in arrived[number * size : (number + 1) * size]
        ]
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1_700_000_000 + number,) * 2)  # files are taken in the order of their age
