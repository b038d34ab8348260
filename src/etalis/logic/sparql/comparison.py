"""`=` and `<` by value, as SPARQL compares terms; what has no answer is an error.

Numbers compare with numbers, texts with texts, truth values with truth values, dateTimes with dateTimes. A duration is
its seconds, a dateTime those since 1970, also against a number; a duration also compares with a text that reads as one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

from etalis.data.values import Real, Value
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.times import UNDECIDED, DurationLiteral, MomentLiteral, length_of, read_duration
from etalis.logic.sparql.values import (
    BlankNode,
    IriNode,
    Known,
    TaggedText,
    TypedText,
    read_value,
    to_float,
    write_value,
)  # fmt: skip

Order: TypeAlias = Callable[[Any, Any], bool]

NUMBERS = frozenset((int, float, Real))
_NODES = (IriNode, BlankNode, TaggedText)


def equal(a: Known, b: Known) -> bool:
    """Tell whether two terms are equal by value.

    >>> equal(1, 1.0), equal("a", 1), equal(IriNode("x"), IriNode("x"))
    (True, False, True)
    """
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        return bool(_plain(a) == _plain(b))
    if a.__class__ is str and b.__class__ is str:
        return a == b
    if isinstance(a, _NODES) or isinstance(b, _NODES):
        return a == b
    if isinstance(a, MomentLiteral | DurationLiteral) or isinstance(b, MomentLiteral | DurationLiteral):
        return _equal_times(a, b)
    if isinstance(a, TypedText) or isinstance(b, TypedText):
        if a == b:
            return True
        raise ExpressionError("terms of an unknown type")
    return a.__class__ is b.__class__ and a == b


def _equal_times(a: Known, b: Known) -> bool:
    if a.__class__ is b.__class__ and write_value(a) == write_value(b):
        return True
    pair = _spans(a, b)
    if pair is None:
        if isinstance(a, TypedText) or isinstance(b, TypedText):
            raise ExpressionError("terms of an unknown type")
        return False
    (low, high), (start, end) = pair
    if low == high and start == end:
        return bool(low == start)
    if high < start or end < low:
        return False
    raise ExpressionError("undecided without a zone")


def same(a: Known, b: Known) -> bool:
    """Tell whether two terms are one term.

    >>> same(1, 1.0), same(2.0, 2.0)
    (False, True)
    """
    return bool(write_value(a) == write_value(b))


def _plain(number: Any) -> Any:
    """Return a number that Python compares by value."""
    return number.real


def _ordered(compare: Order) -> Callable[[Known, Known], bool]:
    """Make an order of terms of one of numbers and texts."""

    def decide(a: Any, b: Any) -> bool:
        if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
            return compare(a, b)
        if a.__class__ is b.__class__ and a.__class__ in (str, bool):
            return compare(a, b)
        pair = _spans(a, b)
        if pair is None:
            raise ExpressionError("terms that have no order")
        (low, high), (start, end) = pair
        answers = {compare(low, end), compare(high, start)}
        if len(answers) == 1:
            return answers.pop()
        raise ExpressionError("undecided without a zone")

    return decide


Span: TypeAlias = tuple[Any, Any]


def _spans(a: Known, b: Known) -> tuple[Span, Span] | None:
    """Return where two times may lie, in seconds; None if they do not compare."""
    if isinstance(b, MomentLiteral) or (isinstance(b, DurationLiteral) and not isinstance(a, MomentLiteral)):
        pair = _spans_of(b, a)
        return None if pair is None else (pair[1], pair[0])
    return _spans_of(a, b)


def _spans_of(a: Known, b: Known) -> tuple[Span, Span] | None:
    """Return the same where the first is a time."""
    if isinstance(a, MomentLiteral):
        if isinstance(b, MomentLiteral):
            if (a.zone is None) == (b.zone is None):
                return (a.seconds, a.seconds), (b.seconds, b.seconds)
            return _moment_span(a), _moment_span(b)
        return (_near(_moment_span(a), b), (b, b)) if b.__class__ in NUMBERS else None
    if isinstance(a, DurationLiteral):
        if isinstance(b, str):
            read = read_duration(b)
            if read is None:
                return None
            b = read
        length = length_of(a), length_of(a)
        if isinstance(b, DurationLiteral):
            return length, (length_of(b), length_of(b))
        return (_near(length, b), (b, b)) if b.__class__ in NUMBERS else None
    return None


def _moment_span(moment: MomentLiteral) -> Span:
    wide = UNDECIDED if moment.zone is None else Fraction(0)
    return moment.seconds - wide, moment.seconds + wide


def _near(span: Span, number: Any) -> Span:
    """Return exact seconds as a number of the other side's class is rounded: 0.1 s is 0.1."""
    return span if number.__class__ is int else (to_float(span[0]), to_float(span[1]))


ORDERS: Mapping[str, Callable[[Known, Known], bool]] = MappingProxyType(
    {
        "=": equal,
        "!=": lambda a, b: not equal(a, b),
        "<": _ordered(operator.lt),
        ">": _ordered(operator.gt),
        "<=": _ordered(operator.le),
        ">=": _ordered(operator.ge),
    }
)


def order_key(value: Value) -> tuple[int, Any, str]:
    """Return a key by which any terms can be sorted: blank nodes, IRIs, literals, these by type and then by value.

    >>> sorted(["b", 10, "<http://x/a>", 9.5], key=order_key)
    ['<http://x/a>', 9.5, 10, 'b']
    """
    known, text = read_value(value), f"{value}"
    match known:
        case BlankNode():
            return 0, text, text
        case IriNode():
            return 1, text, text
        case bool():
            return 4, known, text
        case int() | float() if known == known:
            return 2, _plain(known), text
        case str():
            return 3, known, text
        case MomentLiteral():
            return 5, known.seconds, text
        case _:
            return 6, text, text
