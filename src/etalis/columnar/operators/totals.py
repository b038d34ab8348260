"""What aggregates have reached, by group: over everything so far, or over a window of the last elements.

Sums of integers are exact: where 64 bits might not hold them they are taken in two halves and put together as Python's
integers. Least and greatest follow the standard order. What is kept between batches are elements: those in the windows,
or for everything so far one per group (of `distinct` one per value) that stands for all before.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data import objects
from etalis.columnar.data.columns import FLAT, Column, Integers, from_values, key_rows, ranks
from etalis.columnar.data.instances import Instances, nothing, stack
from etalis.columnar.kernels import aggregate as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.temporal.aggregate import AggregateFunction, add, divide

_SAFE = float(1 << 62)
_EXACT = 1 << 53  # floats hold every integer up to here
_HALF = 32
_LATEST = (1 << 63) - 1
_OBJECTS = -1  # no loop of a kernel: every value is an object
_BY_ROW = frozenset({k.LEAST, k.GREATEST, k.FIRST, k.LAST})
_NO_INTEGERS, _NO_REALS, _NO_FLAGS = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
VALUE, WEIGHT = "$value", "$weight"


@dataclass(frozen=True, slots=True)
class AggregateValues:
    """What a kernel found, row by row: how many elements, their earliest start, the value as an integer or float."""

    count: Integers
    least: Integers
    number: Any
    total: Any

    @staticmethod
    def room(count: int) -> AggregateValues:
        """Return room for the answers of so many rows."""
        zero = np.zeros(count, np.int64)
        return AggregateValues(zero, zero.copy(), zero.copy(), np.zeros(count))

    @staticmethod
    def of(count: Integers, least: Integers, number: Any) -> AggregateValues:
        """Return what was found without a kernel."""
        return AggregateValues(count, least, number, np.zeros(len(count)))

    @property
    def arrays(self) -> k.Totals:
        """The same as kernels take it."""
        return k.Totals(self.count, self.least, self.number, self.total)

    def take(self, rows: Any) -> AggregateValues:
        """Return the answers of some rows."""
        return AggregateValues(self.count[rows], self.least[rows], self.number[rows], self.total[rows])


Loop: TypeAlias = Callable[[int, Integers, Any], AggregateValues]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How an aggregate is computed over columns.

    `kind` is the number that kernels know it by. Where values may be objects, `single` makes one value an object and
    `merge` puts two together: numbers become sums, what becomes a list lists of one.
    """

    kind: int
    single: Callable[[Any], Any] | None = None
    merge: Callable[[Any, Any], Any] = operator.add


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "count": Kernel(k.COUNT),
        "sum": Kernel(k.SUM, partial(add, 0), add),
        "mean": Kernel(k.SUM, partial(add, 0), add),
        "least": Kernel(k.LEAST),
        "greatest": Kernel(k.GREATEST),
        "first": Kernel(k.FIRST),
        "last": Kernel(k.LAST),
        "distinct": Kernel(k.DISTINCT),
        "list": Kernel(_OBJECTS, lambda value: (value,)),
    }
)


class ColumnAggregate:
    """One aggregate by the kernel that its row names, over values of one `type`; None if it has no values."""

    def __init__(self, row: AggregateFunction, type_: str) -> None:
        assert row.kernel is not None, "refused before"
        self.row = row
        self.kernel = KERNELS[row.kernel]
        self.kind = k.TOTAL if self.kernel.kind == k.SUM and type_ == "float" else self.kernel.kind
        self.type = None if not row.has_value else "term" if self.kind == _OBJECTS else type_
        self.is_of_objects = self.kernel.single is not None and self.type not in FLAT

    def folds_objects(self, value: Column) -> bool:
        """Tell whether values are put together as objects; integers are, where one is longer than a column's."""
        return self.is_of_objects or (self.kernel.single is not None and value.type == "term")

    def elements(self, values: Sequence[Value]) -> Sequence[Value]:
        """Return values as they are folded."""
        return list(map(self.kernel.single, values)) if self.is_of_objects and self.kernel.single else values

    def fold(self, value: Column | None, group: Integers, loop: Loop) -> AggregateValues:
        """Let a kernel run over values: it takes a kind, integers and floats."""
        kind = self.kind
        if value is None or kind in (k.COUNT, k.FIRST, k.LAST):
            return loop(kind, _NO_INTEGERS, _NO_REALS)
        if kind == k.DISTINCT:
            return loop(kind, _pairs(group, value).group, _NO_REALS)
        if kind == k.TOTAL:
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # infinities are values, and what is no number is reported
                return loop(kind, _NO_INTEGERS, value.data)
        if kind != k.SUM:
            return loop(kind, ranks(value), _NO_REALS)
        if np.abs(value.data.astype(np.float64)).sum() < _SAFE:
            return loop(kind, value.data.astype(np.int64), _NO_REALS)
        halves = (value.data >> _HALF).astype(np.int64), (value.data & ((1 << _HALF) - 1)).astype(np.int64)
        high, low = (loop(kind, half, _NO_REALS) for half in halves)
        return AggregateValues(low.count, low.least, (high.number.astype(object) << _HALF) + low.number, low.total)

    def result(self, answers: AggregateValues, value: Column | None) -> Column:
        """Return the values reached; `value` has the rows that answers by row refer to."""
        kind = self.kind
        if kind in _BY_ROW:
            assert value is not None
            return value.take(answers.number).filled()
        if kind == k.COUNT:
            return Column("int", answers.count)
        if self.row.kernel == "mean":
            return Column("float", _quotients(answers.total if kind == k.TOTAL else answers.number, answers.count))
        if kind == k.TOTAL:
            return Column("float", answers.total)
        if self.is_of_objects:
            return Column("term", answers.number)
        whole = answers.number.dtype.kind == "i"
        return Column("int", answers.number) if whole else from_values(answers.number.tolist(), "int")

    def reached(self, answers: AggregateValues, value: Column | None) -> Column | None:
        """Return values that stand for all that was folded."""
        if value is None or self.kind in _BY_ROW:
            return None if value is None else value.take(answers.number).filled()
        if self.kind == k.TOTAL:
            return Column("float", answers.total)
        return Column("int" if answers.number.dtype.kind == "i" else "term", answers.number)


