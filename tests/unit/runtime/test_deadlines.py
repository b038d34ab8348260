"""Absences until a deadline in generated code: what waits stays small, and it goes on wherever it was interrupted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import etalis
from etalis.errors import LimitError
from etalis.runtime import ruleset
from etalis.runtime.deadlines.timers import MOST_LANES
from etalis.runtime.operators.blockers import Blockers, LatestBlockers
from etalis.temporal.interval import MICROSECONDS

pytestmark = pytest.mark.fast

IDLE = "idle(X) <- a(X) seq (not a(X) within 10)."
WATCHES = """
    late(X) <- a(X) seq (not b(X) within 20).
    very_late(X) <- late(X) seq (not b(X) within 5).
    quiet(X) <- b(X) seq (not a(X) within 20).
    exceptionAlarm(soon(X), 3) <- a(X).
"""


def rows(count: int) -> Iterator[tuple[Any, ...]]:
    """Yield events of which some come together, some far apart."""
    return ((("a", "b")[i * i % 3 % 2], i * 7 % 11, i // 2 + 30 * (i // 40)) for i in range(count))


def shown(found: Iterator[Any] | list[Any]) -> list[str]:
    return list(map(str, found))


def test_keys_that_come_once_are_forgotten() -> None:
    engine = etalis.compile(IDLE).engine()
    found = sum(len(engine.push("a", number, at=number)) for number in range(2000))
    memory = engine.core.rules.memory.values()
    (blockers,) = (part for part in memory if isinstance(part, Blockers))
    assert found == 1989
    assert len(blockers.groups) < 200
    assert len(blockers.fifo) < 200


def test_a_key_that_comes_again_and_again_stands_in_the_queue_once() -> None:
    engine = etalis.compile(IDLE).engine()
    assert not list(engine.run(("a", number % 3, number) for number in range(2000)))
    (blockers,) = (part for part in engine.core.rules.memory.values() if isinstance(part, Blockers))
    assert set(blockers.groups) == {0, 1, 2}
    assert len(blockers.fifo) == 3


@pytest.mark.parametrize("text", [IDLE, WATCHES])
@pytest.mark.parametrize("place", [1, 17, 63, 120])
def test_a_restored_engine_has_its_timers_in_lanes_and_goes_on(text: str, place: int) -> None:
    program, stream = etalis.compile(text), list(rows(160))
    whole = program.engine()
    expected = shown(list(whole.run(stream)) + list(whole.close()))
    first = program.engine()
    found = shown(list(first.run(stream[:place])))
    second = program.restore(first.snapshot())
    alarms = "soon" in text
    assert len(second.core.state.timers.heap) <= (place if alarms else 0)
    assert found + shown(list(second.run(stream[place:])) + list(second.close())) == expected


@pytest.mark.parametrize("text", [IDLE, f"{IDLE} told(X) <- idle(X)."])
def test_what_is_due_at_once_counts_for_the_event_that_it_precedes(text: str) -> None:
    engine = etalis.compile(text, max_derivations=5).engine()
    for number in range(6):
        engine.push("a", number, at=0)
    with pytest.raises(LimitError, match="one input caused more than 5 events"):
        engine.push("a", 9, at=100)


MANY = """
    one(X) <- a(X) seq (not b(X) within 10).
    two(X, N) <- a(X) seq (not a(N) within 10) where N = X.
    before(X) <- b(X) seq (not a(X) within 4).
    three(X) <- one(X) seq (not before(X) within 10).
    exceptionAlarm(rings(X), 10) <- a(X).
    exceptionAlarm(rings(X), 4) <- b(X).
    both(X) <- rings(X) seq (not one(X) within 4).
