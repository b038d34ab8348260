"""Text -> tokens, one clause at a time.

One regular expression skips layout and takes the next token; it cannot fail (the last alternative takes any
character), and its repetitions are possessive, so reading is linear in the text. A clause ends at a full stop that
layout, `%` or the end of the text follows. What cannot be read becomes a token of kind `error` that carries the
finding, so that reading goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from etalis.data.values import real
from etalis.errors import Problem, Source, Span
from etalis.temporal.relation import RELATIONS

Token: TypeAlias = tuple[str, Any, int, int]  # kind, value, start, end

MAX_ERRORS = 1000
MAX_DIGITS = 4000  # CPython refuses to print longer integers
SYMBOL_CHARS = "+-*/\\^<>=~:.?@#&$"

# What the papers print stands for what keyboards have.
SIGNS = {
    "←": "<-",
    "≤": "=<",
    "≥": ">=",
    "≠": "\\=",
    "−": "-",
    "∗": "*",
    "·": "*",
    "×": "*",
    "⊗": "seq",
    "∧": "and",
    "∨": "or",
    "!": "!",
    ";": ";",
}


# What word processors put in the place of what keyboards have.
_TYPOGRAPHY = {
    **dict.fromkeys("\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u00b4", "write straight quotes: 'name'"),
    **dict.fromkeys("\u2013\u2014", "write a plain minus: -"),
}


class ClauseError(Exception):
    """Leaves the clause being read; carries what is reported about it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def refusal(code: str, message: str, span: Span, hint: str | None = None) -> ClauseError:
    """Return the finding to raise."""
    return ClauseError(Problem(code, message, span, hint))


ESCAPE = r"\\(?:x[0-9a-fA-F]++\\?|[0-7]++\\?|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|c\s*+|[\s\S])"
_NUMBER = "|".join(
    (
        rf"0'(?:{ESCAPE}|''|[^\\\n])",
        r"0x[0-9a-fA-F]++|0o[0-7]++|0b[01]++",
        r"[0-9]++'[0-9A-Za-z]++",
        r"[0-9]++r[0-9]++",
        r"[0-9]++(?:_[0-9]++)*+(?:\.[0-9]++(?:_[0-9]++)*+)?+(?:[eE][+-]?[0-9]++)?+(?:Inf|NaN)?+",
    )
)
_TOKEN = re.compile(
    r"(?:[\s\ufeff]++|%[^\n]*+)*+(?:"
    r"(?P<word>[^\W\d][\w\u0300-\u036f]*+)"
    r"|(?P<punct>[()\[\]{},|])"
    rf"|(?P<number>{_NUMBER})"
    r"|(?P<end>\.(?=[\s\ufeff%]|\Z))"
    r"|(?P<comment>/\*)"
    rf"|(?P<symbol>[{re.escape(SYMBOL_CHARS)}]++)"
    rf"|(?P<sign>[{''.join(SIGNS)}])"
    rf"|(?P<quoted>'(?:[^'\\\n]++|''|{ESCAPE})*+')"
    rf'|(?P<string>"(?:[^"\\\n]++|""|{ESCAPE})*+")'
    rf"|(?P<back>`(?:[^`\\\n]++|``|{ESCAPE})*+`)"
    r"|(?P<eof>\Z)"
    r"|(?P<bad>[\s\S]))"
)
_WORD = re.compile(r"[^\W\d][\w\u0300-\u036f]*+")
_MARKED = frozenset(RELATIONS) | {"or", "cnot", "fnot"}  # the words of operators that a question mark may touch
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_IN_QUOTES = {quote: re.compile(f"{quote}{quote}|{ESCAPE}") for quote in "'\"`"}
_PLAIN_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "s": " ",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "\n": "", "c": "",
}  # fmt: skip