def _pairs(group: Integers, value: Column) -> KeyIndex:
    return KeyIndex(key_rows([[Column("int", group), value]], [len(group)])[0])


def _quotients(total: Any, count: Integers) -> Any:
    """Return averages as Python divides: integers as if with all their digits."""
    whole = total.dtype.kind == "i"
    if total.dtype.kind == "f" or (whole and np.abs(total.astype(np.float64)).max(initial=0.0) < _EXACT):
        return total / count
    return np.array([divide(a, b) for a, b in zip(total.tolist(), count.tolist(), strict=True)], np.float64)


class RunningTotal:
    """Everything since a group's first element; `elements` has one row per group that stands for all of it."""

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
        if value is not None and self.aggregate.folds_objects(value):
            weight = together.column(WEIGHT).data
            found = AggregateValues.of(
                *objects.accumulate(self.aggregate.kernel.merge, known.group, together.start, weight, value.values())
            )
        else:
            found = self.aggregate.fold(value, known.group, lambda *given: self._accumulate(together, known, *given))
        self._keep(together, known, found, value)
        new = found.take(slice(low, None))
        return self.aggregate.result(new, value), new.least

    def _accumulate(
        self, rows: Instances, known: KeyIndex, kind: int, numbers: Integers, reals: Any
    ) -> AggregateValues:
        fresh = _NO_FLAGS
        if kind == k.DISTINCT:
            fresh = np.zeros(len(rows), bool)
            fresh[np.unique(numbers, return_index=True)[1]] = True
        found, state = AggregateValues.room(len(rows)), AggregateValues.room(len(known.first))
        state.least[:] = _LATEST
        if kind in _BY_ROW:
            state.number[:] = -1
        given = k.FoldedRows(known.group, rows.start, rows.column(WEIGHT).data, numbers, reals, fresh)
        k.accumulate(kind, given, state.arrays, found.arrays)
        return found

    def _keep(self, rows: Instances, known: KeyIndex, found: AggregateValues, value: Column | None) -> None:
        last = np.zeros(len(known.first), np.int64)
        last[known.group] = np.arange(len(rows))
        kept = last
        if self.aggregate.kind == k.DISTINCT:
            assert value is not None
            kept = _pairs(known.group, value).first
            last = last[known.group[kept]]
        else:
            value = self.aggregate.reached(found.take(last), value)
        some = rows.take(kept)
        columns = {WEIGHT: Column("int", found.count[last])}
        if value is not None:
            columns[VALUE] = value.take(kept) if self.aggregate.kind == k.DISTINCT else value
        some = Instances(some.turn, found.least[last], some.end, some.blocks)
        self.elements = some.with_columns(columns).only(self.names)

    def keep(self, flags: Any) -> None:
        """Keep some of the groups only."""
        if not flags.all():
            self.elements = self.elements.take(np.flatnonzero(flags)).only(self.names)


def _ones(count: int) -> Column:
    return Column("int", np.ones(count, np.int64))


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
        if value is not None and self.aggregate.folds_objects(value):
            found = AggregateValues.of(
                *objects.slide(
                    self.aggregate.kernel.merge, self.within, self.last, low, known.group, together.start, together.end,
                    value.values(), alive,
                )
            )  # fmt: skip
        else:
            found = self.aggregate.fold(
                value, known.group, lambda *given: self._slide(together, low, known, alive, *given)
            )
        if self.within is not None:
            alive &= together.start >= now - self.within
        self.elements = together.take(np.flatnonzero(alive)).only(self.names)
        within = np.flatnonzero(found.count[low:])
        new = found.take(low + within)
        return within, self.aggregate.result(new, value), new.least

    def _slide(
        self, rows: Instances, low: int, known: KeyIndex, alive: Any, kind: int, numbers: Integers, reals: Any
    ) -> AggregateValues:
        count = len(rows)
        order = np.argsort(known.group, kind="stable")
        first = np.searchsorted(known.group[order], np.arange(len(known.first) + 1))
        tally = np.zeros(count if kind == k.DISTINCT else 0, np.int64)
        found = AggregateValues.room(count)
        within, last = k.NO_WINDOW if self.within is None else self.within, self.last or k.NO_LAST
        given = k.GroupedRows(first, order, rows.start, rows.end, numbers, reals)
        k.slide(kind, low, given, k.WindowRows(within, last, np.empty(count, np.int64), tally), alive, found.arrays)
        return found
