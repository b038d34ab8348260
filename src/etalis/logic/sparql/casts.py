"""Casts, named by the IRI of the type: from texts by reading them, between numbers and truth values by value.

A time that becomes a double, float or decimal is its seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from etalis.logic.rdf.exact_terms import BOOLEAN, DOUBLE, INTEGER
from etalis.logic.sparql.comparison import NUMBERS
from etalis.logic.sparql.effective_boolean import truth_of
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.times import DATE_TIME, DURATION, XSD, DurationLiteral, MomentLiteral, length_of
from etalis.logic.sparql.values import Known, TypedText, lexical_form, read_literal, to_float


def _read(known: Known, datatype: str) -> Known:
    """Read a text as a literal of a type."""
    if isinstance(known, str):
        found = read_literal(known.strip(" \t\n\r"), datatype)
        if not isinstance(found, TypedText):
            return found
    raise ExpressionError("not of this type")


def _to_truth(a: Known) -> bool:
    return truth_of(a) if a.__class__ is bool or a.__class__ in NUMBERS else truth_of(_read(a, BOOLEAN))


def _to_integer(a: Known) -> Known:
    if isinstance(a, bool | int):
        return int(a)
    if isinstance(a, float):
        if not math.isfinite(a):
            raise ExpressionError("no integer is near")
        return int(a)
    return _read(a, INTEGER)


def _to_float(datatype: str) -> Callable[[Known], Known]:
    def cast(a: Known) -> Known:
        if isinstance(a, bool | int | float):
            return to_float(a)
        if isinstance(a, DurationLiteral):
            return to_float(length_of(a))
        if isinstance(a, MomentLiteral) and a.zone is not None:
            return to_float(a.seconds)
        return _read(a, datatype)

    return cast


def _to_decimal(a: Known) -> Known:
    found = _AS_DECIMAL(a)
    if isinstance(found, float) and math.isfinite(found):
        return found
    raise ExpressionError("no decimal number")


_AS_DECIMAL = _to_float(XSD + "decimal")


def _to_moment(a: Known) -> Known:
    return a if isinstance(a, MomentLiteral) else _read(a, DATE_TIME)


def _to_duration(a: Known) -> Known:
    if isinstance(a, DurationLiteral):
        return DurationLiteral(a.text, a.months, a.seconds)
    return _read(a, DURATION)


CASTS: Mapping[str, Callable[[Known], Known]] = MappingProxyType(
    {
        f"<{XSD}string>": lexical_form,
        f"<{BOOLEAN}>": _to_truth,
        f"<{INTEGER}>": _to_integer,
        f"<{XSD}decimal>": _to_decimal,
        f"<{XSD}float>": _to_float(XSD + "float"),
        f"<{DOUBLE}>": _to_float(DOUBLE),
        f"<{DATE_TIME}>": _to_moment,
        f"<{DURATION}>": _to_duration,
    }
)
