"""A sum in two floats, the rounded sum and what rounding lost: exact, as long as a float holds what was lost.

What two floats cannot hold, or what is not of one type, becomes an `ExactSum`.
"""

from __future__ import annotations

from typing import Any

from etalis.data.values import Real, Value, real
from etalis.temporal.aggregate import AggregateFunction
from etalis.temporal.exact_sum import ExactSum, to_units

PLAIN = frozenset({int, float, Real, str})  # compared with their like, these are in the standard order


def kind_of(x: Value) -> type:
    """Return the type that a value is compared and added as.

    >>> kind_of(Real(2.0)), kind_of(2)
    (<class 'float'>, <class 'int'>)
    """
    kind = type(x)
    return float if kind is Real else kind


class SumTotal:
    """A sum of integers in `high`, or of floats in `high` and `low`, all of one `kind`; else it is `exact`."""

    __slots__ = ("exact", "high", "kind", "low")

    def __init__(self, row: AggregateFunction | None = None) -> None:
        del row
        self.kind: type | None = None
        self.high: Any = 0
        self.low = 0.0
        self.exact: ExactSum | None = None

    def shift(self, x: Value, times: int) -> bool:
        """Add a number, or take it out; tell whether the sum is still exact, else it is as before."""
        if self.kind is not kind_of(x):
            return False
        if self.kind is int:
            self.high += times * x
            return True
        x = float(x) * times
        high, low = self.high, self.low
        rounded = high + x
        part = rounded - high
        lost = (high - (rounded - part)) + (x - part)
        rest = low + lost
        if rest - low != lost or rest - lost != low:
            return False
        self.high, self.low = rounded, rest
        return True

    def add(self, x: Value) -> None:
        """Add a number."""
        if self.kind is None and self.exact is None:
            self.kind = kind_of(x)
            self.high = 0 if self.kind is int else 0.0
        if self.exact is None and self.shift(x, 1):
            return
        self.exact, self.kind = (self.total() if self.exact is None else self.exact).add(x), None

    def total(self) -> ExactSum:
        """Return the sum as one that holds everything."""
        if self.exact is not None:
            return self.exact
        if self.kind is float:
            return ExactSum(0, to_units(self.high) + to_units(self.low), 1)
        return ExactSum(self.high)

    def value(self, count: int) -> Value:
        """Return the sum, rounded once."""
        del count
        if self.exact is not None:
            return self.exact.value()
        return self.high if self.kind is not float else real(self.high + self.low)

    def state(self) -> Any:
        """Return the sum as plain data."""
        return tuple(self.total())

    def load(self, state: Any) -> None:
        """Take over a sum: one of integers, or of floats that two hold, as those."""
        exact = ExactSum(*state)
        parts = list(exact.parts())[:3]
        if not exact.floats:
            self.kind, self.high, self.exact = int, exact.whole, None
        elif exact.whole or exact.above or exact.below or len(parts) > 2:
            self.kind, self.exact = None, exact
        else:
            self.kind, self.exact, (self.high, self.low, *_) = float, None, (*parts, 0.0, 0.0)
