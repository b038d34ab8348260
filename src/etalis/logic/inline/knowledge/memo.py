"""Answers of goals that are kept while the knowledge stands still.

A goal is kept by the values of its variables. Every change of the database begins a new generation, which forgets all,
as does every change of state that the goal reads; what raises is not kept, so that it is raised, and reported, each
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from etalis.logic.errors import LogicLimitError
from etalis.logic.inline.knowledge.purity import Clauses, pure_clauses
from etalis.logic.inline.steps import DeclineError
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.state.state_predicate import StatePredicate
from etalis.logic.terms.unify import Term, Variable

Wanted: TypeAlias = Literal["truth", "first", "every"]

_MOST = 10_000  # answers that are kept
_STEPS = 10_000  # in which all solutions of a goal are found, if only its truth is asked for
_UNKNOWN = object()


def asking(
    solver: Solver,
) -> Callable[[Term, Sequence[Variable], Sequence[Variable], Wanted], Callable[..., Any] | None]:
    """Return what makes a function that asks a goal; None for a goal whose answers may not be kept.

    For the truth it is only asked whether there is a solution, and all are looked at: none may raise, as goals behind
    it that fail come back for the next.
    """
    database = solver.database
    half = solver.limits.steps // 2  # the other half is for the rest of its goal

    def ask(
        goal: Term, inputs: Sequence[Variable], outputs: Sequence[Variable], wanted: Wanted
    ) -> Callable[..., Any] | None:
        clauses = pure_clauses(database, goal)
        if clauses is None:
            return None
        limited = solver.within(replace(solver.limits, steps=min(half, _STEPS) if wanted == "truth" else half))
        names = {str(i): variable for i, variable in enumerate((*inputs, *outputs))}
        given, found = tuple(names)[: len(inputs)], tuple(names)[len(inputs) :]
        posed = Goal(goal, names)
        match wanted:
            case "truth":
                solve: Callable[..., Any] = _truth(limited.prepare_all(posed, given, ()))
            case "first":
                solve = limited.prepare(posed, given, found)
            case "every":
                solve = limited.prepare_all(posed, given, found)
        return _kept(database, goal, clauses, solve)

    return ask


def _truth(solve: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Return whether there is a solution, as a function; one with too many to look at is given up for good."""
    given_up = False

    def ask(*values: Any) -> Any:
        nonlocal given_up
        if given_up:
            raise DeclineError
        try:
            return () if solve(*values) else None
        except LogicLimitError:
            given_up = True
            raise

    return ask


def _kept(database: Database, goal: Term, clauses: Clauses, solve: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that keeps its answers for as long as they are true."""
    memo: dict[tuple[Any, ...], Any] = {}
    generation, known = database.generation, clauses
    state = _state(clauses)
    altered = [predicate.alterations for predicate in state]

    def answer(*values: Any) -> Any:
        nonlocal generation, known, state, altered
        if state and altered != (now := [predicate.alterations for predicate in state]):
            memo.clear()
            altered = now
        if database.generation != generation:
            memo.clear()
            generation = database.generation
            if any(predicate.changes != changes for predicate, changes in known):
                found = pure_clauses(database, goal)
                if found is None:
                    generation = -1
                    raise DeclineError
                known, state = found, _state(found)
                altered = [predicate.alterations for predicate in state]
        answered = memo.get(values, _UNKNOWN)
        if answered is _UNKNOWN:
            if len(memo) >= _MOST:
                memo.clear()
            answered = memo[values] = solve(*values)
        return answered

    return answer


def _state(clauses: Clauses) -> list[StatePredicate]:
    return [predicate for predicate, _ in clauses if isinstance(predicate, StatePredicate)]
