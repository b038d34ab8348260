"""Conditions in parts: what is kept, guarded or left to the solver shows nowhere but in the time it takes."""

from __future__ import annotations

from typing import Any

import pytest

import etalis

pytestmark = pytest.mark.fast


def told(text: str, *events: tuple[Any, ...], **options: Any) -> tuple[list[str], list[str]]:
    """Return the matches and the errors of some events."""
    engine = etalis.compile(text, **options).engine(policy="unrestricted")
    found = [str(match) for *event, at in events for match in engine.push(*event, at=at)]
    return found, [error.problems[0].message for error in engine.errors]


def test_times_with_fractions() -> None:
    rule = "late(D) <- (a(X) seq b(X)) check (t1(S), t2(E), D is E - S, D > 1.5)."
    events = [("a", 1, 1), ("a", 2, 1.25), ("b", 1, 2.5), ("b", 2, 3.25), ("b", 1, 4)]
    assert told(rule, *events)[0] == ["late(2.0) [1.25, 3.25]", "late(3) [1, 4]"]


def test_a_program_with_a_predicate_of_its_own_for_times() -> None:
    assert told("r(S) <- a(X) check t1(S). t1(X) :- X = 7.", ("a", 1, 5))[0] == ["r(7) [5, 5]"]
    engine = etalis.compile("r(S) <- a(X) check (t1(S), S < 9). :- dynamic t1/1.").engine()
    assert not engine.push("a", 1, at=5)
    engine.assert_fact("t1", 8)
    assert [str(match) for match in engine.push("a", 1, at=6)] == ["r(8) [6, 6]"]


def test_null_is_reported_where_it_is_computed_with() -> None:
    text = ":- event(a(x: float, y: float)). r(T) <- a(X, Y) where (X \\= Y, T is X + Y, T > 3)."
    found, errors = told(text, ("a", 1.5, 2.0, 1), ("a", None, None, 2), ("a", 1.0, None, 3), ("a", 1.0, 3.0, 4))
    assert found == ["r(3.5) [1, 1]", "r(4.0) [4, 4]"]
    assert len(errors) == 1
    assert "(X = 1.0, Y = null)" in errors[0]


def test_an_overflow_is_an_error_each_time() -> None:
    text = ":- event(a(x: float)). r(T) <- a(X) where (T is X * 10, T > 5.0)."
    found, errors = told(text, ("a", 1e308, 1), ("a", 1.0, 2), ("a", -1e308, 3), ("a", 2.5, 4))
    assert found == ["r(10.0) [2, 2]", "r(25.0) [4, 4]"]
    assert len(errors) == 2


CHAINS = """
:- dynamic link/2.
r(X, Y) <- a(X, Y) where (X \\= Y, reached(X, Y, _)).
reached(X, Y, 1) :- link(X, Y).
reached(X, Z, N) :- link(X, Y), reached(Y, Z, M), N is M + 1.
link(a, b).
"""


def test_answers_are_kept_until_the_knowledge_changes() -> None:
    engine = etalis.compile(CHAINS).engine()
    ask = lambda at: [str(match) for match in engine.push("a", "a", "c", at=at)]  # noqa: E731
    assert ask(1) == ask(2) == []
    engine.assert_fact("link", "b", "c")
    assert ask(3) == ["r(a, c) [3, 3]"]
    assert ask(4) == ["r(a, c) [4, 4]"]
    engine.retract_fact("link", "a", "b")
    assert ask(5) == []


def test_errors_are_reported_for_every_match() -> None:
    text = "r(X) <- a(X) where (X \\= 0, odd(X)). odd(X) :- Y is X mod 2, odd(X, Y). odd(_, 1). odd(X, z) :- X > 0."
    found, errors = told(text, ("a", "x", 1), ("a", "x", 2), ("a", 3, 3), ("a", 0, 4), ("a", "x", 5))
    assert found == ["r(3) [3, 3]"]
    assert len(errors) == 3


def test_effects_come_once_and_behind_what_fails() -> None:
    text = "r(X, N) <- a(X) where (X > 2, assert(seen(X)), findall(Y, seen(Y), L), length(L, N)). :- dynamic seen/1."
    found, errors = told(text, ("a", 1, 1), ("a", 3, 2), ("a", "x", 3), ("a", 4, 4))
    assert found == ["r(3, 1) [2, 2]", "r(4, 2) [4, 4]"]
    assert len(errors) == 1


def test_clauses_that_come_later_are_called() -> None:
    text = "r(X) <- a(X) where (X > 0, good(X)). good(X) :- fine(X). fine(1)."
    engine = etalis.compile(f"{text} known(B) <- more(B) do assertz((good(X) :- X > B)).").engine()
    ask = lambda x, at: [str(match) for match in engine.push("a", x, at=at)]  # noqa: E731
    assert (ask(1, 1), ask(9, 2)) == (["r(1) [1, 1]"], [])
    engine.push("more", 5, at=3)
    assert (ask(1, 4), ask(9, 5), ask(4, 6)) == (["r(1) [4, 4]"], ["r(9) [5, 5]"], [])


def test_the_first_fact_that_passes_what_follows() -> None:
    text = "r(X, L) <- a(X) where (limit(X, L), L > 2). limit(a, 1). limit(a, 5). limit(a, 3). limit(b, 2)."
    assert told(text, ("a", "a", 1), ("a", "b", 2), ("a", "c", 3))[0] == ["r(a, 5) [1, 1]"]


FACTS = "f(1, int). f(2.0, float). f(null, null). f(x, atom)."


@pytest.mark.parametrize(
    ("x", "word"),
    [(1, "int"), (2, None), (2.0, "float"), (1.0, None), (2.5, None), (None, "null"), ("x", "atom"), ([1, 2], None)],
)
@pytest.mark.parametrize("kind", ["any", "term"])
def test_values_of_all_kinds_meet_facts(x: Any, word: str | None, kind: str) -> None:
    text = f":- event(a(x: {kind})). r(Y) <- a(X) where (f(X, Y), X \\= y). {FACTS}"
    assert told(text, ("a", x, 1))[0] == ([f"r({word}) [1, 1]"] if word else [])


@pytest.mark.parametrize(("x", "word"), [(1.0, None), (2.0, "float"), (2, "float"), (None, "null")])
def test_declared_floats_meet_facts(x: Any, word: str | None) -> None:
    text = f":- event(a(x: float)). r(Y) <- a(X) where (f(X, Y), X \\= y). {FACTS}"
    assert told(text, ("a", x, 1))[0] == ([f"r({word}) [1, 1]"] if word else [])
