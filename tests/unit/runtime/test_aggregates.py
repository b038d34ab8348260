"""What aggregates keep: of a window what is in it, of everything so far what it has come to; corrections are exact."""

from __future__ import annotations

import math
import random

import pytest

import etalis
from etalis.runtime.operators.mixed_window import MixedWindow, window_of
from etalis.runtime.operators.sliding import SlidingWindow
from etalis.runtime.operators.two_stacks import fold
from etalis.runtime.reporting import inspection
from etalis.temporal.aggregate import FOLDS

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")]


def held(engine: etalis.Engine) -> int:
    return inspection.count(engine.core.rules, None)


@pytest.mark.parametrize("kind", ["count", "sum(X)", "avg(X)", "min(X)", "max(X)", "first(X)", "last(X)"])
def test_everything_so_far_is_one_thing_per_group(kind: str) -> None:
    engine = etalis.compile(f"r(G, R) <- aggregate({kind}, a(G, X), R).").engine()
    found = list(engine.run(("a", i % 3, i / 7, i) for i in range(3_000)))
    assert len(found) == 3_000
    assert held(engine) == 3
    assert len(engine.snapshot()) < 20_000


def test_groups_go_when_their_elements_have_left() -> None:
    engine = etalis.compile("r(G, R) <- aggregate(sum(X), a(G, X), R) within 10.").engine()
    for i in range(3_000):
        engine.push("a", i, 0.5, at=i)
    assert held(engine) <= 22
    engine.advance(to=5_000)
    assert held(engine) == 0


def test_a_group_that_stays_is_kept() -> None:
    engine = etalis.compile("r(G, R) <- aggregate(count, a(G), R) within 10.").engine()
    found = [e for i in range(200) for e in engine.push("a", 1 if i % 3 else i, at=i) if e.args[0] == 1]
    assert max(e.args[1] for e in found) == 8
    assert held(engine) < 40


def test_a_sum_is_that_of_its_window_however_it_was_reached() -> None:
    chance = random.Random(1)
    values = [chance.choice((1, -1)) * chance.random() * 10.0 ** chance.randrange(-20, 20) for _ in range(500)]
    program = etalis.compile("r(R) <- aggregate(sum(X), a(X), R) last 7. m(M) <- aggregate(avg(X), a(X), M).")
    engine = program.engine()
    for i, value in enumerate(values):
        found = {e.name: e.args[0] for e in engine.push("a", value, at=i)}
        assert found["r"] == math.fsum(values[max(0, i - 6) : i + 1])
        assert found["m"] == math.fsum(values[: i + 1]) / (i + 1)
        if i % 50 == 0:
            engine = program.restore(engine.snapshot())


def test_an_element_that_is_taken_back_leaves_no_trace() -> None:
    text = (
        ":- set_flag(revision_flag, on). :- set_flag(revision_window, 100). r(R) <- aggregate(sum(X), a(X), R) last 3."
    )
    program = etalis.compile(text)
    one, other = program.engine(), program.engine()
    for i, value in enumerate((0.1, 1e16, 0.2, -3, 0.7)):
        one.push("a", value, at=i)
        if value != 1e16:
            other.push("a", value, at=i)
    one.retract("a", 1e16, at=1)
    assert [e.args for e in one.push("a", 0.3, at=9)] == [e.args for e in other.push("a", 0.3, at=9)]


def test_an_extreme_that_goes_makes_place_for_the_next() -> None:
    engine = etalis.compile("r(R) <- aggregate(max(X), a(X), R) within 50.").engine()
    chance = random.Random(2)
    held: list[tuple[int, object]] = []
    for at in range(400):
        value = chance.choice((chance.randrange(9), chance.random() * 9, "x", chance.randrange(100)))
        held = [*((t, x) for t, x in held if t >= at - 50), (at, value)]
        texts = [x for _, x in held if isinstance(x, str)]
        numbers = [x for _, x in held if not isinstance(x, str)]
        [found] = engine.push("a", value, at=at)
        assert found.args[0] == ("x" if texts else max(numbers))  # type: ignore[type-var]


@pytest.mark.parametrize("name", FOLDS)
def test_windows_come_to_what_is_in_them(name: str) -> None:
    """Whatever leaves first, and whatever a window was made from."""
    row, chance = FOLDS[name], random.Random(name)
    for _ in range(60):
        within, last = chance.choice((None, 5, 9)), chance.choice((None, 1, 3))
        values = (1, 2, 3, 1.5, 2.5, 10**30) if row.numeric else (1, 2, 3, "a", "b", 1.5, (1,))
        window: SlidingWindow | MixedWindow = SlidingWindow(row)
        came: list[tuple[int, object]] = []
        end = 0
        for _ in range(40):
            end += chance.choice((0, 0, 1, 2))
            item = end - chance.choice((0, 0, 1, 4, 7)), chance.choice(values)
            came.append(item)
            if window.items and item[0] < window.items[-1][0]:
                window = MixedWindow(row, window)
            found = window.slide(item, None if within is None else end - within, last)
            taken = [x for x in came if within is None or x[0] >= end - within]
            taken = taken if last is None else taken[-last:]
            expected = (fold(row, taken), min(start for start, _ in taken)) if taken else (None, 0)
            assert repr(found) == repr(expected)
            if chance.random() < 0.05:
                window = window_of(row, list(window))
