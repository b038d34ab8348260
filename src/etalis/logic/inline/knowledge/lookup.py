"""Look-ups of knowledge as functions for generated code: is this fact known, does this closure hold?

A look-up is exact while its predicate keeps the shape it was made for; `stands` says how generated code tests that. All
arguments are bound. Atoms and numbers are the same inside the logic machine and outside, and no other term is in a
relation or in an index that may be asked directly; so values are asked for as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etalis.logic.machine.control import FORMS
from etalis.logic.machine.predicate import Predicate

if TYPE_CHECKING:
    from etalis.logic.solver import Solver

Finder = Callable[[str, int], "InlineLookup | None"]


@dataclass(frozen=True, slots=True, eq=False)
class InlineLookup:
    """A function of the arguments that gives the truth, as long as each object has its property."""

    holds: Callable[..., bool]
    stands: tuple[tuple[Any, str], ...]


def look_ups(solver: Solver) -> Finder:
    """Return what finds the look-up of a predicate, None where only the solver can call it."""
    database = solver.database
    present = () if database.versions is None else ((solver, ".view is None"),)

    def find(name: str, arity: int) -> InlineLookup | None:
        if (name, arity) in FORMS or not database.overrides(name, arity):
            return None
        predicate = database.predicate(name, arity)
        if predicate.relation is not None:
            return InlineLookup(_fact_test(predicate), (*present, (predicate, ".relation is not None")))
        closure = predicate.find_closure()
        if closure is None:
            return None
        closure.links.prepare()  # a condition may ask for it where it would never come to be called
        return InlineLookup(closure.question(), (*present, (closure, ".valid"), (closure.links, ".direct")))

    return find


def _fact_test(predicate: Predicate) -> Callable[..., bool]:
    """Return the test whether a fact with given arguments is known."""
    positions = tuple(range(predicate.arity))
    known: Any = None
    rows: Any = None
    died: Any = None
    get: Any = None

    def is_known(key: Any) -> bool:
        nonlocal known, rows, died, get
        relation = predicate.relation
        assert relation is not None
        if relation is not known or relation.rows is not rows:  # a shared relation has rows of its own once it changes
            known, rows, died, get = relation, relation.rows, relation.died, relation.index(positions).get
        found = get(key)
        if found is None or not died:
            return found is not None
        return found not in died if found.__class__ is int else any(number not in died for number in found)

    return is_known if predicate.arity == 1 else lambda *values: is_known(values)
