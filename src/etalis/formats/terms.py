"""Ground terms in input: the text of a term -> its value; the term of a time -> a time."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from etalis.data.values import Struct, Value, format_value
from etalis.errors import InputError, Problem, ProgramError
from etalis.language.ground_terms import ground
from etalis.language.read.parser import parse_term
from etalis.language.read.units import exact
from etalis.language.syntax import ListTerm, Term
from etalis.temporal.calendar import calendar_time
from etalis.temporal.interval import to_datetime, to_time

Moment: TypeAlias = "int | float | Fraction | str | datetime"
_TIMES = "give seconds (12.5), '2026-01-31T12:00:00Z' or datetime(Year, Month, Day, Hour, Minute, Second)"

_COMPOUND = frozenset("([")


def read_value(text: str) -> Value:
    """Read one ground term.

    >>> read_value("f(x, [1, 2.5])"), read_value("-3")
    (f(x,[1,2.5]), -3)
    """
    try:
        return to_ground(parse_term(text, "value"))
    except ProgramError as error:
        raise InputError(*error.problems) from None


def to_ground(term: Term) -> Value:
    """Return the value of a term without variables."""
    value = ground(term)
    if value is None:
        hint = "write a value, in quotes if it begins with a capital"
        raise InputError(Problem("E408", "an event has values, this has a variable", term.span, hint))
    return value


def read_cell_term(text: str) -> Value:
    """Read a cell of an attribute declared `term`: what is written as a compound term or a list is one, else text.

    >>> read_cell_term("f(x, [1])"), read_cell_term("Basel (BS"), read_cell_term("12")
    (f(x,[1]), 'Basel (BS', '12')
    """
    if not _COMPOUND.intersection(text):
        return text
    try:
        return read_value(text)
    except InputError:
        return text


def to_moment(term: Term) -> Moment:
    """Return the time that a term stands for, as `push` takes it.

    >>> to_moment(parse_term("12.5")), to_moment(parse_term("'2026-01-31T12:00:00Z'"))
    (Fraction(25, 2), '2026-01-31T12:00:00Z')
    """
    value = to_ground(term)
    try:
        if isinstance(value, Struct):
            return to_datetime(calendar_time(value.name, value.args))
        moment = exact(value, term.span) if isinstance(value, float) else value
        to_time(moment)
    except (ValueError, OverflowError, TypeError):
        message = f"expected a time, found {format_value(value)}"
        raise InputError(Problem("E404", message, term.span, _TIMES)) from None
    assert isinstance(moment, int | Fraction | str)
    return moment


def to_moments(term: Term) -> Moment | tuple[Moment, Moment]:
    """Return the time of an event: a moment, or both ends of `[Start, End]`."""
    if not isinstance(term, ListTerm):
        return to_moment(term)
    if len(term.items) != 2 or term.tail is not None:
        raise InputError(Problem("E404", "expected [Start, End]", term.span, _TIMES))
    return to_moment(term.items[0]), to_moment(term.items[1])
