"""Arithmetic of clause bodies, compiled to closures over the registers of a frame.

An expression known when the clause is compiled is not built as a term at every call: `N1 is N - 1` becomes one closure.
Law: the result and the error are those of `arithmetic.evaluate` on the term. Long integers are charged for: what
comes out of an expression or of a product by its length, what goes into a division by the square of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from etalis.logic.arithmetic.arithmetic import LONG, charge_operand, charge_result, evaluate
from etalis.logic.arithmetic.functions import BINARY, COMPARISONS, DIVISIONS, GROWING, UNARY, Number
from etalis.logic.machine.machine import Machine
from etalis.logic.terms.iso_errors import instantiation_error
from etalis.logic.terms.unify import Term, Variable, deref

Registers: TypeAlias = list[Any]
Expression: TypeAlias = Callable[[Registers, Machine], Number]

MAX_NESTING = 50


def compile_expression(
    term: Term, slots: Mapping[Variable, int], depth: int = 0, divides: bool = False
) -> Expression | None:
    """Return a closure that computes an expression, None if nested too deep; variables without a slot are unbound.

    What an expression that `divides` reads is charged for.
    """
    term = deref(term)
    if depth > MAX_NESTING:
        return None
    if isinstance(term, Variable):
        return _unbound if term not in slots else (_read_charged if divides else _read)(slots[term])
    if isinstance(term, tuple) and len(term) in (2, 3):
        table = UNARY if len(term) == 2 else BINARY
        if term[0] in table:
            deeper = divides or term[0] in DIVISIONS
            operands = [compile_expression(t, slots, depth + 1, deeper) for t in term[1:]]
            if None in operands:
                return None
            return _apply(term[0], table[term[0]], operands, [deref(t) for t in term[1:]])
    if isinstance(term, int | float):
        return lambda _registers, _machine: term
    return None if isinstance(term, tuple) else lambda _registers, _machine: evaluate(term)


def _unbound(_registers: Registers, _machine: Machine) -> Number:
    raise instantiation_error()


def _read(slot: int) -> Expression:
    def read(registers: Registers, machine: Machine) -> Number:
        x = registers[slot]
        return x if x.__class__ is int else evaluate(x, meter=machine.trail)

    return read


def _read_charged(slot: int) -> Expression:
    def read(registers: Registers, machine: Machine) -> Number:
        x = evaluate(registers[slot], meter=machine.trail)
        charge_operand(x, machine.trail)
        return x

    return read


def _apply(name: str, function: Callable[..., Number], operands: list[Any], terms: list[Term]) -> Expression:
    if len(operands) == 1:
        (only,) = operands
        return lambda registers, machine: function(only(registers, machine))
    first, second = operands
    if name in ("+", "-") and terms[1].__class__ is int:
        return _add_constant(first, terms[1] if name == "+" else -terms[1], function, terms[1])
    if name == "*":
        return _multiply(first, second, function)
    if name in GROWING:
        return _grow(first, second, function)
    if name in DIVISIONS and any(term.__class__ is tuple for term in terms):
        return _divide(first, second, function, [term.__class__ is tuple for term in terms])
    return lambda registers, machine: function(first(registers, machine), second(registers, machine))


def _multiply(first: Expression, second: Expression, function: Callable[..., Number]) -> Expression:
    def compute(registers: Registers, machine: Machine) -> Number:
        x, y = first(registers, machine), second(registers, machine)
        if x.__class__ is int and y.__class__ is int and -LONG < (z := x * y) < LONG:
            return z
        z = function(x, y)
        charge_result(z, machine.trail)
        return z

    return compute


def _grow(first: Expression, second: Expression, function: Callable[..., Number]) -> Expression:
    def compute(registers: Registers, machine: Machine) -> Number:
        x = function(first(registers, machine), second(registers, machine))
        if x.__class__ is int and not -LONG < x < LONG:
            charge_result(x, machine.trail)
        return x

    return compute


def _divide(
    first: Expression, second: Expression, function: Callable[..., Number], charged: list[bool]
) -> Expression:  # fmt: skip
    """Return a division of which some operands are charged for here; variables are where they are read."""

    def compute(registers: Registers, machine: Machine) -> Number:
        x, y = first(registers, machine), second(registers, machine)
        if not (-LONG < x < LONG and -LONG < y < LONG):
            for operand, is_charged in zip((x, y), charged, strict=True):
                if is_charged:
                    charge_operand(operand, machine.trail)
        return function(x, y)

    return compute


def _add_constant(operand: Expression, amount: int, function: Callable[..., Number], constant: int) -> Expression:
    def compute(registers: Registers, machine: Machine) -> Number:
        x = operand(registers, machine)
        return x + amount if x.__class__ is int else function(x, constant)

    return compute


def compile_comparison(name: str, left: Expression, right: Expression) -> Callable[[Registers, Machine], bool]:
    """Return a closure that compares two expressions."""
    test = COMPARISONS[name]
    return lambda registers, machine: test(left(registers, machine), right(registers, machine))
