"""What aggregates have reached, by group: over everything so far, or over a window of the last elements.

Sums are exact: integers that 64 bits might not hold are taken in two halves and put together as Python's, floats that
no kernel can hold become objects. Least and greatest follow the standard order. What is kept between batches are
elements: those in the windows, or for everything so far one per group that stands for all before (of `distinct` one per
value, of a sum of floats as many as it takes to be exact).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.columns import FLAT, Column, Integers, from_values, key_rows, ranks
from etalis.columnar.kernels import aggregate as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value
from etalis.temporal.aggregate import AggregateFunction, divide
from etalis.temporal.exact_sum import ExactSum

_SAFE = float(1 << 62)
_EXACT = 1 << 53  # floats hold every integer up to here
_HALF = 32
_LATEST = (1 << 63) - 1
_OBJECTS = -1  # no loop of a kernel: every value is an object
BY_ROW = frozenset({k.LEAST, k.GREATEST, k.FIRST, k.LAST})
_NO_INTEGERS, _NO_REALS, _NO_FLAGS = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
VALUE, WEIGHT = "$value", "$weight"


@dataclass(frozen=True, slots=True)
class AggregateValues:
    """What a kernel found, row by row: how many elements, their earliest start, the value as an integer or float."""

    count: Integers
    least: Integers
    number: Any
    total: Any
    parts: Any = None  # of running sums of floats: three for each group

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


Loop: TypeAlias = Callable[[int, Integers, Any], AggregateValues | None]  # None: its floats do not hold the sum


@dataclass(frozen=True, slots=True)
class Kernel:
    """How an aggregate is computed over columns.

    `kind` is the number that kernels know it by. Where values may be objects, `single` makes one value an object,
    `merge` puts two together, and `value` is what one comes to: numbers become sums, what becomes a list lists of one.
    """

    kind: int
    single: Callable[[Any], Any] | None = None
    merge: Callable[[Any, Any], Any] = operator.add
    value: Callable[[Any], Value] = tuple


KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "count": Kernel(k.COUNT),
        "sum": Kernel(k.SUM, ExactSum().add, ExactSum.merge, ExactSum.value),
        "mean": Kernel(k.SUM, ExactSum().add, ExactSum.merge, ExactSum.value),
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

    def objects(self, value: Column, low: int) -> Sequence[Any]:
        """Return values as objects to put together; where they always are, those before `low` are already."""
        assert self.kernel.single is not None
        values, low = value.values(), low if self.is_of_objects else 0
        return [*values[:low], *map(self.kernel.single, values[low:])]

    def merged(self, answers: AggregateValues) -> Sequence[Value]:
        """Return what objects that were put together come to."""
        values = map(self.kernel.value, answers.number)
        return list(map(divide, values, answers.count.tolist()) if self.row.kernel == "mean" else values)

    def fold(self, value: Column | None, group: Integers, loop: Loop) -> AggregateValues | None:
        """Let a kernel run over values: it takes a kind, integers and floats. None if these must be objects instead."""
        if value is not None and self.folds_objects(value):
            return None
        kind = self.kind
        if value is None or kind in (k.COUNT, k.FIRST, k.LAST):
            return loop(kind, _NO_INTEGERS, _NO_REALS)
        if kind == k.DISTINCT:
            return loop(kind, number_pairs(group, value).group, _NO_REALS)
        if kind == k.TOTAL:
            with np.errstate(over="ignore", invalid="ignore"):  # infinities are no sums that floats hold
                return loop(kind, _NO_INTEGERS, value.data)
        if kind != k.SUM:
            return loop(kind, ranks(value), _NO_REALS)
        if np.abs(value.data.astype(np.float64)).sum() < _SAFE:
            return loop(kind, value.data.astype(np.int64), _NO_REALS)
        halves = (value.data >> _HALF).astype(np.int64), (value.data & ((1 << _HALF) - 1)).astype(np.int64)
        high, low = (loop(kind, half, _NO_REALS) for half in halves)
        assert high is not None
        assert low is not None
        return AggregateValues(low.count, low.least, (high.number.astype(object) << _HALF) + low.number, low.total)

    def result(self, answers: AggregateValues, value: Column | None) -> Column:
        """Return the values that a kernel reached; `value` has the rows that answers by row refer to."""
        kind = self.kind
        if kind in BY_ROW:
            assert value is not None
            return value.take(answers.number).filled()
        if kind == k.COUNT:
            return Column("int", answers.count)
        if self.row.kernel == "mean":
            return Column("float", _quotients(answers.total if kind == k.TOTAL else answers.number, answers.count))
        if kind == k.TOTAL:
            return Column("float", answers.total)
        whole = answers.number.dtype.kind == "i"
        return Column("int", answers.number) if whole else from_values(answers.number.tolist(), "int")

    def column(self, values: Sequence[Value]) -> Column:
        """Return values that were reached as objects."""
        if self.row.kernel == "mean" or (self.kind == k.TOTAL and not self.is_of_objects):
            return Column("float", np.array(values, np.float64))
        return from_values(values, "term" if self.is_of_objects else "int")


def number_pairs(group: Integers, value: Column) -> KeyIndex:
    """Number the different values of each group."""
    return KeyIndex(key_rows([[Column("int", group), value]], [len(group)])[0])


def _quotients(total: Any, count: Integers) -> Any:
    """Return averages as Python divides: integers as if with all their digits."""
    whole = total.dtype.kind == "i"
    if total.dtype.kind == "f" or (whole and np.abs(total.astype(np.float64)).max(initial=0.0) < _EXACT):
        return total / count
    return np.array([divide(a, b) for a, b in zip(total.tolist(), count.tolist(), strict=True)], np.float64)
