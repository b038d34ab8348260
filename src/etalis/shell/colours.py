"""A clause in pieces with their styles, line by line, as the terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.errors import Source
from etalis.language.operators import PATTERN_WORDS
from etalis.language.read.tokens import Token, Tokenizer

STYLES = {
    "comment": "fg:ansibrightblack",
    "number": "fg:ansicyan",
    "quoted": "fg:ansigreen",
    "variable": "fg:ansimagenta",
    "word": "bold fg:ansiblue",
    "functor": "fg:ansiblue",
    "wrong": "underline fg:ansired",
}
_KINDS = {"number": "number", "rational": "number", "quoted": "quoted", "string": "quoted", "var": "variable"}
_ARROWS = frozenset({"<-", ":-", "?-"})

Piece = tuple[str, str]  # style and text


def colour_clause(text: str) -> list[list[Piece]]:
    """Return the lines of a text as pieces with their styles.

    >>> colour_clause("a(X) % x")[0]
    [('class:functor', 'a'), ('', '('), ('class:variable', 'X'), ('', ')'), ('', ' '), ('class:comment', '% x')]
    """
    lines: list[list[Piece]] = [[]]
    at = 0
    for style, start, end in _parts(text):
        start = max(start, at)  # a quote that is never closed covers the full stop of its line
        if end <= start:
            continue
        _add(lines, _layout_style(text[at:start]), text[at:start])
        _add(lines, style, text[start:end])
        at = end
    _add(lines, _layout_style(text[at:]), text[at:])
    return lines


def _parts(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (style, start, end) of the tokens."""
    for tokens in Tokenizer(Source("", text)).clauses():
        for place, token in enumerate(tokens):
            kind, _, start, end = token
            if kind != "eof" and end > start:
                yield _style(token, text, tokens[place + 1] if place + 1 < len(tokens) else None), start, end


def _style(token: Token, text: str, after: Token | None) -> str:
    kind, value, start, end = token
    if kind == "error":
        return "class:wrong" if text[start] in "'\"`" else ""
    if kind != "name":
        return f"class:{_KINDS[kind]}" if kind in _KINDS else ""
    if value in PATTERN_WORDS or value in _ARROWS:
        return "class:word"
    if after is not None and after[1] == "(" and after[2] == end:
        return "class:functor"
    return ""


def _layout_style(text: str) -> str:
    return "class:comment" if "%" in text or "/*" in text else ""


def _add(lines: list[list[Piece]], style: str, text: str) -> None:
    """Add a piece, which may have several lines."""
    if not text:
        return
    if style == "class:comment" and text[0].isspace():
        rest = text.lstrip()
        _add(lines, "", text[: len(text) - len(rest)])
        text = rest
    first, *others = text.split("\n")
    if first:
        lines[-1].append((style, first))
    lines.extend([(style, line)] if line else [] for line in others)
