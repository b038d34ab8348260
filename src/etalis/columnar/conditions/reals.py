"""Powers and the functions of floats over arrays, each value by the function that the language has for one.

Those of NumPy may differ from them in the last bit. A row is in doubt where there is no number to compute with, or none
comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from etalis.columnar.conditions.arithmetic import InexactError, NumberArray, either
from etalis.columnar.data.columns import Flags
from etalis.logic.arithmetic.reals import PLAIN_BINARY, PLAIN_UNARY
from etalis.logic.errors import LogicError
from etalis.logic.inline.python_source import helper

_SAFE = 1 << 62
_MOST = 62  # as an exponent of integers


def _each(function: Callable[..., float], *operands: NumberArray) -> NumberArray:
    """Return what a function of floats gives for each row."""
    given = [x.floats() for x in operands]
    doubt = reduce(either, (x.doubt for x in given))
    several = np.broadcast_arrays(*(x.data for x in given))
    found = _results(function, [array.ravel().tolist() for array in several]).reshape(several[0].shape) + 0.0
    bad = ~np.isfinite(found)
    for array in several:
        bad |= ~np.isfinite(array)
    return NumberArray("float", np.where(bad, 0.0, found), either(doubt, bad) if bad.any() else doubt)


def _results(function: Callable[..., float], lists: Sequence[list[float]]) -> Any:
    """Return what a function gives for floats, not a number where it gives none."""
    try:
        found = np.array(list(map(function, *lists)))
    except (ArithmeticError, ValueError, LogicError):
        found = None
    if found is not None and (found.dtype == np.float64 or not len(found)):
        return found.astype(np.float64)
    return np.array([_result(function, args) for args in zip(*lists, strict=True)], np.float64)


def _result(function: Callable[..., float], args: Sequence[float]) -> float:
    try:
        found = function(*args)
    except (ArithmeticError, ValueError, LogicError):
        return np.nan
    return np.nan if isinstance(found, complex) else found


def _power(a: NumberArray, b: NumberArray) -> NumberArray:
    """Return a power: of integers one, where the exponent is a constant that is not negative."""
    if "number" in (a.type, b.type):
        raise InexactError
    if a.type != "int" or b.type != "int":
        return _each(pow, a, b)
    if np.ndim(b.data) or not 0 <= b.data <= _MOST:
        raise InexactError
    with np.errstate(over="ignore"):
        about = np.abs(a.data.astype(np.float64)) ** float(b.data)
    bad: Flags = ~(about < _SAFE)
    data = np.where(bad, np.zeros_like(a.data), a.data) ** b.data
    return NumberArray("int", data, either(either(a.doubt, b.doubt), bad if bad.any() else None))


_POWERS = {helper(name, 2): _power for name in ("**", "^")}
_UNARY = {helper(name, 1): partial(_each, function) for name, function in PLAIN_UNARY.items()}
_BINARY = {helper(name, 2): partial(_each, function) for name, function in PLAIN_BINARY.items()}
REAL_FUNCTIONS: Mapping[str, Callable[..., NumberArray]] = MappingProxyType({**_UNARY, **_BINARY, **_POWERS})
