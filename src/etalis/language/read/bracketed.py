"""The forms of patterns that begin with a word and a bracket: `NOT(C).[A, B]`, `iso(P)`, `any(N, [..])`, aggregates.

Each function finds the reader at the word and leaves it behind the form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from etalis.errors import Span
from etalis.language.check.spelling import suggest
from etalis.language.operators import ARGUMENT, PATTERN
from etalis.language.read.messages import wrong_operator
from etalis.language.read.reader import TermReader
from etalis.language.read.tokens import ClauseError, Token, refusal
from etalis.language.read.units import refuse_unit
from etalis.language.syntax import Aggregate, AnyOf, Binary, Compound, Const, Isolated, Negation, Pattern, Term
from etalis.temporal.aggregate import FOLDS

ReadPattern: TypeAlias = Callable[[int], Pattern]  # that binds at most as loosely as a priority

_NOT = "NOT(C).[A, B]"
_NOT_SEQ = "NOT(C, seq(A, B))"
_ANY = "any(N, [Pattern, ...])"
_AGGREGATE = "aggregate(Kind(X), Pattern, Result)"


def read_isolated(reader: TermReader, read: ReadPattern) -> Pattern:
    """Read `iso(Pattern)`."""
    token = _open(reader)
    pattern = read(PATTERN)
    _step(reader, ")", "iso(Pattern)")
    return Isolated(pattern, _span_from(reader, token))


def read_any_of(reader: TermReader, read: ReadPattern) -> Pattern:
    """Read `any(N, [P1, ..., Pm])`."""
    token = _open(reader)
    number = reader.term(ARGUMENT)
    _step(reader, ",", _ANY)
    patterns = _read_list(reader, read, _ANY)
    _step(reader, ")", _ANY)
    span = _span_from(reader, token)
    refuse_unit(reader, number, "`any` counts patterns, and this is a duration", "use within for a window of time")
    value = number.value if isinstance(number, Const) else None
    if not isinstance(value, int) or value < 1:
        message = f"how many of the {len(patterns)} patterns must be a number from 1 to {len(patterns)}"
        raise refusal("E114", message, number.span or span)
    return AnyOf(min(value, max(len(patterns), 1)), patterns, span)


def read_aggregate(reader: TermReader, read: ReadPattern) -> Pattern:
    """Read `aggregate(Kind(X), Pattern, Result)`."""
    token = _open(reader)
    what = reader.term(ARGUMENT)
    _step(reader, ",", _AGGREGATE)
    pattern = read(PATTERN)
    _step(reader, ",", _AGGREGATE)
    result = reader.term(ARGUMENT)
    _step(reader, ")", _AGGREGATE)
    kind, value = _split_kind(what)
    return Aggregate(kind, value, pattern, result, _span_from(reader, token))


def _split_kind(what: Term) -> tuple[str, Term | None]:
    """Split the first argument of `aggregate` into the kind and the value it folds."""
    match what:
        case Const(value=str() as name):
            args: tuple[Term, ...] = ()
        case Compound(name=name, args=args):
            pass
        case _:
            name, args = "", ()
    assert what.span is not None
    row = FOLDS.get(name)
    if row is None:
        known = ", ".join(fold.name + ("(X)" if fold.has_value else "") for fold in FOLDS.values())
        hint = suggest(name, FOLDS, f"the kinds are {known}")
        raise refusal("E114", "this is no kind of aggregate", what.span, hint)
    if len(args) != row.has_value:
        wanted = f"{name}(X)" if row.has_value else name
        raise refusal("E114", f"the aggregate `{name}` is written {wanted}", what.span)
    return name, args[0] if args else None


def read_not(reader: TermReader, read: ReadPattern) -> Pattern | None:
    """Read `NOT(C).[A, B]`, `NOT(C)[A, B]` or `NOT(C, seq(A, B))`; None, with nothing read, if it is none of them."""
    token = reader.tokens[reader.at]
    start = reader.at + 2
    end = reader.group_end(start - 1)
    list_at = end + 1 if reader.tokens[end][0] == "name" and reader.tokens[end][1] == "." else end
    comma = _find_comma(reader, start, end)
    if reader.tokens[list_at][0] == "punct" and reader.tokens[list_at][1] == "[":
        reader.at = list_at
        between = _sequence(reader, _read_list(reader, read, _NOT))
        stop = end - 1
    elif comma:
        reader.at = comma + 1
        between = _read_functional_seq(reader, read)
        stop = comma
    else:
        return None
    back, reader.at = reader.at, start  # C stands first in the text and last in the tree
    absent = read(PATTERN)
    if reader.at != stop:
        raise wrong_operator(reader, None)
    reader.at = back
    return Negation("cnot", between, absent, _span_from(reader, token))


def _find_comma(reader: TermReader, start: int, end: int) -> int:
    """Return the first comma between two tokens that stands in no inner bracket, or 0."""
    depth = 0
    for index in range(start, end):
        kind, value, _, _ = reader.tokens[index]
        if kind == "punct":
            if value == "," and depth == 0:
                return index
            depth += (value in "([{") - (value in ")]}")
    return 0


def _read_functional_seq(reader: TermReader, read: ReadPattern) -> Pattern:
    """Read the `seq(A, B))` of `NOT(C, seq(A, B))`."""
    word = reader.tokens[reader.at]
    if str(word[1]).lower() != "seq" or reader.tokens[reader.at + 1][1] != "(":
        raise reader.refusal("E114", "the second part must be a sequence", word, f"the form is {_NOT_SEQ}")
    reader.at += 2
    a = read(PATTERN)
    _step(reader, ",", _NOT_SEQ)
    b = read(PATTERN)
    _step(reader, ")", _NOT_SEQ)
    _step(reader, ")", _NOT_SEQ)
    return _sequence(reader, (a, b))


def _sequence(reader: TermReader, parts: tuple[Pattern, ...]) -> Pattern:
    """Return the sequence that the brackets of `NOT(C).[..]` hold: two patterns, or one that says it all."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) > 2:
        place = reader.between(parts[0].span, parts[-1].span)
        raise refusal("E114", "an absence lies between two events", place, f"the form is {_NOT}")
    a, b = parts
    return Binary("seq", a, b, reader.between(a.span, b.span))


def _read_list(reader: TermReader, read: ReadPattern, form: str) -> tuple[Pattern, ...]:
    """Read `[Pattern, ...]`."""
    _step(reader, "[", form)
    found = [read(PATTERN)]
    while reader.skip(","):
        found.append(read(PATTERN))
    _step(reader, "]", form)
    return tuple(found)


def _open(reader: TermReader) -> Token:
    """Step over the word and its bracket, which must close somewhere; return the word."""
    token = reader.tokens[reader.at]
    reader.group_end(reader.at + 1)
    reader.at += 2
    return token


def _step(reader: TermReader, sign: str, form: str) -> None:
    """Step over a sign of a form."""
    if not reader.skip(sign):
        raise _wrong_form(reader, sign, form)


def _wrong_form(reader: TermReader, sign: str, form: str) -> ClauseError:
    token = reader.tokens[reader.at]
    if token[0] != "punct" and sign != "[":
        return wrong_operator(reader, None)
    return reader.refusal("E114", f"expected `{sign}`, found `{token[1]}`", token, f"the form is {form}")


def _span_from(reader: TermReader, token: Token) -> Span:
    return Span(reader.source, token[2], reader.tokens[reader.at - 1][3])
