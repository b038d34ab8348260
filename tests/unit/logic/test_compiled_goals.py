"""Goals in generated code find what the solver finds, or leave the goal to it; errors are always the solver's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, real
from etalis.language.lower import load_clauses, to_logic
from etalis.language.read.parser import parse, parse_term
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver
from helpers.compiled_goals import DECLINED, GoalRun
from helpers.examples import by_day
from helpers.random_goals import CLAUSES, RELATIONS, GoalAuthor, RelationAuthor

SOLVER = Solver(load_clauses(parse(CLAUSES)), GoalLimits(steps=20_000))
RELATED = Solver(load_clauses(parse(CLAUSES + RELATIONS)), GoalLimits(steps=20_000))


def check(seed: int, *, every: bool = False, related: bool = False) -> str:
    """Compare one goal with the solver; tell what came of it."""
    author = RelationAuthor(seed) if related else GoalAuthor(seed)
    run = GoalRun(RELATED if related else SOLVER, author.goal, author.types, author.outputs, every=every)
    if run.run is None:
        return "left alone"
    expected = run.expected([real(x) if isinstance(x, float) else x for x in author.values])
    for _ in range(2):  # the second time from what is kept
        found = run.found(author.values)
        assert found in (DECLINED, expected), (found, expected)
        rows = found if isinstance(found, list) else [found] if isinstance(found, tuple) else []
        floats = [x for row in rows for x in row if isinstance(x, float)]
        assert [type(x) for x in floats] == [type(real(x)) for x in floats]
    if DECLINED in (expected, found):
        return "error" if expected == DECLINED else DECLINED
    return "no" if not found and found != () else "several" if every and len(found) > 1 else "found"


@pytest.mark.property
@by_day(1)
@given(st.integers(0, 1 << 40), st.booleans(), st.booleans())
def test_compiled_goals_agree_with_the_solver(seed: int, every: bool, related: bool) -> None:
    check(seed, every=every, related=related)


def test_many_goals_are_answered() -> None:
    came = Counter(check(seed) for seed in range(600))
    assert came["found"] + came["no"] > 200
    assert came["found"] > 40
    assert came["error"] > 60


def test_of_many_goals_every_solution_is_found() -> None:
    came = Counter(check(seed, every=True, related=True) for seed in range(1000))
    assert came["found"] + came["no"] > 300
    assert came["several"] > 60
    assert came["error"] > 100


IN_LINE = [
    ("A \\= B", {"A": "string", "B": "string"}, ("a", "b")),
    ("T is A + B, T > 1000.0", {"A": "float", "B": "float"}, (500.0, 600.5)),
    ("T is A + B, T > 1000.0", {"A": "term", "B": "term"}, (500, 600.5)),
    ("abs(A - B) > 2, X is max(A, B) mod 7, X < 7", {"A": "int", "B": "int"}, (5, 1)),
    ("limit(A, X, L), B > L", {"A": "string", "B": "float"}, ("a", 2.0)),
    ("limit(A, X, L), B > L", {"A": "term", "B": "term"}, ("a", 1)),
    ("A \\= B, \\+ near(A, B), T is C + C, T > 10.0", {"A": "string", "B": "string", "C": "float"}, ("a", "c", 6.0)),
    ("near(A, X), X \\= a", {"A": "string"}, ("b",)),
    ("pick(A, X)", {"A": "term"}, ("a",)),
    ("member(A, [a, b, c])", {"A": "string"}, ("b",)),
    ("member(X-Y, A), Y > 1", {"A": "term"}, ((Struct("-", ("a", 1)), Struct("-", ("b", 2))),)),
    ("sort(0, @>=, A, [X, Y|_])", {"A": "term"}, ((1.5, 2.5, 0.5),)),
    ("sub_atom(A, _, _, _, bc)", {"A": "string"}, ("abcd",)),
    ("(A > 5 -> X = high ; A > 2 -> X = mid ; X = low)", {"A": "int"}, (3,)),
    ("(integer(A) -> X is A + 1 ; atom_length(A, X))", {"A": "term"}, ("abc",)),
    ("forall(member(X, A), X > 0)", {"A": "term"}, ((1, 2),)),
    ("between(1, 5, A)", {"A": "int"}, (3,)),
    ("level(A, X), X == high", {"A": "term"}, (3,)),
    ("sign(A, X), X == pos", {"A": "float"}, (3.5,)),
    ("limit(A, X, L), !, L > 2", {"A": "string"}, ("a",)),
    ("big(A)", {"A": "term"}, (2.5,)),
    ("path(A, B)", {"A": "string", "B": "string"}, ("a", "c")),
]


@pytest.mark.parametrize(("text", "types", "values"), IN_LINE)
def test_goals_that_need_no_solver(text: str, types: dict[str, str], values: tuple[Any, ...]) -> None:
    goal = to_logic(parse_term(text))
    outputs = [name for name in goal.variables if name not in types]
    run = GoalRun(SOLVER, goal, types, outputs)
    assert run.run is not None
    found = run.found(values)
    assert found == run.expected([real(x) if isinstance(x, float) else x for x in values])
    assert found != DECLINED
    assert found is not None
