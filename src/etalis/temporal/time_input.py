"""Times from users to integers of microseconds, or a refusal that says why."""

from __future__ import annotations

from numbers import Number
from typing import Any

from etalis.data.scalars import show
from etalis.errors import EventError, Problem
from etalis.temporal.interval import EARLIEST, LATEST, to_seconds, to_time

_TIMES = "give seconds, a datetime, its text (2026-01-31T12:00:00Z), or a pair (start, end) of these"


def to_interval(at: Any) -> tuple[int, int]:
    """Turn `at` (what `to_time` takes, or a pair of it) into start and end in microseconds.

    >>> to_interval(3), to_interval((1, 2.5))
    ((3000000, 3000000), (1000000, 2500000))
    """
    if not isinstance(at, tuple | list):
        time = _to_time(at)
        return time, time
    if len(at) != 2:
        raise EventError(Problem("E303", f"{show(at)} is not a time: an interval has a start and an end", hint=_TIMES))
    start, end = map(_to_time, at)
    if start > end:
        hint = "give (start, end), start first"
        raise EventError(Problem("E304", f"an interval that ends before it starts: {show(at)}", hint=hint))
    return start, end


def are_dates(at: Any) -> bool:
    """Tell whether one of the times in `at` is no number: a datetime, a date, or its text."""
    if at.__class__ is int or at.__class__ is float:
        return False
    return any(not isinstance(each, Number) for each in (at if isinstance(at, tuple | list) else (at,)))


def check_times(start: int, end: int) -> tuple[int, int]:
    """Return the times of an event in microseconds, if they are times."""
    for time in (start, end):
        if not EARLIEST <= time <= LATEST:
            _to_time(to_seconds(time))
    return start, end


def _to_time(at: Any) -> int:
    try:
        return to_time(at)
    except ValueError as error:
        raise EventError(Problem("E303", str(error), hint=_TIMES)) from None


def to_instant(at: Any) -> int:
    """Turn `at` (what `to_time` takes) into microseconds."""
    start, end = to_interval(at)
    if start != end:
        hint = "give seconds, a datetime or its text"
        raise EventError(Problem("E303", f"{show(at)} is an interval, not a moment", hint=hint))
    return end
