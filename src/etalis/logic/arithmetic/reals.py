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


REAL_BINARY: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "atan2": _real_function(_atan2),
        "atan": _real_function(_atan2),
        "copysign": _real_function(math.copysign),
        "log": _real_function(_log_of_base),
    }
)
REAL_UNARY: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "sqrt": _real_function(math.sqrt),
        "sin": _real_function(math.sin),
        "cos": _real_function(math.cos),
        "tan": _real_function(math.tan),
        "asin": _real_function(math.asin),
        "acos": _real_function(math.acos),
        "atan": _real_function(math.atan),
        "sinh": _real_function(math.sinh),
        "cosh": _real_function(math.cosh),
        "tanh": _real_function(math.tanh),
        "asinh": _real_function(math.asinh),
        "acosh": _real_function(math.acosh),
        "atanh": _real_function(math.atanh),
        "cot": _real_function(_cotangent),
        "exp": _real_function(math.exp),
        "log": _real_function(math.log),
        "log2": _real_function(math.log2),
        "float": _real_function(float),
    }
)
