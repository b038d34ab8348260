"""Rows into an engine, every match kept in a list: by `push` with its arguments written out, and by `run`.

One loop per number of attributes, since a call with `*row` takes longer than the leanest engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import etalis

Feed = Callable[[etalis.Engine, list[Any]], list[etalis.Event]]


def push_rows(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    """Push rows (name, attributes..., time), or dictionaries, one by one."""
    if isinstance(rows[0], dict):
        return _push_named(engine, rows)
    widths = {len(row) - 2 for row in rows}
    return PUSHES[widths.pop() if len(widths) == 1 else MIXED](engine, rows)


def _push_one(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    push = engine.push
    found: list[etalis.Event] = []
    for name, a, at in rows:
        found += push(name, a, at=at)
    return found


def _push_two(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    push = engine.push
    found: list[etalis.Event] = []
    for name, a, b, at in rows:
        found += push(name, a, b, at=at)
    return found


def _push_three(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    push = engine.push
    found: list[etalis.Event] = []
    for name, a, b, c, at in rows:
        found += push(name, a, b, c, at=at)
    return found


def _push_mixed(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    push = engine.push
    found: list[etalis.Event] = []
    for row in rows:
        width = len(row)
        if width == 4:
            name, a, b, at = row
            found += push(name, a, b, at=at)
        elif width == 3:
            name, a, at = row
            found += push(name, a, at=at)
        elif width == 5:
            name, a, b, c, at = row
            found += push(name, a, b, c, at=at)
        else:
            found += push(row[0], *row[1:-1], at=row[-1])
    return found


MIXED = -1
PUSHES: dict[int, Feed] = {1: _push_one, 2: _push_two, 3: _push_three, MIXED: _push_mixed}


def _push_named(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    """Push the attributes by name; the dictionaries of our programs have these two."""
    push = engine.push
    found: list[etalis.Event] = []
    for row in rows:
        found += push(row["event"], user=row["user"], country=row["country"], at=row["at"])
    return found


def run_rows(engine: etalis.Engine, rows: list[Any]) -> list[etalis.Event]:
    """Give all rows to `run`."""
    return list(engine.run(rows))
