"""Types of arithmetic expressions: int or float where that is certain, a number where times are, else `term`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etalis.logic.terms.unify import Term, Variable, deref
from etalis.plan.lattice import ANYTHING, NUMBER, TERM, Type, TypeBound

_WHOLE = frozenset({"//", "div", "mod", "rem", "gcd", ">>", "<<", "/\\", "\\/", "xor"})
_WHOLE_OF_ONE = frozenset({"\\", "msb", "succ", "floor", "ceiling", "round", "integer", "truncate"})
_KEEPING = frozenset({"-", "+", "abs", "sign", "float_integer_part"})
_REAL = frozenset({"atan2", "atan", "copysign", "log"})
_REAL_OF_ONE = frozenset(
    {"sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "float"}
)
_SUMS = frozenset({"+", "-", "*", "/"})
_NUMBERS = frozenset({"int", "float", NUMBER})
_CONSTANTS = frozenset({"pi", "e", "epsilon"})


def number_type(expression: Term, known: Mapping[Variable, TypeBound]) -> Type:
    """Return the type of an expression's value; None where an operand has had no value yet: then neither has it."""
    match deref(expression):
        case Variable() as variable:
            found = known.get(variable, ANYTHING).type
            return NUMBER if found == "time" else found if found in _NUMBERS or found is None else TERM
        case str() as name:
            return "float" if name in _CONSTANTS else None if name == "null" else TERM
        case (str() as name, one):
            inner = number_type(one, known)
            if inner is None or name in _KEEPING:
                return inner
            return "int" if name in _WHOLE_OF_ONE else "float" if name in _REAL_OF_ONE else TERM
        case (str() as name, one, two):
            return _operation_type(name, {number_type(one, known), number_type(two, known)})
        case other:
            return _constant_type(other)


def _constant_type(value: Any) -> Type:
    return "int" if isinstance(value, int) else "float" if isinstance(value, float) else TERM


def _operation_type(name: str, operands: set[Type]) -> Type:
    if None in operands:
        return None
    if name in _WHOLE:
        return "int"
    if name in _REAL or ("float" in operands and (name in _SUMS or name in ("**", "^"))):
        return "float"
    if operands == {"int"} and name in ("+", "-", "*", "min", "max", "^"):
        return "int"
    if NUMBER in operands and operands <= _NUMBERS and (name in _SUMS or name in ("min", "max")):
        return NUMBER
    return "float" if operands == {"float"} and name in ("min", "max") else TERM
