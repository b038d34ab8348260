"""Numbers inside patterns: durations and times in seconds, counts, bounds of repetitions.

Seconds are read exactly, as the text has them (1.5, 1r3, 5*60), and rounded once, to microseconds.
"""

from __future__ import annotations

from fractions import Fraction

from etalis.errors import Span
from etalis.language.operators import ARGUMENT
from etalis.language.reader import Reader
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.language.tokens import Token, refusal
from etalis.temporal.interval import to_microseconds

_UNITS = {"ms": Fraction(1, 1000)} | {
    name: Fraction(seconds)
    for name, seconds in {"sec": 1, "min": 60, "hour": 3600, "day": 86400, "week": 604800}.items()
}
_UNIT_NAMES = {"s": "sec", "second": "sec", "minute": "min", "h": "hour", "d": "day", "m": "min", "millisecond": "ms"}
_SECONDS = "durations are numbers of seconds: within 60"


def microseconds(reader: Reader, token: Token) -> int:
    """Return the time that the number at a token means."""
    return to_microseconds(_exact(token[1], reader.span_of(token)))


def duration(reader: Reader) -> int:
    """Read a duration in seconds."""
    first = reader.tokens[reader.at]
    reader.rationals = True
    term = reader.term(ARGUMENT)
    reader.rationals = False
    seconds = _evaluate(term)
    if seconds is None:
        raise reader.refusal("E115", "this is no duration", first, _SECONDS)
    if seconds < 0:
        raise reader.refusal("E115", "a duration cannot be negative", first, _SECONDS)
    _refuse_unit(reader, seconds)
    return to_microseconds(seconds)


def _refuse_unit(reader: Reader, seconds: Fraction) -> None:
    """Say what to write where a unit follows the number."""
    token = reader.tokens[reader.at]
    if token[0] != "name":
        return
    word = token[1].lower()
    unit = _UNIT_NAMES.get(word) or _UNIT_NAMES.get(word.rstrip("s")) or word.rstrip("s")
    if word == "ms":
        unit = "ms"
    if unit in _UNITS:
        meant = seconds * _UNITS[unit]
        text = str(meant.numerator if meant.denominator == 1 else float(meant))
        raise reader.refusal("E115", "a duration has no unit: it is a number of seconds", token, f"write within {text}")


def _evaluate(term: Term) -> Fraction | None:
    """Return the exact value of an expression of numbers, None if it is something else."""
    match term:
        case Const(value=int() | float() | Fraction() as value, span=span):
            return _exact(value, span)
        case Compound(name="-", args=(only,)):
            inner = _evaluate(only)
            return None if inner is None else -inner
        case Compound(name="+" | "-" | "*" | "/" as name, args=(left, right)):
            a, b = _evaluate(left), _evaluate(right)
            return None if a is None or b is None or (name == "/" and not b) else _apply(name, a, b)
        case _:
            return None


def _apply(name: str, a: Fraction, b: Fraction) -> Fraction:
    match name:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _:
            return a / b


def _exact(value: int | float | Fraction, span: Span | None) -> Fraction:
    """Return a number as it is written: 0.1 is a tenth. Very long or scientific ones go through the float."""
    if isinstance(value, float) and span is not None:
        text = span.source.text[span.start : span.end].replace("_", "")
        if len(text) <= 40 and "e" not in text.lower():
            return Fraction(text)
    return Fraction(value)


def count(reader: Reader) -> int:
    """Read how many elements `last` looks back."""
    token = reader.tokens[reader.at]
    term = reader.term(ARGUMENT)
    if isinstance(term, Const) and isinstance(term.value, int) and term.value > 0:
        return term.value
    raise reader.refusal("E115", "how many elements: a whole number, at least 1", token, "write aggregate(...) last 10")


def bounds(reader: Reader) -> tuple[Term, Term]:
    """Read the right side of `ntimes`: `N` or `(N, M)`."""
    term = reader.term(ARGUMENT)
    match term:
        case Compound(name=",", args=(least, most)):
            _check_bound(least)
            _check_bound(most)
            if isinstance(least, Const) and isinstance(most, Const) and least.value > most.value:
                raise refusal(
                    "E115", f"from {least.value} to {most.value} times is never", _place(term), "write (least, most)"
                )
            return least, most
        case _:
            _check_bound(term)
            return term, term


def _check_bound(term: Term) -> None:
    if isinstance(term, Var) or (isinstance(term, Const) and isinstance(term.value, int) and term.value > 0):
        return
    hint = "write a ntimes 3, a ntimes (2, 5) or a ntimes N"
    raise refusal("E115", "how many times: a whole number, at least 1, or a variable", _place(term), hint)


def _place(term: Term) -> Span:
    assert term.span is not None
    return term.span
