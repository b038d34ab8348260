"""Events from the future: a dead letter each, and the engine goes on as if it had not come."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.runtime.lateness.future_events import find_ahead

MINUTE = 60
RULES = "pair(X, Y) <- a(X) seq b(Y). late(X) <- a(X) seq (not b(X) within 5)."
PLAIN = "pair(X, Y) <- a(X) seq b(Y)."
HELD = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). "
ARRIVES = HELD + ":- set_flag(reporting, on_arrival). "
REVISED = ":- set_flag(revision_flag, on). :- set_flag(revision_window, 1000). "


def test_a_row_from_the_future_is_a_dead_letter_and_moves_nothing() -> None:
    engine = etalis.compile(RULES).engine(ahead=MINUTE)
    assert engine.push("a", 1, at=1_000_000) == ()
    assert engine.push("a", 2, at=1_000_001_000) == ()
    assert (engine.now, engine.dead_letter_count) == (1_000_000, 1)
    assert engine.dead_letters[0].reason == (
        "it ends at 1000001000, more than 60 s after the latest time, 1000000; is its time in milliseconds?"
    )
    assert [str(e) for e in engine.push("b", 1, at=1_000_002)] == ["pair(1, 1) [1000000, 1000002]"]


@pytest.mark.parametrize("ahead", [MINUTE, 60.0, timedelta(minutes=1)])
def test_the_bound_is_seconds_or_a_timedelta(ahead: Any) -> None:
    engine = etalis.compile(PLAIN).engine(ahead=ahead)
    assert list(engine.run([("a", 1, 1), ("b", 1, 62), ("b", 2, 61)])) == [
        etalis.Event.make("pair", (1, 2), 1_000_000, 61_000_000)
    ]
    assert [letter.end for letter in engine.dead_letters] == [62]


def test_an_argument_goes_before_the_flag() -> None:
    program = etalis.compile(":- set_flag(max_ahead, 5). " + PLAIN)
    for ahead, refused in ((None, 1), (MINUTE, 0), (-1, 0)):
        engine = program.engine(ahead=ahead)
        list(engine.run([("a", 1, 1), ("b", 1, 30)]))
        assert engine.dead_letter_count == refused


@pytest.mark.parametrize("ahead", [0, -2, "1 parsec", "0 s", float("inf")])
def test_what_is_no_bound_is_refused(ahead: Any) -> None:
    with pytest.raises(ProgramError, match=r"max_ahead takes a positive duration \(90, 10 min\), or -1 for none"):
        etalis.compile(PLAIN).engine(ahead=ahead)


def test_with_a_wall_clock_the_first_row_is_bound_too() -> None:
    now = [datetime(2026, 3, 2, 9, tzinfo=UTC)]
    engine = etalis.compile(PLAIN).engine(ahead=3600, wall=lambda: now[0])
    engine.push("a", 1, at=datetime(2026, 3, 2, 10, 0, 1, tzinfo=UTC))
    assert engine.now is None
    assert "after the wall clock, 1772442000" in engine.dead_letters[0].reason
    engine.push("a", 1, at=datetime(2020, 1, 1, tzinfo=UTC))
    assert len(engine.push("b", 1, at=datetime(2026, 3, 2, 10, tzinfo=UTC))) == 1
    now[0] += timedelta(seconds=1)
    assert list(engine.run([("b", 2, datetime(2026, 3, 2, 10, 0, 1, tzinfo=UTC))])) == []
    assert engine.dead_letter_count == 1


def test_a_correction_from_the_future_changes_nothing() -> None:
    engine = etalis.compile(REVISED + PLAIN).engine(ahead=MINUTE)
    engine.push("a", 1, at=etalis.Stamp(1, id="first"))
    assert engine.correct("first", to=("a", 1, 1000)) == ()
    assert engine.push("rev", "first", at=1000) == ()
    assert (engine.dead_letter_count, engine.now) == (2, 1)
    assert len(engine.push("b", 2, at=2)) == 1


def test_what_finds_no_room_is_held_against_the_bound_first() -> None:
    engine = etalis.compile(PLAIN).engine(ahead=MINUTE, limits={"hard_limit": 1, "shedding": "newest"})
    list(engine.run([("a", 1, 1), ("a", 2, 2), ("a", 3, 1000), ("a", 4, 3)]))
    assert [letter.end for letter in engine.dead_letters] == [2, 1000, 3]
    assert engine.now == 3


@pytest.mark.parametrize("flags", ["", HELD])
def test_a_snapshot_knows_the_latest_time(flags: str) -> None:
    program = etalis.compile(flags + PLAIN)
    engine = program.engine(ahead=MINUTE)
    engine.push("a", 1, at=1)
    again = program.restore(engine.snapshot(), ahead=MINUTE)
    again.push("b", 1, at=1000)
    assert [letter.end for letter in again.dead_letters] == [1000]
    assert len((*again.push("b", 2, at=2), *again.close())) == 1


def test_several_sources_have_one_latest_time() -> None:
    engine = etalis.compile(HELD + PLAIN).engine(ahead=MINUTE, sources=["n", "s"])
    engine.push("a", 1, at=etalis.Stamp(50, source="n"))
    engine.push("b", 1, at=etalis.Stamp(100, source="s"))
    engine.push("b", 2, at=etalis.Stamp(200, source="n"))
    assert [letter.end for letter in engine.dead_letters] == [200]


@pytest.mark.parametrize("rules", [PLAIN, RULES])
@pytest.mark.parametrize("flags", ["", HELD, ARRIVES, REVISED])
def test_all_ways_in_agree_with_the_stream_without_those_rows(flags: str, rules: str) -> None:
    program = etalis.compile(flags + rules)
    for seed in range(30):
        rows = _rows(random.Random(seed), lates=flags in (HELD, ARRIVES))
        ahead = dict(find_ahead([round(row[-1] * 1_000_000) for row in rows], -(1 << 200), 20_000_000))
        clean = [row for place, row in enumerate(rows) if place not in ahead]
        plain = program.engine()
        expected = [*plain.run(clean), *plain.close()]
        for push in (False, True):
            engine = program.engine(ahead=20)
            taken = [e for row in rows for e in engine.push(*row[:-1], at=row[-1])] if push else list(engine.run(rows))
            assert [*taken, *engine.close()] == expected
            assert engine.dead_letter_count == plain.dead_letter_count + len(ahead)


def _rows(chance: random.Random, *, lates: bool) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    time: float = 100
    for _ in range(40):
        time += chance.choice([0, 1, 1, 2, 0.5, 3])
        shift = chance.choice([0, 0, 0, 0, -3, 30, 1_000_000, 20.0000001]) if lates else chance.choice([0, 0, 0, 40])
        rows.append((chance.choice("ab"), chance.randrange(3), time + shift))
    return rows
