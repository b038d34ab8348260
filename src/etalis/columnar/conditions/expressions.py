"""Expressions of SPARQL over columns of numbers: the comparison or calculation of the language that does the same.

Law: where that one raises nothing, both have one answer. Where it does, a row is in doubt, and asked the expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from etalis.language.syntax import Compound, Const, Term, Var

_COMPARISONS = MappingProxyType({"<": "<", ">": ">", "<=": "=<", ">=": ">=", "=": "=:=", "!=": "=\\="})
_NUMERIC = frozenset({"int", "float", "number"})
_SUMS = frozenset({"+", "-", "*"})
_SIGNS = MappingProxyType({"neg": "-", "pos": "+"})
_MOST = 20  # operands


def as_arithmetic(goal: Term, types: Mapping[str, str]) -> Term | None:
    """Return a goal with an expression over numbers as arithmetic; None if it is none.

    >>> from etalis.language.printer import print_term
    >>> x, y = Var("X"), Var("Y")
    >>> print_term(as_arithmetic(Compound("sparql", (Compound("<=", (x, y)),)), {"X": "int", "Y": "float"}))
    'X =< Y'
    """
    match goal:
        case Compound(name="sparql", args=(Compound(name=name, args=(a, b)),)) if name in _COMPARISONS:
            sides = _number(a, types, _MOST), _number(b, types, _MOST)
            if sides[0] is None or sides[1] is None:
                return None
            return Compound(_COMPARISONS[name], (sides[0], sides[1]), goal.span)
        case Compound(name="sparql", args=(Compound() as expression, Var(name=name) as result)) if name not in types:
            found = _number(expression, types, _MOST)
            return None if found is None else Compound("is", (result, found), goal.span)
        case _:
            return None


def _number(term: Term, types: Mapping[str, str], depth: int) -> Term | None:
    """Return an expression of numbers, None if it is another."""
    match term:
        case Var(name=name) if types.get(name) in _NUMERIC:
            return term
        case Const(value=int() | float()):
            return term
        case Compound(name=name, args=(a, b)) if name in _SUMS and depth:
            sides = _number(a, types, depth - 1), _number(b, types, depth - 1)
            return None if sides[0] is None or sides[1] is None else Compound(name, (sides[0], sides[1]), term.span)
        case Compound(name=name, args=(a,)) if name in _SIGNS and depth:
            inner = _number(a, types, depth - 1)
            return None if inner is None else Compound(_SIGNS[name], (inner,), term.span)
        case _:
            return None
