"""How generated code reads the time of an event: as microseconds, by the type that it comes in.

Whole seconds, floats and datetimes are converted in line, as `to_time` does it, a datetime by the time since its day
began; every other form of a moment by one call. What is no moment (an interval, a stamp, no time at all) is
`BEGINNING`, which is never in order: the general way says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import CellType
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
        self._day, self._begun = CellType(None), CellType(None)  # the day of the last date

    def begin(self, code: Code) -> None:
        """Say where a function that reads moments finds the day of the last one: its own, or what all calls share."""
        if code.long_running:
            code("day = begun = None")
        else:
            code.shared.update(day=self._day, begun=self._begun)

    def write(self, code: Code, take_interval: Callable[[], None] | None = None) -> None:
        """Write that `t` is the moment `at`; what is done with most intervals may be written first."""
        with code.block("if type(at) is int:"):
            code(f"t = at * {MICROSECONDS}")
        if take_interval is not None:
            with code.block("elif type(at) is tuple:"):
                take_interval()
                code(f"t = {code.constant(BEGINNING)}")
        with code.block("else:"):
            self._write_other(code)

    def write_interval(self, code: Code) -> None:
        """Write that `t1` and `t` are the start and end `at`, or that None is returned."""
        with code.block("try:"):
            code("(t1, t) = at")
        with code.block("except ValueError:"):
            code("return None")
        with code.block("if type(t1) is int and type(t) is int:"):
            code.add([f"t1 *= {MICROSECONDS}", f"t *= {MICROSECONDS}"])
        with code.block("else:"):
            code(f"found = {code.constant(self.read_interval)}(at)")
            code("if found is None: return None")
            code("(t1, t) = found")

    def _write_other(self, code: Code) -> None:
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
        if type(at) is tuple or type(at) is list:
            interval = self.read_interval(at)
            return interval[1] if interval is not None and interval[0] == interval[1] else BEGINNING
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

    def read_interval(self, at: Sequence[Any]) -> tuple[int, int] | None:
        """Return an interval in any form; None for what is none."""
        try:
            start, end = at
            if type(start) is int and type(end) is int:
                return start * MICROSECONDS, end * MICROSECONDS
            if type(start) is float and type(end) is float:
                return round(start * MICROSECONDS), round(end * MICROSECONDS)
            read = to_interval(at)
        except (EventError, TypeError, ValueError, OverflowError):
            return None
        if not self._shown.dates and are_dates(at):
            self._shown.dates = True
        return read


def _day_of(moment: datetime) -> tuple[datetime, int]:
    """Return the beginning of a moment's day in UTC, also in microseconds; naive if the moment is."""
    zone = None if moment.tzinfo is None else UTC
    here = moment if zone is None else moment.astimezone(zone)
    day = datetime(here.year, here.month, here.day, tzinfo=zone)
    return day, to_time(day)
