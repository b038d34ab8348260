"""The facts that have some arguments, for loops in generated code: rows of a relation, in order, as they are now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.fact_relation import Row
from etalis.logic.machine.predicate import Predicate

_STEPS_PER_CANDIDATE = 8  # of the machine, at most


class Budget:
    """How many candidates a loop may have before the solver, which counts its steps, must be asked."""

    __slots__ = ("most", "steps")

    def __init__(self, steps: int) -> None:
        self.steps = steps // _STEPS_PER_CANDIDATE
        self.most = self.steps

    def divide(self, loops: int) -> None:
        """Share the steps between loops within loops."""
        if loops > 1:
            self.most = int(self.steps ** (1 / loops))


def find_facts(predicate: Predicate, positions: tuple[int, ...], budget: Budget) -> Callable[[Any], Sequence[Row]]:
    """Return the function from values at some positions (one bare, several in a tuple) to the facts with them."""

    def find(key: Any) -> Sequence[Row]:
        relation = predicate.relation
        if relation is None:
            raise DeclineError
        rows, died = relation.rows, relation.died
        if not positions:
            if len(rows) > budget.most:
                raise DeclineError
            return rows if not died else [row for number, row in enumerate(rows) if number not in died]
        found = relation.index(positions).get(key)
        if found is None:
            return ()
        if found.__class__ is int:
            return () if found in died else (rows[found],)
        if len(found) > budget.most:  # type: ignore[arg-type]
            raise DeclineError
        return [rows[number] for number in found if number not in died]  # type: ignore[union-attr]

    return find
