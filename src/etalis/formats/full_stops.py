r"""Text as it comes -> clauses, each with the full stop that ends it.

A full stop ends a clause where layout or a comment follows; in quotes, numbers, comments and signs such as `=..` it
does not, by the rules of `language.read.tokens`. What has been looked at is not looked at again, however small the
pieces. What stands before a full stop is a part of a program, or a term: `read_typed` tells which.

>>> reader = ClauseReader()
>>> reader.feed("event(a('1. 2', 0.5)). % a. b\nqu"), reader.feed("ery(X = 'a.'"), reader.feed(").\n")
(["event(a('1. 2', 0.5))."], [], ["% a. b\nquery(X = 'a.')."])
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from etalis.errors import ProgramError, Source
from etalis.language import syntax as s
from etalis.language.read.parser import parse_term, read_clauses
from etalis.language.read.tokens import ESCAPE, SYMBOL_CHARS

_LONGEST = 64  # characters of a token that may still turn out to be a full stop or the code of a character
_CODE = re.compile(
    r"(?P<layout>[\s\ufeff]++)"
    r"|(?P<line>%)"
    r"|(?P<open>/\*)"
    r"|(?P<quote>['\"`])"
    r"|(?P<word>[0-9][0-9_]*+(?:'\\|[.'])?+\Z"  # what may go on
    rf"|0'(?:{ESCAPE}|''|[^\\\n])"
    r"|[0-9]++(?:'[0-9A-Za-z]++|(?:_[0-9]++)*+(?:\.[0-9]++(?:_[0-9]++)*+)?+)"
    r"|[^\W\d]\w*+)"
    rf"|(?P<symbol>[{re.escape(SYMBOL_CHARS)}]++)"
    r"|(?P<other>[\s\S])"
)
_STOP = re.compile(r"\.[\s\ufeff%]")
_EDGE = re.compile(r"/\*|\*/")
_INSIDE = {quote: re.compile(rf"(?:[^{quote}\\\n]++|{quote}{quote}|\\[\s\S])*+") for quote in "'\"`"}


class ClauseReader:
    """Parts text that comes in pieces into clauses."""

    __slots__ = ("_at", "_depth", "_is_remark", "_opened", "_quote", "_text")

    def __init__(self) -> None:
        self._begin("")

    def _begin(self, text: str) -> None:
        self._text = text
        self._at = 0  # up to where the text has been looked at
        self._quote = ""  # the quote that is open
        self._opened = 0  # where it is
        self._depth = 0  # of open comments
        self._is_remark = False  # a comment is open that ends with its line

    @property
    def waiting(self) -> str:
        """What has come of a clause that is not complete."""
        return self._text

    @property
    def is_idle(self) -> bool:
        """Whether no clause has begun: what waits is layout and comments."""
        bare = re.sub(r"%[^\n]*", "", self._text)
        return not (self._quote or self._depth) and not bare.strip(" \t\r\n\f\v\ufeff")

    def feed(self, text: str) -> list[str]:
        """Take more text, return the clauses that it completes."""
        self._text += text
        found = []
        while (end := self._find_end()) is not None:
            found.append(self._text[:end].lstrip())
            self._begin(self._text[end:])
        if self._text.isspace() and not self._is_remark:
            self._begin("")  # nothing has begun: blank lines may come for ever
        return found

    def close(self) -> str:
        """Return what is left where the text ends, which may lack its full stop; layout and comments are nothing."""
        left = "" if self.is_idle else self._text.strip()
        self._begin("")
        return left

    def _find_end(self) -> int | None:
        """Return where the first clause ends; None where it needs more text."""
        while True:
            if self._quote:
                if not self._pass_quoted():
                    return None
            elif self._depth:
                if not self._pass_comment():
                    return None
            else:
                end = self._pass_code()
                if end is None or end:
                    return end

    def _pass_code(self) -> int | None:
        """Go on to the end of the clause, and return it; None where the text ends, 0 at a quote or a comment."""
        text = self._text
        if self._is_remark:
            end = text.find("\n", self._at)
            self._is_remark, self._at = end < 0, len(text) if end < 0 else end
        while self._at < len(text):
            found = _CODE.match(text, self._at)
            assert found is not None
            kind, end = found.lastgroup, found.end()
            if kind == "quote":
                self._quote, self._opened, self._at = found[0], self._at, end
                return 0
            if kind == "open":
                self._depth, self._at = 1, end
                return 0
            if kind == "line":
                end = text.find("\n", self._at)
                if end < 0:
                    end = len(text)
                    self._is_remark = True
            if kind in ("word", "symbol"):
                if _STOP.match(text, self._at):
                    self._at = end
                    return end
                if end == len(text) and end - self._at <= _LONGEST:
                    return None
            self._at = end
        return None

    def _pass_quoted(self) -> bool:
        """Go behind the quote that is open, or behind its line where it is never closed; tell whether it is over."""
        text, quote = self._text, self._quote
        found = _INSIDE[quote].match(text, self._at)
        assert found is not None
        self._at = found.end()
        left = text[self._at : self._at + 2]
        if len(left) < 2 and left != "\n":
            return False  # the end of the text, half an escape, or a quote that may be doubled
        self._quote = ""
        if left[0] == quote:
            self._at += 1
        else:
            line = text[self._opened : text.index("\n", self._opened)].rstrip()
            self._at = self._opened + len(line) - line.endswith(".")
        return True

    def _pass_comment(self) -> bool:
        """Go behind the comment that is open; comments nest."""
        for edge in _EDGE.finditer(self._text, self._at):
            self._at = edge.end()
            self._depth += 1 if edge[0] == "/*" else -1
            if not self._depth:
                return True
        self._at = max(self._at, len(self._text) - 1)
        return False


def read_typed(text: str, name: str) -> Iterator[s.Item | s.Term]:
    """Yield what a text says that is typed or sent: clauses of programs as such, everything else as terms.

    >>> from etalis.language.printer import print_term
    >>> [type(found).__name__ for found in read_typed("c(X) <- a(X).", "")], [*map(print_term, read_typed("p, q.", ""))]
    (['Rule'], ['p, q'])
    """
    source = Source(name, text)
    for item, problems, _ in read_clauses(source):
        if item is not None and not (isinstance(item, s.Clause) and item.body is None):
            yield item
            continue
        try:
            yield parse_term(text, name)
        except ProgramError as error:
            raise (ProgramError(*problems) if problems and _is_clause(text) else error) from None
        return


def _is_clause(text: str) -> bool:
    """Tell whether a text that cannot be read was meant as a part of a program."""
    return "<-" in text or "←" in text or text.lstrip().startswith((":-", "on ", "action ", "always ", "constraint "))
