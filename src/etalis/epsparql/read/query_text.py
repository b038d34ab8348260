"""A place in the text of a query: the tokens, what was found wrong so far, and how deep the reading is.

What makes reading on impossible is raised as `ReadingError` and caught where reading can go on: at the next part of a
list, element of a group, or query. Everything else is reported at once and reading continues.
"""

from __future__ import annotations

from etalis.epsparql.read.namespaces import Namespaces
from etalis.epsparql.read.tokens import QueryToken, split_tokens
from etalis.epsparql.read.words import MEANT, MEANT_IN_DIALECT
from etalis.errors import Problem, Source, Span

MAX_DEPTH = 100
MAX_PROBLEMS = 100
QUERY_WORDS = frozenset(("REGISTER", "PREFIX", "BASE", "CONSTRUCT", "ASK"))
_BEFORE = {
    ")": "close the bracket here, or put an operator before this",
    "]": "close the bracket here",
    "}": "a group has triples, groups in braces, FILTER, OPTIONAL, BIND, ...; close it with `}`",
}


class ReadingError(Exception):
    """Leaves what is being read; carries what is reported about it."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


class QueryText:
    """The tokens of a text and a place among them."""

    __slots__ = ("aggregates", "at", "depth", "dialect", "left_at", "names", "problems", "source", "tokens")

    def __init__(self, source: Source, names: Namespaces, dialect: str | None = None) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.tokens = split_tokens(source, self.problems)
        self.at = 0
        self.depth = 0
        self.names = names
        self.dialect = dialect
        self.left_at = -1  # where reading went on last time it was left
        self.aggregates = False  # whether an aggregate may stand here

    @property
    def token(self) -> QueryToken:
        return self.tokens[self.at]

    @property
    def following(self) -> QueryToken:
        """The token behind the one here; at the end, the end."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    @property
    def word(self) -> str:
        """The word at this place in capitals, empty if there is none."""
        token = self.tokens[self.at]
        return token.text.upper() if token.kind == "word" else ""

    def sees(self, sign: str) -> bool:
        """Tell whether a sign stands here."""
        token = self.tokens[self.at]
        return token.kind == "sign" and token.text == sign

    def take(self) -> QueryToken:
        """Return the token here, and go on behind it; the end of the text stays."""
        token = self.tokens[self.at]
        if token.kind != "eof":
            self.at += 1
        return token

    def accept(self, sign: str) -> bool:
        """Go on behind a sign if it stands here."""
        if self.sees(sign):
            self.at += 1
            return True
        return False

    def accept_word(self, *words: str) -> str:
        """Go on behind one of some words; return it in capitals, or nothing."""
        word = self.word
        if word not in words:
            return ""
        self.at += 1
        return word

    def expect(self, sign: str, where: str, hint: str) -> QueryToken:
        """Take a sign that must stand here."""
        if not self.sees(sign):
            raise self.refusal("E108", f"{where}: expected `{sign}`, found {describe(self.token)}", self.token, hint)
        return self.take()

    def expect_word(self, word: str, where: str, hint: str) -> QueryToken:
        """Take a word that must stand here."""
        if self.word != word:
            raise self.refusal("E108", f"{where}: expected {word}, found {describe(self.token)}", self.token, hint)
        return self.take()

    def close(self, sign: str, opening: int) -> None:
        """Take the bracket that closes one; where it is missing, point at the one that is open."""
        if self.accept(sign):
            return
        opened = self.tokens[opening]
        if self.token.kind == "eof" or self.begins_query():
            raise self.refusal("E107", f"`{opened.text}` is never closed", opened, f"add `{sign}`")
        raise self.refusal("E108", f"expected `{sign}`, found {describe(self.token)}", self.token, self._closing(sign))

    def _closing(self, sign: str) -> str:
        """Say what to do where a bracket should be closed."""
        if sign != ")":
            return _BEFORE[sign]
        is_sign = self.token.kind == "iri" and self.token.text != "<>"
        return "put a space behind the sign <" if is_sign else self.meant(_BEFORE[sign])

    def meant(self, otherwise: str) -> str:
        """Say how what stands here is written in expressions, where other languages have it, or something else."""
        before = self.tokens[max(0, self.at - 1)]
        pair = before.text + self.token.text if before.end == self.token.start else ""
        known = {**MEANT, **(MEANT_IN_DIALECT if self.dialect is not None else {})}
        found = known.get(pair) or known.get(self.token.text.upper())
        return otherwise if found is None else found

    def begins_query(self) -> bool:
        """Tell whether the next token can only begin another query, or its prologue."""
        word = self.word
        if word == "SELECT":
            return not (self.at and self.tokens[self.at - 1].text == "{")
        return word in QUERY_WORDS and (word in ("PREFIX", "BASE") or self._stands_alone())

    def _stands_alone(self) -> bool:
        """Tell whether the word here is no part of a triple: a capital letter, or a bracket behind it."""
        return self.token.text[0].isupper() or self.following.text == "{"

    def span_of(self, token: QueryToken) -> Span:
        return Span(self.source, token.start, max(token.end, token.start + 1))

    def span_from(self, first: int) -> Span:
        """Return the span from a token up to this place."""
        return Span(self.source, self.tokens[first].start, self.tokens[max(first, self.at - 1)].end)

    def report(self, code: str, message: str, place: QueryToken | Span, hint: str) -> None:
        """Note a problem and go on."""
        span = self.span_of(place) if isinstance(place, QueryToken) else place
        self.problems.append(Problem(code, message, span, hint))

    def refusal(self, code: str, message: str, place: QueryToken | Span, hint: str) -> ReadingError:
        """Return what is raised to leave what is being read."""
        span = self.span_of(place) if isinstance(place, QueryToken) else place
        return ReadingError(Problem(code, message, span, hint))

    def deepen(self) -> None:
        """Count one more level of brackets."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message, hint = f"nesting deeper than {MAX_DEPTH} levels", "make a part a query of its own: REGISTER STREAM"
            raise self.refusal("E112", message, self.token, hint)

    def go_on(self, finding: ReadingError, depth: int, stops: frozenset[str]) -> None:
        """Report what made reading on impossible, unless it follows from the last such, and go on at a stop."""
        if self.at != self.left_at:
            self.problems.append(finding.problem)
        self.depth = depth
        self.aggregates = False
        self.skip(stops)
        self.left_at = self.at

    def skip(self, stops: frozenset[str]) -> None:
        """Go on at the next of some signs or words (in capitals) outside brackets, or where brackets or queries end."""
        depth = 0
        while self.token.kind != "eof" and not self.begins_query():
            text = self.token.text if self.token.kind == "sign" else self.word
            if depth == 0 and text in stops:
                return
            if text in "([{" and text:
                depth += 1
            elif text in ")]}" and text:
                if depth == 0 and text == "}":
                    return
                depth = max(0, depth - 1)
            self.take()


def describe(token: QueryToken) -> str:
    """Name a token in a message."""
    if token.kind == "eof":
        return "the end of the text"
    text = token.text.split("\n")[0]
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
