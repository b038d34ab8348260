"""Time stamps and intervals: integers of microseconds; numbers outside are seconds.

Law: `hull` is associative and commutative, so a composite's interval does not depend on how it was binarized.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

MICROSECONDS = 1_000_000
EARLIEST = -62_135_596_800 * MICROSECONDS  # the first moment of the year 1
LATEST = 253_402_300_800 * MICROSECONDS - 1  # the last one of the year 9999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)


def to_time(moment: object) -> int:
    """Turn seconds (int, float, Fraction, Decimal) or a datetime (naive means UTC) into microseconds.

    >>> to_time(2), to_time(0.5), to_time(datetime(1970, 1, 1, 0, 1))
    (2000000, 500000, 60000000)
    """
    if isinstance(moment, bool):
        raise TypeError("a truth value is not a time")
    if isinstance(moment, int):
        return moment * MICROSECONDS
    if isinstance(moment, float):
        return round(moment * MICROSECONDS)
    if isinstance(moment, datetime):
        since = moment - (_EPOCH if moment.tzinfo is not None else _NAIVE_EPOCH)
        return (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds
    if isinstance(moment, Fraction | Decimal):
        return round(moment * MICROSECONDS)
    if isinstance(moment, date):
        return to_time(datetime(moment.year, moment.month, moment.day))
    if isinstance(moment, timedelta):
        return moment // timedelta(microseconds=1)
    raise TypeError(f"{type(moment).__name__} is not a time")


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
