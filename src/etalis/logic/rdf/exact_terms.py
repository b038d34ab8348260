"""RDF terms as plain values that keep their kind: the exact naming, of streams and of knowledge for queries.

An IRI is `<http://x/a>` in its brackets, a blank node `_:label`, an xsd:integer (or of a type below it) an int, a
finite xsd:double, xsd:float or xsd:decimal a float, an xsd:string its text. Every other literal is its N-Triples text,
as `"chat"@fr`: one with a language, of another type, not in its type, NaN, infinite, or more digits than Python reads;
and so is a text that would be taken for something else, since it begins with `<`, `"` or `_:` or is `null`.
Law: decode(encode(t)) == t, but that numbers come back as xsd:integer or xsd:double, and booleans, in canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite, isinf, isnan
from types import MappingProxyType
from typing import Any

from etalis.data.values import MAX_DIGITS, Value, decimal_text, real
from etalis.errors import EventError, Problem
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.entailment import RDF
from etalis.logic.rdf.oxigraph import import_pyoxigraph

STRING, BOOLEAN = XSD + "string", XSD + "boolean"
INTEGER, DOUBLE = XSD + "integer", XSD + "double"
LANGUAGE_TEXT, DIRECTED_TEXT = RDF + "langString", RDF + "dirLangString"
UNBOUND = "null"
PROV = "http://www.w3.org/ns/prov#"  # whose properties tell the times of graphs

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TAKEN = ("<", '"', "_:")  # how terms begin that are no texts
_TRUTH = MappingProxyType({"true": "true", "1": "true", "false": "false", "0": "false"})

_ESCAPED = re.compile(r"[\x00-\x1f\"\\\x7f\ufffe\uffff]")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SHORT = MappingProxyType({"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"', "\\": "\\"})
_LONG = MappingProxyType({**{letter: char for char, letter in _SHORT.items()}, "'": "'"})


def encode(term: Any) -> Value:
    """Return the value of a term of pyoxigraph; a triple term is refused.

    >>> from pyoxigraph import Literal, NamedNode
    >>> encode(NamedNode("http://x/a")), encode(Literal(7)), encode(Literal("a")), encode(Literal("a", language="EN"))
    ('<http://x/a>', 7, 'a', '"a"@en')
    """
    if term.__class__.__name__ == "Triple":
        raise _triple_term(term)
    return read_term(str(term))


def decode(value: Value) -> Any:
    """Return the term of pyoxigraph that a value stands for; what is no term, `null` among it, is refused.

    >>> str(decode("<http://x/a>")), str(decode("a")), str(decode(2.5))
    ('<http://x/a>', '"a"', '"2.5E0"^^<http://www.w3.org/2001/XMLSchema#double>')
    """
    oxigraph = import_pyoxigraph()
    try:
        match kind_of(value):
            case "iri" if value.endswith(">"):
                return oxigraph.NamedNode(value[1:-1])
            case "blank":
                return oxigraph.BlankNode(value[2:])
            case "literal":
                return _decode_literal(oxigraph, *split_literal(value))
    except (ValueError, TypeError):
        pass
    raise _no_term(value)


def _decode_literal(oxigraph: Any, lexical: str, datatype: str, language: str | None) -> Any:
    if language is None:
        return oxigraph.Literal(lexical, datatype=oxigraph.NamedNode(datatype))
    tag, dashes, direction = language.partition("--")
    if not dashes:
        return oxigraph.Literal(lexical, language=tag)
    return oxigraph.Literal(lexical, language=tag, direction=oxigraph.BaseDirection(direction))


def in_brackets(iri: str) -> str:
    """Return an IRI as the exact naming has it.

    >>> in_brackets("http://x/a"), in_brackets("<http://x/a>")
    ('<http://x/a>', '<http://x/a>')
    """
    return iri if iri.startswith("<") else f"<{iri}>"


def kind_of(value: Value) -> str:
    """Tell the kind of a term: `iri`, `blank`, `literal` or `unbound`.

    >>> [kind_of(v) for v in ("<http://x/a>", "_:b1", "a", 2.5, '"a"@en', "null")]
    ['iri', 'blank', 'literal', 'literal', 'literal', 'unbound']
    """
    if isinstance(value, str):
        if value.startswith("<"):
            return "iri"
        if value.startswith("_:"):
            return "blank"
        return "literal" if value != UNBOUND else "unbound"
    if isinstance(value, int | float):
        return "literal"
    if value is None:
        return "unbound"
    raise _no_term(value)


def read_term(text: str) -> Value:
    """Return the value of a term in the N-Triples syntax, as a writer that knows it to be one has it.

    >>> [read_term(t) for t in ("<http://x/a>", '"a"', '"07"^^<http://www.w3.org/2001/XMLSchema#integer>', '"a"@fr')]
    ['<http://x/a>', 'a', 7, '"a"@fr']
    """
    if text[0] != '"':
        if text.startswith("<<"):
            raise _triple_term(text)
        return text
    end = text.rfind('"')
    if end == len(text) - 1:
        lexical = text[1:-1]
        if "\\" in lexical:
            lexical = unescape(lexical)
        return f'"{escape(lexical)}"' if lexical == UNBOUND or lexical.startswith(_TAKEN) else lexical
    mark = text[end + 1 :]
    if not text.isprintable():  # writers differ in what they escape
        text = f'"{escape(unescape(text[1:end]))}"{mark}'
        end = len(text) - len(mark) - 1
    if mark[0] == "@":
        return text if mark.islower() else text[: end + 1] + mark.lower()
    convert = _CONVERSIONS.get(mark)
    return text if convert is None else convert(text, text[1:end])


def make_literal(lexical: str, datatype: str, language: str | None = None) -> Value:
    """Return the value of a literal; the datatype is an IRI without brackets, of no account where there is a language.

    >>> make_literal("7", INTEGER), make_literal("7", XSD + "byte"), make_literal("a", STRING, "EN")
    (7, 7, '"a"@en')
    """
    if language is not None:
        return f'"{escape(lexical)}"@{language.lower()}'
    if datatype == STRING:
        return f'"{escape(lexical)}"' if lexical == UNBOUND or lexical.startswith(_TAKEN) else lexical
    suffix = f"^^<{datatype}>"
    text = f'"{escape(lexical)}"{suffix}'
    convert = _CONVERSIONS.get(suffix)
    return text if convert is None else convert(text, lexical)


def split_literal(value: Value) -> tuple[str, str, str | None]:
    """Return text, datatype and language of a literal; what is none is refused.

    >>> split_literal('"a"@en')
    ('a', 'http://www.w3.org/1999/02/22-rdf-syntax-ns#langString', 'en')
    >>> split_literal(150.0)
    ('1.5E2', 'http://www.w3.org/2001/XMLSchema#double', None)
    """
    if isinstance(value, float):
        return double_text(value), DOUBLE, None
    if isinstance(value, int):
        return decimal_text(value), INTEGER, None
    if kind_of(value) != "literal":
        raise _no_term(value)
    if not value.startswith('"'):
        return value, STRING, None
    end = value.rfind('"')
    mark = value[end + 1 :]
    try:
        lexical = unescape(value[1:end])
    except (ValueError, OverflowError):
        raise _no_term(value) from None
    if not mark and end:
        return lexical, STRING, None
    if mark.startswith("@") and len(mark) > 1:
        return lexical, DIRECTED_TEXT if "--" in mark else LANGUAGE_TEXT, mark[1:]
    if mark.startswith("^^<") and mark.endswith(">"):
        return lexical, mark[3:-1], None
    raise _no_term(value)


def double_text(number: float) -> str:
    """Write a float in the canonical form of xsd:double.

    >>> [double_text(x) for x in (150.0, 0.0, -1e-7, float("inf"))]
    ['1.5E2', '0.0E0', '-1.0E-7', 'INF']
    """
    if not number:
        return "0.0E0"
    if not isfinite(number):
        return "NaN" if isnan(number) else "INF" if number > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(float(number))).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(digits) - 1}"


def escape(text: str) -> str:
    """Write a text as it stands between the quotes of N-Triples."""
    return _ESCAPED.sub(_escape, text) if _ESCAPED.search(text) else text


def unescape(text: str) -> str:
    """Read what stands between the quotes of N-Triples; ValueError or OverflowError if it is none of it."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    letter = _SHORT.get(char)
    return f"\\u{ord(char):04X}" if letter is None else "\\" + letter


