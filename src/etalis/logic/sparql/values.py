"""RDF terms as expressions compute with them: from the exact naming, and back.

A number and a plain text are themselves, a truth value a bool; all else is a small record. Law: `write_value` of what
`read_value` gives is the term again.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from etalis.data.values import MAX_DIGITS, Real, Value, decimal_text, real
from etalis.errors import EventError
from etalis.logic.rdf.exact_terms import BOOLEAN, DOUBLE, STRING, UNBOUND, double_text, make_literal, split_literal
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.times import (
    DATE_TIME,
    DAY_TIME_DURATION,
    DURATION,
    XSD,
    YEAR_MONTH_DURATION,
    DurationLiteral,
    MomentLiteral,
    read_duration,
    read_moment,
)

TRUTH = {True: f'"true"^^<{BOOLEAN}>', False: f'"false"^^<{BOOLEAN}>'}
_REMEMBERED = 16_384
_LONGEST_REMEMBERED = 500  # characters
_LARGEST = 10**MAX_DIGITS
_FLOATS = frozenset((DOUBLE, XSD + "float"))
_NOT_FINITE = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}


@dataclass(frozen=True, slots=True)
class IriNode:
    """An IRI, without its brackets."""

    text: str


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node and its label."""

    label: str


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text with its language in small letters."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class TypedText:
    """A literal of a type that nothing is known of, or whose text is not of its type."""

    text: str
    datatype: str


Known: TypeAlias = (
    bool | int | float | str | IriNode | BlankNode | TaggedText | TypedText | MomentLiteral | DurationLiteral
)


def read_value(value: Value) -> Known:
    """Return what a term in the exact naming stands for; `null` is unbound, which is an error.

    >>> read_value("<http://x/a>"), read_value("a"), read_value(2)
    (IriNode(text='http://x/a'), 'a', 2)
    """
    kind = value.__class__
    if kind is int or kind is Real or kind is float:
        number: int | float = value
        return number
    if kind is str:
        text: str = value
        if text[:1] in _MARKS:
            return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _read_marked(text)
        if text != UNBOUND:
            return text
    raise ExpressionError("unbound" if value is None or value == UNBOUND else "no RDF term")


_MARKS = frozenset(("<", '"', "_"))


def _read_marked(text: str) -> Known:
    if text.startswith("<"):
        if text.endswith(">"):
            return IriNode(text[1:-1])
        raise ExpressionError("no RDF term")
    if text.startswith("_:"):
        return BlankNode(text[2:])
    if not text.startswith('"'):
        return text
    try:
        lexical, datatype, language = split_literal(text)
    except EventError:
        raise ExpressionError("no RDF term") from None
    return TaggedText(lexical, language) if language is not None else read_literal(lexical, datatype)


_remembered = functools.lru_cache(_REMEMBERED)(_read_marked)


def read_literal(lexical: str, datatype: str) -> Known:
    """Return what a literal stands for; one that is not of its type is a text with a type.

    >>> read_literal("true", XSD + "boolean"), read_literal("x", XSD + "integer").text
    (True, 'x')
    """
    if datatype == STRING:
        return lexical
    if datatype == DATE_TIME:
        return read_moment(lexical) or TypedText(lexical, datatype)
    if datatype in (DURATION, DAY_TIME_DURATION, YEAR_MONTH_DURATION):
        return read_duration(lexical, datatype) or TypedText(lexical, datatype)
    if datatype in _FLOATS and lexical in _NOT_FINITE:
        return _NOT_FINITE[lexical]
    value = make_literal(lexical, datatype)
    if value == TRUTH[True] or value == TRUTH[False]:
        return bool(value == TRUTH[True])
    if value.__class__ is str:
        return TypedText(lexical, datatype)
    number: int | float = value
    return number


def write_value(known: Known) -> Value:
    """Return a value as a term in the exact naming.

    >>> write_value(True), write_value(TaggedText("chat", "fr"))
    ('"true"^^<http://www.w3.org/2001/XMLSchema#boolean>', '"chat"@fr')
    """
    match known:
        case bool():
            return TRUTH[known]
        case int():
            if not -_LARGEST < known < _LARGEST:
                raise ExpressionError("an integer with more digits than can be read again")
            return known
        case float():
            return real(known) if math.isfinite(known) else make_literal(double_text(known), DOUBLE)
        case str():
            return make_literal(known, STRING)
        case IriNode(text=text):
            return f"<{text}>"
        case BlankNode(label=label):
            return f"_:{label}"
        case TaggedText(text=text, language=language):
            return make_literal(text, STRING, language)
        case MomentLiteral(text=text):
            return make_literal(text, DATE_TIME)
        case DurationLiteral(text=text, datatype=datatype) | TypedText(text=text, datatype=datatype):
            return make_literal(text, datatype)


def to_float(known: Any) -> float:
    """Return a number as a float, infinite where it is too large.

    >>> to_float(10**400)
    inf
    """
    try:
        return float(known)
    except OverflowError:
        return math.inf if known > 0 else -math.inf


def lexical_form(known: Known) -> str:
    """Return the text of a term as `STR` gives it; a blank node has none.

    Numbers are written as they are cast to a string: without a point where they are whole, with an exponent where they
    are a million or more.

    >>> lexical_form(2.0), lexical_form(1.5e7), lexical_form(IriNode("http://x/a"))
    ('2', '1.5E7', 'http://x/a')
    """
    if known.__class__ is str:
        return str(known)
    if isinstance(known, bool):
        return "true" if known else "false"
    if isinstance(known, int):
        return decimal_text(known)
    if isinstance(known, float):
        return _float_text(known)
    if isinstance(known, BlankNode):
        raise ExpressionError("a blank node has no text")
    assert not isinstance(known, str)
    return known.text


def _float_text(number: float) -> str:
    number = float(number)
    if not 1e-6 <= abs(number) < 1e6:
        return double_text(number) if number else "0"
    text = f"{Decimal(repr(number)):f}"
    return text.removesuffix(".0")
