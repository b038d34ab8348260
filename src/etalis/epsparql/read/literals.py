"""Literals of a text in the exact naming: quotes and escapes, languages, types, numbers, booleans."""

from __future__ import annotations

import re

from etalis.data.values import MAX_DIGITS
from etalis.epsparql.read.query_text import QueryText, describe
from etalis.language.syntax import Const
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import make_literal

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]))")
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def read_string(r: QueryText) -> str:
    """Take a text in quotes; return what it says."""
    token = r.take()
    width = 3 if token.kind == "long" else 1
    inner = token.text[width:-width]
    if "\\" not in inner:
        return inner
    pieces, end = [], 0
    for found in _ESCAPE.finditer(inner):
        character = _unescape(found)
        if character is None:
            raise r.refusal(
                "E104", f"the escape {found[0]} in a text is not known", token, "write \\\\ for a backslash"
            )
        pieces += [inner[end : found.start()], character]
        end = found.end()
    return "".join([*pieces, inner[end:]])


def _unescape(found: re.Match[str]) -> str | None:
    digits = found[1] or found[2]
    if digits is None:
        return _PLAIN.get(found[3])
    code = int(digits, 16)
    return None if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)


def read_number(r: QueryText, sign: str = "") -> Const:
    """Take a number; a sign stands before it."""
    first = r.at - len(sign)
    token = r.take()
    kind = "integer" if token.text.isdigit() else "double" if "e" in token.text.lower() else "decimal"
    if len(token.text) > MAX_DIGITS:
        raise r.refusal("E105", f"a number of more than {MAX_DIGITS} digits", token, "write it in quotes, as a text")
    value = make_literal(sign + token.text, XSD + kind)
    if isinstance(value, str):
        hint = "the largest number with a point or exponent is 1.7e308"
        raise r.refusal("E105", f"{describe(token)} is too large for a number", token, hint)
    return Const(value, r.span_from(first))


def is_signed_number(r: QueryText) -> bool:
    """Tell whether a sign stands here with a number right behind it."""
    if not (r.sees("-") or r.sees("+")):
        return False
    after = r.following
    return after.kind == "number" and after.start == r.token.end


def read_signed_number(r: QueryText) -> Const:
    """Take a number with the sign before it."""
    return read_number(r, r.take().text)


def boolean(r: QueryText) -> Const:
    """Take `true` or `false`."""
    token = r.take()
    return Const(make_literal(token.text.lower(), XSD + "boolean"), r.span_of(token))
