"""Numbers as join keys: one expression over the variables of a side, equal as a key where it is equal by `=:=`.

Of a number that is whole the integer is the key, whatever its type. An expression that raises an error, or has no
number for a value, has no key: None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.data.values import Real, Value
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.traversal import term_variables
from etalis.logic.arithmetic.functions import BINARY, UNARY
from etalis.plan.rewrite.join_keys import LARGEST
from etalis.runtime.codegen.source import Code

Names = dict[str, str]

NUMBERS: frozenset[type] = frozenset((int, float, Real))
_INFIX = frozenset("+-*")


def is_plain_number(value: Value) -> bool:
    """Tell whether a value is a number of which short expressions can be computed without an error."""
    return isinstance(value, int | float) and -LARGEST < value < LARGEST


def write_guards(code: Code, variables: Sequence[str], names: Names) -> list[str]:
    """Return the tests that some variables are plain numbers."""
    known = [names[v] for v in variables if v in names]
    bound = code.constant(LARGEST) if known else ""
    return [f"{x}.__class__ in {code.constant(NUMBERS)} and -{bound} < {x} < {bound}" for x in known]


def write_number(code: Code, term: s.Term, names: Names, *, integers: bool) -> str:
    """Return the Python expression of a number as a key: computed in line for integers."""
    inputs = term_variables(term)
    make = code.constant(number_key(term, inputs, integers=integers))
    otherwise = f"{make}({', '.join(names[v] for v in inputs)})"
    if not _is_plain(term):
        return otherwise
    tests = [f"{names[v]}.__class__ is int" for v in inputs]
    if _multiplies(term):
        tests += [f"-{code.constant(LARGEST)} < {names[v]} < {code.constant(LARGEST)}" for v in inputs]
    return f"({_infix(code, term, names)} if {' and '.join(tests)} else {otherwise})"


def _is_plain(term: s.Term) -> bool:
    """Tell whether Python computes a term as the logic machine does, of integers."""
    match term:
        case s.Compound(name=name, args=(a, b)):
            return name in _INFIX and _is_plain(a) and _is_plain(b)
        case s.Const(value=value):
            return isinstance(value, int)
        case _:
            return isinstance(term, s.Var)


def _multiplies(term: s.Term) -> bool:
    return isinstance(term, s.Compound) and (term.name == "*" or any(map(_multiplies, term.args)))


def _infix(code: Code, term: s.Term, names: Names) -> str:
    match term:
        case s.Compound(name=name, args=(a, b)):
            return f"({_infix(code, a, names)} {name} {_infix(code, b, names)})"
        case s.Var(name=name):
            return names[name]
        case s.Const(value=value):
            return code.constant(value)
    raise AssertionError("a plain term")


def number_key(term: s.Term, inputs: Sequence[str], *, integers: bool) -> Callable[..., int | float | None]:
    """Return the function of the inputs that gives an expression as a key; with `integers` of these alone."""
    compute = _computation(term, {name: place for place, name in enumerate(inputs)})

    def key(*values: Value) -> int | float | None:
        if not all(map(is_plain_number, values)):
            return None
        try:
            number = compute(values)
        except EtalisError:
            return None
        if number.__class__ is int:
            return int(number)
        if integers or not -LARGEST < number < LARGEST:
            return None
        return int(number) if number.is_integer() else float(number)

    return key


def _computation(term: s.Term, places: dict[str, int]) -> Callable[[tuple[Value, ...]], Any]:
    match term:
        case s.Var(name=name):
            place = places[name]
            return lambda values: values[place]
        case s.Compound(name=name, args=(a, b)):
            binary, x, y = BINARY[name], _computation(a, places), _computation(b, places)
            return lambda values: binary(x(values), y(values))
        case s.Compound(name=name, args=(a,)):
            unary, z = UNARY[name], _computation(a, places)
            return lambda values: unary(z(values))
        case s.Const(value=value):
            return lambda _: value
    raise AssertionError("an expression")
