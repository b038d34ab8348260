"""Literals of xsd:dateTime and xsd:duration: their texts, values and parts.

A moment is counted in seconds since 1970, exactly; without a zone it is some moment within 14 hours of the one in UTC.
A duration is months and seconds. Law: `read_moment(write_moment(n)).seconds == n` for whole microseconds.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from etalis.logic.sparql.errors import ExpressionError
from etalis.temporal.interval import MICROSECONDS

XSD = "http://www.w3.org/2001/XMLSchema#"
DATE_TIME, DURATION = XSD + "dateTime", XSD + "duration"
DAY_TIME_DURATION, YEAR_MONTH_DURATION = XSD + "dayTimeDuration", XSD + "yearMonthDuration"
UNDECIDED = Fraction(14 * 3_600)  # a moment without zone is at most so far from the one in UTC

LONGEST_TIME = 10.0**15  # seconds, far beyond the times of events

_MOST = 100  # characters
_REMEMBERED = 1_024
_ERA = 400  # years after which the calendar repeats
_ERA_DAYS = 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_MOMENT = re.compile(
    r"(-?(?:[1-9]\d{4,9}|\d{4}))-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_DURATION = re.compile(
    r"(-)?P(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class MomentLiteral:
    """A dateTime: its text, its seconds since 1970 (as if in UTC where it names no zone), and its zone in minutes."""

    text: str
    seconds: Fraction
    zone: int | None


@dataclass(frozen=True, slots=True)
class DurationLiteral:
    """A duration of one of the three types: its text, months and seconds."""

    text: str
    months: int
    seconds: Fraction
    datatype: str = DURATION


def read_moment(text: str) -> MomentLiteral | None:
    """Read a dateTime; None if the text is none.

    >>> read_moment("1970-01-01T01:00:00.5+01:00").seconds
    Fraction(1, 2)
    """
    found = _MOMENT.fullmatch(text) if len(text) <= _MOST else None
    if found is None:
        return None
    year, month, day, hour, minute = map(int, found.group(1, 2, 3, 4, 5))
    second, zone = Fraction(found[6]), _read_zone(found[7])
    last = hour == 24 and minute == second == 0
    if (hour > 23 and not last) or minute > 59 or second >= 60 or (zone is not None and abs(zone) > 14 * 60):
        return None
    eras, within = divmod(year - 1, _ERA)
    try:
        days = date(within + 1, month, day).toordinal() + eras * _ERA_DAYS - _EPOCH
    except ValueError:
        return None
    return MomentLiteral(text, days * 86_400 + hour * 3_600 + (minute - (zone or 0)) * 60 + second, zone)


def _read_zone(text: str | None) -> int | None:
    if text is None or text == "Z":
        return None if text is None else 0
    if int(text[4:]) > 59:
        return 15 * 60  # more than there is
    minutes = int(text[1:3]) * 60 + int(text[4:])
    return -minutes if text[0] == "-" else minutes


def write_moment(seconds: Fraction) -> MomentLiteral:
    """Return the moment so many seconds after 1970, in UTC.

    >>> write_moment(Fraction(5, 2)).text
    '1970-01-01T00:00:02.5Z'
    """
    days, rest = divmod(seconds, 86_400)
    eras, within = divmod(days + _EPOCH - 1, _ERA_DAYS)
    day = date.fromordinal(within + 1)
    minutes, second = divmod(rest, 60)
    year = day.year + eras * _ERA
    written = f"{year:04}" if year >= 0 else f"-{-year:04}"
    whole = f"{written}-{day.month:02}-{day.day:02}T{minutes // 60:02}:{minutes % 60:02}:"
    return MomentLiteral(f"{whole}{_write_seconds(second, 2)}Z", seconds, 0)


def _write_seconds(seconds: Fraction, width: int = 1) -> str:
    whole, rest = divmod(round(seconds * MICROSECONDS), MICROSECONDS)
    return f"{whole:0{width}}" + (f".{rest:06}".rstrip("0") if rest else "")


def read_duration(text: str, datatype: str = DURATION) -> DurationLiteral | None:
    """Read a duration of a type; None if the text is none.

    >>> read_duration("-P1DT1.5S").seconds
    Fraction(-172803, 2)
    """
    return _read_duration(text, datatype) if len(text) <= _MOST else None


@functools.lru_cache(_REMEMBERED)
def _read_duration(text: str, datatype: str) -> DurationLiteral | None:
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    minus, *given = found.groups()
    years, months, days, hours, minutes, seconds = (Fraction(part or 0) for part in given)
    if (datatype == DAY_TIME_DURATION and (given[0] or given[1])) or (
        datatype == YEAR_MONTH_DURATION and any(given[2:])
    ):
        return None
    sign = -1 if minus else 1
    length = days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    return DurationLiteral(text, sign * int(years * 12 + months), sign * length, datatype)


def write_duration(seconds: Fraction, datatype: str = DURATION) -> DurationLiteral:
    """Return the duration of so many seconds.

    >>> write_duration(Fraction(90)).text, write_duration(Fraction(0)).text, write_duration(Fraction(-86400)).text
    ('PT1M30S', 'PT0S', '-P1D')
    """
    minutes, second = divmod(abs(seconds), 60)
    days, minutes = divmod(minutes, 1_440)
    parts = [f"{minutes // 60}H"] if minutes >= 60 else []
    parts += [f"{minutes % 60}M"] if minutes % 60 else []
    parts += [f"{_write_seconds(second)}S"] if second or not (parts or days) else []
    text = ("-" if seconds < 0 else "") + "P" + (f"{days}D" if days else "") + ("T" + "".join(parts) if parts else "")
    return DurationLiteral(text, 0, seconds, datatype)


def length_of(duration: DurationLiteral) -> Fraction:
    """Return the seconds of a duration; one with months has no length."""
    if duration.months:
        raise ExpressionError("a month has no fixed length")
    return duration.seconds


def moment_parts(moment: MomentLiteral) -> tuple[int, int, int, int, int, float]:
    """Return year, month, day, hours, minutes and seconds of a moment in its own zone; seconds are a decimal."""
    found = _MOMENT.fullmatch(moment.text)
    assert found is not None
    year, month, day, hour, minute = map(int, found.group(1, 2, 3, 4, 5))
    if hour == 24:
        return moment_parts(write_moment(moment.seconds + 60 * (moment.zone or 0)))
    return year, month, day, hour, minute, float(found[6])


def zone_text(moment: MomentLiteral) -> str:
    """Return the zone as it is written: `Z`, `-05:00`, or nothing."""
    found = _MOMENT.fullmatch(moment.text)
    assert found is not None
    return found[7] or ""


def as_seconds(number: int | float) -> Fraction:
    """Return a number of seconds exactly, to the microsecond that a float stands for."""
    if number.__class__ is int:
        return Fraction(number)
    return Fraction(round(number * MICROSECONDS), MICROSECONDS)
