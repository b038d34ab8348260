"""The facts that have some arguments, for loops in generated code: rows of a relation, in order, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.fact_relation import Row
from etalis.logic.machine.predicate import Predicate

_STEPS_PER_CANDIDATE = 8  # of the machine, at most


class Budget:
    """How many candidates the loops of a goal may have before the solver, which counts its steps, must be asked.

    `used` is what they have had since the goal began.
    """

    __slots__ = ("most", "used")

    def __init__(self, steps: int) -> None:
        self.most = steps // _STEPS_PER_CANDIDATE
        self.used = 0

    def admit(self, candidates: int) -> None:
        """Count the candidates of a loop; those that are too many are left to the solver."""
        self.used += candidates
        if self.used > self.most:
            raise DeclineError


@dataclass(frozen=True, slots=True, eq=False)
class FactsByKey:
    """A function from values at some positions of a predicate to the facts with them."""

    predicate: Predicate
    positions: tuple[int, ...]
    run: Callable[[Any], Sequence[Row]]


def find_facts(predicate: Predicate, positions: tuple[int, ...], budget: Budget) -> Callable[[Any], Sequence[Row]]:
    """Return the function from values at some positions (one bare, several in a tuple) to the facts with them."""

    if not positions:
        return lambda _: _all_facts(predicate, budget)
    known: Any = None
    rows: Any = None
    died: Any = None
    get: Any = None
    admit = budget.admit

    def find(key: Any) -> Sequence[Row]:
        nonlocal known, rows, died, get
        relation = predicate.relation
        if relation is None:
            raise DeclineError
        if relation is not known or relation.rows is not rows:  # a shared relation has rows of its own once it changes
            known, rows, died, get = relation, relation.rows, relation.died, relation.index(positions).get
        found = get(key)
        if found is None:
            return ()
        if found.__class__ is int:
            return () if found in died else (rows[found],)
        admit(len(found))
        return [rows[number] for number in found if number not in died]

    return find


def _all_facts(predicate: Predicate, budget: Budget) -> Sequence[Row]:
    relation = predicate.relation
    if relation is None:
        raise DeclineError
    budget.admit(len(relation.rows))
    died = relation.died
    return relation.rows if not died else [row for i, row in enumerate(relation.rows) if i not in died]
