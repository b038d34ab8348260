"""Timers fall due in one order, whether they stand in a lane or in the heap; who has met a partner is forgotten."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import pytest

import etalis
from etalis.runtime.deadlines.timers import LEVELS, MOST_LANES, NEVER, Pending, Tag, Timer, Timers
from etalis.runtime.deadlines.unmatched import LEAST_TRIM, Unmatched, shared_with

pytestmark = pytest.mark.fast

OWNER = Pending()


def timer(due: int, since: int, sequence: int, tag: Tag | None = None) -> Timer:
    return due, -since, sequence, OWNER, (), tag


def steps_of(timers: Timers) -> list[list[int]]:
    """Return the sequence numbers of all steps, in order."""
    found = []
    while timers:
        assert timers.due == min(each[0] for each in timers)
        found.append([each[2] for each in timers.pop_step()])
    assert timers.due == NEVER
    return found


def filled(timers: list[Timer], *, lanes: int) -> Timers:
    """Return timers of which some stand in lanes: each lane in order, as they are set."""
    found = Timers(count(1).__next__)
    own = [found.lane(place, 0) for place in range(lanes)]
    for each in sorted(timers, key=lambda x: x[:3]):
        lane = own[each[2] % lanes] if lanes and each[2] % 3 else None
        if lane is None:
            found.add(each)
        else:
            lane.append(each)
            found.due = min(found.due, each[0])
    return found


@pytest.mark.parametrize("lanes", [0, 1, 3])
def test_steps_do_not_depend_on_lanes(lanes: int) -> None:
    rng = random.Random(4)
    tags = [None, Tag(None, "x")]
    timers = [timer(rng.randrange(9), rng.randrange(4), number, rng.choice(tags)) for number in range(200)]
    timers += [timer(3, 3, (1 << LEVELS) + number) for number in range(200, 210)]
    assert steps_of(filled(timers, lanes=lanes)) == steps_of(filled(timers, lanes=0))


def test_a_step_is_of_one_moment_level_and_partition() -> None:
    tag = Tag(None, "x")
    timers = Timers(count(1).__next__)
    for each in (timer(5, 2, 1), timer(5, 2, 2, tag), timer(5, 2, 3), timer(5, 4, 4), timer(5, 2, (1 << LEVELS) + 5)):
        timers.add(each)
    assert steps_of(timers) == [[4], [1, 3], [2], [(1 << LEVELS) + 5]]


def test_there_are_few_lanes() -> None:
    timers = Timers(count(1).__next__)
    lanes = [timers.lane(place, 0) for place in range(MOST_LANES + 1)]
    assert lanes[-1] is None
    assert timers.lane(0, 0) is lanes[0]


def test_a_restored_instance_is_that_of_its_store() -> None:
    stored: dict[Any, Any] = {"k": [(1, 0, 5), (1, 0, 5), (2, 0, 6)], "one": (7, 1, 1)}
    found = shared_with(stored, [("k", (2, 0, 6)), ("k", (1, 0, 5)), ("one", (7, 1, 1)), ("gone", (3, 3, 3))])
    assert [payload[1] is stored["k"][place] for payload, place in zip(found, (2, 0), strict=False)] == [True, True]
    assert found[2][1] is stored["one"]
    assert found[3] == ("gone", (3, 3, 3))


@pytest.mark.parametrize("text", ["r(X) <- (a(X) and? b) within 1000000.", "r(X) <- a(X) equals? b."])
def test_who_has_met_is_forgotten(text: str) -> None:
    engine = etalis.compile(text).engine(policy="unrestricted")
    (owner,) = [part for part in engine.core.rules.memory.values() if isinstance(part, Unmatched)]
    engine.push("b", at=0)
    for moment in range(10 * LEAST_TRIM):
        engine.push("a", 1, at=moment)
        engine.push("b", at=moment)
    assert len(owner.met) <= 2 * LEAST_TRIM
