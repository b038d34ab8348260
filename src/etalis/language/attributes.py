"""Attributes of events as values of their declared types, whoever gives them: the host, a file, or a goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from etalis.errors import EventError, Problem
from etalis.logic.scalars import show, to_python
from etalis.logic.term import Value, format_value, real, to_value
from etalis.temporal.interval import MICROSECONDS, TimeRangeError, to_time

Signature = tuple[tuple[str, str], ...]  # (attribute, type) of a declared event


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
        return tuple(map(to_value, args))
    if len(args) != len(signature):
        hint = f"declared: {name}({', '.join(a for a, _ in signature)})"
        raise EventError(Problem("E302", f"{name} takes {len(signature)} attributes, not {len(args)}", hint=hint))
    return tuple(convert_one(name, attribute, kind, a) for (attribute, kind), a in zip(signature, args, strict=True))


def convert_one(name: str, attribute: str, kind: str, given: Any) -> Value:
    """Turn one attribute into a value of its declared type; null passes everywhere."""
    if kind == "time":
        return time_value(name, attribute, given)
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
    given = to_python(given)
    if given is None or (isinstance(given, str) and given == "null"):
        return "null"
    try:
        seconds, rest = divmod(to_time(given), MICROSECONDS)
    except ValueError as error:
        hint = f"the event is declared with {attribute}: time"
        found = f"{error}" if isinstance(error, TimeRangeError) else f"not {show(given)}"
        raise EventError(Problem("E305", f"{name}: {attribute} should be a time, {found}", hint=hint)) from None
    return seconds if not rest else real(seconds + rest / MICROSECONDS)
