"""Durations as users write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from etalis.tables.schema import refuse
from etalis.temporal.interval import to_microseconds

_UNITS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
_UNITS |= {"day": 86_400 * 10**6, "us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", re.IGNORECASE)


def to_duration(name: str, given: Any) -> int:
    """Turn seconds, a timedelta or a text such as "10 minutes" into microseconds.

    >>> to_duration("lateness", "10 minutes"), to_duration("lateness", 1.5)
    (600000000, 1500000)
    """
    length = None
    if isinstance(given, str) and (found := _DURATION.fullmatch(given)) and found[2].lower() in _UNITS:
        length = round(float(found[1]) * _UNITS[found[2].lower()])
    elif isinstance(given, int | float | timedelta) and not isinstance(given, bool):
        length = to_microseconds(given)
    if length is None or length < 0:
        raise refuse("E605", f"{name} is {given!r}", f'give seconds, a timedelta, or a text: {name}="10 minutes"')
    return length
