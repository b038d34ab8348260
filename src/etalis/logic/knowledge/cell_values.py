"""Cells of tables and typed literals as values: times and durations are numbers of seconds (definition 5.2).

A date is its midnight, a time of day the seconds since midnight, a date and time without a zone is in UTC; whole
seconds are integers. A decimal number is the nearest float, since facts have no declared types, one without fractional
digits an integer; lists and structs are converted inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from etalis.data.scalars import is_numpy_time, to_python
from etalis.data.values import MAX_DEPTH, Value, real, to_value
from etalis.errors import EventError, Problem
from etalis.logic.terms.unify import Term, from_value
from etalis.temporal.interval import MICROSECONDS, to_microseconds, to_time

XSD = "http://www.w3.org/2001/XMLSchema#"


def seconds(microseconds: int) -> Value:
    """Return a time as a value: whole seconds are an integer.

    >>> seconds(2_000_000), seconds(2_500_000)
    (2, 2.5)
    """
    whole, rest = divmod(microseconds, MICROSECONDS)
    return real(microseconds / MICROSECONDS) if rest else whole


def to_term(cell: object) -> Term:
    """Turn a cell into a term; what cannot be one is refused as an attribute of an event would be.

    >>> to_term(date(1970, 1, 2)), to_term([True, timedelta(milliseconds=500)])
    (86400, ('[|]', 'true', ('[|]', 0.5, ())))
    """
    try:
        return from_value(to_value(_simplify(cell, 0)))
    except ValueError as error:
        raise EventError(Problem("E301", str(error), hint="give seconds, or a date and time")) from None


def _simplify(cell: Any, depth: int) -> Any:
    """Return a cell without the types that only tables have; what it leaves alone, `to_value` takes or refuses."""
    cell = to_python(cell)
    if is_numpy_time(cell):
        return seconds(to_time(cell))
    match cell:
        case datetime() | date():
            return seconds(to_time(cell))
        case timedelta():
            return seconds(to_microseconds(cell))
        case time():
            return seconds(to_time(datetime.combine(date(1970, 1, 1), cell.replace(tzinfo=None))))
        case Decimal() if cell.is_finite() and int(cell.as_tuple().exponent) < 0:
            return float(cell)
        case list() | tuple() if depth <= MAX_DEPTH:
            return [_simplify(item, depth + 1) for item in cell]
        case dict() if depth <= MAX_DEPTH:
            return {key: _simplify(item, depth + 1) for key, item in cell.items()}
    return cell


# cells of text

_CANONICAL = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BEGINNING = frozenset("-0123456789")
_LONG = 4_000  # digits


def parse_cell(text: str) -> Value:
    """Read a cell of no declared type: an integer in its shortest form, a float as in JSON, else text.

    >>> [parse_cell(t) for t in ("7", "7.5", "basel", "7e3", "007", "+1", "")]
    [7, 7.5, 'basel', 7000.0, '007', '+1', 'null']
    """
    if text == "":
        return "null"
    if text[0] not in _BEGINNING:
        return text
    if _CANONICAL.fullmatch(text):
        return parse_digits(text)
    return to_value(float(text)) if _FLOAT.fullmatch(text) else text


def parse_digits(text: str) -> int:
    """Read an integer of any length (Python refuses very long ones)."""
    return int(text) if len(text) < _LONG else int(Decimal(text))


# literals of XML Schema

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)?")
_DURATION = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_DOUBLE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN")
_TRUTH = MappingProxyType({"true": "true", "1": "true", "false": "false", "0": "false"})


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text.strip())
    if found is None or not text.isascii():
        raise ValueError(text)
    return found


def _offset(zone: str | None) -> int:
    """Return what is added to a local time, in seconds, to have UTC."""
    if zone in (None, "Z"):
        return 0
    assert zone is not None
    return (-1 if zone[0] == "+" else 1) * (int(zone[1:3]) * 3_600 + int(zone[4:6]) * 60)


def _moment(text: str) -> Value:
    day, hour, minute, second, fraction, zone = _matched(_MOMENT, text).groups()
    if int(hour) > 24 or int(minute) > 59 or int(second) > 59 or (int(hour) == 24 and (minute, second) != ("00", "00")):
        raise ValueError(text)
    clock = int(hour) * 3_600 + int(minute) * 60 + int(second) + _offset(zone)
    return seconds(to_time(date.fromisoformat(day)) + round((clock + Fraction(fraction or 0)) * MICROSECONDS))


def _day(text: str) -> Value:
    day, zone = _matched(_DAY, text).groups()
    return seconds(to_time(date.fromisoformat(day)) + _offset(zone) * MICROSECONDS)


def _duration(text: str) -> Value:
    sign, *parts = _matched(_DURATION, text).groups()
    if not any(parts):
        raise ValueError(text)
    days, hours, minutes, rest = (Fraction(part or 0) for part in parts)
    length = round((days * 86_400 + hours * 3_600 + minutes * 60 + rest) * MICROSECONDS)
    return seconds(-length if sign else length)


def _truth(text: str) -> Value:
    return _TRUTH[text.strip()]


def _whole(text: str) -> Value:
    return int(_matched(_WHOLE, text)[0])


def _decimal(text: str) -> Value:
    return real(float(_matched(_DECIMAL, text)[0]))


def _double(text: str) -> Value:
    return to_value(float(_matched(_DOUBLE, text)[0]))


_WHOLE_TYPES = (
    *("integer", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
    *("long", "int", "short", "byte", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
)

LITERALS: Mapping[str, Callable[[str], Value]] = MappingProxyType(
    {
        **{XSD + name: _whole for name in _WHOLE_TYPES},
        XSD + "decimal": _decimal,
        XSD + "double": _double,
        XSD + "float": _double,
        XSD + "boolean": _truth,
        XSD + "dateTime": _moment,
        XSD + "dateTimeStamp": _moment,
        XSD + "date": _day,
        XSD + "dayTimeDuration": _duration,
    }
)


def literal(text: str, datatype: str) -> Value:
    """Return the value of a typed literal; one of an unknown type is its text. ValueError if the text is none.

    >>> literal("2026-03-02T09:00:00+01:00", XSD + "dateTime"), literal("1.50", XSD + "decimal"), literal("x", "mine")
    (1772438400, 1.5, 'x')
    """
    read = LITERALS.get(datatype)
    if read is None:
        return text
    try:
        return read(text)
    except (KeyError, OverflowError):
        raise ValueError(text) from None
