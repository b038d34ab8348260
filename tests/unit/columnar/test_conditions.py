"""Conditions that arrays compute, over odd numbers too: what an engine finds, and which errors it reports."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import ConditionError
from etalis.temporal.event import Event

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
