"""Arithmetic on floats: results that are numbers, and evaluation errors where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from etalis.data.values import Real
from etalis.logic.terms.iso_errors import evaluation_error


def number(result: float) -> float:
    """Return a float result as the engine holds it, zero without a sign; refuse what is no number."""
    if result.is_integer():
        return Real(result + 0.0)
    if result != result or result in (math.inf, -math.inf):
        raise evaluation_error("undefined" if result != result else "float_overflow")
    return result


def as_float(x: Any) -> float:
    """Return a number as a float."""
    try:
        return float(x)
    except OverflowError:
        raise evaluation_error("float_overflow") from None


def power(x: Any, y: Any) -> float:
    """Raise a float to a float."""
    base, exponent = as_float(x), as_float(y)
    if base == 0.0 and exponent < 0:
        raise evaluation_error("zero_divisor")
    try:
        result = base**exponent
    except OverflowError:
        raise evaluation_error("float_overflow") from None
    if isinstance(result, complex):
        raise evaluation_error("undefined")
    return number(result)


def _real_function(function: Callable[..., float]) -> Callable[..., float]:
    """Make a float function of integers or floats, its domain errors turned into evaluation errors."""

    def compute(*args: Any) -> float:
        operands = [as_float(x) for x in args]
        try:
            return number(function(*operands))
        except ValueError:
            raise evaluation_error("undefined") from None
        except OverflowError:
            raise evaluation_error("float_overflow") from None

    return compute


def _cotangent(x: float) -> float:
    if x == 0.0:
        raise evaluation_error("undefined")
    return 1 / math.tan(x)


def _atan2(y: float, x: float) -> float:
    if x == 0.0 and y == 0.0:
        raise evaluation_error("undefined")
    return math.atan2(y, x)


def _log_of_base(base: float, x: float) -> float:
    if base == 1.0:
        raise evaluation_error("zero_divisor")
    return math.log(x) / math.log(base)


PLAIN_BINARY: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {"atan2": _atan2, "atan": _atan2, "copysign": math.copysign, "log": _log_of_base}
)
PLAIN_UNARY: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {
        "sqrt": math.sqrt,
        "sin": math.sin,
        "cos": math.cos,
        "tan": math.tan,
        "asin": math.asin,
        "acos": math.acos,
        "atan": math.atan,
        "sinh": math.sinh,
        "cosh": math.cosh,
        "tanh": math.tanh,
        "asinh": math.asinh,
        "acosh": math.acosh,
        "atanh": math.atanh,
        "cot": _cotangent,
        "exp": math.exp,
        "log": math.log,
        "log2": math.log2,
        "float": float,
    }
)
REAL_BINARY: Mapping[str, Callable[..., float]] = MappingProxyType(
    {name: _real_function(function) for name, function in PLAIN_BINARY.items()}
)
REAL_UNARY: Mapping[str, Callable[..., float]] = MappingProxyType(
    {name: _real_function(function) for name, function in PLAIN_UNARY.items()}
)
