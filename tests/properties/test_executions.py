"""The search finds what the meaning says: path, bindings, the last state with its order, and how far what fails got."""

from __future__ import annotations

from random import Random

import pytest

from etalis.data.values import Real, Struct
from etalis.reactive.execution import Label, SearchLimits
from etalis.reactive.meaning import SearchEndError
from helpers.action_runs import all_executions, by_meaning, by_search, is_legal
from helpers.examples import IS_NIGHT
from helpers.random_actions import random_changes, random_program

COUNT = 20_000 if IS_NIGHT else 300
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_random_actions(part: int) -> None:
    for number in range(part, COUNT, PARTS):
        rng = Random(number)
        program, action = random_program(number)
        if not is_legal(program):
            program = program[: program.index("always")]
        limits = SearchLimits(rng.choice((60, 60, 60, 7)), rng.choice((4_000, 4_000, 4_000, 40, 12)))
        refused = frozenset(Label("effect", Struct("e", (n,))) for n in rng.sample((1, 2, 3), rng.choice((0, 0, 1, 2))))
        expected = by_meaning(program, action, limits, refused)
        assert by_search(program, action, limits, refused) == expected, (number, program, action)
        if not refused and expected.why in (None, "no execution", "illegal state"):
            _compare_with_first(number, program, action, None if expected.why else (expected.path, expected.state))


def _compare_with_first(
    number: int, program: str, action: str, expected: tuple[tuple[str, ...], tuple[str, ...]] | None
) -> None:
    """What is remembered changes no path: without it the first execution is the same."""
    try:
        first = next(all_executions(program, action, SearchLimits(60, 20_000)), None)
    except SearchEndError:
        return  # too much to try all of it
    assert first == expected, (number, program, action)


def test_random_changes_in_sequence() -> None:
    """What is done without a search, with values of every kind, is what is meant."""
    values = (1, 2, "a", Real(2.0), (1, "a"), Struct("f", (1,)), ())
    refused = frozenset((Label("effect", Struct("e", (1, Struct("g", (2,))))),))
    for number in range(COUNT):
        rng = Random(number)
        program, action = random_changes(number)
        given = {"X": rng.choice(values), "Y": rng.choice(values)}
        without = refused if number % 3 == 0 else frozenset()
        expected = by_meaning(program, action, None, without, given)
        assert by_search(program, action, None, without, given) == expected, (number, program, action, given)
