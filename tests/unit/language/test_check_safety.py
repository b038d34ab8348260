"""Variables without a value: exact texts."""

from __future__ import annotations

import pytest

from helpers.findings import brief, finding


def test_unsafe_head_variable() -> None:
    assert finding("d(X, Y) <- a(X).") == (
        "test:1:6: error E204: unsafe: Y in the head has no value, nothing in the pattern binds it\n"
        "    1 | d(X, Y) <- a(X).\n"
        "             ^\n"
        "  hint: use Y in an event of the pattern, or give it a value with `where`"
    )


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("d(Amout) <- pay(Amount).", "did you mean Amount?"),
        ("d(_) <- a(X).", "write a constant such as null, or a variable of the pattern"),
        (
            "d(Z) <- (a seq b) cnot c(Z).",
            "Z occurs in the negated pattern only, whose variables have no value outside it",
        ),
        ("d(X) <- go seq aggregate(sum(X), p(X), S).", "X is aggregated; its value is the result, S"),
    ],
)
def test_hints_for_unsafe_variables(program: str, hint: str) -> None:
    assert f"hint: {hint}" in finding(program)


def test_delay_of_an_alarm_must_be_bound() -> None:
    assert brief("exceptionAlarm(late(X), T) <- a(X).") == [
        "E204 unsafe: T in the delay has no value, nothing in the pattern binds it"
    ]


@pytest.mark.parametrize(
    "program",
    [
        "d(Y) <- a(X) where Y is X + 1.",
        "d(Y) <- a(X) event_multiply p(X, Y). p(1, 2).",
        "d(X) <- go seq (p(X) ntimes 2).",
        "d(K, C) <- go seq aggregate(count, p(K, X), C).",
        "d(X) <- a seq (sub(X) <- b(X) seq c(X)).",
        "d(X) <- any(2, [a(X), b(X), c(X)]).",
        "exceptionAlarm(late(X), T) <- a(X) where delay(T). delay(5).",
        "d(Y) <- a(X) where (X > 1 -> Y = big ; Y = small).",
        "d(L) <- a(X) where findall(Y, p(X, Y), L). p(1, 2).",
    ],
)
def test_bound_variables(program: str) -> None:
    assert brief(program) == []


def test_bound_in_some_alternatives_only() -> None:
    assert finding("d(X, Y) <- a(X) or b(X, Y).") == (
        "test:1:6: warning W202: Y in the head is bound in some alternatives only; in the others it is null\n"
        "    1 | d(X, Y) <- a(X) or b(X, Y).\n"
        "             ^\n"
        "  hint: bind Y in every alternative, or write a rule for each of them"
    )


def test_any_binds_for_sure_what_no_choice_can_avoid() -> None:
    assert brief("d(X) <- any(2, [a(X), b(X), c]).") == []
    assert [text[:4] for text in brief("d(X) <- any(1, [a(X), b(X), c]).")] == ["W202"]


def test_condition_computes_with_nothing() -> None:
    assert finding("d(X) <- a(X) where X > Y.") == (
        "test:1:24: warning W205: Y has no value when the condition computes with it, so it never holds\n"
        "    1 | d(X) <- a(X) where X > Y.\n"
        "                               ^\n"
        "  hint: bind it in the pattern left of the condition, or earlier in the condition"
    )


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        ("d(X) <- (a(X) where X > Y) seq b(Y).", ["W205"]),
        ("d(X) <- a(X) where (p(Y), X > Y). p(1).", []),
        ("d(X) <- a(X) where (X > Y, p(Y)). p(1).", ["W205"]),
        ("d(X) <- a(X) where \\+ X > Y.", ["W205"]),
        ("d(X) <- a(X) check (t1(A), t2(B), B - A > X).", []),
        ("big(X) :- X > Limit. d(X) <- a(X) where big(X).", ["W205"]),
        ("d(X) <- a(X) where forall(p(Y), X > Y). p(1).", []),
    ],
)
def test_where_conditions_need_values(program: str, codes: list[str]) -> None:
    assert [text[:4] for text in brief(program)] == codes


def test_local_variable_of_a_negated_pattern() -> None:
    assert finding("d <- ((a seq b) cnot c(X)) seq e(X).") == (
        "test:1:24: warning W206: X is local to the negated pattern, where nothing left of it binds it; "
        "it is not joined\n"
        "    1 | d <- ((a seq b) cnot c(X)) seq e(X).\n"
        "                               ^\n"
        "  hint: rename it here, or bind X left of the negation"
    )


@pytest.mark.parametrize(
    "program", ["d(X) <- (a(X) seq b) cnot c(X).", "d <- (a seq b) cnot c(X, X).", "d <- (a and b) cnot c(_)."]
)
def test_variables_of_a_negated_pattern_that_are_fine(program: str) -> None:
    assert brief(program) == []


def test_variable_that_looks_misspelt() -> None:
    assert finding("d(Amount) <- pay(Amount) seq paid(Amout).") == (
        "test:1:35: warning W203: Amout occurs once and looks like Amount\n"
        "    1 | d(Amount) <- pay(Amount) seq paid(Amout).\n"
        "                                          ^^^^^\n"
        "  hint: did you mean Amount? If not, write _Amout to say that its value does not matter"
    )


@pytest.mark.parametrize(
    "program",
    [
        "d <- a(X) seq b(Y).",
        "d(CityA) <- w(CityA) seq w(CityB).",
        "d(Price) <- a(Price1, Price) seq b(Price2).",
        "d(Amount) <- pay(Amount) seq paid(_Amout).",
        "d(Name) <- a([Name | Names]).",
    ],
)
def test_variables_that_look_like_no_other(program: str) -> None:
    assert brief(program) == []


def test_goal_that_cannot_be_called() -> None:
    assert finding("d <- a where 5.") == (
        "test:1:14: error E226: 5 cannot be called: it is written where a condition needs a goal\n"
        "    1 | d <- a where 5.\n"
        "                     ^\n"
        "  hint: write a comparison, an assignment with `is`, or a call of a predicate"
    )


def test_action_rules_may_bind_in_their_action() -> None:
    assert brief("p(X) do (q(X, Y), write(Y)). q(1, 2).") == []


def test_goal_that_is_a_variable() -> None:
    assert [text[:4] for text in brief("d(X) <- a(X) where Y.")] == ["W205"]
    assert brief("d(X) <- a(X) where X.") == []


def test_control_cannot_be_defined() -> None:
    assert brief("once(X) :- p(X). p(1).") == ["E226 once/1 is built in and cannot be defined"]
