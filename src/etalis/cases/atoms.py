"""Ground atoms with their times, as case files have them: text <-> events.

They are read here, by a reader of their own, so that an expectation never passes through the code it judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from etalis.data.values import Struct, Value, real
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.interval import MICROSECONDS, to_time

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?)
        |(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
        |(?P<name>[^\W\dA-Z_]\w*|\[\]|[-+*/<>=:]+)
        |(?P<sign>[(),\[\]]))""",
    re.VERBOSE,
)
_RATIO = re.compile(r"-?\d+/\d*[1-9]\d*")
_VARIABLE = re.compile(r"\s*([A-Z_]\w*)")
_ESCAPES = {"n": "\n", "t": "\t"}


def read_value(text: str) -> Value:
    """Read a ground term as the value it stands for.

    >>> read_value("f('A b', [1, 2.0])")
    f('A b',[1,2.0])
    """
    tokens = _tokens(text)
    first = next(tokens, None)
    if first is None:
        raise ValueError("a term is missing")
    value, rest = _value(first, tokens)
    if rest is not None:
        raise ValueError(f"{rest[1]!r} after the end of a term in {text!r}")
    return value


_Lexeme: TypeAlias = tuple[str, str]


def _tokens(text: str) -> Iterator[_Lexeme]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            found = _VARIABLE.match(text, place)
            why = "" if found is None else f"; a constant that begins so is quoted: '{found[1]}'"
            raise ValueError(f"no ground term: {text!r} at {text[place:]!r}{why}")
        place = found.end()
        kind = found.lastgroup
        assert kind is not None
        yield kind, found[kind]


class _Named(Struct):
    """A term that is written `name: value`."""

    __slots__ = ()


def _value(token: _Lexeme, tokens: Iterator[_Lexeme]) -> tuple[Value, _Lexeme | None]:
    """Read one term that begins with `token`; return it and the token after it."""
    kind, text = token
    after = next(tokens, None)
    if kind == "number":
        return (real(float(text)) if "." in text else int(text)), after
    if token == ("sign", "["):
        items, after = _values(after, tokens, "]")
        return tuple(items), after
    if kind == "sign":
        raise ValueError(f"a term cannot begin with {text!r}")
    name = _unquote(text) if kind == "quoted" else text
    if after == ("sign", "("):
        args, after = _values(next(tokens, None), tokens, ")")
        return Struct(name, args), after
    if after == ("name", ":"):
        value, after = _value(_next(tokens), tokens)
        return _Named(":", [name, value]), after
    return (() if text == "[]" else name), after


def _next(tokens: Iterator[_Lexeme]) -> _Lexeme:
    token = next(tokens, None)
    if token is None:
        raise ValueError("a value is missing behind ':'")
    return token


def _values(token: _Lexeme | None, tokens: Iterator[_Lexeme], close: str) -> tuple[list[Value], _Lexeme | None]:
    values: list[Value] = []
    while token is not None and token != ("sign", close):
        value, token = _value(token, tokens)
        values.append(value)
        if token == ("sign", ","):
            token = next(tokens, None)
        elif token is not None and token != ("sign", close):
            raise ValueError(f"',' or {close!r} is missing before {token[1]!r}")
    if token is None:
        raise ValueError(f"{close!r} is missing")
    return values, next(tokens, None)


def _unquote(text: str) -> str:
    quote, inner = text[0], text[1:-1]
    inner = inner.replace(quote * 2, quote)
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), inner)


def read_event(line: str) -> Event:
    """Read `1 a(x)`, `1..3 a(x)` or, attributes by name, `1 a(card: x)` as an event.

    >>> read_event("1..2.5 a(1)"), read_event("1 a(card: x, amount: 5)")["amount"]
    (a(1) [1, 2.5], 5)
    """
    stamp, _, text = line.strip().partition(" ")
    first, _, last = stamp.partition("..")
    start, end = read_time(first), read_time(last or first)
    value = read_value(text)
    name, args = (value.name, value.args) if isinstance(value, Struct) else (value, ())
    if not isinstance(name, str):
        raise ValueError(f"{text.strip()} is no event")
    names = tuple(arg.args[0] for arg in args if isinstance(arg, _Named))
    if not names:
        return Event.make(name, args, start, end)
    if len(names) < len(args):
        raise ValueError(f"of the attributes of {name} some have names and some have none")
    kind = EventKind(name, len(args), None, names)
    return new_event(Event, (end, start, kind, *(arg.args[1] for arg in args)))


def read_time(text: str) -> int:
    """Read seconds, rationals allowed, or a date and time (`2026-03-02T09:00:00Z`) as microseconds."""
    return to_time(Fraction(text) if _RATIO.fullmatch(text) else text)


def write_event(event: Event) -> str:
    """Write an event as a line that `read_event` reads.

    >>> write_event(read_event("1..2.50 a('B', [1])")), write_event(read_event("3 b"))
    ("1..2.5 a('B', [1])", '3 b')
    """
    start, end = write_time(event.start_time), write_time(event.end_time)
    return f"{start if start == end else f'{start}..{end}'} {event.atom}"


def write_time(time: int) -> str:
    """Write microseconds as seconds, exactly.

    >>> write_time(2_500_000), write_time(-1), write_time(0)
    ('2.5', '-0.000001', '0')
    """
    whole, part = divmod(abs(time), MICROSECONDS)
    return f"{'-' if time < 0 else ''}{whole}{f'.{part:06d}'.rstrip('0') if part else ''}"
