"""The text of a query -> tokens.

One regular expression skips layout and comments and takes the next token; it cannot fail (the last alternative takes
any character), and its repetitions are possessive, so reading is linear in the text. What cannot be read is reported
and left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from etalis.errors import Problem, Source, Span

_IRI_CHARACTERS = r"(?:[^\x00-\x20<>\"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PREFIX = r"[^\W\d_](?:\.*+[\w\-\u00b7])*+"
_LOCAL = rf"(?:[\w:]|{_ESCAPED})(?:\.*+(?:[\w:\-\u00b7]|{_ESCAPED}))*+"
_DIGITS = r"[0-9]++(?:\.[0-9]++)?+"
_TOKEN = re.compile(
    r"(?:[\s\ufeff]++|#[^\r\n]*+)*+(?:"
    r"(?P<var>[?$]\w++)"
    rf"|(?P<iri><{_IRI_CHARACTERS}>)"
    rf"|(?P<iso>P(?=[0-9T])(?:{_DIGITS}[YMWD])*+(?:T(?:{_DIGITS}[HMS])++)?+(?![\w:]))"
    r"|(?P<blank>_:\w(?:\.*+[\w\-\u00b7])*+)"
    rf"|(?P<pname>(?:{_PREFIX})?+:(?:{_LOCAL})?+)"
    r"|(?P<word>[^\W\d]\w*+)"
    r"|(?P<number>(?:[0-9]++\.(?=[eE][+-]?[0-9])|[0-9]++(?:\.[0-9]++)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)"
    r'|(?P<long>"""(?:"{0,2}+(?:[^"\\]|\\[\s\S]))*+"""|\'\'\'(?:\'{0,2}+(?:[^\'\\]|\\[\s\S]))*+\'\'\')'
    r'|(?P<string>"(?:[^"\\\n\r]|\\[^\n\r])*+"|\'(?:[^\'\\\n\r]|\\[^\n\r])*+\')'
    r"|(?P<tag>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)"
    rf"|(?P<sign>\^\^|&&|\|\||!=|<=|>=|==|=:=|=\\=|\\[=+]|=<(?!{_IRI_CHARACTERS}>)|[{{}}()\[\].,;*/+\-=<>!|^?&])"
    r"|(?P<eof>\Z)"
    r"|(?P<bad>[\s\S]))"
)
_TYPOGRAPHY = {
    **dict.fromkeys("\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u00b4", 'write straight quotes: "text"'),
    **dict.fromkeys("\u2013\u2014\u2212", "write a plain minus: -"),
    **dict.fromkeys("\u2264", "write <="),
    **dict.fromkeys("\u2265", "write >="),
    **dict.fromkeys("\u2260", "write !="),
}


class QueryToken(NamedTuple):
    """A piece of a text: what it is, its text, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def split_tokens(source: Source, problems: list[Problem]) -> list[QueryToken]:
    """Return the tokens of a text, the last of kind `eof`; add what cannot be read to the problems.

    >>> [token.text for token in split_tokens(Source("q", "ASK {?s :p 5.}"), [])]
    ['ASK', '{', '?s', ':p', '5', '.', '}', '']
    """
    tokens: list[QueryToken] = []
    text, scan, position = source.text, _TOKEN.match, 0
    while True:
        found = scan(text, position)
        assert found is not None
        assert found.lastgroup is not None
        kind, value, position = found.lastgroup, found[found.lastgroup], found.end()
        start = position - len(value)
        if kind == "bad":
            position = _after_bad(source, start, problems)
            continue
        tokens.append(QueryToken(kind, value, start, position))
        if kind == "eof":
            return tokens


def _after_bad(source: Source, start: int, problems: list[Problem]) -> int:
    """Report a character that opens no token; return where reading goes on."""
    text, character = source.text, source.text[start]
    span = Span(source, start, start + 1)
    if character not in "'\"":
        hint = _TYPOGRAPHY.get(character, "put it in quotes if it belongs to a text")
        problems.append(Problem("E101", f"the character {character!r} has no meaning here", span, hint))
        return start + 1
    long = character * 3
    if text.startswith(long, start):
        span = Span(source, start, start + 3)
        problems.append(Problem("E102", "this quote is never closed", span, f"close it with {long}"))
        return len(text)
    hint = f"close it with {character} on the same line; a text of several lines stands in {long}"
    problems.append(Problem("E102", "this quote is never closed", span, hint))
    stop = text.find("\n", start)
    return len(text) if stop < 0 else stop