class Tokenizer:
    """Reads a source clause by clause."""

    __slots__ = ("_errors", "_nested", "_pos", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self._pos = 0
        self._nested = True
        self._errors = 0

    def clauses(self) -> Iterator[list[Token]]:
        """Yield the tokens of each clause; the last is `end`, or `eof` where the text ends before the full stop."""
        while True:
            tokens = self._clause()
            if tokens[0][0] == "eof":
                return
            yield tokens
            if tokens[-1][0] == "eof":
                return

    def _clause(self) -> list[Token]:
        tokens: list[Token] = []
        add, text, scan = tokens.append, self.source.text, _TOKEN.match
        pos = self._pos
        while True:
            found = scan(text, pos)
            assert found is not None
            kind = found.lastgroup
            assert kind is not None
            value = found[kind]
            pos = found.end()
            start = pos - len(value)
            if kind == "word":
                add(("name" if value[0].islower() else _word_kind(value[0]), value, start, pos))
            elif kind == "punct":
                add(("punct", value, start, pos))
            elif kind == "symbol":
                if value == "?":
                    pos = self._question_mark(start, tokens)
                else:
                    add(("name", value, start, pos))
            elif kind == "end" or kind == "eof":
                add((kind, value, start, pos))
                self._pos = pos
                return tokens
            elif kind == "comment":
                pos = self._after_comment(start, add)
            else:
                pos = self._rare(kind, value, start, pos, add)

    def _question_mark(self, start: int, tokens: list[Token]) -> int:
        """Add a question mark, as one token with the word of an operator that it touches; return where reading goes on.

        `a seq? b` and `a ?seq b` have three tokens each.
        """
        text, end = self.source.text, start + 1
        before, after = tokens[-1] if tokens else ("", "", 0, 0), _WORD.match(text, end)
        if before[0] in ("name", "var") and before[3] == start and before[1].lower() in _MARKED:
            tokens[-1] = ("name", f"{before[1]}?", before[2], end)
            return end
        if after is not None and after[0].lower() in _MARKED:
            end = after.end() + text.startswith("?", after.end())
        tokens.append(("name", text[start:end], start, end))
        return end

    def _rare(self, kind: str, value: str, start: int, end: int, add: Any) -> int:
        """Add a token of one of the less frequent kinds; return where reading goes on."""
        if kind == "bad":
            return self._bad(value, start, add)
        try:
            add(self._converted(kind, value, start, end))
        except ClauseError as finding:
            self._report(finding.problem, start, end, add)
        return end

    def _report(self, problem: Problem, start: int, end: int, add: Any) -> None:
        """Add a finding, unless the text has had more than anybody will read."""
        self._errors += 1
        if self._errors <= MAX_ERRORS:
            add(("error", problem, start, end))

    def _converted(self, kind: str, value: str, start: int, end: int) -> Token:
        if kind == "sign":
            return ("name", SIGNS[value], start, end)
        if kind == "number":
            number = read_number(value, Span(self.source, start, end))
            return ("rational" if isinstance(number, Fraction) else "number", number, start, end)
        text = value[1:-1]
        if "\\" in text or value[0] in text:
            text = _unquote(text, value[0], Span(self.source, start, end))
        return ("quoted" if kind == "quoted" else "string", text, start, end)

    def _after_comment(self, start: int, add: Any) -> int:
        """Return where the block comment ends that opens at `start`.

        Comments nest; where the inner ones never close, the first `*/` closes, as in standard Prolog.
        """
        text = self.source.text
        depth, closed = 0, -1
        for edge in _COMMENT_EDGE.finditer(text, start):
            depth += 1 if edge[0] == "/*" else -1
            if edge[0] == "*/":
                closed = edge.end() if closed < 0 else closed
                if depth == 0 or not self._nested:
                    return edge.end()
        self._nested = False  # look ahead to the end once per text, not once per comment
        if closed < 0:
            span = Span(self.source, start, start + 2)
            problem = Problem("E103", "this comment is never closed", span, "close it with */")
            self._report(problem, start, len(text), add)
            return len(text)
        return closed

    def _bad(self, value: str, start: int, add: Any) -> int:
        """Report a character that opens no token; after an open quote go on behind its line."""
        text = self.source.text
        span = Span(self.source, start, start + 1)
        if value not in "'\"`":
            message = f"the character {value!r} has no meaning here"
            hint = _TYPOGRAPHY.get(value, "put it in quotes if it belongs to a name")
            problem = Problem("E101", message, span, hint)
            self._report(problem, start, start + 1, add)
            return start + 1
        stop = text.find("\n", start)
        stop = start + len(text[start : len(text) if stop < 0 else stop].rstrip())
        hint = f"close it with {value} on the same line; inside, a quote is doubled: {value * 2}, a line break is \\n"
        self._report(Problem("E102", "this quote is never closed", span, hint), start, stop, add)
        return stop - 1 if text.endswith(".", start, stop) else stop


def _word_kind(first: str) -> str:
    return "var" if first == "_" or first.isupper() or first.istitle() else "name"


def _unquote(text: str, quote: str, span: Span) -> str:
    """Replace escapes and doubled quotes."""
    return _IN_QUOTES[quote].sub(lambda found: _unescape(found[0], span), text)


def _unescape(piece: str, span: Span) -> str:
    if piece[0] != "\\":
        return piece[0]
    letter = piece[1]
    if letter in _PLAIN_ESCAPES:
        return _PLAIN_ESCAPES[letter]
    digits = piece[1:].rstrip("\\")
    if letter in "01234567":
        return _character(digits, 8, span)
    if letter in "xuU" and len(digits) > 1:
        return _character(digits[1:], 16, span)
    raise refusal("E104", f"the escape {piece} is not known", span, "write \\\\ for a backslash")


def _character(digits: str, base: int, span: Span) -> str:
    """Return the character of a code, which must be one that text can hold."""
    code = int(digits, base) if len(digits) < 12 else -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise refusal("E104", f"there is no character with the code {digits[:12]} (base {base})", span)
    return chr(code)


def read_number(text: str, span: Span) -> int | float | Fraction:
    """Turn the text of a number, in any of Prolog's forms, into its value."""
    if text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    if text.endswith(("Inf", "NaN")):
        raise refusal("E105", f"{text} is not a value", span, "infinity and NaN cannot be written; use a large number")
    if text.startswith("0'"):
        return _char_code(text[2:], span)
    if text[:2] in ("0x", "0o", "0b"):
        return _whole(text[2:], {"x": 16, "o": 8, "b": 2}[text[1]], span)
    if "'" in text:
        base, _, digits = text.partition("'")
        return _whole(digits, int(base) if len(base) < 3 else 99, span)
    if "r" in text:
        return _rational(text, span)
    if any(c in text for c in ".eE"):
        return _float(text.replace("_", ""), span)
    return _whole(text.replace("_", ""), 10, span)


def _char_code(piece: str, span: Span) -> int:
    text = "'" if piece == "'" else _unquote(piece, "'", span)
    if len(text) != 1:
        raise refusal("E104", f"{piece} is not one character", span)
    return ord(text)


def _whole(digits: str, base: int, span: Span) -> int:
    if not 2 <= base <= 36:
        raise refusal("E105", "there is no such base", span, "a base lies between 2 and 36: 16'FF is 255")
    if len(digits) > MAX_DIGITS:
        raise refusal("E105", f"an integer of more than {MAX_DIGITS} digits", span)
    try:
        return int(digits, base)
    except ValueError:
        raise refusal("E105", f"{digits} has a digit that base {base} has not", span) from None


def _rational(text: str, span: Span) -> int | Fraction:
    over, _, under = text.partition("r")
    above, below = _whole(over, 10, span), _whole(under, 10, span)
    if below == 0:
        raise refusal("E105", "a rational number over zero", span)
    exact = Fraction(above, below)
    return exact.numerator if exact.denominator == 1 else exact


def _float(text: str, span: Span) -> float:
    number = float(text)
    if number == float("inf"):
        raise refusal("E105", f"{text[:40]} is too large for a float", span)
    return real(number)
