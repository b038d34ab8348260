"""Rows that cannot be read: dead letters of `run` where someone asks for them, and nothing of the others changes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import etalis
from etalis.errors import EtalisError
from etalis.runtime.lateness.watermark import DeadLetter

DECLARED = ":- event(a(x: int)). :- event(b(x: int)). "
RULES = "pair(X, Y) <- a(X) seq b(Y)."
HELD = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). "
FLAGS = {
    "plain": "",
    "held": HELD,
    "arrives": HELD + ":- set_flag(reporting, on_arrival). ",
    "revised": ":- set_flag(revision_flag, on). :- set_flag(revision_window, 1000). ",
    "limited": ":- set_flag(hard_limit, 1000). ",
}
GOOD = [("a", 1, 1), ("b", 2, 2), ("a", 3, 3), ("b", 4, 4)]
BAD: list[Any] = [
    ("a", "one", 2), ("a", float("nan"), 2), ("a", 1, 2, 2), ("a", 1, None), ("a", 1, (3, 2)), {"event": "a"}, 7,
    {"event": "a", "at": 2, "y": 1},
]  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_run_goes_on_behind_a_row_that_cannot_be_read(flags: str) -> None:
    """Shows definition 19.9."""
    program = etalis.compile(DECLARED + flags + RULES)
    plain = program.engine()
    expected = [*plain.run(GOOD), *plain.close()]
    for place in range(len(GOOD) + 1):
        letters: list[DeadLetter] = []
        engine = program.engine(on_dead_letter=letters.append)
        assert [*engine.run([*GOOD[:place], *BAD, *GOOD[place:]]), *engine.close()] == expected
        assert len(letters) == len(BAD) == engine.dead_letter_count
    assert letters[0] == DeadLetter("a", ("one",), 2, 2, "a: x should be of type int, not one")
    assert (letters[1].args, letters[3].end) == (("nan",), None)
    assert all(letter.to_json() for letter in letters)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("row", BAD, ids=str)
def test_without_anyone_who_asks_it_is_an_error(flags: str, row: Any) -> None:
    engine = etalis.compile(DECLARED + flags + RULES).engine()
    with pytest.raises(EtalisError):
        list(engine.run([*GOOD, row]))


def test_push_of_one_bad_event_is_an_error() -> None:
    engine = etalis.compile(DECLARED + RULES).engine(on_dead_letter=lambda _: None)
    with pytest.raises(EtalisError, match="x should be of type int"):
        engine.push("a", "one", at=1)


def test_a_snapshot_keeps_what_could_not_be_read() -> None:
    program = etalis.compile(DECLARED + RULES)
    engine = program.engine(on_dead_letter=lambda _: None)
    list(engine.run([("a", "one", None)]))
    again = program.restore(engine.snapshot())
    assert again.dead_letters == engine.dead_letters
    assert again.dead_letters[0].start is None


def test_what_was_not_taken_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    program = etalis.compile(RULES)
    with caplog.at_level(logging.WARNING, logger="etalis.engine"):
        list(program.engine().run([("a", 1, 5), ("a", 2, 4), ("b", 1, 3)]))
        list(program.engine(on_dead_letter=lambda _: None).run([("a", 1, 5), ("a", 2, 4)]))
        list(program.engine().run(GOOD))
    (record,) = caplog.records
    assert record.getMessage() == (
        "2 events were rejected: on_dead_letter= receives them; the last: b: it ends at 3, but time has reached 5"
    )
