"""Conditions that arrays compute, over odd numbers too: what an engine finds, and which errors it reports."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import etalis
from etalis.columnar.conditions.asked import Asked
from etalis.columnar.data.columns import Column
from etalis.data.values import real
from etalis.errors import ConditionError
from etalis.temporal.event import Event
from helpers.agreement import check

REALS = (None, 0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e-300, 1e300, math.inf, -math.inf, 700.0, 710.0, math.pi)
WHOLE = (None, 0, 1, -1, 2, 63, 64, 1 << 31, 1 << 53, (1 << 53) + 1)


def rows() -> list[tuple[Any, ...]]:
    draw = random.Random(3)
    odd = [(draw.choice(REALS), draw.choice(REALS), draw.choice(WHOLE)) for _ in range(100)]
    return odd + [(draw.uniform(-3, 3), draw.uniform(-3, 3), draw.randrange(-9, 9)) for _ in range(100)]


@pytest.mark.parametrize(
    "condition",
    [
        *(f"X {sign} {other}" for sign in ("=:=", "=\\=", "<") for other in ("1.0", "V", "N", "X")),
        *(f"N {sign} 2, V > 0" for sign in ("=:=", "=\\=")),
        "sqrt((X - V) ** 2 + X ^ 2) > 1", "X ** 0.5 < V", "X ** V > 1", "N ** 2 > X", "N ^ 3 < 7", "X ** N > 1",
        "2 ** N > 8", "X ** -2 > 1", "N ** -1 < 1", "N ** 62 > 1", "atan2(X, V) > 0.5", "log(X) + exp(V) < 3",
        "log(2, X) > 0", "log2(N) > 1", "cos(X) / sin(V) > 0.3", "cot(X) > 0", "acosh(V) < 1 ; tan(X) > 2",
        "copysign(X, V) < 0", "V > 0, D is sin(X) * 6371, D > 3.0",
        "2 * asin(sqrt(sin((V - X) / 2) ** 2 + cos(X) * cos(V))) > 0.1",
    ],
)  # fmt: skip
def test_numbers(condition: str) -> None:
    program = etalis.compile(f":- event(a(x: float, v: float, n: int)). m(I) <- a(X, V, N) check ({condition}, t1(I)).")
    given = rows()
    reported: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    engine = program.engine(on_error=reported[0].append)
    expected: list[Event] = [m for at, row in enumerate(given) for m in engine.push("a", *row, at=at)]
    x, v, n = (pa.array(column) for column in zip(*given, strict=True))
    table = pa.table({"at": list(range(len(given))), "x": x, "v": v, "n": n})
    assert program.explain(table, event="a") == "over columns: rule 1"
    found = program.detect(table, event="a", on_error=reported[1].append)
    assert found["end"].to_pylist() == [match.end for match in expected]
    assert sorted(map(str, reported[0])) == sorted(map(str, reported[1]))


@pytest.mark.parametrize(
    "value", ["X ** 2", "V ^ 3", "sin(X) + cos(V)", "X ** 0.3", "atan2(V, X)", "N ^ 5", "exp(X) ** V"]
)
def test_values_have_the_same_bits(value: str) -> None:
    draw = random.Random(4)
    given = [(draw.uniform(0.001, 9), draw.uniform(0.001, 9), draw.randrange(-50, 50)) for _ in range(5_000)]
    program = etalis.compile(f":- event(a(x: float, v: float, n: int)). m(D) <- a(X, V, N) where D is {value}.")
    expected = [match.args[0] for match in program.engine().run([("a", *row, at) for at, row in enumerate(given)])]
    x, v, n = (pa.array(column) for column in zip(*given, strict=True))
    found = program.detect(pa.table({"at": list(range(len(given))), "x": x, "v": v, "n": n}), event="a")
    assert found["D"].to_pylist() == expected


@pytest.mark.parametrize(
    "condition",
    [
        "far(X, V, D)", "far(X, V, D), D > 0.5", "N > 1, far(X, V, D)", "far(X, V, D), other(D)",
        "\\+ other(X), far(V, X, D)",
        "findall(Y, part(N, Y), L), length(L, D)", "parts(N, L), member(M, L), \\+ far(M, X, M), length(L, D)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("operator", ["where", "event_multiply"])
def test_questions(condition: str, operator: str) -> None:
    asked: list[tuple[Any, ...]] = []

    def far(a: Any, b: Any) -> Any:
        asked.append((type(a), a, type(b), b))
        return None if a == b else abs(a - b) / (a + b)  # which raises at times

    def other(a: Any) -> bool:
        return bool(1 / a > 3)

    program = etalis.compile(
        f":- event(a(x: float, v: float, n: int)). m(D) <- a(X, V, N) {operator} ({condition}). "
        "part(1, a). part(1, b). part(2, c). parts(1, [1, 0.5, 2.0]). parts(2, [a]). parts(0, []). parts(2, [-1.0]).",
        register={"far": far, "other": other},
    )
    given = [(x, v, n) for x, v, n in rows() if None not in (x, v, n)] * 2
    reported: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    engine = program.engine(on_error=reported[0].append)
    expected = [(str(m.args[0]), m.end) for at, row in enumerate(given) for m in engine.push("a", *row, at=at)]
    by_engine, asked = set(asked), []
    x, v, n = (pa.array(column) for column in zip(*given, strict=True))
    table = pa.table({"at": list(range(len(given))), "x": x, "v": v, "n": n})
    assert program.explain(table, event="a") == "over columns: rule 1"
    found = program.detect(table, event="a", on_error=reported[1].append)
    given_back = zip(map(str, found["D"].to_pylist()), found["end"].to_pylist(), strict=True)
    assert sorted(given_back) == sorted(expected)
    assert sorted(map(str, reported[0])) == sorted(map(str, reported[1]))
    assert set(asked) == by_engine


def test_floats_as_the_language_has_them() -> None:
    numbers = [0.0, -0.0, 1.0, -2.0, 0.5, math.inf, -math.inf, 1e300, 5e-324, float(1 << 53), 0.1]
    found = Column("float", np.array(numbers), None, np.array([False] * 10 + [True])).values()
    expected = [real(number) for number in numbers[:-1]] + ["null"]
    assert list(map(repr, found)) == list(map(repr, expected))
    assert list(map(type, found)) == list(map(type, expected))


TEXTS = ("vpn-eu", "vpn-", "vpn", "\u00e4\U0001f600-eu", "", "x" * 10_001, "null", "12")


@pytest.mark.parametrize(
    "goal",
    [
        "atom_concat('vpn-', Z, P)", "atom_concat(Z, '-eu', P)", "atom_concat(P, N, Z)",
        "string_concat(vpn, Z, P), Z \\= ''", "atom_concat(Y, Z, P), Z == eu",
        "atom_concat(Y, 2, N), atom_concat(Y, Z, P)",
        "sub_atom(P, 0, 3, _, Z)", "sub_atom(P, Z, 1, _, '-')", "sub_atom(P, B, _, 0, eu), Z is B + 1",
        "atom_length(P, L), sub_atom(P, _, 1, 0, Z), L > 3", "atom_chars(P, L), nth1(1, L, Z)",
        "atom_chars(P, L), nth1(Z, L, '-')", "length(Z, N), N < 3", "between(1, N, Z), Z > 1",
        "(N > 2 -> atom_concat('vpn-', Z, P) ; atom_concat(P, '!', Z))", "numlist(1, N, L), append(Z, [2 | _], L)",
    ],
)  # fmt: skip
def test_texts(goal: str) -> None:
    draw = random.Random(5)
    events = [Event("a", draw.choice(TEXTS), draw.randrange(-1, 5), at=at) for at in range(60)]
    for kind in ("check", "event_multiply"):
        times = "t1(I)" if kind == "check" else "I = 0"
        check(f"m(I, Z) <- a(P, N) {kind} ({times}, N < 4, {goal}).", events, "unrestricted")


def test_a_text_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answers = Asked._answers
    monkeypatch.setattr(
        Asked, "_answers", lambda self, given: answers(self, iter([asked.append(x) or x for x in given]))
    )
    program = etalis.compile(
        ":- event(a(p: string)). m(Z, H) <- a(P) check (t2(T), H is T * 2, atom_concat('vpn-', Z, P))."
    )
    table = pa.table({"at": list(range(1000)), "p": ["vpn-eu", "vpn-us", "home", "office"] * 250})
    assert program.detect(table, event="a").num_rows == 500
    assert len(asked) == 4
