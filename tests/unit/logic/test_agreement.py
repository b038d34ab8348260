"""Random goals: the compiled machine against a naive interpreter; a goal, called, and as a clause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.language.lower import new_database
from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.arithmetic.functions import COMPARISONS
from etalis.logic.errors import LogicError, LogicLimitError
from etalis.logic.machine.control_forms import check_partial_list
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from etalis.logic.terms.order import compare
from etalis.logic.terms.unify import Trail, Variable, copy, deref, make_list, to_value, undo, unify, variables

pytestmark = pytest.mark.property

FACTS = [("p", 1), ("p", 2), ("p", "a"), ("q", 1, "a"), ("q", 2, "b"), ("q", 2, 1)]
A, B, C = (Variable() for _ in range(3))
RULES = [
    (("r", A, B), (",", ("p", A), ("q", A, B))),
    (("r", A, A), "true"),
    (("s", A), (";", ("->", ("p", A), (",", ("=", A, B), ("q", B, C))), ("=", A, "none"))),
    (("c", A), (",", ("p", A), "!")),
    (("c", 9), "true"),
    (("t", ("f", A, B), A), ("\\==", A, B)),
    (("t", ("f", A, A), A), "true"),
]
NAMES = ("X", "Y", "Z", "W")
MOST = 6
SIZE = 5_000
LIMIT = "limit"


class Cut(Exception):  # noqa: N818
    """Backtracking came to a cut: whoever called the clause tries nothing more."""


def naive(goal: Any, trail: Trail) -> Iterator[None]:
    """Yield once per solution, bindings made; a cut lets backtracking pass as an exception."""
    goal = deref(goal)
    name, args = (goal, ()) if isinstance(goal, str) else (goal[0], goal[1:])
    mark = len(trail)
    match name, len(args):
        case ("true", 0) | ("fail", 0):
            yield from step(name == "true")
        case "!", 0:
            yield
            raise Cut
        case ",", 2:
            for _ in naive(args[0], trail):
                yield from naive(args[1], trail)
        case ";", 2:
            yield from naive_or(args, trail)
        case ("->", 2) | ("*->", 2):
            yield from naive_or((goal, "fail"), trail)
        case "\\+", 1:
            found = any(True for _ in local(args[0], trail))
            undo(trail, mark)
            yield from step(not found)
        case "findall", 3:
            check_partial_list(args[2])
            results = [copy(args[0], SIZE) for _ in local(args[1], trail)]
            undo(trail, mark)
            yield from step(unify(args[2], make_list(results), trail))
        case "call", 1:
            yield from local(args[0], trail)
        case "once", 1:
            yield from islice(local(args[0], trail), 1)
        case "=", 2:
            yield from step(unify(args[0], args[1], trail))
        case "\\==", 2:
            yield from step(compare(*args) != 0)
        case "is", 2:
            yield from step(unify(args[0], evaluate(args[1]), trail))
        case _, 2 if name in COMPARISONS:
            yield from step(COMPARISONS[name](evaluate(args[0]), evaluate(args[1])))
        case _:
            yield from naive_call(name, args, trail)
    undo(trail, mark)


def step(holds: bool) -> Iterator[None]:
    if holds:
        yield


def local(goal: Any, trail: Trail) -> Iterator[None]:
    """Solutions of a goal whose cut stays inside."""
    mark = len(trail)
    try:
        yield from naive(goal, trail)
    except Cut:
        undo(trail, mark)


def naive_or(args: Any, trail: Trail) -> Iterator[None]:
    mark = len(trail)
    left = deref(args[0])
    if not (isinstance(left, tuple) and left[0] in ("->", "*->")):
        yield from naive(left, trail)
        yield from naive(args[1], trail)
        return
    some = False
    for _ in local(left[1], trail):
        some = True
        yield from naive(left[2], trail)
        if left[0] == "->":
            break
    undo(trail, mark)
    if not some:
        yield from naive(args[1], trail)


def naive_call(name: str, args: Any, trail: Trail) -> Iterator[None]:
    mark = len(trail)
    for head, body in [*((fact, "true") for fact in FACTS), *RULES]:
        if head[0] == name and len(head) == len(args) + 1:
            _, fresh, then = copy((":-", head, body))
            if unify(fresh, (name, *args), trail):
                try:
                    yield from naive(then, trail)
                except Cut:
                    undo(trail, mark)
                    return
            undo(trail, mark)


def database() -> Any:
    knowledge = new_database()
    for fact in FACTS:
        knowledge.add(fact)
    for head, body in RULES:
        knowledge.add((":-", head, body))
    return knowledge


SHARED = {name: Variable() for name in NAMES}
LEAVES = st.one_of(st.sampled_from(list(SHARED.values())), st.sampled_from([1, 2, "a", "b", ()]))
TERMS = st.one_of(LEAVES, st.tuples(st.just("f"), LEAVES, LEAVES), st.tuples(st.just("+"), LEAVES, LEAVES))
CALLS = st.one_of(
    st.tuples(st.sampled_from(["p", "s", "c"]), TERMS),
    st.tuples(st.sampled_from(["q", "r", "t", "=", "\\==", "is", "<", "=:="]), TERMS, TERMS),
    st.sampled_from(["true", "fail", "!"]),
)
GOALS = st.recursive(
    CALLS,
    lambda g: st.one_of(
        st.tuples(st.sampled_from([",", ",", ";", "->"]), g, g),
        st.tuples(st.sampled_from(["\\+", "call", "once"]), g),
        st.tuples(st.just(";"), st.tuples(st.sampled_from(["->", "*->"]), g, g), g),
        st.tuples(st.just("findall"), TERMS, g, TERMS),
    ),
    max_leaves=8,
)


def collect(solutions: Iterator[Any]) -> list[Any]:
    """Return the first solutions, and the error that ends them."""
    found: list[Any] = []
    try:
        found.extend(islice(solutions, MOST))
    except LogicLimitError:
        found.append(LIMIT)
    except LogicError as error:
        found.append(comparable(error.term[1]))
    return found


def comparable(formal: Any) -> Any:
    """Return an error without a culprit that was written with variables: each way of running has its own."""
    return formal[:2] if isinstance(formal, tuple) and any(map(has_variable, formal)) else formal


def has_variable(term: Any) -> bool:
    return isinstance(term, Variable) or (isinstance(term, tuple) and any(map(has_variable, term)))


def compiled(goal: Any, how: str) -> list[Any]:
    knowledge = database()
    if how == "clause":
        head = ("goal", *SHARED.values())
        knowledge.add((":-", head, goal))
        goal = head
    elif how == "call":
        goal = ("call", goal)
    solver = Solver(knowledge, GoalLimits(steps=20_000, size=SIZE))
    return collect(solver.solve(Goal(goal, SHARED), {}))


def by_hand(goal: Any) -> list[Any]:
    trail = Trail()

    def solutions() -> Iterator[dict[str, Any]]:
        for _ in local(goal, trail):
            values = {name: to_value(variable, SIZE) for name, variable in SHARED.items()}
            yield {name: value for name, value in values.items() if value is not None}

    try:
        return collect(solutions())
    finally:
        undo(trail, 0)


@given(GOALS)
def test_a_goal_answers_the_same_however_it_is_run(goal: Any) -> None:
    expected, *others = compiled(goal, "direct"), compiled(goal, "clause"), compiled(goal, "call"), by_hand(goal)
    cyclic = any(LIMIT in found for found in (expected, *others))
    assert cyclic or others == [expected] * 3
    assert all(variable.ref is None for variable in variables(goal))
