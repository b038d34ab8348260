"""The rim of the engine: what users give (names, attributes, times) becomes values and integers, or a clear refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from etalis.errors import EventError, Problem
from etalis.language.spelling import suggest
from etalis.logic.term import Value, format_value, real, to_value
from etalis.temporal.interval import to_time

Signature = tuple[tuple[str, str], ...]  # (attribute, type) of a declared event


def to_interval(at: Any) -> tuple[int, int]:
    """Turn `at` (seconds, a datetime, or a pair of either) into start and end in microseconds.

    >>> to_interval(3), to_interval((1, 2.5))
    ((3000000, 3000000), (1000000, 2500000))
    """
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


def to_int(value: Value) -> Value:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return value
    raise TypeError


def to_float(value: Value) -> Value:
    if isinstance(value, int):
        return real(float(value))
    if isinstance(value, float):
        return value
    raise TypeError


def to_string(value: Value) -> Value:
    if isinstance(value, str):
        return value
    raise TypeError


def to_bool(value: Value) -> Value:
    if value in ("true", "false"):
        return value
    raise TypeError


def same(value: Value) -> Value:
    return value


CONVERSIONS: Mapping[str, Callable[[Value], Value]] = {
    "int": to_int, "float": to_float, "string": to_string, "bool": to_bool, "term": same,
}  # fmt: skip


def convert(name: str, signature: Signature, args: tuple[Any, ...]) -> tuple[Value, ...]:
    """Turn attributes into values, of their declared types where there are some."""
    if not signature:
        return tuple(to_value(a) for a in args)
    return tuple(convert_one(name, attribute, kind, a) for (attribute, kind), a in zip(signature, args, strict=True))


def convert_one(name: str, attribute: str, kind: str, given: Any) -> Value:
    """Turn one attribute into a value of its declared type; null passes everywhere."""
    if kind == "time":
        return given if isinstance(given, int) and not isinstance(given, bool) else time_value(name, attribute, given)
    value = to_value(given)
    if value == "null":
        return value
    try:
        return CONVERSIONS[kind](value)
    except TypeError:
        shown = format_value(value)
        hint = f"the event is declared with {attribute}: {kind}"
        raise EventError(
            Problem("E305", f"{name}: {attribute} should be of type {kind}, not {shown}", hint=hint)
        ) from None


def time_value(name: str, attribute: str, given: Any) -> Value:
    """Turn a time attribute into seconds: whole ones as an integer."""
    if given is None or given == "null":
        return "null"
    try:
        seconds, rest = divmod(to_time(given), 1_000_000)
    except TypeError:
        hint = f"the event is declared with {attribute}: time"
        raise EventError(Problem("E305", f"{name}: {attribute} should be a time, not {given!r}", hint=hint)) from None
    return seconds if not rest else real(seconds + rest / 1_000_000)


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