"""


@pytest.mark.parametrize("text", [WATCHES, MANY])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_due_together_comes_in_one_order_wherever_it_stands(
    text: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, program = random.Random(seed), etalis.compile(text)
    times = sorted(rng.randrange(120) for _ in range(200))
    stream = [(rng.choice("ab"), rng.randrange(4), at) for at in times]
    found = []
    for own in (True, False):
        if not own:
            monkeypatch.setattr(ruleset, "have_own_lanes", lambda *_: False)
        ran, pushed = program.engine(policy="unrestricted"), program.engine(policy="unrestricted")
        assert bool(ran.core.state.timers.own) == own
        found.append(shown([*ran.run(stream), *ran.close()]))
        each = [match for name, value, at in stream for match in pushed.push(name, value, at=at)]
        assert shown([*each, *pushed.close()]) == found[-1]
    assert found[0] == found[1]
    assert len(found[0]) > 50


def test_lanes_of_rules_that_are_gone_are_used_no_more() -> None:
    engine = etalis.compile("kept(X) <- a(X) seq (not b(X) within 10).").engine()
    for number in range(3 * MOST_LANES):
        engine.insert_rule(f"r{number} rule: r{number}(X) <- a(X) seq (not b(X) within {number + 2}).")
        engine.push("a", number, at=100 * number)
        engine.delete_rule(f"r{number}")
        assert shown(engine.push("b", -1, at=100 * number + 50)) == [
            f"kept({number}) [{100 * number}, {100 * number + 10}]"
        ]
    timers = engine.core.state.timers
    assert len(timers.own) <= MOST_LANES
    assert not timers


def test_what_waits_in_lanes_goes_on_waiting_where_there_are_no_more_such_lanes() -> None:
    engine = etalis.compile("kept(X) <- a(X) seq (not b(X) within 10).").engine(policy="unrestricted")
    engine.push("a", 1, at=0)
    engine.insert_rule("r rule: r(X) <- a(X) and? b(X) within 5.")
    engine.insert_rule("s rule: exceptionAlarm(s(X), X) <- a(X).")
    engine.push("a", 2, at=1)
    assert sorted(shown(engine.push("c", at=50))) == [
        "kept(1) [0, 10]",
        "kept(2) [1, 11]",
        "r(2) [1, 6]",
        "s(2) [3, 3]",
    ]


def test_rules_that_go_take_their_deadlines_along() -> None:
    program = etalis.compile(
        "one rule: x(X) <- a(X) seq (not b(X) within 10). two rule: y(X) <- a(X) seq (not c within 10)."
    )
    engine = program.engine()
    engine.push("a", 1, at=0)
    engine.delete_rule("one")
    engine.push("a", 2, at=5)
    assert [event.name for event in engine.push("b", 3, at=20)] == ["y", "y"]


def test_unread_events_let_time_pass_where_something_is_isolated() -> None:
    engine = etalis.compile("d(X) <- iso(a(X) seq b(X)). y(X) <- a(X) seq (not c within 10).").engine()
    engine.push("a", 1, at=0)
    assert engine.push("other", 5, at=3) == ()  # no rule knows it, so that it disturbs nothing
    assert [event.name for event in engine.push("b", 1, at=4)] == ["d"]
    assert [event.name for event in engine.push("other", 5, at=30)] == ["y"]
    assert engine.report().unread


@pytest.mark.parametrize("at", [1.5, 1e305, float("nan"), float("inf"), -2e14])
def test_a_moment_as_a_float_is_the_same_pushed_and_in_a_row(at: float) -> None:
    program, found = etalis.compile("b(X) <- a(X)."), []
    for way in (lambda e: e.push("a", 1, at=at), lambda e: list(e.run([("a", 1, at)]))):
        try:
            found.append(shown(list(way(program.engine()))))
        except etalis.EtalisError as error:
            found.append([error.problems[0].code])
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [1, 5, 9])
def test_an_older_snapshot_has_all_of_a_key_of_which_the_latest_start_is_taken(count: int) -> None:
    program = etalis.compile(IDLE)
    stream = [("a", number % 2, (number - number % 3 % 2, number)) for number in range(count)]
    rest = [("a", 0, 12), ("a", 1, 40)]
    whole, first = program.engine(), program.engine()
    expected = shown(list(whole.run([*stream, *rest])) + list(whole.close()))
    assert not list(first.run(stream))
    memory = first.core.rules.memory
    (place,) = (place for place, part in memory.items() if isinstance(part, LatestBlockers))
    latest, older = memory[place].groups, Blockers(memory[place].keep, first_only=False, watched=None)
    snapshot, memory[place] = first.snapshot(), older
    for _, key, (start, end) in stream:
        older.note(key, start * MICROSECONDS, end * MICROSECONDS)
    assert sum(map(len, older.groups.values())) == count
    for written in (snapshot, first.snapshot()):
        second = program.restore(written)
        assert second.core.rules.memory[place].groups == latest
        assert shown(list(second.run(rest)) + list(second.close())) == expected


def test_blockers_tell_the_latest_start_of_a_key() -> None:
    blockers = LatestBlockers(10)
    for start, end in ((0, 5), (7, 7), (2, 9)):
        blockers.note("k", start, end)
    assert (blockers.hit("k", 6, 20), blockers.hit("k", 7, 20), blockers.hit("other", 0, 20)) == (True, False, False)
    assert (blockers.groups, list(blockers.fifo)) == ({"k": 7}, [(5, "k")])
    blockers.expire(17)
    assert blockers.groups == {"k": 7}
    blockers.expire(18)
    assert blockers.groups == {}


def test_a_key_stands_in_the_queue_of_blockers_once_however_often_someone_looks() -> None:
    engine = etalis.compile(IDLE).engine()
    for at in range(0, 4000, 20):
        engine.push("a", 1, at=at)
        engine.push("a", 2, at=at)
        engine.push("z", at=at + 15)
        engine.waiting()
    (blockers,) = (part for part in engine.core.rules.memory.values() if isinstance(part, LatestBlockers))
    assert len(blockers.fifo) <= 2


@pytest.mark.parametrize("follows", ["", "s(X) <- r(X). t(X) <- s(X)."])
def test_what_falls_due_after_a_limit_comes_at_its_own_time(follows: str) -> None:
    program = etalis.compile(f"r(X) <- a(X) seq (not b(X) within 2). {follows}", max_derivations=1)
    engine = program.engine(policy="unrestricted")
    for value, at in ((1, 1), (2, 1), (3, 2.5)):
        engine.push("a", value, at=at)
    with pytest.raises(LimitError):
        engine.push("a", 4, at=4)
    assert not engine.advance(to=4)
    engine.push("b", 3, at=4.25)
    assert not engine.close()
