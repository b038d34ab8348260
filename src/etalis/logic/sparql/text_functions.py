"""Functions on texts, with or without a language; where two meet, the second has none or the first's.

A text made here is as long as `LONGEST` at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import quote

from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.numbers import number
from etalis.logic.sparql.term_functions import simple
from etalis.logic.sparql.values import Known, TaggedText

LONGEST = 1_000_000
_HASHES = ("md5", "sha1", "sha256", "sha384", "sha512")


def text_of(known: Known) -> str:
    """Return the characters of a text, tagged or not; all else is an error."""
    if isinstance(known, str):
        return known
    if isinstance(known, TaggedText):
        return known.text
    raise ExpressionError("no text")


def like(known: Known, text: str) -> Known:
    """Return a text with the language of another."""
    return TaggedText(bounded(text), known.language) if isinstance(known, TaggedText) else bounded(text)


def bounded(text: str) -> str:
    """Return a text, unless it is too long."""
    if len(text) > LONGEST:
        raise ExpressionError("a text that is too long")
    return text


def _pair(a: Known, b: Known) -> tuple[str, str]:
    """Return two texts of which the second fits the first."""
    if isinstance(b, TaggedText) and not (isinstance(a, TaggedText) and a.language == b.language):
        raise ExpressionError("texts of other languages")
    return text_of(a), text_of(b)


def _tested(test: Callable[[str, str], bool]) -> Callable[[Known, Known], bool]:
    return lambda a, b: test(*_pair(a, b))


def _before(a: Known, b: Known) -> Known:
    text, mark = _pair(a, b)
    if not mark:
        return like(a, "")
    head, found, _ = text.partition(mark)
    return like(a, head) if found else ""


def _after(a: Known, b: Known) -> Known:
    text, mark = _pair(a, b)
    if not mark:
        return a
    _, found, tail = text.partition(mark)
    return like(a, tail) if found else ""


def substring(a: Known, start: Known, length: Known | None = None) -> Known:
    """Return the characters from a place on, counted from one."""
    text, first = text_of(a), _whole(start)
    last = len(text) if length is None else first + _whole(length) - 1
    return like(a, text[max(first, 1) - 1 : max(last, 0)])


def _whole(known: Known) -> int:
    if known.__class__ is int:
        return int(number(known))
    raise ExpressionError("no integer")


def concat(*parts: Known) -> Known:
    """Put texts together; the language stays where all have it."""
    languages = {part.language if isinstance(part, TaggedText) else None for part in parts}
    text = bounded("".join(map(text_of, parts)))
    language = languages.pop() if len(languages) == 1 else None
    return text if language is None else TaggedText(text, language)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ExpressionError("half a character") from None


def _hashed(name: str) -> Callable[[Known], str]:
    return lambda a: hashlib.new(name, _encoded(simple(a)), usedforsecurity=False).hexdigest()


ONE: Mapping[str, Callable[[Known], Known]] = MappingProxyType(
    {
        "strlen": lambda a: len(text_of(a)),
        "ucase": lambda a: like(a, text_of(a).upper()),
        "lcase": lambda a: like(a, text_of(a).lower()),
        "encode_for_uri": lambda a: bounded(quote(_encoded(text_of(a)), safe="")),
        **{name: _hashed(name) for name in _HASHES},
    }
)
TWO: Mapping[str, Callable[[Known, Known], Known]] = MappingProxyType(
    {
        "strstarts": _tested(str.startswith),
        "strends": _tested(str.endswith),
        "contains": _tested(str.__contains__),
        "strbefore": _before,
        "strafter": _after,
    }
)
