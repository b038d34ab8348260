"""Tests and arithmetic over whole columns, exact or not at all.

What NumPy could get wrong is refused: integers beyond 64 bits, an integer beside a float that cannot hold it, nulls
among numbers, floats that are large, anything that may raise. A column of the type `number` holds floats that stand for
numbers of either type, each as large as it is, which are not told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Column, Flags, constant, unify
from etalis.columnar.data.flat import type_of
from etalis.logic.inline import python_source as n

_EXACT = 1 << 53  # floats hold every integer up to here
_SAFE = float(1 << 62)
_ORDERING = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal}
_EQUALITY = {"==": np.equal, "!=": np.not_equal}
_ADDITION = {"+": np.add, "-": np.subtract, "*": np.multiply}
_FUNCTIONS = {n.helper(name, 2): name for name in _ADDITION}


class InexactError(Exception):
    """Arrays cannot answer this exactly."""


def values(node: n.Node, columns: Mapping[str, Column], count: int) -> Column:
    """Return what an expression gives, row by row."""
    match node:
        case n.Local(name=name):
            return columns[name]
        case n.Constant(value=value) if type_of(value) != "term":
            return constant(value, count)
        case _:
            return Column(_type(node, columns), np.broadcast_to(_number(node, columns), count))


def truth(node: n.Node, columns: Mapping[str, Column], count: int) -> Flags:
    """Return the truth of a test, row by row."""
    match node:
        case n.Truth(holds=holds):
            return np.full(count, holds)
        case n.Both(first=a, second=b):
            return truth(a, columns, count) & truth(b, columns, count)
        case n.Either(first=a, second=b):
            return truth(a, columns, count) | truth(b, columns, count)
        case n.Negated(node=inner):
            return ~truth(inner, columns, count)
        case n.Branch(test=test, then=then, otherwise=otherwise):
            parts = [truth(part, columns, count) for part in (test, then, otherwise)]
            return np.where(*parts)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ORDERING:
            return np.broadcast_to(_ORDERING[operator](*_numbers(left, right, columns)), count)
        case n.Infix(operator=operator, left=left, right=right) if operator in _EQUALITY:
            return np.broadcast_to(_equal(operator, left, right, columns), count)
        case n.Apply(function="logic_equal", args=(left, right)):
            return np.broadcast_to(np.equal(*_numbers(left, right, columns)), count)
        case _:
            raise InexactError


def _equal(operator: str, left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> Any:
    """Compare two values as terms: of one type, since values of two types are never equal."""
    kinds = {_type(left, columns), _type(right, columns)}
    if "number" in kinds:
        raise InexactError
    if kinds == {"string"}:
        return _EQUALITY[operator](*_texts(left, right, columns))
    a, b = _numbers(left, right, columns)
    if len(kinds) > 1:
        return np.full(np.broadcast(a, b).shape, operator == "!=")
    return _EQUALITY[operator](a, b)


def _texts(left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> tuple[Any, Any]:
    match left, right:
        case n.Local(name=a), n.Local(name=b):
            codes, _ = unify([columns[a], columns[b]])
            return codes[0], codes[1]
        case n.Local(name=a), n.Constant(value=text):
            return columns[a].data, columns[a].texts.index(text).as_py()
        case n.Constant(), n.Local():
            b, a = _texts(right, left, columns)
            return a, b
        case _:
            raise InexactError


def _type(node: n.Node, columns: Mapping[str, Column]) -> str:
    match node:
        case n.Local(name=name) | n.Number(name=name):
            return columns[name].type
        case n.Constant(value=value):
            return type_of(value)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ADDITION:
            kinds = {_type(left, columns), _type(right, columns)}
            return next((kind for kind in ("float", "number") if kind in kinds), "int")
        case n.Apply(function=function, args=(left, right)) if function in _FUNCTIONS:
            return _type(n.Infix(_FUNCTIONS[function], left, right), columns)
        case _:
            raise InexactError


def _numbers(left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> tuple[Any, Any]:
    """Return two numbers to compare; an integer beside a float must be one that floats hold."""
    a, b = _number(left, columns), _number(right, columns)
    if a.dtype.kind != b.dtype.kind:
        whole = a if a.dtype.kind == "i" else b
        if whole.size and (whole.min() < -_EXACT or whole.max() > _EXACT):
            raise InexactError
    return a, b


def _number(node: n.Node, columns: Mapping[str, Column]) -> Any:
    match node:
        case n.Local(name=name) | n.Number(name=name):
            column = columns[name]
            if column.type not in ("int", "float", "number") or column.absent is not None:
                raise InexactError
            return column.data
        case n.Constant(value=int() as value) if -(1 << 62) < value < 1 << 62:
            return np.int64(value)
        case n.Constant(value=float() as value):
            return np.float64(value)
        case n.Infix(operator=operator, left=left, right=right) if operator in _ADDITION:
            return _computed(operator, *_numbers(left, right, columns))
        case n.Apply(function=function, args=(left, right)) if function in _FUNCTIONS:
            return _computed(_FUNCTIONS[function], *_numbers(left, right, columns))
        case _:
            raise InexactError


def _computed(operator: str, a: Any, b: Any) -> Any:
    """Return a sum, difference or product: of integers if 64 bits hold them all, of floats if none is large."""
    if a.dtype.kind == b.dtype.kind == "i":
        about = _ADDITION[operator](a.astype(np.float64), b.astype(np.float64))
        if about.size and max(abs(about.min()), abs(about.max())) > _SAFE:
            raise InexactError
        return _ADDITION[operator](a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _ADDITION[operator](a, b)
    if not (np.abs(found) <= _EXACT).all():
        raise InexactError
    return found + 0.0  # there is one zero
