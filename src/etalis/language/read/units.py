"""Numbers with units, `10 min` and `1 h 30 min`, as literals: numbers of seconds wherever a number is allowed.

A unit is a word on the line of its number that is no operator there and opens no bracket. Where a duration is expected
capitals will do (`WITHIN 10 MIN`), and so will ISO 8601 (`PT10M`, a variable anywhere else) and text in quotes.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Protocol

from etalis.data.values import Value, real
from etalis.errors import Source, Span
from etalis.language.operators import GoalOperators
from etalis.language.read.tokens import ClauseError, Token, refusal
from etalis.language.syntax import Const, Term, Var
from etalis.temporal.duration import (
    NO_UNITS,
    UNITS,
    DurationError,
    add_up,
    iso_end,
    length_of,
    parse_duration,
    parse_iso,
)

NUMBERS = ("number", "rational")
_WORD = re.compile(r"(\d*)([^\W\d]+)")  # `h30min` behind the 1 of `1h30min` is one word
_DECIMAL = re.compile(r"-?\d+\.\d+")
_LONGEST = 40  # characters of a unit, or of several in one word
_LINE = "write them on one line: 10 min"
_LOWER = "units are written in small letters: 10 min"


class Cursor(Protocol):
    """A place among the tokens of a clause: what a `Reader` is to numbers."""

    source: Source
    operators: GoalOperators
    rationals: bool
    tokens: list[Token]
    at: int
    measured: list[Const]

    def span_of(self, token: Token) -> Span: ...
    def refusal(self, code: str, message: str, token: Token, hint: str | None = None) -> ClauseError: ...


def read_number(reader: Cursor) -> Const:
    """Read the number at which a reader stands, with its units: then it is seconds, exact where `rationals` are."""
    first = reader.tokens[reader.at]
    reader.at += 1
    if not _is_unit(reader, reader.at):
        return Const(first[1], reader.span_of(first))
    parts: list[tuple[Fraction, str]] = []
    number = first
    while True:
        unit, *more = _WORD.findall(reader.tokens[reader.at][1])
        parts.append((exact(number[1], reader.span_of(number)), unit[1]))
        parts += [(Fraction(digits), word) for digits, word in more]
        reader.at += 1
        number = reader.tokens[reader.at]
        if number[0] not in NUMBERS or not _on_one_line(reader, reader.at):
            break
        reader.at += 1
        if not _is_unit(reader, reader.at):
            raise _no_unit(reader, number)
    span = Span(reader.source, first[2], reader.tokens[reader.at - 1][3])
    try:
        seconds = add_up(parts)
    except DurationError as error:
        raise refusal(error.code, error.message, span, error.hint) from None
    found = Const(seconds if reader.rationals and seconds.denominator > 1 else _plain(seconds), span)
    reader.measured.append(found)
    return found


def _is_unit(reader: Cursor, at: int) -> bool:
    """Tell whether a token is the unit of the number before it, or a word that people take for one."""
    kind, value, _, end = reader.tokens[at]
    if kind == "var" and reader.rationals:
        value = value.lower()
    elif kind != "name" or not value[0].isalpha():
        return False
    word = value if value[-1].isdigit() or len(value) > _LONGEST else _WORD.findall(value)[0][1]
    if word not in UNITS and word not in NO_UNITS:
        return False
    after = reader.tokens[at + 1]
    opens = after[1] == "(" and after[2] == end
    is_operator = value in reader.operators.infix or value in reader.operators.postfix
    return not opens and not is_operator and _on_one_line(reader, at)


def _on_one_line(reader: Cursor, at: int) -> bool:
    return "\n" not in reader.source.text[reader.tokens[at - 1][3] : reader.tokens[at][2]]


def _no_unit(reader: Cursor, number: Token) -> ClauseError:
    """Refuse a number behind a unit that has none itself: `1 h 30`, or `1 h 30 minuts`."""
    wrong = wrong_unit(reader)
    return wrong or reader.refusal("E127", "this number has no unit", number, "write 1 h 30 min")


def wrong_unit(reader: Cursor) -> ClauseError | None:
    """Say what is wrong with the next token, if it is a word behind a number or value that may be meant as a unit."""
    token = reader.tokens[reader.at]
    kind, value, _, _ = token
    if kind not in ("name", "var") or not value[0].isalpha() or not reader.at:
        return None
    word = value.lower()
    before = reader.tokens[reader.at - 1]
    if not _on_one_line(reader, reader.at):
        if kind != "name" or word not in UNITS or before[0] not in NUMBERS:
            return None
        return reader.refusal("E125", f"the unit `{value}` is not on the line of its number", token, _LINE)
    if before[0] not in NUMBERS:
        is_value = before[0] == "var" or (before[0] == "punct" and before[1] == ")")
        if kind != "name" or word not in UNITS or not is_value:
            return None
        return reader.refusal("E125", f"the unit `{value}` does not follow a number", token, f"write X * (1 {word})")
    if kind == "var" and (word in UNITS or word in NO_UNITS):
        return reader.refusal("E125", f"`{value}` is a variable, no unit of time", token, _LOWER)
    if word in UNITS:
        return None
    try:
        length_of(value)
    except DurationError as error:
        if error.code != "E125" or error.hint.startswith("did"):
            return reader.refusal(error.code, error.message, token, error.hint)
    return None


def joins_durations(reader: Cursor) -> bool:
    """Tell whether the next token stands between two numbers with units: `1 h, 30 min`, `1 h and 30 min`."""
    before, at = reader.tokens[reader.at - 1], reader.at
    if before[1] not in UNITS or reader.at < 2 or reader.tokens[at - 2][0] not in NUMBERS:
        return False
    return reader.tokens[at + 1][0] in NUMBERS and _is_unit(reader, at + 2)


def parts_joined(reader: Cursor) -> ClauseError:
    """Refuse a comma or word between the parts of a duration."""
    message = "nothing is written between the parts of a duration"
    return reader.refusal("E127", message, reader.tokens[reader.at], "write 1 h 30 min")


def exact(value: int | float | Fraction, span: Span | None) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth. Very long or scientific ones go through the float."""
    if not isinstance(value, float):
        return Fraction(value)
    text = "" if span is None else span.source.text[span.start : span.end].replace("_", "")
    return Fraction(text if len(text) <= 40 and _DECIMAL.fullmatch(text) else float.__repr__(value))


