"""What looks like a slip or a foreign notation and is none gives no warning; each warning says it once."""

from __future__ import annotations

import pytest

from helpers.findings import brief, findings

RIGHT = [
    "d <- visit(_London) seq visit(_).",
    "d(X) <- (sub(X) <- a(X, Y) seq b(Y)) seq c(X).",
    "d(S) <- go seq aggregate(sum(X), p(X), S).",
    "p(X, Y) :- q(X, Z), r(Z, Y). q(1, 2). r(2, 3). d(X) <- a(X) where p(X, _).",
    "d(X) <- a(X) do (findall(Y, p(X, Y), L), writeln(L)). p(1, 2).",
    "d(K-V) <- a(K, V).",
    "p(X, Y) :- X = A-B, Y = B-A. d(X) <- a(X) where p(X, _).",
    "d(K, V) <- a(P) where P = K - V.",
    "d(K, V) <- w(K: V).",
    "a(1). d(X) <- a(X) where a(X).",
    "d(X) <- a((user = X)).",
    "d(X) <- a(X, (y > X)).",
    "d(X) <- a(X, '*').",
    "d(X) <- a(X) where X == bob.",
    "d(X) <- a(X) where X =:= 5.",
    "d(X) <- a(X) where X > pi.",
    "d(X) <- a(X) where abs(X) > max(1, 2) mod 3.",
    "d(X) <- a(X) where X @> abc.",
    ":- event(within(x: int)). d <- a seq within(10).",
    "window(X) <- b(X). d <- window(10).",
    "d <- window(kitchen).",
    "d(X) <- first(X) seq last(X).",
    "d <- 5.",
    "d('card') <- w('card').",
    "d(true) <- w(true).",
    "d(card) <- w(card, _) seq x(Y) where Y > 1.",
    "d(X) <- a(X, status) where X > 5.",
    ":- event(a(x: string)). d(X) <- a(X) where X = '5'.",
    "d(X) <- a(X, '007').",
    "d(X) <- a(X) where f(X) = f(1).",
    ":- dynamic print_triger/1. p(X) :- print_triger(X). print_triger(1). d(X) <- a(X) where p(X).",
    "d(X) <- a(X) where member(X, [1, 2]).",
    "p(X) :- member(X, [1]), member([1], Y), Y = X. d(X) <- a(X) where p(X).",
    "policy(X) :- X = recent. d(X) <- a(X) where policy(X).",
    "policy(recent). d(X) <- a(X) where policy(X).",
    "member(X, Y) <- a(X, Y). d(X) <- member(X, _).",
    ":- event(failed_login(u: any)). :- event(login_failed(u: any)). d(U) <- login_failed(U) seq failed_login(U).",
    "e <- a do event(alarm(1)). f <- alarm(_).",
]


@pytest.mark.parametrize("program", RIGHT)
def test_what_is_meant_is_not_warned_of(program: str) -> None:
    assert findings(program, also="W215") == []


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        ("d(C) <- w(C, A > 5).", ["W217"]),
        ("d(X) <- a(X) where X > Limit.", ["W205"]),
        ("d(X, Yes) <- a(X).", ["E204"]),
        ("d(X) <- a(X) where (X > 5 and X < 10).", ["W223"]),
        ("d(card) <- w(card) where card > 5.", ["W222", "W220"]),
    ],
)
def test_one_mistake_is_told_once(program: str, codes: list[str]) -> None:
    assert [text[:4] for text in brief(program, also="W215")] == codes


def test_many_variables_of_a_rule_are_told_of_together() -> None:
    assert brief("d(A) <- s(A, B1, C1) seq s(A, D1, E1).", also="W215") == [
        "W215 the variables B1, C1, D1 and E1 occur once each, so they stand for any value"
    ]
    wide = ", ".join(f"Column{chr(65 + i)}{i}" for i in range(9))
    assert brief(f"d(A) <- s(A, {wide}).", also="W215")[0].endswith(
        "ColumnF5 and 3 more occur once each, so they stand for any value"
    )


def test_a_stream_in_the_place_of_a_program_is_told_of_once() -> None:
    found = findings("event(login(bob)). event(login(eve)). d(X) <- login(X).")
    assert len(found) == 1
    assert "events come from a stream" in found[0]


def test_of_two_spellings_the_later_one_is_doubted() -> None:
    assert brief("d <- login(User) seq fail(Usr).", also="W215") == [
        "W215 the variable User occurs once, so it stands for any value",
        "W203 Usr occurs once and looks like User",
    ]
