"""One definition of durations: whatever notation tells a length, it is the same, or refused in a sentence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import etalis
from etalis.cli.run import read_ahead
from etalis.errors import ProgramError
from etalis.language.flags import settings
from etalis.language.syntax import Tree
from etalis.spark.durations import to_duration as option
from etalis.temporal.duration import UNITS, DurationError, parse_duration, show_duration, to_duration

ALIKE: tuple[Any, ...] = (
    *(5400, 5400.0, timedelta(minutes=90), "5400", "5400.0", " 5400 s "),
    *("1 h 30 min", "1h30min", "1h 30min", "90 min", "1.5 h", "1.5hours", "1 Hour 30 Minutes"),
    *("PT1H30M", "PT90M", "PT1.5H", "pt1,5h", "P0DT5400S", "5400000 ms", "5400000000 us", "5400000000 µs"),
)


@pytest.mark.parametrize("given", ALIKE, ids=repr)
def test_every_notation_of_a_length_is_the_same(given: Any) -> None:
    assert to_duration(given) == 5_400_000_000
    assert option("lateness", given) == 5_400_000_000


@pytest.mark.parametrize("given", ALIKE, ids=repr)
def test_every_door_takes_every_notation(given: Any) -> None:
    program = etalis.compile("d <- a.", max_ahead=given)
    assert program.compiled.settings.max_ahead == 5_400_000_000
    assert program.engine(ahead=given).run([("a", 0), ("a", 5400)])
    assert settings(Tree(()), {"revision_window": given, "knowledge_horizon": given}).revision_window == 5_400_000_000
    if isinstance(given, str):
        assert read_ahead(given) == 5400


def test_an_engine_holds_events_against_a_bound_in_words() -> None:
    engine = etalis.compile("d <- a.").engine(ahead="10 min")
    engine.push("a", at=0)
    engine.push("a", at=601)
    assert [letter.reason for letter in engine.dead_letters] == [
        "it ends at 601, more than 600 s after the latest time, 0"
    ]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("soon", "E115", "'soon' is no duration"),
        ("", "E115", "'' is no duration"),
        ("PT", "E115", "'PT' is no duration"),
        ("P1DT", "E115", "'P1DT' is no duration"),
        ("1e3", "E115", "is no duration"),
        ("9" * 300, "E115", "is no duration"),
        (True, "E115", "is no duration"),
        (None, "E115", "is no duration"),
        ("-5 s", "E115", "cannot be negative"),
        (-5, "E115", "cannot be negative"),
        ("10 minuts", "E125", "`minuts` is no unit of time"),
        ("10 M", "E126", "the unit `M` can be minutes or months"),
        ("2 months", "E126", "a month has no fixed length"),
        ("1 yr", "E126", "a year has no fixed length"),
        ("P1Y", "E126", "a year has no fixed length"),
        ("P1M", "E126", "a month has no fixed length"),
        ("30 min 1 h", "E127", "`h` cannot follow `min`"),
        ("PT30M1H", "E127", "`hour` cannot follow `minute`"),
        ("100000000 d", "E127", "longer than all time"),
        ("0.5 us", "E128", "finer"),
        ("1500 ns", "E128", "finer"),
        ("0.0000001", "E128", "finer"),
    ],
)
def test_what_is_no_duration_is_refused_in_a_sentence(given: Any, code: str, said: str) -> None:
    with pytest.raises(DurationError) as caught:
        to_duration(given)
    assert caught.value.code == code
    assert said in caught.value.message
    assert caught.value.hint


def test_infinity_is_no_duration() -> None:
    for given in (float("inf"), float("nan")):
        with pytest.raises(ValueError, match="is not a time"):
            to_duration(given)


def test_fine_durations_are_exact() -> None:
    assert to_duration("0.1 s") * 10 == to_duration("1 s")
    assert to_duration("2000 ns") == 2
    assert parse_duration("1 week 1 d 1 h 1 min 1 s 1 ms 1 us") * 10**6 == 694_861_001_001


def test_what_is_shown_is_read_again() -> None:
    for length in (60, 90, 3_600, 3_661, 86_400, 90_061.5, 604_800 * 3 + 1):
        shown = show_duration(round(length * 10**6))
        assert shown is not None
        assert to_duration(shown) == length * 10**6


def test_a_unit_is_one_word_in_small_letters() -> None:
    assert all(name == name.lower() and name.isalpha() for name in UNITS)


def test_a_flag_from_outside_names_the_unit_that_was_meant() -> None:
    with pytest.raises(ProgramError, match=r"E208.*not '10 minuts'\n  hint: did you mean minutes\?"):
        etalis.compile("d <- a.", max_ahead="10 minuts")
