"""Values of parameters: text, or what a type of XML Schema makes of it, as the engine compares it.

What does not convert is no value. Values of different types are never equal: an integer is an integer, the others are
terms that name their type. Times without a zone are of UTC; numbers are equal by value, `2.50` and `2.5` as decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from etalis.data.values import Struct, decimal_text

Bound: TypeAlias = str | int | bool | Decimal | datetime  # what results are bound to
PREFIX = "xsd:"
_DIGITS = 1_000
_INTEGER = re.compile(rf"[+-]?[0-9]{{1,{_DIGITS}}}")
_DECIMAL = re.compile(rf"[+-]?(?:[0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{0,{_DIGITS}}})?|\.[0-9]{{1,{_DIGITS}}})")
_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6})0*)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}
_SPACE = " \t\r\n"


def convert(text: str, type: str | None) -> Any | None:  # noqa: A002  the word of the notation
    """Return the value of a text under a type, as the engine holds it; None if it is none.

    >>> convert("2006", None), convert(" 2006 ", "xsd:integer"), convert("MMVI", "xsd:integer")
    ('2006', 2006, None)
    >>> convert("2.50", "xsd:decimal") == convert("+2.5", "xsd:decimal"), convert("1", "xsd:boolean")
    (True, boolean(true))
    """
    return text if type is None else TYPES[type](text.strip(_SPACE))


def _integer(text: str) -> Any | None:
    return int(text) if _INTEGER.fullmatch(text) else None


def _decimal(text: str) -> Any | None:
    if _DECIMAL.fullmatch(text) is None:
        return None
    sign = "-" if text.startswith("-") else ""
    whole, _, rest = text.lstrip("+-").partition(".")
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    digits = f"{whole}.{rest}" if rest else whole
    return Struct("decimal", (digits if digits == "0" else sign + digits,))


def _boolean(text: str) -> Any | None:
    found = _BOOLEANS.get(text)
    return None if found is None else Struct("boolean", (found,))


def _moment(text: str) -> Any | None:
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    *numbers, fraction, zone = parts.groups()
    try:
        year, month, day, hour, minute, second = map(int, numbers)
        moment = datetime(year, month, day, hour, minute, second, int((fraction or "").ljust(6, "0")), UTC)
        moment -= _offset(zone)
    except (ValueError, OverflowError):
        return None
    return Struct("dateTime", (moment.isoformat(),))


def _offset(zone: str | None) -> timedelta:
    """Return how far a zone is ahead of UTC; a ValueError if there is none so far."""
    if zone is None or zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        raise ValueError(zone)
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


TYPES: dict[str, Callable[[str], Any | None]] = {
    "xsd:integer": _integer,
    "xsd:decimal": _decimal,
    "xsd:boolean": _boolean,
    "xsd:dateTime": _moment,
}


def bound(value: Any) -> Bound:
    """Return the value that the engine holds as results tell it.

    >>> bound(convert("2.50", "xsd:decimal")), bound(convert("true", "xsd:boolean")), bound("Boy")
    (Decimal('2.5'), True, 'Boy')
    """
    if isinstance(value, Struct):
        text = str(value.args[0])
        if value.name == "boolean":
            return text == "true"
        return Decimal(text) if value.name == "decimal" else datetime.fromisoformat(text)
    return value if isinstance(value, int) else str(value)


def write_bound(value: Bound) -> tuple[str, str | None]:
    """Return the text of a value and its type, None for text.

    >>> write_bound(2006), write_bound(True), write_bound("2006")
    (('2006', 'xsd:integer'), ('true', 'xsd:boolean'), ('2006', None))
    """
    match value:
        case bool():
            return ("true" if value else "false"), "xsd:boolean"
        case int():
            return str(value), "xsd:integer"
        case Decimal():
            return format(value, "f"), "xsd:decimal"
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z"), "xsd:dateTime"
        case str():
            return value, None


def read_bound(text: str, type: str | None) -> Bound:  # noqa: A002
    """Return the value of a text and its type, the opposite of `write_bound`."""
    value = convert(text, type)
    return text if value is None else bound(value)


def value_to_plain(value: Any) -> Any:
    """Return the value that the engine holds as plain data.

    >>> [value_from_plain(value_to_plain(convert("1", type))) for type in (None, "xsd:integer", "xsd:decimal")]
    ['1', 1, decimal('1')]
    """
    if isinstance(value, Struct):
        return [value.name, value.args[0]]
    return ["integer", decimal_text(value)] if isinstance(value, int) else value


def value_from_plain(plain: Any) -> Any:
    """Return the value of plain data, the opposite of `value_to_plain`."""
    if isinstance(plain, str):
        return plain
    name, text = plain
    return int(text) if name == "integer" else Struct(name, (text,))
