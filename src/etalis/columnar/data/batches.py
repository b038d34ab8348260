"""Batches of rows: end points of all, and the events among them by kind; cut, put together, put in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.columns import Column, Integers, concat

Kind: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ReceivedRows:
    """Events of one kind in a batch: their rows in the batch, and their attributes."""

    rows: Any
    columns: Sequence[Column]

    def values(self) -> list[tuple[Any, ...]]:
        """Return the attributes, event by event."""
        return list(zip(*(c.values() for c in self.columns), strict=True)) or [()] * len(self.rows)


@dataclass(frozen=True, slots=True)
class InputBatch:
    """A batch of rows: end points of all, and the events by kind. Rows without an event only let time pass.

    `numbers` name the rows, from 1 on, where somebody asks what matches are made of.
    """

    start: Any
    end: Any
    events: Mapping[Kind, ReceivedRows]
    numbers: Any = None


NO_ROWS = InputBatch(np.zeros(0, np.int64), np.zeros(0, np.int64), {})


def cut(batch: InputBatch, low: int, high: int) -> InputBatch:
    """Return a stretch of a batch."""
    events = {}
    for kind, received in batch.events.items():
        a, b = np.searchsorted(received.rows, (low, high))
        part = np.arange(a, b)
        events[kind] = ReceivedRows(received.rows[a:b] - low, [column.take(part) for column in received.columns])
    numbers = None if batch.numbers is None else batch.numbers[low:high]
    return InputBatch(batch.start[low:high], batch.end[low:high], events, numbers)


def arrange(batch: InputBatch, rows: Integers) -> InputBatch:
    """Return some rows of a batch, in the order in which they are named."""
    places = np.full(len(batch.end), -1)
    places[rows] = np.arange(len(rows))
    events = {}
    for kind, received in batch.events.items():
        mine = places[received.rows]
        kept = np.flatnonzero(mine >= 0)
        kept = kept[np.argsort(mine[kept])]
        events[kind] = ReceivedRows(mine[kept], [column.take(kept) for column in received.columns])
    return InputBatch(
        batch.start[rows], batch.end[rows], events, None if batch.numbers is None else batch.numbers[rows]
    )


def below(parts: Sequence[InputBatch]) -> InputBatch:
    """Return batches one after the other."""
    if len(parts) == 1:
        return parts[0]
    several: dict[Kind, list[tuple[int, ReceivedRows]]] = {}
    first = 0
    for part in parts:
        for kind, received in part.events.items():
            several.setdefault(kind, []).append((first, received))
        first += len(part.end)
    events = {}
    for kind, found in several.items():
        columns = [concat(same) for same in zip(*(received.columns for _, received in found), strict=True)]
        events[kind] = ReceivedRows(np.concatenate([received.rows + low for low, received in found]), columns)
    start, end = (np.concatenate([getattr(part, name) for part in parts]) for name in ("start", "end"))
    if all(part.numbers is None for part in parts):
        return InputBatch(start, end, events)
    numbers = [np.zeros(len(part.end), np.int64) if part.numbers is None else part.numbers for part in parts]
    return InputBatch(start, end, events, np.concatenate(numbers))


def listed(batch: InputBatch, kinds: Sequence[Kind]) -> list[tuple[int, Kind, tuple[Any, ...]]]:
    """Return the events of some kinds one by one: row, kind, attributes."""
    found = []
    for kind in kinds:
        received = batch.events.get(kind)
        if received is not None:
            found += [(row, kind, args) for row, args in zip(received.rows.tolist(), received.values(), strict=True)]
    found.sort(key=lambda row: row[0])
    return found
