"""What the last elements of a group come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Integers, key_rows
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels import aggregate as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.operators.totals import VALUE, AggregateValues, ColumnAggregate
from etalis.data.values import Value
from etalis.runtime.operators.mixed_window import MixedWindow, window_of
from etalis.runtime.operators.sliding import SlidingWindow


class SlidingTotal:
    """The last elements of a group: those of the last `within` microseconds, of these the last `last`."""

    def __init__(
        self, aggregate: ColumnAggregate, keys: Mapping[str, str], within: int | None, last: int | None
    ) -> None:
        self.aggregate = aggregate
        self.keys = tuple(keys)
        self.within = within
        self.last = last
        own = {} if aggregate.type is None else {VALUE: aggregate.type}
        self.names = (*self.keys, *own)
        self.elements = nothing({**keys, **own})

    def add(self, rows: Instances, now: int) -> tuple[Integers, Column, Integers]:
        """Fold elements in; return which of them are in their window, the value of that and its earliest start."""
        low = len(self.elements)
        together = stack([self.elements, rows], self.names)
        known = KeyIndex(key_rows([[together.column(v) for v in self.keys]], [len(together)])[0])
        value = together.column(VALUE) if VALUE in self.names else None
        alive = np.zeros(len(together), bool)
        found = self.aggregate.fold(value, known.group, lambda *given: self._slide(together, low, known, alive, *given))
        values: list[Any] | None = None
        if found is None:
            assert value is not None
            alive[:] = False
            values, counts, leasts = self._slide_objects(together, low, known, alive, value.values())
            found = AggregateValues.of(counts, leasts, np.zeros(len(together), np.int64))
        if self.within is not None:
            alive &= together.start >= now - self.within
        self.elements = together.take(np.flatnonzero(alive)).only(self.names)
        within = np.flatnonzero(found.count[low:])
        new = found.take(low + within)
        if values is not None:
            return within, self.aggregate.column([values[low + row] for row in within.tolist()]), new.least
        return within, self.aggregate.result(new, value), new.least

    def _slide(
        self, rows: Instances, low: int, known: KeyIndex, alive: Any, kind: int, numbers: Integers, reals: Any
    ) -> AggregateValues | None:
        count = len(rows)
        order, first = known.by_group()
        tally = np.zeros(count if kind == k.DISTINCT else 0, np.int64)
        found = AggregateValues.room(count)
        within, last = k.NO_WINDOW if self.within is None else self.within, self.last or k.NO_LAST
        given = k.GroupedRows(first, order, rows.start, rows.end, numbers, reals)
        room = np.empty(count, np.int64), np.empty(count if kind in (k.LEAST, k.GREATEST) else 0, np.int64)
        bounds = k.WindowRows(within, last, *room, tally, np.zeros(3))
        return found if k.slide(kind, low, given, bounds, alive, found.arrays) else None

    def _slide_objects(
        self, rows: Instances, low: int, known: KeyIndex, alive: Any, values: Sequence[Value]
    ) -> tuple[list[Any], Integers, Integers]:
        """Slide windows as the engine does; return value, count and earliest start at every row."""
        row, counts, leasts = self.aggregate.row, np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        items = list(zip(rows.start.tolist(), values, range(len(rows)), strict=True))
        groups, ends = known.group.tolist(), rows.end.tolist()
        before: dict[int, list[Any]] = {}
        for group, item in zip(groups[:low], items, strict=False):
            before.setdefault(group, []).append(item)
        windows: dict[int, SlidingWindow | MixedWindow] = {
            group: window_of(row, some) for group, some in before.items()
        }
        reached: list[Any] = [None] * len(rows)
        for place in range(low, len(rows)):
            group, item = groups[place], items[place]
            window = windows.setdefault(group, SlidingWindow(row))
            if window.items and item[0] < window.items[-1][0]:
                window = windows[group] = MixedWindow(row, window)
            limit = None if self.within is None else ends[place] - self.within
            value, start = window.slide(item, limit, self.last)
            if value is not None:
                reached[place], leasts[place], counts[place] = value, start, window.size(self.last)
        for window in windows.values():
            alive[[item[2] for item in window]] = True
        return reached, counts, leasts
