"""Arguments of built-in predicates, checked: each function returns what it asks for, or raises the ISO error."""

from __future__ import annotations

from etalis.data.values import Rational
from etalis.logic.arithmetic.arithmetic import charge_operand
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.machine import Machine
from etalis.logic.terms.iso_errors import domain_error, instantiation_error, representation_error, type_error
from etalis.logic.terms.unify import Term, Variable, deref, split_list
from etalis.logic.terms.write import number_text


def bound(term: Term) -> Term:
    """Return a term that must not be a variable."""
    term = deref(term)
    if term.__class__ is Variable:
        raise instantiation_error()
    return term


def integer(term: Term) -> int:
    """Return an integer."""
    term = bound(term)
    if term.__class__ is not int:
        raise type_error("integer", term)
    assert isinstance(term, int)
    return term


def optional_integer(term: Term) -> int | None:
    """Return an integer, or None for a variable."""
    return None if deref(term).__class__ is Variable else integer(term)


def natural(term: Term) -> int:
    """Return an integer that is not negative."""
    number = integer(term)
    if number < 0:
        raise domain_error("not_less_than_zero", number)
    return number


def proper_list(term: Term, machine: Machine) -> list[Term]:
    """Return the elements of a list that has an end."""
    items, tail = split_list(term)
    if tail.__class__ is Variable:
        raise instantiation_error()
    if tail != ():
        raise type_error("list", term)
    machine.trail.charge(len(items))
    return items


def is_atomic(term: Term) -> bool:
    """Tell whether a dereferenced term is an atom, a number or the empty list."""
    return term.__class__ is not Variable and not (term.__class__ is tuple and bool(term))


def text(term: Term, machine: Machine) -> str:
    """Return the characters of an atom or a number."""
    term = bound(term)
    if isinstance(term, str):
        machine.trail.charge(len(term) >> 5)
        return term
    if isinstance(term, int | float | Rational):
        charge_operand(term, machine.trail)  # digits are found by division
        return number_text(term)
    if term == ():
        return "[]"
    raise type_error("atomic", term)


def character(term: Term) -> str:
    """Return a character that is an atom of one character or a code."""
    term = bound(term)
    if isinstance(term, int):
        if not 0 <= term <= 0x10FFFF or 0xD800 <= term <= 0xDFFF:
            raise representation_error("character_code")
        return chr(term)
    if isinstance(term, str) and len(term) == 1:
        return term
    raise type_error("character", term)


def optional_text(term: Term, machine: Machine) -> str | None:
    """Return the characters of an atom or a number, None for a variable."""
    return None if deref(term).__class__ is Variable else text(term, machine)


def sized(result: str, machine: Machine) -> str:
    """Return a new atom, unless it is longer than the machine's limit of size."""
    if len(result) > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    machine.trail.charge(len(result) >> 4)
    return result
