"""Repetitions over columns, under every policy, with and without windows and followers, equal the engine."""

from __future__ import annotations

import random

import pytest

from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from unit.columnar.agreement import check

pytestmark = pytest.mark.fast

SECOND = 1_000_000
BODIES = (
    "a(I, X) seq b(I, _) star_times",
    "a(I, X) seq b(I, _) ntimes 2",
    "a(I, X) seq b(I, _) ntimes (2, 3)",
    "a(I, X) seq b(I, _) star_times seq c(I, _)",
    "a(I, X) seq b(I, _) ntimes (1, 2) seq c(_, X)",
    "((a(I, X) seq b(_, _) star_times) within 5) seq c(I, _)",
    "(a(I, X) seq b(I, _) star_times seq c(I, _)) within 6",
    "a(I, X) seq b(I, _) ntimes 2 forall_seq c(I, _)",
    "(a(I, X) seq b(_, _) ntimes 2) and c(I, _)",
    "(a(I, X) seq b(I, _) star_times seq c(I, _)) cnot c(_, X)",
    "(a(I, X) seq b(I, _) ntimes 2 seq c(I, Y)) where X =< Y",
    "(a(I, X) seq b(I, _) star_times) where X > 0",
    "b(I, X) ntimes 2",
    "(b(I, X) ntimes 2 where X > 0) cnot c(I, _)",
    "b(I, X) ntimes (2, 3)",
    "b(I, X) star_times seq c(I, _)",
    "b(I, X) ntimes 2 seq c(_, X)",
    "(b(I, X) star_times seq c(I, _)) within 6",
    "b(I, _) ntimes 3 forall_seq c(I, X)",
)


def stream(seed: int) -> list[Event]:
    rng = random.Random(seed)
    found = []
    for _ in range(60):
        end = rng.randrange(30)
        start = end - rng.choice((0, 0, 0, 1, 3))
        args = (rng.randrange(2), rng.randrange(2))
        found.append(Event.make(rng.choice("abbbc"), args, start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_to_the_engine(policy: str) -> None:
    over_columns = sum(check(f"r(I, X) <- {body}.", stream(seed), policy) for body in BODIES for seed in (1, 2))
    assert over_columns >= {"unrestricted": 38, "cumulative": 10}.get(policy, 28)
