"""Evaluation: an arithmetic expression becomes a number.

Law: an expression of any depth is computed without recursion past `_DIRECT_DEPTH`; the functions are those of
`functions`.
"""

from __future__ import annotations

from typing import Any

from etalis.data.values import Rational, Real
from etalis.logic.arithmetic.functions import BINARY, CONSTANTS, DIVISIONS, GROWING, UNARY, Number
from etalis.logic.errors import LogicLimitError
from etalis.logic.terms.iso_errors import instantiation_error, type_error
from etalis.logic.terms.unify import LIST, MAX_CELLS, Term, Trail, Variable, deref

LONG = 1 << 4096  # integers from here on are charged for
_DIRECT_DEPTH = 100


def charge_result(number: Number, meter: Trail) -> None:
    """Charge for the memory of a long integer, and for the multiplication that made it."""
    if number.__class__ is int and not -LONG < number < LONG:
        meter.charge(number.bit_length() >> 7)


def charge_operand(number: Number, meter: Trail) -> None:
    """Charge for a long integer that is divided, or divides."""
    if number.__class__ is int and not -LONG < number < LONG:
        meter.charge(number.bit_length() ** 2 >> 21)


def evaluate(term: Term, depth: int = 0, meter: Trail | None = None) -> Number:
    """Compute the value of an expression.

    >>> evaluate(("+", 1, ("*", 2, 3)))
    7
    """
    term = deref(term)
    kind = term.__class__
    if kind is int or kind is float or kind is Real or kind is Rational:
        return term
    if kind is tuple and term:
        if depth > _DIRECT_DEPTH:
            return _evaluate_deep(term, meter)
        if len(term) == 3 and term[0] in BINARY:
            return _apply(term[0], [evaluate(term[1], depth + 1, meter), evaluate(term[2], depth + 1, meter)], meter)
        if len(term) == 2 and term[0] in UNARY:
            return UNARY[term[0]](evaluate(term[1], depth + 1, meter))
        if _is_singleton(term):
            return evaluate(term[1], depth + 1, meter)
    return _evaluate_leaf(term)


def _apply(name: str, args: list[Number], meter: Trail | None) -> Number:
    """Compute a function, and charge for what is long."""
    if len(args) == 1:
        return UNARY[name](*args)
    if meter is not None and name in DIVISIONS:
        for x in args:
            charge_operand(x, meter)
    found = BINARY[name](*args)
    if meter is not None and name in GROWING:
        charge_result(found, meter)
    return found


def _is_singleton(term: Term) -> bool:
    """Tell whether a term is a list of one element, which stands for that element."""
    return term.__class__ is tuple and len(term) == 3 and term[0] == LIST and deref(term[2]) == ()


def _evaluate_leaf(term: Term) -> Number:
    if isinstance(term, Variable):
        raise instantiation_error()
    if isinstance(term, str):
        if term in CONSTANTS:
            return CONSTANTS[term]
        raise type_error("evaluable", ("/", term, 0))
    if isinstance(term, tuple):
        raise type_error("evaluable", ("/", term[0], len(term) - 1) if term else ("/", "[]", 0))
    assert isinstance(term, int | float | Rational)
    return term


def _evaluate_deep(term: Term, meter: Trail | None) -> Number:
    """Compute the value of a deeply nested expression on a stack of its own."""
    todo: list[Any] = [term]
    done: list[Number] = []
    cells = 0
    while todo:
        x = todo.pop()
        cells += 1
        if cells > MAX_CELLS:
            raise LogicLimitError("size", MAX_CELLS)
        if meter is not None:
            meter.charge(1)
        if x.__class__ is list:
            name, arity = x
            args = done[-arity:]
            del done[-arity:]
            done.append(_apply(name, args, meter))
            continue
        x = deref(x)
        table = BINARY if x.__class__ is tuple and len(x) == 3 else UNARY
        if x.__class__ is tuple and len(x) in (2, 3) and x[0] in table:
            todo.append([x[0], len(x) - 1])
            todo.extend(x[:0:-1])
        elif _is_singleton(x):
            todo.append(x[1])
        else:
            done.append(_evaluate_leaf(x))
    return done[0]
