"""Answers of goals that are kept while the knowledge stands still.

A goal is kept by the values of its variables. Every change of the database begins a new generation, which forgets all;
what raises is not kept, so that it is raised, and reported, each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from etalis.logic.inline.purity import pure_clauses
from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Term, Variable

_MOST = 10_000  # answers that are kept
_UNKNOWN = object()


def asking(solver: Solver) -> Callable[[Term, Sequence[Variable], Sequence[Variable]], Callable[..., Any] | None]:
    """Return what makes a function that asks a goal; None for a goal whose answers may not be kept."""
    database = solver.database
    limits = replace(solver.limits, steps=solver.limits.steps // 2)  # the other half is for the rest of its goal

    def ask(goal: Term, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Callable[..., Any] | None:
        clauses = pure_clauses(database, goal)
        if clauses is None:
            return None
        names = {str(i): variable for i, variable in enumerate((*inputs, *outputs))}
        given, wanted = tuple(names)[: len(inputs)], tuple(names)[len(inputs) :]
        solve = solver.within(limits).prepare(Goal(goal, names), given, wanted)
        memo: dict[tuple[Any, ...], Any] = {}
        generation = database.generation
        known = clauses

        def answer(*values: Any) -> Any:
            nonlocal generation, known
            if database.generation != generation:
                memo.clear()
                generation = database.generation
                if any(predicate.changes != changes for predicate, changes in known):
                    found = pure_clauses(database, goal)
                    if found is None:
                        generation = -1
                        raise DeclineError
                    known = found
            answered = memo.get(values, _UNKNOWN)
            if answered is _UNKNOWN:
                if len(memo) >= _MOST:
                    memo.clear()
                answered = memo[values] = solve(*values)
            return answered

        return answer

    return ask
