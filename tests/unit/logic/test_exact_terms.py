"""The exact naming of RDF terms: there and back, by hand and at random, and what is no term."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, RdfFormat, Triple, parse

from etalis.data.values import Struct, Value, to_value
from etalis.errors import EtalisError
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    LANGUAGE_TEXT,
    STRING,
    decode,
    double_text,
    encode,
    kind_of,
    make_literal,
    read_term,
    split_literal,
)

SIZED = {"long": 64, "int": 32, "short": 16, "byte": 8}
SIGNS = ("integer", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger")
INTEGERS = {**dict.fromkeys(SIGNS), **SIZED, **{f"unsigned{k.capitalize()}": bits for k, bits in SIZED.items()}}
REALS = ("double", "float", "decimal")
OTHERS = ("dateTime", "date", "duration", "boolean", "anyURI", "string")


def typed(text: str, name: str) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + name))


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", "null", "<", "<http://x/a>", '"', '"a"@en', "_:", "_:b1", "_", "\x00", "\x7f", "\ufffe", "\\u0041"]
    ),
)
ODD_NUMERALS = (
    ("+7", "-0", "007", "1.", ".5", "-.5", "+.5e3", "1E400", "NaN", "INF", "-INF", "+INF", "inf", "nan"),
    ("e", ".", "1e", "--1", "0x1", "1_0", "٣", "-129"),
    ("", " 7", "7 ", "9" * 5_000, "1." + "0" * 5_000),
)
NUMERALS = st.one_of(
    st.integers().map(str),
    st.integers(-(10**400), 10**400).map(str),
    st.floats().map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    *map(st.sampled_from, ODD_NUMERALS),
)
TYPES = st.sampled_from([*INTEGERS, *REALS, *OTHERS])
LANGUAGES = st.sampled_from(["en", "EN", "de-CH", "zh-Hant-TW", "x-a"])
DIRECTIONS = st.sampled_from([None, BaseDirection.LTR, BaseDirection.RTL])
LITERALS = st.one_of(
    TEXTS.map(Literal),
    st.builds(lambda t, tag, d: Literal(t, language=tag, direction=d), TEXTS, LANGUAGES, DIRECTIONS),
    st.builds(typed, NUMERALS | TEXTS, TYPES),
    st.builds(typed, st.sampled_from(["true", "false", "1", "0", "TRUE", " true"]), st.just("boolean")),
    st.datetimes().map(lambda d: typed(d.isoformat(), "dateTime")),
    st.builds(lambda t, d: Literal(t, datatype=NamedNode(d)), TEXTS, st.sampled_from(["urn:x", "http://x/é#_:"])),
)
TERMS = st.one_of(
    LITERALS,
    st.text(st.characters(categories=["Ll", "Nd"]), max_size=8).map(lambda t: NamedNode("http://x/" + t)),
    st.sampled_from(["b", "1", "a.b", "a-b", "é"]).map(BlankNode),
)


def is_whole(term: Literal) -> bool:
    """Tell whether a literal is an integer of its type, by other means than the naming."""
    name, text = term.datatype.value.removeprefix(XSD), term.value
    if name not in INTEGERS or len(text) > 4_300 or not text.isascii() or not text.lstrip("+-").isdigit():
        return False
    if text[0] in "+-" and text[1:2] in ("+", "-"):
        return False
    number, bits = int(text), INTEGERS[name]
    if bits is not None:
        return 0 <= number < 2**bits if name.startswith("unsigned") else -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
    return {
        "integer": True,
        "nonNegativeInteger": number >= 0,
        "positiveInteger": number > 0,
        "nonPositiveInteger": number <= 0,
        "negativeInteger": number < 0,
    }[name]


def is_finite(term: Literal) -> bool:
    """Tell whether a literal is a finite number of a real type."""
    name, text = term.datatype.value.removeprefix(XSD), term.value
    if name not in REALS or not text.isascii() or not set(text) <= set("+-.0123456789eE"):
        return False
    if name == "decimal" and "e" in text.lower():
        return False
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@given(TERMS)
@example(typed("1", "boolean"))
@example(typed("-0.0", "double"))
@example(Literal("null"))
def test_a_term_comes_back(term: Any) -> None:
    value = encode(term)
    assert to_value(value) is value, "a value as the engine holds it"
    back = decode(value)
    if isinstance(term, Literal) and is_whole(term):
        assert type(value) is int
        assert back == typed(str(int(term.value)), "integer")
    elif isinstance(term, Literal) and is_finite(term):
        assert isinstance(value, float)
        assert value == float(term.value)
        assert back == typed(double_text(float(term.value)), "double")
    elif isinstance(term, Literal) and term.datatype.value == BOOLEAN and term.value in ("1", "0"):
        assert back == typed({"1": "true", "0": "false"}[term.value], "boolean")
    else:
        assert isinstance(value, str)
        assert back == term
    assert encode(back) == value
    assert type(encode(back)) is type(value)


@given(TERMS, TERMS)
def test_terms_of_two_kinds_never_share_a_value(one: Any, other: Any) -> None:
    if encode(one) == encode(other):
        assert type(one) is type(other)
        assert decode(encode(one)) == decode(encode(other))


@given(LITERALS)
def test_literals_are_made_and_split_without_the_library(term: Literal) -> None:
    language = term.language
    if term.direction is not None:
        language = f"{language}--{term.direction.value}"
    value = encode(term)
    assert make_literal(term.value, term.datatype.value, language) == value
    assert make_literal(*split_literal(value)) == value
    assert kind_of(value) == "literal"
    if isinstance(value, str):
        text = (
            "true" if value == f'"true"^^<{BOOLEAN}>' else "false" if value == f'"false"^^<{BOOLEAN}>' else term.value
        )
        assert split_literal(value) == (text, term.datatype.value, language)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_canonical_form_of_a_double_reads_back(number: float) -> None:
    text = double_text(number)
    assert float(text) == number
    mantissa, _, exponent = text.lstrip("-").partition("E")
    assert len(mantissa.partition(".")[0]) == 1
    assert (mantissa[0] != "0") == (number != 0)
    assert not mantissa.endswith("0") or mantissa.endswith(".0")
    assert exponent == str(int(exponent))
    assert Decimal(text) == Decimal(repr(number))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<http://x/a>", "<http://x/a>"),
        ("_:b", "_:b"),
        ('"a"', "a"),
        ('"a b\\n\\u0041"', "a b\nA"),
        ('"<a"', '"<a"'),
        ('"_:a"', '"_:a"'),
        ('"null"', '"null"'),
        ('"\\"a"', '"\\"a"'),
        ('"a"@EN-us', '"a"@en-us'),
        ('"a"@en--ltr', '"a"@en--ltr'),
        (f'"01"^^<{XSD}int>', 1),
        (f'"300"^^<{XSD}byte>', f'"300"^^<{XSD}byte>'),
        (f'"1.0"^^<{XSD}decimal>', 1.0),
        (f'"1e2"^^<{XSD}decimal>', f'"1e2"^^<{XSD}decimal>'),
        (f'"1e2"^^<{DOUBLE}>', 100.0),
        (f'"NaN"^^<{DOUBLE}>', f'"NaN"^^<{DOUBLE}>'),
        (f'"INF"^^<{DOUBLE}>', f'"INF"^^<{DOUBLE}>'),
        (f'"1"^^<{BOOLEAN}>', f'"true"^^<{BOOLEAN}>'),
        (f'"2026-03-02T09:00:00Z"^^<{XSD}dateTime>', f'"2026-03-02T09:00:00Z"^^<{XSD}dateTime>'),
        (f'"a"^^<{STRING}>', "a"),
    ],
)
def test_names(text: str, value: Value) -> None:
    quad = next(iter(parse(f"<a:s> <a:p> {text} .", RdfFormat.N_TRIPLES)))
    found = encode(quad.object)
    assert (found, type(found) is int) == (value, type(value) is int)
    assert read_term(str(quad.object)) == value


def test_writers_may_escape_more_or_less() -> None:
    assert read_term('"a\t\ufffe\u00a0"@EN') == read_term('"a\\t\\uFFFE\u00a0"@en') == '"a\\t\\uFFFE\u00a0"@en'
    assert read_term('"<\x01\\n"') == read_term('"<\\u0001\\u000A"') == '"<\\u0001\\n"'
    assert read_term('"a\t"^^<a:b>') == read_term('"a\\t"^^<a:b>') == '"a\\t"^^<a:b>'
    assert read_term(f'"7\t"^^<{XSD}int>') == f'"7\\t"^^<{XSD}int>'


def test_kinds() -> None:
    assert [kind_of(v) for v in ("<a:b>", "_:a", "", 1, 1.5, '"a"', "null", None)] == [
        *("iri", "blank", *["literal"] * 4, "unbound", "unbound"),
    ]
    assert split_literal('"a"@en--rtl')[2] == "en--rtl"
    assert split_literal(7) == ("7", INTEGER, None)
    assert split_literal('"a"@en') == ("a", LANGUAGE_TEXT, "en")


@pytest.mark.parametrize(
    "value",
    [
        *("null", None, "<", "<a", "<no scheme>", "<http://x/a b>", "<" + "x" * 100, "_:", "_:a b", "a\ud800"),
        *(
            '"',
            '"a',
            '"a"x',
            '"a"@',
            '"a"@e n',
            '"a"@en--up',
            '"a"^^<',
            '"a"^^<x>',
            '"a\\q"',
            '"\\uD800"',
            '"\\UFFFFFFFF"',
        ),
        *((1, 2), Struct("f", [1])),
    ],
)
def test_what_is_no_term_is_refused(value: Value) -> None:
    with pytest.raises(EtalisError) as caught:
        decode(value)
    assert caught.value.problems[0].code == "E342"


@given(
    st.text(max_size=10).flatmap(
        lambda t: st.sampled_from([t, '"' + t, "<" + t, "_:" + t, f'"{t}"@a', f'"{t}"^^<a:b>'])
    )
)
def test_any_text_is_a_term_or_refused(text: str) -> None:
    try:
        term = decode(text)
    except EtalisError:
        return
    assert decode(encode(term)) == term


def test_a_triple_term_is_refused() -> None:
    with pytest.raises(EtalisError, match="a triple inside a triple"):
        encode(Triple(NamedNode("a:b"), NamedNode("a:b"), Literal("x")))
