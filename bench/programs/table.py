"""The programs' speeds as shares of the loop's, by processor time, with a verdict on what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from run import judged, new_table

LOOP = "hand, Python"
WAYS = ("run", "push", "columns", "DuckDB", "Polars")
ASKED = (
    "fraud", "reference_100k", "moving_avg_30", "moving_avg_1000", "sliding_max_1000", "three_rises", "top3_of_20",
    "asof_join", "session_idle", "funnel_star", "iot_hot", "rfid_containment", "ten_parts", "nokey_within20",
    "duration_check", "rules_100_filter", "rules_1000_filter", "rules_1000_by_symbol",
)  # fmt: skip
BY_ROWS = ("top3_of_20", "rfid_containment")  # no columns are asked for
TO_DUCKDB = 0.7
EACH, MOST = {"run": 0.15, "push": 0.12}, {"run": 0.3, "push": 0.25}


def shares(turns: Mapping[str, Any]) -> dict[str, float]:
    """Return the speed of each way as a share of the loop's."""
    return {way: turns[LOOP].cpu / turns[way].cpu for way in WAYS if way in turns}


def is_reached(name: str, way: str, found: Mapping[str, float]) -> bool | None:
    """Say whether a share is what was asked for, if anything was."""
    if name not in ASKED:
        return None
    if way in EACH:
        return found[way] >= EACH[way]
    if way != "columns" or name in BY_ROWS:
        return None
    return found[way] >= max(1.0, TO_DUCKDB * found.get("DuckDB", 0.0))


def show(console: Any, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a row per program, and how many reach what most of them should."""
    table = new_table("speed to the loop by hand, matches kept, by processor time", "Program", *map(str.lower, WAYS))
    found = {name: shares(turns) for name, turns in figures.items() if LOOP in turns}
    for name, each in found.items():
        cells = (judged(f"{each[way]:.2f}", is_reached(name, way, each)) if way in each else "" for way in WAYS)
        table.add_row(name, *cells)
    console.print(table)
    for way, least in MOST.items():
        known = [each[way] for name, each in found.items() if name in ASKED and way in each]
        if known:
            enough = sum(share >= least for share in known)
            said = f"{way}: {enough} of {len(known)} programs reach {least} (asked: three quarters)"
            console.print(judged(said, enough >= len(known) * 3 / 4))
