"""No goal takes more steps than the flag `max_steps` allows: of the host, of rules, over tables, in built-in ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import etalis
from etalis.errors import ConditionError
from etalis.language.flags import SERVICE_MAX_STEPS
from etalis.logic.errors import LogicLimitError, StepLimitError

PROGRAM = """
    loop :- loop.
    down(X) :- down(Y), X is Y + 1.
    :- table up/1.
    up(0).
    up(X) :- up(Y), X is Y + 1.
    :- table path/2.
    path(X, Y) :- edge(X, Y).
    path(X, Z) :- path(X, Y), edge(Y, Z).
    edge(X, Y) :- between(1, 400, X), between(1, 400, Y).
    reversed([], []).
    reversed([H|T], R) :- reversed(T, S), append(S, [H], R).
    d(X) <- a(X).
"""
ENDLESS = [line for line in (Path(__file__).parent / "endless_goals.txt").read_text().splitlines() if line]


def engine_of(steps: int, text: str = PROGRAM) -> etalis.Engine:
    return etalis.compile(text, max_steps=steps).engine()


@pytest.mark.parametrize("goal", ENDLESS)
def test_a_goal_without_end_is_refused(goal: str) -> None:
    with pytest.raises(StepLimitError) as caught:
        engine_of(2_000).query(goal)
    assert caught.value.code == "E517"


def test_the_error_has_place_and_hint() -> None:
    with pytest.raises(ConditionError) as caught:
        engine_of(1_000).query("X = 1, loop")
    assert str(caught.value) == (
        "<query>:1:1: error E517: the goal takes more than the 1000 steps that max_steps allows\n"
        "    1 | X = 1, loop\n"
        "        ^^^^^^^^^^^\n"
        "  hint: the goal may not end; if it does, ask for less at a time, or raise the flag max_steps"
    )
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(again), again.code) == (StepLimitError, "E517")


def test_without_the_flag_queries_have_their_own_limit() -> None:
    engine = etalis.compile(PROGRAM).engine()
    assert engine.core.rules.solver.limits.steps == 5_000_000
    with pytest.raises(LogicLimitError) as caught:
        engine.query("numlist(1, 100000000, L)")
    assert caught.value.code == "E509"


def test_the_number_of_a_service_leaves_room_for_what_ends() -> None:
    engine = engine_of(SERVICE_MAX_STEPS)
    assert SERVICE_MAX_STEPS == 100_000
    (answer,) = engine.query("numlist(1, 300, L), reversed(L, [First|_])")
    assert answer["First"] == 300
    assert len(engine.query("between(1, 20000, X), 0 is X mod 2")) == 10_000


def test_a_flag_given_from_outside_goes_before_the_text() -> None:
    engine = engine_of(1_000, f":- set_flag(max_steps, 100000000).\n{PROGRAM}")
    with pytest.raises(StepLimitError):
        engine.query("between(1, 5000, X), X < 0")


def test_directives_are_bounded_and_reported() -> None:
    engine = engine_of(1_000, f":- loop.\n{PROGRAM}")
    (error,) = engine.errors
    assert "the directive loop raised the goal takes more than the 1000 steps" in str(error)
    assert [str(e) for e in engine.push("a", 1, at=0)] == ["d(1) [0, 0]"]


def test_queries_of_the_past_are_bounded() -> None:
    engine = engine_of(1_000, f":- set_flag(knowledge_horizon, 100).\n{PROGRAM}")
    engine.push("a", 1, at=0)
    with pytest.raises(StepLimitError):
        engine.query("loop", at=0)


def test_a_condition_is_switched_off_as_by_other_limits() -> None:
    engine = engine_of(1_000, ":- set_flag(max_rule_failures, 2).\n w rule: d <- a where \\+ loop. loop :- loop.")
    for at in range(4):
        assert engine.push("a", at=at) == ()
    assert [error.code for error in engine.errors] == ["E501", "E501", "E512"]


def test_what_an_action_tries_is_bounded() -> None:
    engine = engine_of(100, ":- state n/1. n(0). action go :- go or skip, fail. on a do go.")
    engine.push("a", at=0)
    (error,) = engine.errors
    assert "more than max_tries, 100 steps tried" in str(error)


def test_a_limit_of_solutions_ends_a_goal_that_has_more() -> None:
    engine = engine_of(2_000)
    assert engine.query("between(1, inf, X)", limit=3) == [{"X": 1}, {"X": 2}, {"X": 3}]
    assert engine.query("member(X, [a, b])", limit=3) == [{"X": "a"}, {"X": "b"}]


_LONG = ", ".join(["X0 = aaaaaaaaaaaaaaaa", *(f"atom_concat(X{n}, X{n}, X{n + 1})" for n in range(12))])
_SHARED = ", ".join(f"A{n} = f(A{n + 1}, A{n + 1})" for n in range(18))


@pytest.mark.parametrize(
    "goal",
    [
        "length(L, N)",
        f"{_LONG}, between(1, 9000, Y)",
        "X is 1 << 200000, between(1, 9000, Y)",
        f"{_SHARED}, A18 = x",
        f"{_SHARED}, {_SHARED.replace('A', 'B')}, A18 = x, B18 = x, msort([A0, B0], L)",
        f"{_SHARED}, {_SHARED.replace('A', 'B')}, A18 = x, B18 = x, sort([A0, B0], L)",
        f"{_SHARED}, {_SHARED.replace('A', 'B')}, A18 = x, B18 = x, list_to_set([A0, B0], L)",
    ],
)
def test_what_is_told_and_compared_is_work_too(goal: str) -> None:
    with pytest.raises(LogicLimitError):
        engine_of(20_000).query(goal)
