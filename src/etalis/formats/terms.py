"""Ground terms in input: the text of a term to the value it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from etalis.errors import InputError, Problem, Source
from etalis.language.operators import ARGUMENT, GoalOperators
from etalis.language.reader import Reader
from etalis.language.syntax import Compound, Const, ListTerm, Term, Var
from etalis.language.tokens import SyntaxFinding, Token, Tokenizer
from etalis.logic.term import Struct, Value


def read_terms(source: Source) -> Iterator[Term]:
    """Yield the terms of a text, each ended by a full stop; the first that cannot be read is refused."""
    reader = Reader(source, GoalOperators())
    for tokens in Tokenizer(source).clauses():
        yield _read(reader, tokens)


def read_value(text: str) -> Value:
    """Read one ground term; it needs no full stop.

    >>> read_value("f(x, [1, 2.5])"), read_value("-3")
    (f(x,[1,2.5]), -3)
    """
    source = Source("value", f"{text} .")
    terms = list(read_terms(source))
    if len(terms) != 1:
        raise InputError(Problem("E408", f"expected one term, found {text!r}", hint="quote it if it is text"))
    return to_ground(terms[0])


def _read(reader: Reader, tokens: list[Token]) -> Term:
    for kind, value, _, _ in tokens:
        if kind == "error":
            raise InputError(value)
    try:
        reader.open(tokens)
        term = reader.term(ARGUMENT)
        token = reader.tokens[reader.at]
        if token[0] == "eof":
            reader.fail("E106", "the full stop is missing", token, "end every clause with a full stop")
        if token[0] != "end":
            reader.refuse_next(None)
        return term
    except SyntaxFinding as finding:
        raise InputError(finding.problem) from None


def to_ground(term: Term) -> Value:
    """Return the value of a term without variables."""
    match term:
        case Const(value):
            return value
        case Compound(name, args):
            return Struct(name, map(to_ground, args))
        case ListTerm(items, None):
            return tuple(map(to_ground, items))
        case ListTerm():
            hint = "write all its elements: [a, b, c]"
            raise InputError(Problem("E408", "a list that ends in a bar is not a value", term.span, hint))
        case Var(name):
            hint = "write a value, in quotes if it begins with a capital"
            raise InputError(Problem("E408", f"{name} is a variable, an event has values only", term.span, hint))
        case _:
            assert_never(term)
