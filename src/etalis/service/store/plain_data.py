"""What an entry of an engine says, as bytes: rows in whatever form they come, texts, options.

Scalars are themselves in MessagePack, anything else a list whose first item says what it is. Law: what is read is what
was written, but that a subclass of a number or a text is the number or the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import msgspec

from etalis.data.values import Struct, decimal_text
from etalis.errors import InputError, Problem
from etalis.runtime.lateness.watermark import Stamp
from etalis.temporal.event import AS_DATES, AS_SECONDS, Event, EventKind, Retraction, new_event

_SMALL = 1 << 62


def write_data(data: Mapping[str, Any]) -> bytes:
    """Return data as bytes.

    >>> read_data(write_data({"rows": [("a", 1, 2.5, ["x"]), Event("b", at=3)], "stamp": None}))
    {'rows': [('a', 1, 2.5, ['x']), b [3, 3]], 'stamp': None}
    """
    try:
        return msgspec.msgpack.encode(_plain(dict(data)))
    except UnicodeEncodeError:
        hint = "send text in UTF-8"
        raise InputError(Problem("E813", "half a character cannot be written into the log", hint=hint)) from None


def read_data(body: bytes) -> dict[str, Any]:
    """Return the data of bytes."""
    found = _value(msgspec.msgpack.decode(body))
    assert isinstance(found, dict)
    return found


def _plain(x: Any) -> Any:
    match x:
        case None | bool() | str() | bytes():
            return x
        case int():
            return int(x) if -_SMALL < x < _SMALL else ["int", decimal_text(x)]
        case float():
            return float(x)
        case Event():
            shown = [[name, _plain(value)] for name, value in zip(x.kind.attributes, x.args, strict=False)]
            values = shown if len(shown) == len(x.args) else [[None, _plain(value)] for value in x.args]
            return ["event", x.name, x.start_time, x.end_time, x.sign, x.kind.shown is AS_DATES, values]
        case Stamp(at=at, id=id, rank=rank, source=source):
            return ["stamp", *map(_plain, (at, id, rank, source))]
        case tuple():
            return ["tuple", *map(_plain, x)]
        case list():
            return ["list", *map(_plain, x)]
        case dict():
            return ["dict", *([str(key), _plain(value)] for key, value in x.items())]
        case Struct(name=name, args=args):
            return ["term", name, *map(_plain, args)]
        case Fraction():
            return ["fraction", decimal_text(x.numerator), decimal_text(x.denominator)]
        case Decimal():
            return ["decimal", str(x)]
        case datetime():
            return ["datetime", x.isoformat()]
        case _:
            hint = "send numbers, texts, lists, terms and times"
            raise InputError(Problem("E813", f"a {type(x).__name__} cannot be written into the log", hint=hint))


def _value(plain: Any) -> Any:
    return _READERS[plain[0]](*plain[1:]) if isinstance(plain, list) else plain


def _event(name: str, start: int, end: int, sign: int, dates: bool, values: list[list[Any]]) -> Event:
    names = tuple(name for name, _ in values if name is not None)
    kind = EventKind(name, len(values), None, names)
    kind.shown = AS_DATES if dates else AS_SECONDS
    return new_event(Event if sign > 0 else Retraction, (end, start, kind, *(_value(value) for _, value in values)))


_READERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "int": int,
        "event": _event,
        "stamp": lambda *parts: Stamp(*map(_value, parts)),
        "tuple": lambda *items: tuple(map(_value, items)),
        "list": lambda *items: list(map(_value, items)),
        "dict": lambda *pairs: {key: _value(value) for key, value in pairs},
        "term": lambda name, *args: Struct(name, map(_value, args)),
        "fraction": lambda numerator, denominator: Fraction(int(numerator), int(denominator)),
        "decimal": Decimal,
        "datetime": datetime.fromisoformat,
    }
)
