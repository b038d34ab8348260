"""Tests and calculations over whole columns: what each row gives, and which rows are in doubt.

A row is in doubt where the language would raise, or arrays could get it wrong (`arithmetic`). Law: a test is evaluated
where the language evaluates it; so what a branch does not come to puts nothing in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.conditions.arithmetic import (
    FUNCTIONS,
    OPERATORS,
    InexactError,
    NumberArray,
    either,
    number_of,
    numbers_of,
    side_by_side,
)
from etalis.columnar.conditions.reals import REAL_FUNCTIONS
from etalis.columnar.data.columns import Column, Flags, constant, unify
from etalis.columnar.data.flat import type_of
from etalis.logic.inline import python_source as n

Judged: TypeAlias = tuple[Any, Flags | None]  # the truth, perhaps one for all rows, and what is in doubt
_ORDERING = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal}
_NUMERIC = frozenset({"int", "float", "number"})
_FUNCTIONS = {**REAL_FUNCTIONS, **FUNCTIONS}


def values(node: n.Node, columns: Mapping[str, Column], count: int) -> tuple[Column, Flags | None]:
    """Return what an expression gives, row by row, and which rows are in doubt."""
    match node:
        case n.Local(name=name):
            return columns[name], None
        case n.Constant(value=value) if type_of(value) != "term":
            return constant(value, count), None
        case _:
            found = _number(node, columns)
            doubt = None if found.doubt is None else np.broadcast_to(found.doubt, count)
            return found.column(count), doubt


def truth(node: n.Node, columns: Mapping[str, Column], count: int) -> tuple[Flags, Flags | None]:
    """Return the truth of a test, row by row, and which rows are in doubt."""
    holds, doubt = _truth(node, columns)
    return np.broadcast_to(holds, count), None if doubt is None else np.broadcast_to(doubt, count)


def _truth(node: n.Node, columns: Mapping[str, Column]) -> Judged:
    match node:
        case n.Truth(holds=holds):
            return np.bool_(holds), None
        case n.Both(first=first, second=second):
            (a, unsure), (b, other) = _truth(first, columns), _truth(second, columns)
            return a & b, either(unsure, None if other is None else other & a)
        case n.Either(first=first, second=second):
            (a, unsure), (b, other) = _truth(first, columns), _truth(second, columns)
            return a | b, either(unsure, None if other is None else other & ~a)
        case n.Negated(node=inner):
            holds, unsure = _truth(inner, columns)
            return ~holds, unsure
        case n.Branch(test=test, then=then, otherwise=otherwise):
            return _branch(*(_truth(part, columns) for part in (test, then, otherwise)))
        case n.Infix(operator=operator, left=left, right=right) if operator in _ORDERING:
            a, b, unsure = side_by_side(_number(left, columns), _number(right, columns))
            return _ORDERING[operator](a, b), unsure
        case n.Infix(operator="==", left=left, right=right):
            return _equal(left, right, columns)
        case n.Infix(operator="!=", left=left, right=right):
            holds, unsure = _equal(left, right, columns)
            return ~holds, unsure
        case n.Apply(function="logic_equal", args=(left, right)):
            a, b, unsure = side_by_side(_number(left, columns), _number(right, columns))
            return np.equal(a, b), unsure
        case _:
            raise InexactError


def _branch(test: Judged, then: Judged, otherwise: Judged) -> Judged:
    holds, unsure = test
    for (_, doubt), reached in ((then, holds), (otherwise, ~holds)):
        unsure = either(unsure, None if doubt is None else doubt & reached)
    return np.where(holds, then[0], otherwise[0]), unsure


def _equal(left: n.Node, right: n.Node, columns: Mapping[str, Column]) -> Judged:
    """Tell where two values are the same: values of two types are not, and null is an atom like any other."""
    texts = [_text(node, columns) for node in (left, right)]
    if None not in texts:
        return _same_texts(*texts), None
    if texts != [None, None]:
        column, other = (left, texts[1]) if texts[0] is None else (right, texts[0])
        return _equals_text(_plain(column, columns), other), None
    return _equal_numbers(_number(left, columns), _number(right, columns), _are_plain(left, right))


def _are_plain(*nodes: n.Node) -> bool:
    return all(isinstance(node, n.Local | n.Constant) for node in nodes)


def _equal_numbers(a: NumberArray, b: NumberArray, are_plain: bool) -> Judged:
    """Compare numbers as terms; of values as they are, those in doubt are null."""
    if a.whole is None and b.whole is None:
        same: Any = a.data == b.data if a.type == b.type else np.bool_(False)
    else:
        same = (a.data == b.data) & (np.asarray(a.is_whole()) == np.asarray(b.is_whole()))
        if "int" in (a.type, b.type):
            are_plain, (x, y, doubt) = False, side_by_side(a, b)
            return (x == y) & same, doubt
    if not are_plain:
        return same, either(a.doubt, b.doubt)
    if a.doubt is None and b.doubt is None:
        return same, None
    none = [np.bool_(False) if each.doubt is None else each.doubt for each in (a, b)]
    return np.where(none[0] | none[1], none[0] & none[1], same), None


def _text(node: n.Node, columns: Mapping[str, Column]) -> Column | str | None:
    """Return a column of texts or a text; None for what is none."""
    match node:
        case n.Local(name=name) if columns[name].type == "string":
            return columns[name]
        case n.Constant(value=str() as text):
            return text
        case _:
            return None


def _same_texts(a: Any, b: Any) -> Any:
    """Tell where texts are the same."""
    match a, b:
        case str(), str():
            return np.bool_(a == b)
        case str(), _:
            return b.equals(a)
        case _, str():
            return a.equals(b)
        case _:
            return np.equal(*unify([a, b])[0])


def _plain(node: n.Node, columns: Mapping[str, Column]) -> Column | None:
    """Return a column of numbers that stands in a test as it is; None for what is computed, or a number."""
    if isinstance(node, n.Local):
        if columns[node.name].type not in _NUMERIC:
            raise InexactError
        return columns[node.name]
    if not isinstance(node, n.Constant):
        raise InexactError
    return None


def _equals_text(numbers: Column | None, text: Any) -> Any:
    """Tell where numbers equal texts: where both are null."""
    if numbers is None or numbers.absent is None:
        return np.bool_(False)
    if isinstance(text, str):
        return numbers.absent if text == "null" else np.bool_(False)
    return numbers.absent & text.equals("null")


def _number(node: n.Node, columns: Mapping[str, Column]) -> NumberArray:
    match node:
        case n.Local(name=name) | n.Number(name=name):
            return numbers_of(columns[name])
        case n.Constant(value=value):
            return number_of(value)
        case n.Infix(operator=operator, left=left, right=right) | n.Sum(operator=operator, left=left, right=right):
            if operator in OPERATORS:
                return OPERATORS[operator](_number(left, columns), _number(right, columns))
        case n.Apply(function=function, args=args) if function in _FUNCTIONS:
            return _FUNCTIONS[function](*(_number(arg, columns) for arg in args))
        case _:
            pass
    raise InexactError
