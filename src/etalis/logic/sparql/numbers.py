"""Arithmetic on numbers, as SPARQL's operators have it.

Integers stay integers, but for division; a float is a double: what is too large for it is infinite, and it divides by
zero. Division of an integer by the integer zero is an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from etalis.logic.sparql.comparison import NUMBERS
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.values import Known, to_float

Number: TypeAlias = int | float


def number(known: Known) -> Number:
    """Return a number; all else is an error."""
    if known.__class__ in NUMBERS:
        assert isinstance(known, int | float)
        return known
    raise ExpressionError("no number")


def _computed(function: Callable[[Any, Any], Any]) -> Callable[[Known, Known], Number]:
    """Make an operator of one of Python."""

    def compute(a: Known, b: Known) -> Number:
        if a.__class__ not in NUMBERS or b.__class__ not in NUMBERS:
            raise ExpressionError("no number")
        try:
            return function(a, b)  # type: ignore[no-any-return]
        except OverflowError:  # an integer that no float is near
            return function(to_float(a), to_float(b))  # type: ignore[no-any-return]

    return compute


def _divide(a: Known, b: Known) -> Number:
    """Divide; two integers give a decimal, which is a float here."""
    x, y = number(a), number(b)
    if y:
        try:
            return float(x / y)
        except OverflowError:
            return to_float(x) / to_float(y)
    if x.__class__ is int and y.__class__ is int:
        raise ExpressionError("division by zero")
    if not x or x != x:
        return math.nan
    return math.inf if (x > 0) is (math.copysign(1.0, y) > 0) else -math.inf


def _rounded(function: Callable[[float], int]) -> Callable[[Known], Number]:
    """Make a rounding of one to integers; a float stays one."""

    def compute(a: Known) -> Number:
        x = number(a)
        return x if x.__class__ is int or not math.isfinite(x) else float(function(float(x)))

    return compute


def _round_half_up(x: float) -> int:
    whole = math.floor(x)
    return whole + (x - whole >= 0.5)


BINARY: Mapping[str, Callable[[Known, Known], Number]] = MappingProxyType(
    {"+": _computed(operator.add), "-": _computed(operator.sub), "*": _computed(operator.mul), "/": _divide}
)
UNARY: Mapping[str, Callable[[Known], Number]] = MappingProxyType(
    {
        "neg": lambda a: -number(a),
        "pos": number,
        "abs": lambda a: abs(number(a)),
        "ceil": _rounded(math.ceil),
        "floor": _rounded(math.floor),
        "round": _rounded(_round_half_up),
    }
)
