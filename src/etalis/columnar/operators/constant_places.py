"""Where constants of patterns stand in a column: by comparison for the first few, then by an index of all its values.

So a thousand rules that differ in a constant read a column once, not a thousand times. Law: what is found is where
`equal_to` tells that the constant stands, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from etalis.columnar.data.columns import Column, Flags, Integers, constant, key_rows
from etalis.columnar.kernels import rows as r
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.data.values import Value

_COMPARED = 3  # constants that are compared with all values, before these are put in order


@dataclass(slots=True)
class ConstantPlaces:
    """A column, how many constants were asked for, and then the places of each value: those of one together."""

    column: Column
    asked: int = 0
    numbers: Mapping[Value, int] | None = None
    first: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    order: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    def find(self, value: Value) -> Integers:
        """Return the rows at which a constant stands."""
        self.asked += 1
        kind = {"string": str, "int": int}.get(self.column.type)
        if self.asked <= _COMPARED or value.__class__ is not kind or self.column.absent is not None:
            return np.flatnonzero(equal_to(self.column, value))
        if self.numbers is None:
            self._arrange()
        assert self.numbers is not None
        number = self.numbers.get(value)
        return self.order[:0] if number is None else self.order[self.first[number] : self.first[number + 1]]

    def _arrange(self) -> None:
        """Put the rows of equal values together."""
        column = self.column
        if column.type == "string":
            codes, values = column.data, column.texts.to_pylist()
        else:
            index = KeyIndex(key_rows([[column]], [len(column)])[0])
            codes, values = index.group, column.data[index.first].tolist()
        self.first, self.order = np.zeros(len(values) + 2, np.int64), np.empty(len(codes), np.int64)
        r.sort_out(np.ascontiguousarray(codes, np.int32), np.arange(len(values)), self.first, self.order)
        self.numbers = {value: number for number, value in enumerate(values)}


def equal_to(column: Column, value: Value) -> Flags:
    """Tell where a value stands in a column."""
    if column.type == "string" and isinstance(value, str):
        return column.equals(value)
    return equal_values(column, constant(value, len(column)))


def equal_values(a: Column, b: Column) -> Flags:
    """Tell where two columns have equal values."""
    x, y = key_rows([[a], [b]], [len(a), len(b)])
    return (x == y).all(axis=1)
