"""Sums without rounding errors: what numbers come to depends on the numbers alone, not on how they were put together.

Floats are summed as integers, in units of the smallest of them. Law: `add` and `subtract` undo each other exactly, and
`value` rounds once, so a window that slid to some elements has the sum of one that began with them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

from etalis.data.values import Value, real

_BITS = 1074  # the smallest float is 2 ** -1074
_UNIT = 1 << _BITS


class ExactSum(NamedTuple):
    """The sum of integers, that of finite floats in smallest units, how many floats there are, and of which infinities.

    >>> ExactSum().add(1e16).add(1.0).add(-1e16).value(), ExactSum().add(1).add(10**400).subtract(1).value() == 10**400
    (1.0, True)
    """

    whole: int = 0
    units: int = 0
    floats: int = 0
    above: int = 0
    below: int = 0

    def add(self, x: Value) -> ExactSum:
        """Return the sum with one number more."""
        return self._with(x, 1)

    def subtract(self, x: Value) -> ExactSum:
        """Return the sum without a number that is in it."""
        return self._with(x, -1)

    def _with(self, x: Value, times: int) -> ExactSum:
        whole, units, floats, above, below = self
        if not isinstance(x, float):
            return ExactSum(whole + times * x, units, floats, above, below)
        if x - x == 0:
            return ExactSum(whole, units + times * to_units(x), floats + times, above, below)
        return ExactSum(whole, units, floats + times, above + times * (x > 0), below + times * (x < 0))

    def merge(self, other: ExactSum) -> ExactSum:
        """Return the sum of both."""
        return ExactSum(*map(sum, zip(self, other, strict=True)))

    def value(self) -> Value:
        """Return the number it comes to: NaN of infinities of both signs, or where integers are beyond all floats."""
        if not self.floats:
            return self.whole
        if self.above or self.below:
            return math.nan if self.above and self.below else math.inf if self.above else -math.inf
        try:
            return real((self.units + (self.whole << _BITS)) / _UNIT)
        except OverflowError:
            return math.nan if self.whole else math.inf if self.units > 0 else -math.inf

    def parts(self) -> Iterator[float]:
        """Yield floats that come to the sum of the floats, the nearest first.

        >>> list(ExactSum().add(1e16).add(0.1).parts())
        [1e+16, 0.1]
        """
        yield from [math.inf] * bool(self.above) + [-math.inf] * bool(self.below)
        rest = self.units
        while rest:
            try:
                part = rest / _UNIT
            except OverflowError:
                part = sys.float_info.max if rest > 0 else -sys.float_info.max
            yield part
            rest -= to_units(part)


def to_units(x: float) -> int:
    """Return a finite float as a number of smallest floats."""
    numerator, denominator = x.as_integer_ratio()
    return numerator << (_BITS + 1 - denominator.bit_length())
