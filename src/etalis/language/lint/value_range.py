"""What conditions imply for one variable: its type, its value, or the range of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, inf

from etalis.data.values import Value
from etalis.language.check.wording import written
from etalis.language.syntax import Const


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a variable: its type, one value, or bounds; an open bound is not itself a value."""

    type: str | None = None
    value: Const | None = None
    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False

    def above(self, bound: float, *, is_open: bool) -> Known:
        if (bound, is_open) <= (self.low, self.low_open):
            return self
        return replace(self, low=bound, low_open=is_open)

    def below(self, bound: float, *, is_open: bool) -> Known:
        if (-bound, is_open) <= (-self.high, self.high_open):
            return self
        return replace(self, high=bound, high_open=is_open)

    def has_values(self) -> bool:
        """Tell whether there is a number within the bounds, of the type."""
        if self.type == "int" and self.low > -inf and self.high < inf:
            least = floor(self.low) + 1 if self.low_open or self.low != floor(self.low) else self.low
            return least < self.high or (least == self.high and not self.high_open)
        return self.low < self.high or (self.low == self.high and not (self.low_open or self.high_open))

    def excludes(self, value: float) -> bool:
        """Tell whether a number is out of bounds."""
        too_low = value < self.low or (value == self.low and self.low_open)
        return too_low or value > self.high or (value == self.high and self.high_open)

    def __str__(self) -> str:
        """Say what is known, as the end of a sentence.

        >>> str(Known(low=5, low_open=True)), str(Known(low=1, high=3))
        ('above 5', '1 to 3')
        """
        if self.value is not None:
            return written(self.value)
        low = "" if self.low == -inf else f"above {self.low}" if self.low_open else f"{self.low} or more"
        high = "" if self.high == inf else f"below {self.high}" if self.high_open else f"{self.high} or less"
        if low and high and not (self.low_open or self.high_open):
            return f"{self.low} to {self.high}"
        return " and ".join(filter(None, (low, high))) or f"of type {self.type}"


def number(value: float) -> float:
    """Return a number that equals numbers of its value: 1.0 and 1 are two values, of equal size."""
    return float(value) if isinstance(value, float) else value


def same_value(x: Value, y: Value) -> bool:
    """Tell whether two values unify: 1 and 1.0 do not."""
    return type(x) is type(y) and bool(x == y)
