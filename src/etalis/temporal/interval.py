"""Time stamps and intervals: integers of microseconds; numbers outside are seconds, or of the unit that is named.

One conversion for every way in: a naive time is UTC, what is finer than a microsecond is rounded to the nearest, a tie
to the even one, and a time outside the years 1 to 9999 is refused, since it is nearly always of another unit.
Law: `hull` is associative and commutative, so a composite's interval does not depend on how it was binarized.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from etalis.data.scalars import is_numpy_time, show, to_python

MICROSECONDS = 1_000_000
EARLIEST = -62_135_596_800 * MICROSECONDS  # 0001-01-01T00:00:00
LATEST = 253_402_300_800 * MICROSECONDS - 1  # 9999-12-31T23:59:59.999999
CLOCK_FROM = 100_000_000 * MICROSECONDS  # later than 1973: a date, not a count of seconds
UNITS: Mapping[str, Fraction] = MappingProxyType(
    {"s": Fraction(MICROSECONDS), "ms": Fraction(1_000), "us": Fraction(1), "ns": Fraction(1, 1_000)}
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)
_YEAR = 31_556_952 * MICROSECONDS  # the mean one
_NUMPY_UNITS = MappingProxyType(
    {
        **{unit: Fraction(n * MICROSECONDS) for unit, n in (("W", 604_800), ("D", 86_400), ("h", 3_600), ("m", 60))},
        **UNITS,
        **{unit: Fraction(1, 10**n) for unit, n in (("ps", 6), ("fs", 9), ("as", 12))},
    }
)
_FINER = MappingProxyType({"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"})
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FINE = re.compile(r"(.*[T ]\d\d:?\d\d:?\d\d)[.,](\d{7,})(.*)", re.ASCII)  # Python would cut these digits off
_WITH_MICROSECONDS = len("2026-01-31T12:00:00.000000")
_HUGE = 60  # digits before the point: no time has so many, in any unit
_FINITE = 1e290  # a double up to which all units are finite


class TimeRangeError(ValueError):
    """A time outside the years 1 to 9999."""


def to_time(moment: object, unit: str = "s") -> int:
    """Turn a number, a datetime or date, ISO 8601 text, or a number as text into microseconds since 1970.

    Numbers are counted in `unit`. A ValueError says what is wrong, a `TimeRangeError` where the time lies.

    >>> to_time(2), to_time(1500, "ms"), to_time("1.5"), to_time("1970-01-01T01:00:02+01:00"), to_time(date(1970, 1, 2))
    (2000000, 1500000, 1500000, 2000000, 86400000000)
    """
    plain = moment if type(moment) in (int, str) else to_python(moment)
    time = _parse(plain, unit) if isinstance(plain, str) else _convert(plain, unit)
    if not EARLIEST <= time <= LATEST:
        raise TimeRangeError(_explain_range(moment, time, unit))
    return time


def to_microseconds(amount: object, unit: str = "s") -> int:
    """Turn a number of a unit, or a timedelta, into microseconds, of any size; ValueError if it is none.

    A float is scaled as a double, as NumPy does it, and then rounded; all else is exact.

    >>> to_microseconds(2), to_microseconds(Fraction(1, 3)), to_microseconds(2500, "ns"), to_microseconds(3500, "ns")
    (2000000, 333333, 2, 4)
    """
    scale = UNITS[unit]
    match amount:
        case bool():
            raise ValueError("a truth value is not a time")
        case int():
            return int(amount) * scale.numerator if scale.denominator == 1 else round(int(amount) * scale)
        case float() if math.isfinite(amount) and abs(amount) > _FINITE:  # as a double, the product would be infinite
            return round(Fraction(float(amount)) * scale)
        case float() if math.isfinite(amount):
            number = float(amount)
            return round(number * scale.numerator if scale.denominator == 1 else number / scale.denominator)
        case Decimal() if amount.is_finite() and abs(amount.adjusted()) <= _HUGE:
            return round(Fraction(amount) * scale)
        case Decimal() if amount.is_finite() and amount.adjusted() < 0:
            return 0
        case Fraction():
            return round(amount * scale)
        case timedelta():
            return _with_nanoseconds(amount // timedelta(microseconds=1), getattr(amount, "nanoseconds", 0))
    raise ValueError("a time is missing" if amount is None else f"{show(amount)} is not a time")


def _convert(moment: object, unit: str) -> int:
    if isinstance(moment, datetime):
        return _since_epoch(moment)
    if isinstance(moment, date):
        return _since_epoch(datetime(moment.year, moment.month, moment.day))
    return _from_numpy(moment) if is_numpy_time(moment) else to_microseconds(moment, unit)


def _parse(text: str, unit: str) -> int:
    """Read a number of a unit, or a moment in the forms of ISO 8601 that Python knows."""
    is_short = len(text) <= _WITH_MICROSECONDS and (text[19:20] == "." or "." not in text) and "," not in text
    if is_short and text[4:5] == "-":  # a date, so no number, and without digits that would be cut off
        try:
            return _since_epoch(datetime.fromisoformat(text))
        except ValueError:
            pass
    stripped = str.strip(text)
    try:
        if _NUMBER.fullmatch(stripped):
            return to_microseconds(Decimal(stripped), unit)
        fine = _FINE.fullmatch(stripped) if stripped.isascii() else None
        if fine is None:
            return _since_epoch(datetime.fromisoformat(stripped))
        return _since_epoch(datetime.fromisoformat(fine[1] + fine[3])) + round(Fraction(f"0.{fine[2]}") * MICROSECONDS)
    except (ValueError, ArithmeticError):
        raise ValueError(f"{show(text)} is not a time") from None


def _since_epoch(moment: datetime) -> int:
    since = moment - (_NAIVE_EPOCH if moment.utcoffset() is None else _EPOCH)
    whole = (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds
    return _with_nanoseconds(whole, getattr(moment, "nanosecond", 0))  # those of pandas have them


def _with_nanoseconds(whole: int, rest: int) -> int:
    return round(Fraction(whole * 1_000 + rest, 1_000)) if rest else whole


def _from_numpy(moment: Any) -> int:
    """Turn a moment or span of NumPy into microseconds; it is counted in multiples of a unit, weeks to attoseconds."""
    import numpy as np

    unit, multiple = np.datetime_data(moment.dtype)
    count = int(moment.astype(np.int64)) * multiple
    if unit in _NUMPY_UNITS:
        return round(count * _NUMPY_UNITS[unit])
    if unit not in ("Y", "M") or isinstance(moment, np.timedelta64):
        raise ValueError(f"{show(moment)} is not a time")
    years = count // (1 if unit == "Y" else 12)
    if abs(years) >= 10_000:  # NumPy would overflow without a word
        return years * _YEAR
    return int(moment.astype("datetime64[us]").astype(np.int64))


def _explain_range(moment: object, time: int, unit: str) -> str:
    """Say where a time lies, and in which unit it would be one of our days."""
    year = max(10_000, 1970 + time // _YEAR) if time > 0 else min(0, 1970 + time // _YEAR)
    where = f"lies in the year {year}" if abs(year) < 10**9 else "lies far from the years 1 to 9999"
    is_number = isinstance(moment, int | float | str | Decimal)
    scales = [(name, time * UNITS[finer] / UNITS[unit]) for finer, name in _FINER.items() if is_number]
    likely = [name for name, meant in scales if 0 <= meant < 200 * _YEAR]
    return f"{show(moment)} {where}" + (f": is it in {likely[0]}?" if likely else "")


def to_seconds(time: int) -> int | float:
    """Turn microseconds into seconds, whole ones as int.

    >>> to_seconds(2_000_000), to_seconds(500_000)
    (2, 0.5)
    """
    seconds, rest = divmod(time, MICROSECONDS)
    return seconds if not rest else time / MICROSECONDS


def to_datetime(time: int) -> datetime:
    """Turn microseconds into a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=time)


def show_moment(time: int) -> str:
    """Write microseconds in a message: seconds, and after 1973 the date that they probably are.

    >>> show_moment(1_500_000), show_moment(1_772_442_060_000_000)
    ('1.5', '1772442060 (2026-03-02T09:01:00Z)')
    """
    date = f" ({to_iso(time)})" if CLOCK_FROM <= time <= LATEST else ""
    return f"{to_seconds(time)}{date}"


def to_iso(time: int) -> str:
    """Write microseconds as a moment of ISO 8601 in UTC.

    >>> to_iso(2_000_000), to_iso(1_500_000)
    ('1970-01-01T00:00:02Z', '1970-01-01T00:00:01.500000Z')
    """
    return to_datetime(time).replace(tzinfo=None).isoformat() + "Z"
