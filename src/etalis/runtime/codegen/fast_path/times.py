"""How generated code reads the time of an event: as microseconds, by the type that it comes in.

Whole seconds, floats and datetimes are converted in line, as `to_time` does it, a datetime by the time since its day
began; every other form of a moment by one call. What is no moment (an interval, a stamp, no time at all) is
`BEGINNING`, which is never in order: the general way says what becomes of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from etalis.data.scalars import to_python
from etalis.errors import EventError
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import BEGINNING
from etalis.temporal.event import Shown
from etalis.temporal.interval import MICROSECONDS, to_time
from etalis.temporal.time_input import are_dates, to_interval


class Moments:
    """Reads times in generated code, and notes where one is a date."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._call = self.read
        self._day, self._begun = datetime.min, 0  # the day of the last moment that was a date, also in microseconds

    def write(self, code: Code, *, in_loop: bool) -> None:
        """Write that `t` is the moment `at`; outside of a loop, which knows the day, all but seconds by a call."""
        with code.block("if type(at) is int:"):
            code(f"t = at * {MICROSECONDS}")
        if not in_loop:
            with code.block("elif type(at) is float and -1e15 < at < 1e15:"):
                code(f"t = {code.constant(round)}(at * {MICROSECONDS})")
        with code.block("else:"):
            if in_loop:
                self._write_common(code)
            else:
                code(f"t = {code.constant(self._call)}(at)")

    def _write_common(self, code: Code) -> None:
        with code.block("try:"):
            with code.block("if type(at) is float:"):
                code(f"t = {code.constant(round)}(at * {MICROSECONDS})")
            with code.block(f"elif type(at) is {code.constant(datetime)}:"):
                with code.block("try:"):
                    code("since = at - day")
                    code("if since.days: raise TypeError")
                with code.block("except TypeError:"):
                    code(f"(day, begun) = {code.constant(_day_of)}(at)")
                    code("since = at - day")
                code(f"t = begun + since.seconds * {MICROSECONDS} + since.microseconds")
                code(f"{code.constant(self._shown)}.dates = True")
            with code.block("else:"):
                code(f"t = {code.constant(self._call)}(at)")
        # not finite, or of a time zone that tells no offset
        with code.block("except (TypeError, ValueError, OverflowError):"):
            code(f"t = {code.constant(BEGINNING)}")

    def read(self, at: Any) -> int:
        """Return a moment in any form; `BEGINNING` for what is none."""
        if type(at) is datetime:
            return self._read_date(at)
        at = to_python(at)
        if type(at) is int:
            return at * MICROSECONDS
        try:
            start, end = to_interval(at)
        except EventError:
            return BEGINNING
        if start != end:
            return BEGINNING
        if not self._shown.dates and are_dates(at):
            self._shown.dates = True
        return end

    def _read_date(self, at: datetime) -> int:
        try:
            since = at - self._day
            if since.days:
                raise TypeError
        except TypeError:  # another day, or a time zone where there was none
            try:
                self._day, self._begun = _day_of(at)
                since = at - self._day
            except (TypeError, ValueError, OverflowError):
                return BEGINNING
        self._shown.dates = True
        return self._begun + since.seconds * MICROSECONDS + since.microseconds


def _day_of(moment: datetime) -> tuple[datetime, int]:
    """Return the beginning of a moment's day in UTC, also in microseconds; naive if the moment is."""
    zone = None if moment.tzinfo is None else UTC
    here = moment if zone is None else moment.astimezone(zone)
    day = datetime(here.year, here.month, here.day, tzinfo=zone)
    return day, to_time(day)
