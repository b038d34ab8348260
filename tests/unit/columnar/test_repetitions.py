"""Repetitions over columns, under every policy, with and without windows and followers, equal the engine."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from etalis.columnar.repetition import counted as repetitions
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.agreement import check

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
COUNTED_BY_CHAINS = (
    "(a(I, X) seq b(I, _) ntimes 2) cnot c(I, _)",
    "((a(I, X) seq b(I, _) ntimes 2) cnot c(I, _)) seq c(_, X)",
    "(a(I, X) seq b(I, _) star_times) cnot b(_, 1)",
    "(a(I, _) seq b(I, X) ntimes (1, 2)) within 8",
    "((a(I, _) seq b(I, X) star_times) check (t2(T), T > 5)) seq c(I, _)",
    "(b(I, X) ntimes (2, 3) check (t1(S), t2(T), T > S + 3)) seq c(I, _)",
    "(b(I, _) star_times seq c(I, X)) within 8",
    "(a(I, X) seq c(I, _)) cnot (b(I, _) ntimes 2 seq b(_, 1))",
    "a(I, X) seq (b(I, _) seq c(I, _)) ntimes 2",
)
TESTED = (
    "(a(I, X) seq b(I, _) star_times seq c(I, Y)) check (t1(S), t2(T), T > S + 4)",
    "((a(I, X) seq b(I, _) star_times) check (t1(S), t2(T), T > S + 3)) seq c(I, Y)",
    "((a(I, X) seq b(I, _) ntimes (2, 3)) cnot c(_, X)) cnot c(I, 1)",
    "(a(I, X) seq b(I, _) ntimes 2 seq c(I, Y)) cnot c(_, Y)",
    "((a(I, X) seq b(I, _) ntimes 2 seq c(I, Y)) cnot c(I, _)) cnot b(_, X)",
    "((b(I, X) ntimes (2, 3)) where I > 0) seq c(I, Y)",
    "((b(I, X) star_times) check (t1(S), t2(T), T > S + 2)) seq c(I, Y)",
    "((a(I, X) seq b(I, _) star_times) fnot c(X, _)) seq c(_, X)",
    "(a(I, X) seq b(I, _) ntimes 2) event_multiply (Z = 1 ; Z = 2)",
    "((c(I, _) seq a(I, X)) seq b(I, _) ntimes 2) cnot c(_, X)",
    "((b(I, X) ntimes 2) within 4) cnot a(I, _)",
    "(b(I, X) star_times seq c(I, Y)) cnot a(_, Y)",
    "((b(I, X) ntimes (1, 2) seq c(I, Y)) cnot a(_, _)) cnot b(I, 1)",
)
GROUPED = (
    "(a(I, _) seq b(I, X) ntimes (1, 2)) within 8",
    "a(I, _) seq b(I, X) star_times",
    "a(I, _) seq b(I, X) ntimes 2 seq c(I, X)",
    "(a(I, X) seq b(I, Y) ntimes 2) where X =< Y",
    "((a(I, X) seq b(I, Z) ntimes 2) where Z > 0) seq c(I, _)",
    "((a(I, _) seq b(I, X) star_times) check (t2(T), T > 5)) seq c(I, _)",
    "((a(I, _) seq b(I, X) ntimes (1, 2) seq c(_, X)) cnot c(I, X)) within 9",
)
COUNTED_BY_VARIABLES = (
    "a(I, X) seq b(I, _) ntimes X",
    "a(I, X) seq b(I, _) ntimes (X, 2) seq c(I, _)",
    "(a(I, X) seq c(_, Y)) seq b(I, _) ntimes (X, Y)",
    "a(I, N) seq b(I, X) ntimes (1, N) seq c(I, X)",
    "a(I, X) seq ((b(I, _) ntimes X) within 5)",
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


def count_over_columns(bodies: Sequence[str], policy: str, seeds: Sequence[int]) -> int:
    """Check bodies over streams, and return how many ran over columns."""
    return sum(check(f"r(I, X) <- {body}.", stream(seed), policy) for body in bodies for seed in seeds)


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_to_the_engine(policy: str) -> None:
    least = {"unrestricted": 38, "cumulative": 14}.get(policy, 36)
    assert count_over_columns(BODIES, policy, (1, 2)) >= least


def test_chains_are_equal_to_the_engine() -> None:
    assert count_over_columns(COUNTED_BY_CHAINS, "unrestricted", (1, 2, 3)) == 3 * len(COUNTED_BY_CHAINS)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_asked_before(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetitions, "_ROWS", 4)
    assert count_over_columns(TESTED, policy, (1, 2)) >= {"cumulative": 4, "snoop_recent": 20}.get(policy, 26)


@pytest.mark.parametrize("policy", POLICIES)
def test_groups_that_a_left_side_does_not_tell(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetitions, "_ROWS", 7)
    assert count_over_columns(GROUPED, policy, (1, 2)) == 2 * (3 if policy == "cumulative" else len(GROUPED))


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "cumulative"])
def test_numbers_that_variables_tell(policy: str) -> None:
    assert count_over_columns(COUNTED_BY_VARIABLES, policy, (1, 2)) == 2 * len(COUNTED_BY_VARIABLES)
