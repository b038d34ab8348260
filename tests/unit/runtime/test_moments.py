"""Times of events come in many forms; `push` reads them as `run` does, whatever came before."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pytest

import etalis
from etalis.errors import EventError

EAST = timezone(timedelta(hours=5, minutes=30))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FORMS: dict[str, list[Any]] = {
    "seconds": [1, 2, 3],
    "floats": [1.5, 2.25, 2.2500004, 2.2500006, 1e6 + 0.1],
    "before 1970": [-2.5, -1.25, -1, 0.000001],
    "mixed": [1, 1.5, "1970-01-01T00:00:02Z", Fraction(10, 3), datetime(1970, 1, 1, 0, 0, 5), date(1970, 1, 2)],
    "naive dates": [datetime(2026, 3, 1, 23, 59, 59, 999_999), datetime(2026, 3, 2), datetime(2026, 3, 2, 0, 0, 0, 1)],
    "dates with zones": [NOON, NOON.astimezone(EAST) + timedelta(hours=1), NOON + timedelta(days=3, microseconds=7)],
    "dates of two kinds": [NOON, datetime(2026, 3, 1, 13), NOON + timedelta(hours=2)],
}


def program() -> etalis.Program:
    return etalis.compile("b(X) <- a(X). pair(X, Y) <- (a(X) seq a(Y)) within 1 d.")


@pytest.mark.parametrize("form", FORMS)
def test_push_reads_moments_as_run_does(form: str) -> None:
    moments = FORMS[form]
    expected = list(program().engine().run([("a", i, at) for i, at in enumerate(moments)]))
    pushed, ended = program().engine(), program().engine()
    found = [event for i, at in enumerate(moments) for event in pushed.push("a", i, at=at)]
    general = [event for i, at in enumerate(moments) for event in ended.push("a", i, at=(at, at))]
    assert list(map(repr, found)) == list(map(repr, expected)) == list(map(repr, general))
    assert [event.name for event in found].count("b") == len(moments)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -float("inf"), 1e300, None, "soon", True])
def test_what_is_no_moment_is_refused_by_push_after_any_other(at: object) -> None:
    engine = program().engine()
    for before in (1, 2.5, datetime(2026, 3, 1, tzinfo=UTC)):
        engine.push("a", 1, at=before)
        with pytest.raises(EventError):
            engine.push("a", 2, at=at)
    assert len(engine.push("a", 3, at=datetime(2026, 3, 1, 1, tzinfo=UTC))) == 2


def test_engines_of_one_program_do_not_share_the_day() -> None:
    one, two = program().engine(), program().engine()
    for hour in range(3):
        (b, *_) = one.push("a", hour, at=NOON + timedelta(hours=hour))
        (c, *_) = two.push("a", hour, at=datetime(2020, 1, 1 + hour))
        assert (b.end_datetime, c.end_datetime) == (
            NOON + timedelta(hours=hour),
            datetime(2020, 1, 1 + hour, tzinfo=UTC),
        )