def _unescape(found: re.Match[str]) -> str:
    letter = found[1]
    if len(letter) > 1:
        return chr(int(letter[1:], 16))
    if letter not in _LONG:
        raise ValueError(found[0])
    return _LONG[letter]


def _triple_term(term: object) -> EventError:
    hint = "use a blank node that stands for the statement"
    return EventError(Problem("E405", f"a triple inside a triple: {term}", hint=hint))


def _no_term(value: object) -> EventError:
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    hint = "an IRI stands in brackets, <http://...>, a blank node is _:label; see docs/data.md"
    return EventError(Problem("E342", f"{text} is no RDF term in the exact naming", hint=hint))


# literals of numbers and booleans: from the N-Triples text and what stands between its quotes


def _integer(low: int | None, high: int | None) -> Callable[[str, str], Value]:
    def convert(text: str, lexical: str) -> Value:
        if _WHOLE.fullmatch(lexical) is None or len(lexical) > MAX_DIGITS:
            return text
        number = int(lexical)
        if (low is not None and number < low) or (high is not None and number > high):
            return text
        return number

    return convert


def _float(pattern: re.Pattern[str]) -> Callable[[str, str], Value]:
    def convert(text: str, lexical: str) -> Value:
        if pattern.fullmatch(lexical) is None:
            return text
        number = float(lexical)
        return text if isinf(number) else real(number)

    return convert


def _boolean(text: str, lexical: str) -> Value:
    found = _TRUTH.get(lexical)
    return text if found is None else f'"{found}"^^<{BOOLEAN}>'


_RANGES: Mapping[str, tuple[int | None, int | None]] = MappingProxyType(
    {
        "integer": (None, None),
        "nonNegativeInteger": (0, None),
        "positiveInteger": (1, None),
        "nonPositiveInteger": (None, 0),
        "negativeInteger": (None, -1),
        **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in
           (("long", 64), ("int", 32), ("short", 16), ("byte", 8))},
        **{name: (0, (1 << bits) - 1) for name, bits in
           (("unsignedLong", 64), ("unsignedInt", 32), ("unsignedShort", 16), ("unsignedByte", 8))},
    }
)  # fmt: skip

_CONVERSIONS: Mapping[str, Callable[[str, str], Value]] = MappingProxyType(
    {
        **{f"^^<{XSD}{name}>": _integer(*bounds) for name, bounds in _RANGES.items()},
        f"^^<{XSD}decimal>": _float(_DECIMAL),
        f"^^<{DOUBLE}>": _float(_DOUBLE),
        f"^^<{XSD}float>": _float(_DOUBLE),
        f"^^<{BOOLEAN}>": _boolean,
    }
)
