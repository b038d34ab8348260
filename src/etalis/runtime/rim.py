"""The rim of the engine: what users give (named attributes, times) becomes places and integers, or a clear refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from etalis.errors import EventError, Problem
from etalis.language.attributes import Signature
from etalis.language.spelling import suggest
from etalis.temporal.interval import MICROSECONDS, to_time


def to_interval(at: Any) -> tuple[int, int]:
    """Turn `at` (seconds, a datetime, or a pair of either) into start and end in microseconds.

    >>> to_interval(3), to_interval((1, 2.5))
    ((3000000, 3000000), (1000000, 2500000))
    """
    if type(at) is int:
        return at * MICROSECONDS, at * MICROSECONDS
    try:
        if isinstance(at, tuple | list):
            start, end = (to_time(t) for t in at)
            if start > end:
                raise EventError(
                    Problem(
                        "E304", f"an interval that ends before it starts: {at!r}", hint="give (start, end), start first"
                    )
                )
            return start, end
        time = to_time(at)
        return time, time
    except (TypeError, ValueError, OverflowError) as error:
        hint = "give seconds, a datetime, or a pair (start, end) of these"
        raise EventError(Problem("E303", f"{at!r} is not a time", hint=hint)) from error


def to_instant(at: Any) -> int:
    """Turn `at` (seconds or a datetime) into microseconds."""
    start, end = to_interval(at)
    if start != end:
        raise EventError(Problem("E303", f"{at!r} is an interval, not a moment", hint="give seconds or a datetime"))
    return end


def arrange(name: str, signature: Signature, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Put named attributes into their places."""
    if not signature:
        hint = f"declare the attributes: `:- event({name}(attribute: type, ...)).`, or give them by position"
        raise EventError(Problem("E302", f"{name} has no declared attributes, so none can be given by name", hint=hint))
    places = [a for a, _ in signature]
    for given in named:
        if given not in places:
            near = suggest(given, places, f"{name} has {', '.join(places)}")
            raise EventError(Problem("E302", f"{name} has no attribute {given}", hint=near))
        if places.index(given) < len(args):
            raise EventError(
                Problem("E302", f"{name}: {given} is given twice", hint="by position or by name, not both")
            )
    missing = [a for a in places[len(args) :] if a not in named]
    if missing:
        raise EventError(Problem("E302", f"{name} lacks {', '.join(missing)}", hint="give None for what is not known"))
    return (*args, *(named[a] for a in places[len(args) :]))
