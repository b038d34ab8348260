"""Aggregates as data (definition 14.3): rows of (zero, step, result).

`zero` is the accumulator before the first element, `step` folds one value in, `result` reads the value off, NaN where
there is none: of infinities of both signs, or of a number beyond all floats. `at_opener` tells whether the opener
itself has a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from etalis.logic.terms.term import Value, order_key, real


@dataclass(frozen=True, slots=True)
class Fold:
    """One row of the table; accumulators are immutable values."""

    name: str
    zero: Any
    step: Callable[[Any, Value], Any]
    result: Callable[[Any], Value]
    at_opener: bool = False
    numeric: bool = False
    has_value: bool = True


def number(value: Value) -> Value:
    """Return a number as it is, refuse anything else."""
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{value!r} is not a number")


def add(x: Value, y: Value) -> Value:
    """Add two numbers as values; NaN if that is none.

    >>> add(1, 2), add(math.inf, -math.inf), add(0.5, 10**400)
    (3, nan, nan)
    """
    try:
        total = number(x) + number(y)
    except OverflowError:
        return math.nan
    return real(float(total)) if isinstance(total, float) else total


def divide(total: Value, count: int) -> Value:
    """Return a mean as a float; NaN if it is none."""
    try:
        return real(float(total / count))
    except OverflowError:
        return math.nan


def has_no_value(fold: Fold, result: Value) -> bool:
    """Tell whether an aggregate has come to what is no number."""
    return fold.numeric and isinstance(result, float) and math.isnan(result)


def explain_no_value(name: str) -> str:
    """Say why an aggregate has no value."""
    return f"{name} of +inf and -inf, or of a number too large for a float, has no value"


def _smaller(best: Value | None, value: Value) -> Value:
    return value if best is None or order_key(value) < order_key(best) else best


def _larger(best: Value | None, value: Value) -> Value:
    return value if best is None or order_key(value) > order_key(best) else best


def _same(state: Any) -> Value:
    return state


FOLDS: Mapping[str, Fold] = MappingProxyType(
    {
        row.name: row
        for row in (
            Fold("count", 0, lambda n, _: n + 1, _same, at_opener=True, has_value=False),
            Fold("sum", 0, add, _same, at_opener=True, numeric=True),
            Fold("min", None, _smaller, _same),
            Fold("max", None, _larger, _same),
            Fold("avg", (0, 0), lambda s, x: (add(s[0], x), s[1] + 1), lambda s: divide(*s), numeric=True),
            Fold("distinct", frozenset(), lambda s, x: s | {x}, len),
            Fold("first", (), lambda s, x: s or (x,), lambda s: s[0]),
            Fold("last", None, lambda _, x: x, _same),
            Fold("list", (), lambda s, x: (*s, x), _same),
        )
    }
)
