"""Aggregates as data (language.md section 3): rows of (zero, step, result).

`zero` is the accumulator before the first element, `step` folds one value in, `result` reads the value off.
`at_opener` tells whether the opener itself has a value. `inverse` removes the oldest value in a sliding window, where
one exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from etalis.logic.term import Value, order_key, real


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
    """Add two numbers as values."""
    total = number(x) + number(y)
    return real(float(total)) if isinstance(total, float) else total


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
            Fold(
                "avg", (0, 0), lambda s, x: (add(s[0], x), s[1] + 1), lambda s: real(float(s[0] / s[1])), numeric=True
            ),
            Fold("distinct", frozenset(), lambda s, x: s | {x}, len),
            Fold("first", (), lambda s, x: s or (x,), lambda s: s[0]),
            Fold("last", None, lambda _, x: x, _same),
            Fold("list", (), lambda s, x: (*s, x), _same),
        )
    }
)
