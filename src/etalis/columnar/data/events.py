"""Events as batches: for streams that are in memory as events, and for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from etalis.columnar.data.batches import InputBatch, ReceivedRows
from etalis.columnar.data.columns import from_values
from etalis.columnar.data.flat import type_of
from etalis.plan.types import Types
from etalis.temporal.event import Event

Kind: TypeAlias = tuple[str, int]


def find_types(events: Iterable[Event]) -> Types:
    """Return the flat type of every attribute that has one, `term` for the others."""
    seen: dict[Kind, list[set[str]]] = {}
    for event in events:
        places = seen.setdefault((event.name, len(event.args)), [set() for _ in event.args])
        for place, value in zip(places, event.args, strict=True):
            place.add(type_of(value))
    return {kind: tuple(p.pop() if len(p) == 1 else "term" for p in places) for kind, places in seen.items()}


def gather(events: Sequence[Event], types: Types) -> InputBatch:
    """Return events, which are in order, as one batch."""
    rows: dict[Kind, list[int]] = {}
    for row, event in enumerate(events):
        rows.setdefault((event.name, len(event.args)), []).append(row)
    received = {}
    for kind, mine in rows.items():
        columns = zip(*(events[row].args for row in mine), strict=True)
        taken = [from_values(column, t) for column, t in zip(columns, types[kind], strict=True)]
        received[kind] = ReceivedRows(np.array(mine, np.int64), taken)
    start = np.array([event.start_time for event in events], np.int64)
    end = np.array([event.end_time for event in events], np.int64)
    return InputBatch(start, end, received)
