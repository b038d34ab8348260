"""Moments of the calendar as terms: `datetime(Y, M, D, H, Mi, S)`, `datime` in the original's own programs.

A seventh argument counts on within the second, in microseconds. Law: both spellings mean the same wherever a moment is
read; UTC, every day has 86,400 seconds, a second may have a fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from etalis.temporal.interval import to_time

SPELLINGS = ("datetime", "datime")
_LENGTHS = (6, 7)


def is_calendar(name: str, arity: int) -> bool:
    """Tell whether a term of this kind is a moment of the calendar."""
    return name in SPELLINGS and arity in _LENGTHS


def calendar_time(name: str, args: Sequence[Any]) -> int:
    """Turn a moment into microseconds; raise a ValueError or TypeError if it is none.

    >>> calendar_time("datime", (1970, 1, 1, 0, 0, 1, 5))
    1000005
    """
    if not is_calendar(name, len(args)) or any(isinstance(arg, str) for arg in args):
        raise ValueError(name)
    year, month, day, hour, minute, second, *counter = args
    whole = int(second)
    moment = to_time(datetime(year, month, day, hour, minute, whole, tzinfo=UTC))
    return moment + round((Fraction(second) - whole) * 1_000_000) + (int(counter[0]) if counter else 0)
