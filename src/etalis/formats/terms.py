"""Ground terms in input: the text of a term -> its value."""

from __future__ import annotations

from etalis.data.values import Value
from etalis.errors import InputError, Problem, ProgramError
from etalis.language.ground_terms import ground
from etalis.language.read.parser import parse_term
from etalis.language.syntax import Term

_COMPOUND = frozenset("([")


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


def read_cell_term(text: str) -> Value:
    """Read a cell of an attribute declared `term`: what is written as a compound term or a list is one, else text.

    >>> read_cell_term("f(x, [1])"), read_cell_term("Basel (BS"), read_cell_term("12")
    (f(x,[1]), 'Basel (BS', '12')
    """
    if not _COMPOUND.intersection(text):
        return text
    try:
        return read_value(text)
    except InputError:
        return text
