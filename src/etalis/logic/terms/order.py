"""The standard order of terms: variables < numbers < atoms < compound terms (by arity, name, arguments).

Numbers compare by value, a float before an equal integer. `[]` stands where the atom of that spelling would, just
before it.
Law: a total order; on ground terms it agrees with `term.order_key`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from etalis.logic.errors import LogicLimitError
from etalis.logic.terms.unify import LONG_TEXT, MAX_CELLS, Term, Trail, Variable, deref

_AGES = itertools.count(1)  # numbers for variables that were compared; only their order is ever seen

Order: TypeAlias = Callable[[Term], Any]  # the key by which terms are sorted


def compare(a: Term, b: Term, meter: Trail | None = None) -> int:
    """Return -1, 0 or 1 as `a` comes before, is, or comes after `b`."""
    stack: list[tuple[Term, Term]] = []
    cells = 0
    while True:
        a, b = deref(a), deref(b)
        if a is not b:
            if a.__class__ is tuple and b.__class__ is tuple and a and b:
                sign = _sign((len(a), a[0]), (len(b), b[0]))
                cells += 1
                if cells > MAX_CELLS:
                    raise LogicLimitError("size", MAX_CELLS)
                if meter is not None:
                    meter.charge(1)
                if not sign:
                    stack.extend(zip(a[:1:-1], b[:1:-1], strict=True))
                    a, b = a[1], b[1]
                    continue
            else:
                if meter is not None and a.__class__ is str and len(a) > LONG_TEXT:
                    meter.charge(len(a) >> 6)
                sign = _sign(_rank(a), _rank(b))
            if sign:
                return sign
        if not stack:
            return 0
        a, b = stack.pop()


def _sign(x: Any, y: Any) -> int:
    return int(x > y) - int(x < y)


def _rank(term: Term) -> tuple[Any, ...]:
    """Return the sort key of a term, arguments left out."""
    if isinstance(term, str):
        return (3, term, 1)
    if isinstance(term, float):
        return (1, float(term), 0)
    if isinstance(term, int):
        return (1, term, 1)
    if isinstance(term, Fraction):
        return (1, Fraction(term), 1)  # a plain fraction, which compares by value with floats, too
    if isinstance(term, Variable):
        if not term.age:
            term.age = next(_AGES)
        return (0, term.age)
    if not term:
        return (3, "[]", 0)
    return (4,)


sort_key = functools.cmp_to_key(compare)


def metered_key(meter: Trail) -> Order:
    """Return the key of the standard order that charges what is compared."""
    return functools.cmp_to_key(functools.partial(compare, meter=meter))
