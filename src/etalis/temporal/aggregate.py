"""Aggregates as data (definition 14.3): one row says all that a back end knows of an aggregate.

`zero` is the accumulator before the first element, `step` folds one value in, `result` reads the value off, NaN where
there is none: of infinities of both signs, or of a number beyond all floats. `type` is the type of the result, from
that of the values. A back end that has no `kernel` of that name refuses the aggregate; the rule runs event at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from etalis.data.values import Value, order_key, real


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One row of the table; accumulators are immutable values.

    `at_opener`: an opener has a value before any element. `numeric`: values must be numbers. `has_value`: it is taken
    of a value. `counts`: the result is a number of elements, at most all of them.
    """

    name: str
    zero: Any
    step: Callable[[Any, Value], Any]
    result: Callable[[Any], Value]
    type: Callable[[str | None], str | None]
    kernel: str | None
    at_opener: bool = False
    numeric: bool = False
    has_value: bool = True
    counts: bool = False

    @property
    def first(self) -> Value:
        """The value before the first element."""
        return self.result(self.zero)


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


def has_no_value(fold: AggregateFunction, result: Value) -> bool:
    """Tell whether an aggregate has come to what is no number."""
    return fold.numeric and isinstance(result, float) and math.isnan(result)


def explain_no_value(name: str) -> str:
    """Say why an aggregate has no value."""
    return f"{name} of +inf and -inf, or of a number too large for a float, has no value"


def _smaller(best: Value | None, value: Value) -> Value:
    return value if best is None or order_key(value) < order_key(best) else best


def _larger(best: Value | None, value: Value) -> Value:
    return value if best is None or order_key(value) > order_key(best) else best


def _same(x: Any) -> Any:
    return x


def _always(type_: str) -> Callable[[str | None], str]:
    return lambda _: type_


def _type_of_sum(type_: str | None) -> str:
    return {"int": "int", "float": "float", "time": "number", "number": "number"}.get(type_ or "", "term")


_COUNT = AggregateFunction(
    "count", 0, lambda n, _: n + 1, _same, _always("int"), "count", at_opener=True, has_value=False, counts=True
)
_AVG = AggregateFunction(
    "avg", (0, 0), lambda s, x: (add(s[0], x), s[1] + 1), lambda s: divide(*s), _always("float"), "mean", numeric=True
)
FOLDS: Mapping[str, AggregateFunction] = MappingProxyType(
    {
        row.name: row
        for row in (
            _COUNT,
            AggregateFunction("sum", 0, add, _same, _type_of_sum, "sum", at_opener=True, numeric=True),
            AggregateFunction("min", None, _smaller, _same, _same, "least"),
            AggregateFunction("max", None, _larger, _same, _same, "greatest"),
            _AVG,
            AggregateFunction(
                "distinct", frozenset(), lambda s, x: s | {x}, len, _always("int"), "distinct", counts=True
            ),
            AggregateFunction("first", (), lambda s, x: s or (x,), lambda s: s[0], _same, "first"),
            AggregateFunction("last", None, lambda _, x: x, _same, _same, "last"),
            AggregateFunction("list", (), lambda s, x: (*s, x), _same, _always("term"), "list"),
        )
    }
)