def read_iso(reader: Cursor) -> Fraction | None:
    """Read a duration of ISO 8601 where one is expected; None, with nothing read, if there is none."""
    kind, value, start, _ = reader.tokens[reader.at]
    if kind != "var" or value[0] != "P":
        return None
    stop = iso_end(reader.source.text, start)
    last = next((i for i, token in enumerate(reader.tokens) if token[3] == stop), None)
    if stop is None or last is None:
        return None
    reader.at = last + 1
    try:
        return parse_iso(reader.source.text[start:stop])
    except DurationError as error:
        raise refusal(error.code, error.message, Span(reader.source, start, stop), error.hint) from None


def refuse_unit(reader: Cursor, term: Term, message: str, hint: str) -> None:
    """Refuse a number with a unit where things are counted."""
    if any(measured is term for measured in reader.measured):
        assert term.span is not None
        raise refusal("E129", message, term.span, hint)


def iso_constant(variable: Var) -> Term:
    """Return the seconds that the name of a free variable says in ISO 8601, or the variable itself."""
    if iso_end(variable.name) != len(variable.name):
        return variable
    try:
        return Const(_plain(parse_iso(variable.name)), variable.span)
    except DurationError as error:
        assert variable.span is not None
        raise refusal(error.code, error.message, variable.span, error.hint) from None


def seconds_of(term: Term) -> Value | None:
    """Return the value of a term where a duration is expected: text in quotes and ISO 8601 are seconds, too.

    A DurationError says why a text is no duration. None if the term is no constant.
    """
    match term:
        case Const(value=str() as text):
            return _plain(parse_duration(text))
        case Var(name=name) if iso_end(name) == len(name):
            return _plain(parse_iso(name))
        case Const(value=value):
            return value
    return None


def _plain(seconds: Fraction) -> int | float:
    return seconds.numerator if seconds.denominator == 1 else real(float(seconds))
