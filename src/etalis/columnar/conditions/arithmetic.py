"""Arithmetic over arrays of numbers, exact for every row that is not in doubt.

A row is in doubt where NumPy could get it wrong or the language raises: an integer beyond 64 bits, an integer beside a
float that cannot hold it, a null among numbers, a division by zero, a float that is none. What it has is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from etalis.columnar.data.columns import EXACT, Column, Flags, floats_hold
from etalis.columnar.data.flat import WORD
from etalis.logic.inline.python_source import helper

_SAFE = 1 << 62


class InexactError(Exception):
    """Arrays cannot tell this at all."""


@dataclass(frozen=True, slots=True)
class NumberArray:
    """NumberArray of one type, or one for all rows: of `number` as floats, `whole` telling which are integers."""

    type: str
    data: Any
    doubt: Flags | None = None
    whole: Flags | None = None

    def is_whole(self) -> Any:
        """Tell which are integers."""
        return self.type == "int" if self.whole is None else self.whole

    def floats(self) -> NumberArray:
        """Return the numbers as floats, in doubt where these do not hold them."""
        if self.type != "int":
            return self
        doubt = None if floats_hold(self.data) else (self.data < -EXACT) | (self.data > EXACT)
        return NumberArray("float", self.data.astype(np.float64), either(self.doubt, doubt))

    def column(self, count: int) -> Column:
        """Return the numbers row by row; those that are all of one type have it."""
        data, whole = np.broadcast_to(self.data, count), self.whole
        if whole is None:
            return Column(self.type, data)
        whole = np.broadcast_to(whole, count)
        if whole.all():
            return Column("int", np.where(np.abs(data) <= EXACT, data, 0.0).astype(np.int64))
        return Column("number", data, None, None, whole) if whole.any() else Column("float", data)


def either(a: Flags | None, b: Flags | None) -> Flags | None:
    """Return what is marked by one or the other."""
    return b if a is None else a if b is None else a | b


def numbers_of(column: Column) -> NumberArray:
    """Return the numbers that a column holds; nulls are in doubt."""
    if column.type not in ("int", "float", "number"):
        raise InexactError
    return NumberArray(column.type, column.data, column.absent, column.whole)


def number_of(value: Any) -> NumberArray:
    """Return a constant."""
    if isinstance(value, float):
        return NumberArray("float", np.float64(value))
    if isinstance(value, int) and -WORD <= value < WORD:
        return NumberArray("int", np.int64(value))
    raise InexactError


def side_by_side(a: NumberArray, b: NumberArray) -> tuple[Any, Any, Flags | None]:
    """Return two numbers as they are compared, and what of that is in doubt."""
    if (a.type == "int") != (b.type == "int"):
        a, b = a.floats(), b.floats()
    return a.data, b.data, either(a.doubt, b.doubt)


def _added(operation: Any, a: NumberArray, b: NumberArray) -> NumberArray:
    """Return a sum, difference or product."""
    doubt = either(a.doubt, b.doubt)
    if a.type == b.type == "int":
        bounds = [operation(float(x), float(y)) for x in _bounds(a.data) for y in _bounds(b.data)]
        if not all(-_SAFE < bound < _SAFE for bound in bounds):
            about = operation(a.data.astype(np.float64), b.data.astype(np.float64))
            doubt = either(doubt, ~(np.abs(about) < _SAFE))
        with np.errstate(over="ignore"):
            return NumberArray("int", operation(a.data, b.data), doubt)
    return _of_floats(operation, a, b, _and(a.is_whole(), b.is_whole()))


def _of_floats(operation: Any, a: NumberArray, b: NumberArray, whole: Any) -> NumberArray:
    """Return what an operation gives on floats; what is `whole` must be small enough for one."""
    x, y = a.floats(), b.floats()
    with np.errstate(all="ignore"):
        found = operation(x.data, y.data) + 0.0  # there is one zero
    doubt = either(x.doubt, y.doubt)
    good = np.isfinite(found)
    if not good.all():
        doubt = either(doubt, ~good)
    if whole is False:
        return NumberArray("float", found, doubt)
    large = whole & (np.abs(found) > EXACT)
    return NumberArray("number", found, either(doubt, large) if large.any() else doubt, whole)


def _and(a: Any, b: Any) -> Any:
    return False if a is False or b is False else b if a is True else a if b is True else a & b


def _bounds(data: Any) -> tuple[Any, Any]:
    return (data.min(), data.max()) if data.size else (0, 0)


def _divided(a: NumberArray, b: NumberArray) -> NumberArray:
    """Return a quotient: of integers one where it is exact."""
    zero = b.data == 0
    b = replace(b, data=np.where(zero, np.ones_like(b.data), b.data))
    whole = _and(a.is_whole(), b.is_whole())
    if whole is not False:
        x, y = a.floats().data, b.floats().data
        whole = whole & (np.fmod(x, y) == 0)
    found = _of_floats(np.divide, a, b, whole)
    return replace(found, doubt=either(found.doubt, zero)) if zero.any() else found


def _divided_whole(operation: Any, a: NumberArray, b: NumberArray) -> NumberArray:
    """Return a quotient or rest of integers."""
    if not a.type == b.type == "int":
        raise InexactError
    bad = (b.data == 0) | (a.data <= -_SAFE) | (b.data <= -_SAFE)
    found = operation(a.data, np.where(bad, np.ones_like(b.data), b.data))
    return NumberArray("int", found, either(either(a.doubt, b.doubt), bad if bad.any() else None))


def _truncated(x: Any, y: Any) -> Any:
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) == (y < 0), quotient, -quotient)


def _chosen(operation: Any, a: NumberArray, b: NumberArray) -> NumberArray:
    """Return the smaller or larger of two numbers of one type; of two equal ones of two types it depends."""
    if a.type != b.type or a.type == "number":
        raise InexactError
    return NumberArray(a.type, operation(a.data, b.data) + a.data.dtype.type(0), either(a.doubt, b.doubt))


def _turned(operation: Any, a: NumberArray) -> NumberArray:
    """Return numbers without or with another sign."""
    bad = a.data <= -_SAFE if a.type == "int" else ~np.isfinite(a.data)
    return replace(a, data=operation(a.data) + a.data.dtype.type(0), doubt=either(a.doubt, bad if bad.any() else None))


def _root(a: NumberArray) -> NumberArray:
    found = a.floats()
    bad = ~((found.data >= 0) & np.isfinite(found.data))
    data = np.sqrt(np.where(bad, 0.0, found.data))
    return NumberArray("float", data, either(found.doubt, bad if bad.any() else None))


def _real(a: NumberArray) -> NumberArray:
    found = a.floats()
    bad = ~np.isfinite(found.data)
    return NumberArray("float", found.data + 0.0, either(found.doubt, bad if bad.any() else None))


def _rounded(operation: Any, a: NumberArray) -> NumberArray:
    """Return integers near to numbers."""
    if a.type == "int":
        return a
    bad = ~(np.abs(a.data) < _SAFE)
    data = operation(np.where(bad, 0.0, a.data)).astype(np.int64)
    return NumberArray("int", data, either(a.doubt, bad if bad.any() else None))


def _half_away(x: Any) -> Any:
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


_BINARY: Mapping[str, Callable[[NumberArray, NumberArray], NumberArray]] = {
    "+": partial(_added, np.add),
    "-": partial(_added, np.subtract),
    "*": partial(_added, np.multiply),
    "/": _divided,
    "//": partial(_divided_whole, _truncated),
    "div": partial(_divided_whole, np.floor_divide),
    "mod": partial(_divided_whole, np.mod),
    "rem": partial(_divided_whole, np.fmod),
    "min": partial(_chosen, np.minimum),
    "max": partial(_chosen, np.maximum),
}
_UNARY: Mapping[str, Callable[[NumberArray], NumberArray]] = {
    "-": partial(_turned, np.negative),
    "abs": partial(_turned, np.abs),
    "sqrt": _root,
    "float": _real,
    "floor": partial(_rounded, np.floor),
    "ceiling": partial(_rounded, np.ceil),
    "round": partial(_rounded, _half_away),
    "integer": partial(_rounded, _half_away),
    "truncate": partial(_rounded, np.trunc),
}
OPERATORS: Mapping[str, Callable[..., NumberArray]] = MappingProxyType(_BINARY)
FUNCTIONS: Mapping[str, Callable[..., NumberArray]] = MappingProxyType(
    {helper(name, 2): function for name, function in _BINARY.items()}
    | {helper(name, 1): function for name, function in _UNARY.items()}
)
