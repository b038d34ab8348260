"""Functions that look at terms, and make them: kinds, texts, languages, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from etalis.logic.rdf.exact_terms import (
    BOOLEAN,
    DIRECTED_TEXT,
    DOUBLE,
    INTEGER,
    LANGUAGE_TEXT,
    STRING,
)
from etalis.logic.sparql.comparison import NUMBERS
from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.times import DATE_TIME, DurationLiteral, MomentLiteral
from etalis.logic.sparql.values import BlankNode, IriNode, Known, TaggedText, TypedText, lexical_form, read_literal

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_DIRECTION = "--"  # between the language and the direction of a text


def simple(known: Known) -> str:
    """Return a text without language; all else is an error."""
    if isinstance(known, str):
        return known
    raise ExpressionError("no plain text")


def _is_literal(a: Known) -> bool:
    return not isinstance(a, IriNode | BlankNode)


def _is_iri(a: Known) -> bool:
    return isinstance(a, IriNode)


def _language_of(a: Known) -> str:
    if not _is_literal(a):
        raise ExpressionError("no literal")
    return a.language.partition(_DIRECTION)[0] if isinstance(a, TaggedText) else ""


def _datatype_of(a: Known) -> IriNode:
    match a:
        case IriNode() | BlankNode():
            raise ExpressionError("no literal")
        case TaggedText(language=language):
            return IriNode(DIRECTED_TEXT if _DIRECTION in language else LANGUAGE_TEXT)
        case TypedText(datatype=datatype) | DurationLiteral(datatype=datatype):
            return IriNode(datatype)
        case MomentLiteral():
            return IriNode(DATE_TIME)
        case bool():
            return IriNode(BOOLEAN)
        case str():
            return IriNode(STRING)
        case _:
            return IriNode(INTEGER if isinstance(a, int) else DOUBLE)


def _make_iri(a: Known) -> IriNode:
    if isinstance(a, IriNode):
        return a
    text = simple(a)
    if _IRI.fullmatch(text) is None:
        raise ExpressionError("no absolute IRI")
    return IriNode(text)


def _make_typed(a: Known, datatype: Known) -> Known:
    text = simple(a)
    if not isinstance(datatype, IriNode) or datatype.text in (LANGUAGE_TEXT, DIRECTED_TEXT):
        raise ExpressionError("no datatype")
    return read_literal(text, datatype.text)


def _make_tagged(a: Known, language: Known) -> TaggedText:
    text, tag = simple(a), simple(language)
    if _LANGUAGE.fullmatch(tag) is None:
        raise ExpressionError("no language tag")
    return TaggedText(text, tag.lower())


def _language_matches(a: Known, wanted: Known) -> bool:
    """Tell whether a language tag is in a range: `*`, or a tag with all that begin so."""
    tag, given = simple(a).lower(), simple(wanted).lower()
    return bool(tag) if given == "*" else tag == given or tag.startswith(given + "-")


INSPECT: Mapping[str, Callable[[Known], Known]] = MappingProxyType(
    {
        "isiri": _is_iri,
        "isuri": _is_iri,
        "isblank": lambda a: isinstance(a, BlankNode),
        "isliteral": _is_literal,
        "isnumeric": lambda a: a.__class__ in NUMBERS,
        "str": lexical_form,
        "lang": _language_of,
        "datatype": _datatype_of,
        "iri": _make_iri,
        "uri": _make_iri,
    }
)
MAKE: Mapping[str, Callable[[Known, Known], Known]] = MappingProxyType(
    {"strdt": _make_typed, "strlang": _make_tagged, "langmatches": _language_matches}
)
