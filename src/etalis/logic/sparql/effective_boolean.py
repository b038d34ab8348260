"""The effective boolean value of a term: what a filter, `!`, `&&`, `||` and `IF` look at."""

from __future__ import annotations

from etalis.logic.rdf.exact_terms import BOOLEAN
from etalis.logic.sparql.comparison import NUMBERS
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.times import XSD
from etalis.logic.sparql.values import Known, TaggedText, TypedText

_NUMERIC = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "float", "double", "nonPositiveInteger", "negativeInteger", "nonNegativeInteger"),
        *("positiveInteger", "long", "int", "short", "byte"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)


def truth_of(known: Known) -> bool:
    """Return a term's truth: a truth value, a text that is not empty, a number that is neither zero nor NaN.

    >>> truth_of(""), truth_of(0.5), truth_of(False)
    (False, True, False)
    """
    if known.__class__ is bool or known.__class__ is str:
        return bool(known)
    if known.__class__ in NUMBERS:
        return known == known and bool(known)  # NaN is false
    if isinstance(known, TaggedText):
        return bool(known.text)
    if isinstance(known, TypedText) and (known.datatype == BOOLEAN or known.datatype in _NUMERIC):
        return False
    raise ExpressionError("no truth value")
