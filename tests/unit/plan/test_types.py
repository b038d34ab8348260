"""Types of attribute positions: what is declared or received flows into heads, and what is not certain is `term`."""

from __future__ import annotations

import pytest

import etalis
from etalis.language.rules import declarations
from etalis.plan.rules import plan_rules
from etalis.plan.types import infer_types

DECLARED = ":- event(a(n: int, x: float)). :- event(s(t: string, b: bool)). :- event(m(at: time)).\n"


def types_of(text: str, name: str, **received: tuple[str, ...]) -> tuple[str, ...]:
    program = etalis.compile(DECLARED + text)
    declared = {kind: tuple(t for _, t in d.attributes) for kind, d in declarations(program.compiled.tree).items()}
    given = {(kind, len(types)): types for kind, types in received.items()}
    found = infer_types(plan_rules(program.compiled.rules, program.compiled.settings), given, declared)
    return next(types for (kind, _), types in found.items() if kind == name)


TYPES = {
    "joined": ("d(N, T) <- a(N, _) seq s(T, _).", ("int", "string")),
    "booleans and times": ("d(B, M) <- s(_, B) seq m(M).", ("bool", "time")),
    "undeclared": ("d(X) <- u(X).", ("term",)),
    "joined with undeclared": ("d(N) <- u(N) seq a(N, _).", ("int",)),
    "constants": ("d(1, k, 2.5, null) <- a(_, _).", ("int", "string", "float", "term")),
    "terms": ("d(f(N), [N]) <- a(N, _).", ("term", "term")),
    "inside a term": ("d(N) <- u(f(N)).", ("term",)),
    "integers": ("d(M) <- a(N, _) where M is N * 2 + 1.", ("int",)),
    "a float makes floats": ("d(M) <- a(N, X) where M is N + X.", ("float",)),
    "division": ("d(M) <- a(N, _) where M is N / 2.", ("term",)),
    "whole division": ("d(M) <- a(N, X) where M is truncate(X) // N.", ("int",)),
    "functions": ("d(M) <- a(N, _) where M is sqrt(N).", ("float",)),
    "an unknown operand": ("d(M) <- u(N) where M is N + 1.", ("term",)),
    "unified": ("d(M, k2) <- a(N, _) where (M = N, N > 1).", ("int", "string")),
    "one way or the other": ("d(S) <- a(N, _) where (N > 9 -> S = high ; N < 3 -> S = low ; S = k).", ("string",)),
    "different ways": ("d(S) <- a(N, _) where (N > 9, S = high ; S = N).", ("term",)),
    "bound in one way only": ("d(S) <- a(N, _) where (N > 9, S = 1 ; N < 3).", ("term",)),
    "a sum since an opener that has no value there": (
        "d(S, N) <- u(1) seq aggregate(sum(X), a(N, X), S).",
        ("float", "int"),
    ),
    "a fact": ("d(M) <- a(N, _) where p(N, M). p(1, x).", ("term",)),
    "differences of times": ("d(D) <- m(S) seq m(E) where D is (E - S) / 60.", ("number",)),
    "the sum of times and a float": ("d(D) <- m(S) where D is S + 0.5.", ("float",)),
    "whole minutes": ("d(D) <- m(S) where D is S // 60.", ("int",)),
    "sums and extremes of times": (
        "d(S, L) <- aggregate(sum(X), m(X), S) seq aggregate(max(X), m(X), L).",
        ("number", "time"),
    ),
    "count": ("d(N) <- aggregate(count, u(_), N).", ("int",)),
    "sum of integers": ("d(S) <- aggregate(sum(N), a(N, _), S).", ("int",)),
    "sum of floats": ("d(S) <- aggregate(sum(X), a(_, X), S).", ("float",)),
    "sum of floats since an opener": ("d(S) <- u(1) seq aggregate(sum(X), a(_, X), S).", ("term",)),
    "average": ("d(S) <- aggregate(avg(N), a(N, _), S).", ("float",)),
    "extremes": ("d(S, T) <- aggregate(max(X), a(_, X), S) seq aggregate(min(U), s(U, _), T).", ("float", "string")),
    "list": ("d(S) <- aggregate(list(N), a(N, _), S).", ("term",)),
    "read by an expression": ("d(N) <- (a(N, _) or s(_, _)) where sparql('>'(N, 1)).", ("int",)),
    "some alternatives": ("d(N) <- a(N, _) or s(_, _).", ("int",)),
    "different alternatives": ("d(N) <- a(N, _) or s(N, _).", ("term",)),
    "a value from the other side": ("d(N) <- (a(N, _) or u(1)) seq u(N).", ("term",)),
    "a condition gives what is missing": ("d(N) <- (a(N, _) or u(1)) where p(N). p(x).", ("term",)),
    "several rules": ("d(N) <- a(N, _). d(X) <- a(_, X).", ("term",)),
    "through rules": ("e(N) <- a(N, _). d(M) <- e(N) where M is N - 1.", ("int",)),
    "recursion": ("d(0) <- a(_, _). d(M) <- d(K) seq a(N, _) where M is K + N.", ("int",)),
    "repetition": ("d(N) <- a(N, _) ntimes 2.", ("int",)),
    "declared head": (":- event(d(x: float)). d(N) <- u(N).", ("float",)),
}


@pytest.mark.parametrize(("text", "expected"), TYPES.values(), ids=TYPES)
def test_types(text: str, expected: tuple[str, ...]) -> None:
    assert types_of(text, "d") == expected


def test_received_types_flow() -> None:
    assert types_of("d(X) <- u(X).", "d", u=("int",)) == ("int",)


def test_what_is_made_and_received_is_both() -> None:
    assert types_of("d(N) <- a(N, _). e(X) <- d(X).", "e", d=("string",)) == ("term",)
