"""Arithmetic and comparison as Python, by the kinds of the operands.

Law: where no guard fails and nothing is raised, the number is the solver's; so what can go wrong is either guarded or
marked as not safe. Sums, differences and products of floats keep an infinity or NaN once there is one, so that one look
at the result is enough; what could hide it (a division, a function) looks at its operands. Integers beyond all floats
are left to the solver, too, which has a limit on their length.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from etalis.data.values import Real
from etalis.logic.arithmetic.functions import BINARY, CONSTANTS, MAKES_RATIONALS, UNARY
from etalis.logic.arithmetic.reals import REAL_BINARY, REAL_UNARY
from etalis.logic.inline.plain_functions import (
    QUOTIENTS,
    apply_plainly,
    bounded,
    can_divide,
    divide_plainly,
    raise_plainly,
    round_quotient,
)
from etalis.logic.inline.scope import GoalScope, Operand
from etalis.logic.inline.steps import DeclineError
from etalis.logic.terms.unify import Term, Variable, deref

_COMPARE: Mapping[str, str] = {"<": "<", ">": ">", "=<": "<=", ">=": ">="}
COMPARISONS = frozenset((*_COMPARE, "=:=", "=\\="))
_NUMERIC = frozenset(("int", "float", "number"))
_CLASSES = frozenset((int, float, Real))
_LARGEST = sys.float_info.max
_LEAST = -_LARGEST
_RING = frozenset(("+", "-", "*"))
_BITS: Mapping[str, str] = {"/\\": "&", "\\/": "|", "xor": "^"}
_ON_INTEGERS = frozenset(("//", "div", "mod", "rem", "gcd", "lcm", ">>", "<<", "getbit", *_BITS))
_TO_INTEGER = frozenset(("floor", "ceiling", "round", "integer", "truncate", "trunc"))
_SIGNED = frozenset(("copysign", "atan2", "atan"))  # which tell a negative zero from zero


def compare(scope: GoalScope, name: str, left: Term, right: Term) -> Operand:
    """Return the truth of a comparison."""
    x, y = checked(scope, number(scope, left)), checked(scope, number(scope, right))
    if name in _COMPARE:
        text = f"({x.text} {_COMPARE[name]} {y.text})"
    elif x.kind == y.kind and x.kind != "number":
        text = f"({x.text} {'==' if name == '=:=' else '!='} {y.text})"
    else:
        x, y = scope.named(x), scope.named(y)
        text = f"({'' if name == '=:=' else 'not '}{x.text} <= {y.text} <= {x.text})"
    return Operand(text, safe=x.safe and y.safe)


def checked(scope: GoalScope, x: Operand) -> Operand:
    """Return a number that is none of the infinities that computing may have come to."""
    if x.checked:
        return x
    name = scope.shared.name()
    least, largest = scope.shared.constant(_LEAST), scope.shared.constant(_LARGEST)
    scope.guard(f"{least} < ({name} := {x.text}) < {largest}", safe=x.safe)
    return replace(x, text=name, safe=True, checked=True)


def number(scope: GoalScope, term: Term) -> Operand:
    """Return the number that an expression comes to."""
    scope.shared.count()
    match deref(term):
        case Variable() as variable:
            return _variable(scope, variable)
        case str() as name if name in CONSTANTS:
            return scope.constant(CONSTANTS[name])
        case int() | float() as value:
            return scope.constant(value)
        case (str() as name, one) if name in UNARY and name not in MAKES_RATIONALS:
            return _of_quotient(scope, name, one) or _unary(scope, name, number(scope, one))
        case (str() as name, one, two) if name in BINARY and name not in MAKES_RATIONALS:
            if name in _ON_INTEGERS:
                return _on_integers(scope, name, _integer(scope, one), _integer(scope, two))
            if name in _RING:
                return _ring(scope, name, _bounded(scope, one), _bounded(scope, two))
            return _binary(scope, name, number(scope, one), number(scope, two))
        case _:
            raise DeclineError


def _of_quotient(scope: GoalScope, name: str, term: Term) -> Operand | None:
    """Return `floor` or `ceiling` of a number by an integer that is known and not too large, None of another term."""
    match deref(term):
        case ("/", one, two) if name in QUOTIENTS and can_divide(deref(two)):
            return round_quotient(scope, name, checked(scope, number(scope, one)), number(scope, two))
        case _:
            return None


def _variable(scope: GoalScope, variable: Variable) -> Operand:
    x = scope.known.get(variable)
    if x is None or x.kind in ("string", "list"):
        raise DeclineError
    if x.kind == "term":
        scope.guard(f"{x.text}.__class__ in {scope.shared.constant(_CLASSES)}")
        x = replace(x, kind="number")
    elif not x.sure:
        scope.guard(f"{x.text}.__class__ is not str")
    scope.known[variable] = x = replace(x, sure=True)
    return x


def _integer(scope: GoalScope, term: Term) -> Operand:
    """Return the operand of a function on integers, as an integer where that is easily made sure."""
    variable = deref(term)
    x = scope.known.get(variable) if isinstance(variable, Variable) else None
    if x is not None and x.kind in ("term", "number"):
        scope.guard(f"{x.text}.__class__ is int")
        scope.known[variable] = x = replace(x, kind="int", sure=True)
        return x
    return checked(scope, number(scope, term))


def _bounded(scope: GoalScope, term: Term) -> Operand:
    """Return the operand of a sum or product, of no declared type as one of a size that raises nothing."""
    x = bounded(scope, number(scope, term))
    variable = deref(term)
    if isinstance(variable, Variable):
        scope.known[variable] = x
    return x


def _ring(scope: GoalScope, name: str, x: Operand, y: Operand) -> Operand:
    kinds = {x.kind, y.kind}
    kind = "int" if kinds == {"int"} else "float" if "float" in kinds else "number"
    both_small = x.small and y.small
    small = both_small and name != "*"
    safe = x.safe and y.safe
    if name == "-" and x.moment and y.moment and scope.shared.between is not None:
        return _between(scope, x.moment, y.moment)
    if kinds == {"int", "float"} and not small:
        x, y = _as_float(scope, x), _as_float(scope, y)
    elif "number" in kinds and not small:
        safe = safe and (both_small or any(z.kind == "int" and z.small for z in (x, y)))
    checks = both_small or (kind == "int" and name != "*" and x.checked and y.checked)
    text = f"({x.text} {name} {y.text})"
    return Operand(text, kind, plain=kind != "int", small=small and _is_leaf(x, y), safe=safe, checked=checks)


def _between(scope: GoalScope, end: str, start: str) -> Operand:
    """Return the seconds between two moments in microseconds: without a fraction, where these are whole seconds."""
    length, slow = scope.shared.name(), scope.shared.constant(scope.shared.between)
    whole = f"not ({length} := {end} - {start}) % 1000000 and not {start} % 1000000"
    return Operand(f"({length} // 1000000 if {whole} else {slow}({end}, {start}))", "number", plain=True, small=True)


def _is_leaf(x: Operand, y: Operand) -> bool:
    """Keep sums of small numbers small: a handful of them, not a long chain."""
    return x.text.count("(") + y.text.count("(") < 20


def _as_float(scope: GoalScope, x: Operand) -> Operand:
    """Return an operand that Python can add to a float: an integer must not be larger than all of them."""
    if x.kind != "int":
        return x
    if x.constant is not None and _LEAST < x.constant < _LARGEST:
        return scope.constant(float(x.constant))
    x = scope.named(x)
    scope.guard(f"{scope.shared.constant(_LEAST)} < {x.text} < {scope.shared.constant(_LARGEST)}")
    return x


def _binary(scope: GoalScope, name: str, x: Operand, y: Operand) -> Operand:
    plain = raise_plainly(scope, name, x, y) if name in ("**", "^") else None
    if plain is not None:
        return plain
    x, y = checked(scope, x), checked(scope, y)
    plain = divide_plainly(scope, x, y) if name == "/" else None
    if plain is not None:
        return plain
    kinds = {x.kind, y.kind}
    if name == "/" and "float" in kinds and "number" not in kinds and not (y.constant is not None and not y.constant):
        x, y = _as_float(scope, x), scope.named(_as_float(scope, y))
        if y.constant is None:
            scope.guard(y.text)
        return Operand(f"({x.text} / {y.text})", "float", plain=True, safe=x.safe, checked=False)
    if name in ("min", "max") and len(kinds) == 1 and "number" not in kinds:
        return Operand(f"{name}({x.text}, {y.text})", x.kind, plain=x.plain or y.plain, safe=x.safe and y.safe)
    kind = "float" if name in REAL_BINARY else "number"
    return _call(scope, name, kind, x, y)


def _on_integers(scope: GoalScope, name: str, x: Operand, y: Operand) -> Operand:
    if x.kind == y.kind == "int":
        if name in _BITS:
            return Operand(f"({x.text} {_BITS[name]} {y.text})", "int", safe=x.safe and y.safe)
        if y.constant is not None and y.constant > 0 and name in ("//", "rem"):
            x, operator = scope.named(x), {"//": "//", "rem": "%"}[name]
            text = f"({x.text} {operator} {y.text} if {x.text} >= 0 else -(-{x.text} {operator} {y.text}))"
            return Operand(text, "int")
        if name in ("mod", "div") and (y.constant is None or y.constant):
            y = scope.named(y)
            if y.constant is None:
                scope.guard(y.text)
            return Operand(f"({x.text} {'%' if name == 'mod' else '//'} {y.text})", "int", safe=x.safe)
    return _call(scope, name, "int", x, y)


def _unary(scope: GoalScope, name: str, x: Operand) -> Operand:
    if name == "+":
        return x
    if name in ("-", "abs"):  # of an infinity that came with an event they are refused
        x = x if name == "-" else checked(scope, x)
        text, is_int = f"(-{x.text})" if name == "-" else f"abs({x.text})", x.kind == "int"
        return replace(x, text=text, plain=not is_int, checked=x.small or (is_int and x.checked), constant=None)
    if name in _TO_INTEGER and x.kind == "int":
        return checked(scope, x)
    plain = apply_plainly(scope, name, x)
    if plain is not None:
        return plain
    x = checked(scope, x)
    kind = "int" if name in _TO_INTEGER or name in ("\\", "msb", "lsb", "popcount", "succ") else "number"
    return _call(scope, name, "float" if name in REAL_UNARY else kind, x)


def _call(scope: GoalScope, name: str, kind: str, *operands: Operand) -> Operand:
    function = (UNARY if len(operands) == 1 else BINARY)[name]
    given = [scope.normal(x) for x in operands] if name in _SIGNED else operands
    text = f"{scope.shared.constant(function)}({', '.join(x.text for x in given)})"
    chooses = name in ("min", "max")
    return Operand(text, kind, plain=chooses, safe=chooses and all(x.safe for x in operands))
