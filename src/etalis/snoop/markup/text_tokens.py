"""The tokens of SNOOP-R as text: names, numbers, texts in double quotes, and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from etalis.errors import DocumentError, Problem, Source, Span
from etalis.snoop.markup.json_form import MOST_BYTES

Kind: TypeAlias = OneOf["name", "number", "text", "sign", "end"]
WORD = re.compile(r"[^\W\d]\w*(?:[.-]+\w+)*")
_TOKEN = re.compile(
    rf"""(?P<space>(?:\s|%[^\n]*)+) | (?P<name>{WORD.pattern}) | '(?P<quoted>(?:[^'\\]|\\.)*)'
    | "(?P<text>(?:[^"\\]|\\.)*)" | (?P<number>[+-]?\d+(?:\.\d+)?) | (?P<sign>\^\^|[():,=.\[\]{{])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_WRITTEN = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class TextToken:
    """A token, with its value: that of a quoted one is without quotes."""

    kind: Kind
    value: str
    span: Span


class TextTokens:
    """The tokens of a text, read one ahead."""

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.source = Source(name, text)
        try:
            size = len(text.encode())
        except UnicodeError:
            raise DocumentError(Problem("E870", "the document is not text in UTF-8")) from None
        if size > MOST_BYTES:
            raise DocumentError(Problem("E872", f"a text of more than {MOST_BYTES} bytes"))
        self._place = 0
        self.token = self._read()
        self._after: TextToken | None = None

    def next(self) -> TextToken:
        """Return the token, and go on."""
        found = self.token
        self.token = self._after or self._read()
        self._after = None
        return found

    def peek(self) -> TextToken:
        """Return the token after this one."""
        if self._after is None:
            self._after = self._read()
        return self._after

    def skip_to(self, place: int) -> None:
        """Go on at a place of the text."""
        self._place, self._after = place, None
        self.token = self._read()

    def is_sign(self, sign: str) -> bool:
        """Tell whether the token is a sign."""
        return self.token.kind == "sign" and self.token.value == sign

    def take(self, sign: str) -> bool:
        """Pass over a sign, if it is the next."""
        if not self.is_sign(sign):
            return False
        self.next()
        return True

    def expect(self, sign: str) -> None:
        """Pass over a sign, which must be the next."""
        if not self.take(sign):
            raise self.error(f"`{sign}`")

    def error(self, expected: str, hint: str | None = None) -> DocumentError:
        """Return the error that something else was expected."""
        token = self.token
        found = "the end" if token.kind == "end" else f"`{self.source.text[token.span.start : token.span.end]}`"
        return DocumentError(Problem("E875", f"expected {expected}, found {found}", token.span, hint))

    def _read(self) -> TextToken:
        text = self.source.text
        while True:
            start = self._place
            if start == len(text):
                return TextToken("end", "", Span(self.source, start, start))
            found = _TOKEN.match(text, start)
            if found is None:
                span = Span(self.source, start, start + 1)
                hint = "close the quote" if text[start] in "\"'" else None
                raise DocumentError(Problem("E875", f"`{text[start]}` means nothing here", span, hint))
            self._place = found.end()
            kind = found.lastgroup
            if kind != "space":
                break
        span = Span(self.source, start, self._place)
        match kind:
            case "quoted" | "text":
                return TextToken("name" if kind == "quoted" else "text", self._unescape(found[kind], span), span)
            case "name" | "number":
                return TextToken(kind, found[0], span)
            case _:
                return TextToken("sign", found[0], span)

    def _unescape(self, text: str, span: Span) -> str:
        def replaced(found: re.Match[str]) -> str:
            if found[1] is not None and not found[1].lower().startswith(
                ("d8", "d9", "da", "db", "dc", "dd", "de", "df")
            ):
                return chr(int(found[1], 16))
            if found[2] not in _ESCAPED:
                raise DocumentError(Problem("E875", f"unknown escape \\{found[2]}", span))
            return _ESCAPED[found[2]]

        return _ESCAPE.sub(replaced, text)


def quote(text: str, mark: str = '"') -> str:
    r"""Write a text in quotes.

    >>> quote('say "hi"')
    '"say \\"hi\\""'
    """
    body = "".join(f"\\{c}" if c == mark else _WRITTEN.get(c, c) for c in text)
    return f"{mark}{body}{mark}"


def write_name(name: str) -> str:
    """Write a name, in quotes if it is no word.

    >>> write_name("newCD"), write_name("new CD")
    ('newCD', "'new CD'")
    """
    return name if WORD.fullmatch(name) else quote(name, "'")
