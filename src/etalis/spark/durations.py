"""Durations of options of streams and pipelines, and what is said about those that are none."""

from __future__ import annotations

from typing import Any

from etalis.tables.schema import refuse
from etalis.temporal import duration


def to_duration(name: str, given: Any) -> int:
    """Turn seconds, a timedelta or a text such as "10 min" into microseconds.

    >>> to_duration("lateness", "10 minutes"), to_duration("lateness", 1.5)
    (600000000, 1500000)
    """
    try:
        return duration.to_duration(given)
    except duration.DurationError as error:
        hint = f'give seconds, a timedelta, or a text: {name}="10 min"' if error.code == "E115" else error.hint
        raise refuse("E605", f"{name} is {given!r}", hint) from None
    except ValueError:
        raise refuse("E605", f"{name} is {given!r}", f'give seconds, a timedelta, or a text: {name}="10 min"') from None
