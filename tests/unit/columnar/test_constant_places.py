"""Where constants of patterns stand: the same by comparison and by index, and for many rules as in the engine."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import etalis
from etalis.columnar.data.columns import Column, from_arrow, from_values
from etalis.columnar.data.texts import PlainTexts
from etalis.columnar.operators.constant_places import ConstantPlaces, equal_to
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

ASKED: tuple[Any, ...] = ("a", "b", "null", "zz", "", 0, 1, -5, 1 << 40, 1 << 70, 1.0, 0.5, etalis.Struct("f", (1,)))


def columns(rng: random.Random) -> list[Column]:
    count = rng.randrange(40)
    texts: list[Any] = [rng.choice(("a", "b", "", None)) for _ in range(count)]
    numbers = [rng.choice((0, 1, -5, 1 << 40)) for _ in range(count)]
    some: list[Any] = [rng.choice((0, 1, "null")) for _ in range(count)]
    return [
        PlainTexts.of(pa.array(texts, pa.string())),
        from_arrow(pa.array(texts, pa.string()).dictionary_encode(), "string"),
        from_values(numbers, "int"),
        from_values(some, "int"),
        from_values([float(x) for x in numbers], "float"),
        from_values([rng.choice(ASKED) for _ in range(count)], "term"),
    ]


def test_equal_to_comparisons() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        for column in columns(rng):
            places = ConstantPlaces(column)
            for value in rng.choices(ASKED, k=30):
                assert places.find(value).tolist() == np.flatnonzero(equal_to(column, value)).tolist(), value


def program(types: str, values: tuple[str, ...]) -> str:
    heads = [f"r{i}(X) <- a({value}, X) where X > {i % 3}." for i, value in enumerate(values)]
    heads += [f"s{i}(X) <- a({value}, X) seq a({values[0]}, X)." for i, value in enumerate(values)]
    both = [f"t{i} <- a({value}, {i % 3}). u{i}(X) <- r{i}(X) and a(_, X)." for i, value in enumerate(values)]
    both += [f"q{i}(X) <- b({value}, X, X)." for i, value in enumerate(values)]
    derived = [f"v{i}(Y) <- w({value}, Y)." for i, value in enumerate(values)]
    return (
        f":- event(a(k: {types}, x: int)). :- event(b(k: {types}, x: int, y: int)).\nw(K, X) <- a(K, X).\n"
        + "\n".join((*heads, *both, *derived))
    )


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent"])
@pytest.mark.parametrize(
    ("types", "asked", "given"),
    [
        ("string", ("'p'", "q", "null", "'S 1'", "never", "'1'"), ("p", "q", "null", "S 1", "1")),
        ("int", ("0", "1", "2", "-7", "99", "null"), (0, 1, 2, -7)),
        ("term", ("0", "q", "f(1)", "null", "[1]", "1.5"), (0, "q", etalis.Struct("f", (1,)), "null", (1,), 1.5)),
    ],
)
def test_many_rules_with_constants(policy: str, types: str, asked: tuple[str, ...], given: tuple[Any, ...]) -> None:
    rng = random.Random(7)
    events = []
    for at in sorted(rng.choices(range(0, 60_000_000, 500_000), k=80)):
        name = rng.choice("aab")
        args = (rng.choice(given), *(rng.randrange(4 if name == "a" else 2) for _ in range(1 if name == "a" else 2)))
        events.append(Event.make(name, args, at, at))
    assert check(program(types, asked), events, policy)
