"""Functions in conditions are computed in line, within bounds; beyond them the solver has the word."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import etalis
from etalis.data.values import real
from etalis.language.read.parser import parse
from etalis.semantics.steps import run
from etalis.temporal.event import Event

FLOATS = [0.0, 0.5, -0.5, 1.0, 2.5, -2.5, 3.999, 1e15, -1e15, 1e150, 1.7e308, -1.7e308, float("inf")]
INTEGERS = [0, 1, -1, 2, 7, -7, (1 << 29) - 1, 1 << 29, -(1 << 29), 1 << 60, 10**15, 10**200, 1 << 1030]
EXPRESSIONS = [
    "sqrt(X)", "sqrt(X * X + Y * Y)", "X ** 2", "X ** 3 - Y ** 2", "X ^ 2", "X ** 8", "X ** 9", "X ** 2.0", "X ** 0.5",
    "X ** -1", "2 ** X", "exp(X)", "log(X)", "log2(X)", "sin(X) + cos(Y)", "tan(X)", "atan(X)", "asin(X)", "acos(X)",
    "floor(X)", "ceiling(X)", "round(X)", "truncate(X)", "integer(X)", "float(X)", "X / Y", "X / 2", "X / 0", "X / 0.5",
    "7 / X", "(X + Y) / 2", "abs(X - Y) * 2", "X * Y + X", "floor(X / Y)", "round(X * 10) / 10", "sqrt(X) ** 2",
    "-X ** 2", "atan2(X ** 3, Y)", "1 / X ** 3", "floor(X / 3)", "ceiling(X / -2)", f"floor(X / {10**400})",
    f"ceiling(X / -{10**400})", f"X / {10**400}",
]  # fmt: skip


def agree(text: str, rows: list[tuple[str, int, Any]], at: Any = float) -> list[Event]:
    """Return what a program finds, having compared it and its errors with the meaning."""
    engine = etalis.compile(text).engine(policy="unrestricted")
    events = [Event.make(name, (real(x) if isinstance(x, float) else x,), at, at) for name, at, x in rows]
    failures: list[Any] = []
    expected = run(parse(text), events, policy="unrestricted", errors=failures)
    found = list(engine.run([(name, x, at / 1e6) for name, at, x in rows]))
    assert [repr(event) for event in found] == [repr(event) for event in expected]
    assert [[type(x) for x in event.args] for event in found] == [[type(x) for x in event.args] for event in expected]
    assert len(engine.errors) == len(failures)
    return found


@pytest.mark.parametrize("declared", ["float", "int", "any", "number"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_functions_give_what_the_solver_gives(expression: str, declared: str) -> None:
    kind = {"number": "any"}.get(declared, declared)
    values = {"float": FLOATS, "int": INTEGERS}.get(declared, [*FLOATS[::2], *INTEGERS[::2], "a"])
    goal = f"number(X), number(Y), R is {expression}" if declared == "number" else f"R is {expression}"
    text = (
        f":- event(a(x: {kind})). :- event(b(x: {kind})).\n"
        f"r(X, Y, R) <- (a(X) seq b(Y)) where ({goal}).\n"
        f"s(X, Y) <- (a(X) seq b(Y)) where {expression} > 2.\n"
    )
    rows = [("a", i, x) for i, x in enumerate(values)] + [("b", 100 + i, x) for i, x in enumerate(values[:9])]
    agree(text, rows)


def test_a_condition_on_floats_is_computed_without_a_call_of_a_function() -> None:
    text = ":- event(p(x: float, y: float)). near(D) <- p(X, Y) where (D is sqrt(X ** 2 + Y ** 2), D < 5.0)."
    engine = etalis.compile(text).engine(policy="unrestricted")
    assert [event.args for event in engine.push("p", 3.0, 0.5, at=1)] == [(3.0413812651491097,)]
    assert "generated function" not in engine.code().split("\n# push\n")[0]


TIMES = (0, 1_000_000, 1_500_000, 2_000_000, 3_100_000, 3_300_000, 11_000_000, 11_500_001, 4_000_000_000_000)


@pytest.mark.parametrize(
    "goal",
    [
        "t1(S), t2(E), D is E - S, D > 2", "t1(S), t2(E), D is S - E", "t2(E), t1(S), D = E, E - S >= 1.5",
        "t1(S), t2(E), D is (E - S) * 2 + S", "t1(S), t2(E), D is E - E", "t1(S), t2(E), D = S, E - S =:= 1",
        "t1(S), t2(E), D is E - S, E - S =\\= 1, S < 3", "t1(S), t2(E), (E - S > 2 -> D = long ; D is E - S)",
    ],
)  # fmt: skip
def test_the_length_of_a_match_is_what_the_difference_of_its_ends_is(goal: str) -> None:
    text = f"d(X, Y, D) <- (a(X) seq b(Y)) check ({goal}).\n"
    rows = [(name, at, 0) for at, name in product(TIMES, "ab")]
    assert agree(text, rows)


def test_floats_that_several_heads_take_are_the_values_that_the_meaning_has() -> None:
    text = (
        ":- event(a(x: float)).\n"
        "d(X, Y) <- a(X) seq a(Y).\n"
        "e(X) <- a(X).\n"
        "f(X) <- a(X) where X > 1.\n"
        "g(X) <- d(X, Y) where X == Y.\n"
    )
    found = agree(text, [("a", i, x) for i, x in enumerate([2.0, 2.0, 0.5, 0.0, -3.0, 1e15, 2.5])])
    assert {event.name for event in found} == {"d", "e", "f", "g"}
