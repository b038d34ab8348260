"""Actions in generated code do what the solver does: the same facts in the same order, the same failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.errors import EtalisError
from etalis.language.lower import load_clauses
from etalis.language.read.parser import parse
from etalis.logic.inline.actions import ActionCompilation
from etalis.logic.inline.compiled_goal import GoalCompilation
from etalis.logic.inline.scope import normal
from etalis.logic.machine.database import Database
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Variable
from etalis.logic.terms.write import print_term
from etalis.runtime.codegen.source import Code
from helpers.examples import by_day
from helpers.random_changes import CALLS, FACTS, PREDICATES, ChangeAuthor

LIMITS = GoalLimits(steps=20_000)
TREE = parse(FACTS)


def facts(database: Database) -> list[str]:
    """Return all facts and clauses, in order."""
    found = []
    for name, arity in {**PREDICATES, **CALLS}.items():
        predicate = database.own(name, arity)
        args = tuple(Variable() for _ in range(arity))
        found.append(f"{name} {predicate.defined}")
        found += [print_term((":-", (name, *head), body)) for _, head, body in predicate.entries(args)]
    return found


def outcome(run: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    try:
        return run(*values)
    except EtalisError as error:
        return str(error.problems[0].message)


def compiled(solver: Solver, goal: Any, inputs: str) -> Callable[..., Any] | None:
    return ActionCompilation(solver, GoalCompilation(solver), Code).compile(goal, inputs)


def check(seed: int) -> Counter[str]:
    """Do one goal again and again, once in generated code and once by the solver, each to its own facts."""
    author, other = ChangeAuthor(seed), ChangeAuthor(seed)
    fast, slow = (Solver(load_clauses(TREE), LIMITS) for _ in range(2))
    if seed % 3 == 0:
        for solver in (fast, slow):
            solver.database.keep_versions(10, lambda: 0)
    act = compiled(fast, author.goal, "ABC")
    came = Counter(["left alone" if act is None else "compiled"])
    if act is None:
        return came
    ask = slow.prepare(other.goal, "ABC", ())
    for values in author.rows:
        found, expected = outcome(act, values), outcome(ask, tuple(map(normal, values)))
        assert found == expected
        assert facts(fast.database) == facts(slow.database)
        came["failed" if found is None else "done" if found == () else "error"] += 1
    return came


@pytest.mark.property
@by_day(1)
@given(st.integers(0, 1 << 40))
def test_actions_do_what_the_solver_does(seed: int) -> None:
    check(seed)


def test_many_actions_are_compiled() -> None:
    came: Counter[str] = sum((check(seed) for seed in range(400)), Counter())
    assert came["compiled"] > 200
    assert min(came["failed"], came["done"], came["error"]) > 200
