"""Numbers inside patterns: durations and times, counts, bounds of repetitions.

Seconds are read exactly, as the text has them (1.5, 1r3, 5*60, 10 min), and rounded once, to microseconds.
"""

from __future__ import annotations

import re
from fractions import Fraction

from etalis.errors import Span
from etalis.language.operators import ARGUMENT
from etalis.language.read.reader import TermReader, describe
from etalis.language.read.tokens import refusal
from etalis.language.read.units import exact, read_iso, read_number, refuse_unit
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.temporal.duration import DurationError, parse_duration
from etalis.temporal.interval import to_microseconds

_NO_DURATION = "write a number of seconds, or a number with its unit: within 90, within 10 min, within PT10M"

_ALMOST_ISO = re.compile(r"PT?\d")
_VARIABLE = "write a length, within 10 min, or compare the times: check (t1(S), t2(E), E - S =< N)"


def time_point(reader: TermReader) -> int:
    """Read the number that a reader stands at as a time in seconds since 1970, or with its unit."""
    reader.rationals = True
    found = read_number(reader)
    reader.rationals = False
    return to_microseconds(exact(found.value, found.span))


def duration(reader: TermReader) -> int:
    """Read a duration: seconds or an expression of such, perhaps with units, ISO 8601, or text in quotes."""
    first = reader.tokens[reader.at]
    seconds = read_iso(reader)
    if seconds is None:
        reader.rationals = True
        term = reader.term(ARGUMENT)
        reader.rationals = False
        if isinstance(term, Var) and _ALMOST_ISO.match(term.name):
            raise reader.refusal(
                "E127", f"{describe(first)} is no duration of ISO 8601", first, "write PT10M, P1DT2H, PT0.5S"
            )
        if isinstance(term, Var):
            raise reader.refusal("E115", "the length of a window is no variable", first, _VARIABLE)
        seconds = _evaluate(term) if first[0] not in ("quoted", "string") else _quoted(term)
    if seconds is None:
        raise reader.refusal("E115", "this is no duration", first, _NO_DURATION)
    if seconds < 0:
        raise reader.refusal("E115", "a duration cannot be negative", first, _NO_DURATION)
    return to_microseconds(seconds)


def _quoted(term: Term) -> Fraction | None:
    """Return the seconds of a duration that is given as text."""
    if not isinstance(term, Const):
        return None
    try:
        return parse_duration(term.value)
    except DurationError as error:
        raise refusal(error.code, error.message, _place(term), error.hint) from None


def _evaluate(term: Term) -> Fraction | None:
    """Return the exact value of an expression of numbers, None if it is something else."""
    match term:
        case Const(value=int() | float() | Fraction() as value, span=span):
            return exact(value, span)
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


def count(reader: TermReader) -> int:
    """Read how many elements `last` looks back."""
    token = reader.tokens[reader.at]
    term = reader.term(ARGUMENT)
    refuse_unit(
        reader,
        term,
        "`last` counts elements, and this is a duration",
        "use within for a window of time: aggregate(...) within 10 min",
    )
    if isinstance(term, Const) and isinstance(term.value, int) and term.value > 0:
        return term.value
    raise reader.refusal("E115", "how many elements: a whole number, at least 1", token, "write aggregate(...) last 10")


def bounds(reader: TermReader) -> tuple[Term, Term]:
    """Read the right side of `ntimes`: `N` or `(N, M)`."""
    term = reader.term(ARGUMENT)
    match term:
        case Compound(name=",", args=(least, most)):
            _check_bound(reader, least)
            _check_bound(reader, most)
            if isinstance(least, Const) and isinstance(most, Const) and least.value > most.value:
                raise refusal(
                    "E115", f"from {least.value} to {most.value} times is never", _place(term), "write (least, most)"
                )
            return least, most
        case _:
            _check_bound(reader, term)
            return term, term


def _check_bound(reader: TermReader, term: Term) -> None:
    refuse_unit(
        reader,
        term,
        "`ntimes` counts events, and this is a duration",
        "use within for a window of time: (a ntimes 3) within 10 min",
    )
    if isinstance(term, Var) or (isinstance(term, Const) and isinstance(term.value, int) and term.value > 0):
        return
    hint = "write a ntimes 3, a ntimes (2, 5) or a ntimes N"
    raise refusal("E115", "how many times: a whole number, at least 1, or a variable", _place(term), hint)


def _place(term: Term) -> Span:
    assert term.span is not None
    return term.span
