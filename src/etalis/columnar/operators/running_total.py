"""What everything since a group's first element comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from etalis.columnar.data import objects
from etalis.columnar.data.columns import Column, Integers, from_values, key_rows
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels import aggregate as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.operators.totals import BY_ROW, VALUE, WEIGHT, AggregateValues, ColumnAggregate, number_pairs

_LATEST = (1 << 63) - 1
_NO_FLAGS = np.zeros(0, bool)


class RunningTotal:
    """Everything since a group's first element; `elements` has rows of each group that stand for all of it."""

    def __init__(self, aggregate: ColumnAggregate, keys: Mapping[str, str]) -> None:
        self.aggregate = aggregate
        self.keys = tuple(keys)
        self.names = (*self.keys, WEIGHT, *(() if aggregate.type is None else (VALUE,)))
        own = {} if aggregate.type is None else {VALUE: aggregate.type}
        self.elements = nothing({**keys, WEIGHT: "int", **own})

    def add(self, rows: Instances) -> tuple[Column, Integers]:
        """Fold elements in; return the value and the earliest start that each reaches in its group."""
        low = len(self.elements)
        together = stack([self.elements, rows.with_columns({WEIGHT: _ones(len(rows))})], self.names)
        known = KeyIndex(key_rows([[together.column(v) for v in self.keys]], [len(together)])[0])
        value = together.column(VALUE) if VALUE in self.names else None
        found = self.aggregate.fold(value, known.group, lambda *given: self._accumulate(together, known, *given))
        if found is not None:
            self._keep(together, known, found, value)
            new = found.take(slice(low, None))
            return self.aggregate.result(new, value), new.least
        assert value is not None
        weight, given = together.column(WEIGHT).data, self.aggregate.objects(value, low)
        merge = self.aggregate.kernel.merge
        found = AggregateValues.of(*objects.accumulate(merge, known.group, together.start, weight, given))
        self._keep_objects(together, known, found)
        new = found.take(slice(low, None))
        return self.aggregate.column(self.aggregate.merged(new)), new.least

    def _accumulate(
        self, rows: Instances, known: KeyIndex, kind: int, numbers: Integers, reals: Any
    ) -> AggregateValues | None:
        fresh = _NO_FLAGS
        if kind == k.DISTINCT:
            fresh = np.zeros(len(rows), bool)
            fresh[np.unique(numbers, return_index=True)[1]] = True
        found, state = AggregateValues.room(len(rows)), AggregateValues.room(len(known.first))
        state.least[:] = _LATEST
        if kind in BY_ROW:
            state.number[:] = -1
        parts = np.zeros(3 * len(known.first) if kind == k.TOTAL else 0)
        given = k.FoldedRows(known.group, rows.start, rows.column(WEIGHT).data, numbers, reals, fresh)
        exact = k.accumulate(kind, given, state.arrays._replace(totals=parts), found.arrays)
        return replace(found, parts=parts) if exact else None

    def _keep(self, rows: Instances, known: KeyIndex, found: AggregateValues, value: Column | None) -> None:
        last = _last_rows(rows, known)
        number = np.arange(len(last))
        if value is None:
            self._hold(rows, last, found, number, None)
        elif self.aggregate.kind == k.DISTINCT:
            first = number_pairs(known.group, value).first
            self._hold(rows, last, found, known.group[first], value.take(first))
        elif self.aggregate.kind == k.TOTAL:
            parts = found.parts.reshape(-1, 3)
            needed = parts != 0.0
            needed[:, 0] = True
            self._hold(rows, last, found, np.nonzero(needed)[0], Column("float", parts[needed]))
        elif self.aggregate.kind in BY_ROW:
            self._hold(rows, last, found, number, value.take(found.number[last]).filled())
        else:
            reached = found.number[last]
            self._hold(rows, last, found, number, Column("int" if reached.dtype.kind == "i" else "term", reached))

    def _keep_objects(self, rows: Instances, known: KeyIndex, found: AggregateValues) -> None:
        last = _last_rows(rows, known)
        reached = found.number[last]
        if self.aggregate.is_of_objects:
            self._hold(rows, last, found, np.arange(len(last)), Column("term", reached))
        elif self.aggregate.kind == k.TOTAL:
            parts = [(group, part) for group, total in enumerate(reached) for part in list(total.parts()) or [0.0]]
            numbers, values = zip(*parts, strict=True) if parts else ((), ())
            self._hold(rows, last, found, np.array(numbers, np.int64), Column("float", np.array(values, np.float64)))
        else:
            whole = from_values([total.value() for total in reached], "int")
            self._hold(rows, last, found, np.arange(len(last)), whole)

    def _hold(self, rows: Instances, last: Integers, found: AggregateValues, group: Integers, value: Any) -> None:
        """Keep values of groups; the first of each has the weight of all its elements."""
        kept = last[group]
        weight = np.zeros(len(group), np.int64)
        first = np.unique(group, return_index=True)[1]
        weight[first] = found.count[kept[first]]
        some = rows.take(kept)
        columns = {WEIGHT: Column("int", weight)} | ({} if value is None else {VALUE: value})
        some = Instances(some.turn, found.least[kept], some.end, some.blocks)
        self.elements = some.with_columns(columns).only(self.names)

    def keep(self, flags: Any) -> None:
        """Keep some of the groups only."""
        if not flags.all():
            self.elements = self.elements.take(np.flatnonzero(flags)).only(self.names)


def _last_rows(rows: Instances, known: KeyIndex) -> Integers:
    """Return the last row of every group."""
    last = np.zeros(len(known.first), np.int64)
    last[known.group] = np.arange(len(rows))
    return last


def _ones(count: int) -> Column:
    return Column("int", np.ones(count, np.int64))
