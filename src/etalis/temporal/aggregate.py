"""Aggregates as data (definition 14.3): one row says all that a back end knows of an aggregate.

`zero` is the accumulator before the first element, `step` folds one value in, `result` reads the value off, NaN where
there is none: of infinities of both signs, or of a number beyond all floats. `type` is the type of the result, from
that of the values. A back end that has no `kernel` of that name refuses the aggregate; the rule runs event at a time.

A window slides by what a row offers: `undo` takes one value out again, whichever; `merge` puts the accumulators of two
runs of elements together, the earlier first. Without either a window is folded anew at every element.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from etalis.data.values import Value, order_key, real
from etalis.temporal.exact_sum import ExactSum


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One row of the table; accumulators are immutable values.

    `at_opener`: an opener has a value before any element. `numeric`: values must be numbers. `has_value`: it is taken
    of a value. `counts`: the result is a number of elements, at most all of them. `grows`: it holds values.
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
    grows: bool = False
    undo: Callable[[Any, Value], Any] | None = None
    merge: Callable[[Any, Any], Any] | None = None

    @property
    def first(self) -> Value:
        """The value before the first element."""
        return self.result(self.zero)

    def __deepcopy__(self, memo: Any) -> AggregateFunction:
        """Return itself: a row never changes."""
        return self


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


def _merged(better: Callable[[Value | None, Value], Value]) -> Callable[[Value | None, Value | None], Value | None]:
    return lambda x, y: x if y is None else better(x, y)


ROWS = (
    AggregateFunction(
        "count", 0, lambda n, _: n + 1, _same, _always("int"), "count", at_opener=True, has_value=False, counts=True,
        undo=lambda n, _: n - 1, merge=operator.add,
    ),
    AggregateFunction(
        "sum", ExactSum(), ExactSum.add, ExactSum.value, _type_of_sum, "sum", at_opener=True, numeric=True,
        undo=ExactSum.subtract, merge=ExactSum.merge,
    ),
    AggregateFunction("min", None, _smaller, _same, _same, "least", merge=_merged(_smaller)),
    AggregateFunction("max", None, _larger, _same, _same, "greatest", merge=_merged(_larger)),
    AggregateFunction(
        "avg", (ExactSum(), 0), lambda s, x: (s[0].add(x), s[1] + 1), lambda s: divide(s[0].value(), s[1]),
        _always("float"), "mean", numeric=True, undo=lambda s, x: (s[0].subtract(x), s[1] - 1),
        merge=lambda s, t: (s[0].merge(t[0]), s[1] + t[1]),
    ),
    AggregateFunction(
        "distinct", frozenset(), lambda s, x: s | {x}, len, _always("int"), "distinct", counts=True, grows=True,
        merge=operator.or_,
    ),
    AggregateFunction("first", (), lambda s, x: s or (x,), lambda s: s[0], _same, "first", merge=lambda s, t: s or t),
    AggregateFunction("last", None, lambda _, x: x, _same, _same, "last", merge=_merged(lambda _, x: x)),
    AggregateFunction("list", (), lambda s, x: (*s, x), _same, _always("term"), "list", grows=True, merge=operator.add),
)  # fmt: skip
FOLDS: Mapping[str, AggregateFunction] = MappingProxyType({row.name: row for row in ROWS})
