"""Ground terms in input: the text of a term to the value it stands for."""

from __future__ import annotations

from etalis.errors import InputError, Problem, ProgramError
from etalis.language.parser import parse_term
from etalis.language.syntax import Term
from etalis.language.values import ground
from etalis.logic.term import Value


def read_value(text: str) -> Value:
    """Read one ground term.

    >>> read_value("f(x, [1, 2.5])"), read_value("-3")
    (f(x,[1,2.5]), -3)
    """
    try:
        return to_ground(parse_term(text, "value"))
    except ProgramError as error:
        raise InputError(*error.problems) from None


def to_ground(term: Term) -> Value:
    """Return the value of a term without variables."""
    value = ground(term)
    if value is None:
        hint = "write a value, in quotes if it begins with a capital"
        raise InputError(Problem("E408", "an event has values, this has a variable", term.span, hint))
    return value
