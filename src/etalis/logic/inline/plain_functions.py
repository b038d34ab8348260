"""Functions of arithmetic as plain Python, guarded so that they raise nothing and come to no infinity.

Law: within its guards an expression has the value that the function of the solver has, but that a float need not be
`Real`, nor a zero without a sign. Outside of them the solver is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.logic.arithmetic.functions import UNARY
from etalis.logic.inline.scope import GoalScope, Operand

_LARGE = 1e300
_EXACT = 1e15  # integers up to it are floats, too
_FIRM = 1 << 29  # integers up to it are computed with at once
_MOST_EXPONENT = 8
QUOTIENTS: Mapping[str, str] = {"floor": "{0} // {1}", "ceiling": "-(-{0} // {1})"}
_EXACTLY, _FIRMLY = (-_EXACT, _EXACT), (-_FIRM, _FIRM)


@dataclass(frozen=True, slots=True)
class PlainFunction:
    """A function on numbers between two bounds, which it may not reach; of an integer where it `rounds`."""

    function: Callable[[Any], Any]
    least: float
    most: float
    rounds: bool = False


_WHOLE = (*_EXACTLY, True)
_FINITE = (-_LARGE, _LARGE)
PLAIN: Mapping[str, PlainFunction] = {
    "sqrt": PlainFunction(math.sqrt, -5e-324, _LARGE),
    "exp": PlainFunction(math.exp, -700.0, 700.0),
    "log": PlainFunction(math.log, 0.0, _LARGE),
    "log2": PlainFunction(math.log2, 0.0, _LARGE),
    "sin": PlainFunction(math.sin, *_FINITE),
    "cos": PlainFunction(math.cos, *_FINITE),
    "tan": PlainFunction(math.tan, *_FINITE),
    "atan": PlainFunction(math.atan, *_FINITE),
    "asin": PlainFunction(math.asin, -1.0, 1.0),
    "acos": PlainFunction(math.acos, -1.0, 1.0),
    "float": PlainFunction(float, *_FINITE),
    "floor": PlainFunction(math.floor, *_WHOLE),
    "ceiling": PlainFunction(math.ceil, *_WHOLE),
    "truncate": PlainFunction(math.trunc, *_WHOLE),
    "round": PlainFunction(UNARY["round"], *_WHOLE),
    "integer": PlainFunction(UNARY["integer"], *_WHOLE),
}


def apply_plainly(scope: GoalScope, name: str, x: Operand) -> Operand | None:
    """Return a function of one number, None where it has no plain form."""
    plain = PLAIN.get(name)
    if plain is None:
        return None
    x = _between(scope, x, plain.least, plain.most)
    text = f"{scope.shared.constant(plain.function)}({x.text})"
    if plain.rounds:
        return Operand(text, "int", small=True)
    return Operand(text, "float", plain=True)


def raise_plainly(scope: GoalScope, name: str, x: Operand, y: Operand) -> Operand | None:
    """Return `**` or `^` with a small exponent that is known, None where it is not."""
    exponent = y.constant
    if exponent is None or not 1 <= exponent <= _MOST_EXPONENT:
        return None
    if exponent.__class__ is int:
        if x.kind == "int":
            x = _between(scope, x, *_FIRMLY)
        else:
            bound = 10.0 ** (300 // exponent)
            x = _between(scope, x, -bound, bound)
        return Operand(f"({x.text} ** {y.text})", x.kind, plain=x.kind != "int")
    if x.kind != "float" or name != "**":
        return None
    x = _between(scope, x, -5e-324, 10.0 ** (300 // math.ceil(exponent)))
    return Operand(f"({x.text} ** {scope.shared.constant(float(exponent))})", "float", plain=True)


def divide_plainly(scope: GoalScope, x: Operand, y: Operand) -> Operand | None:
    """Return `/`, None of floats alone: of integers it is exact where that is an integer, else a float."""
    kinds = {x.kind, y.kind}
    if (not y.constant and y.constant is not None) or not kinds & {"number", "int"} or kinds == {"int", "float"}:
        return None
    x, y = _firm(scope, x), scope.named(_firm(scope, y))
    if y.constant is None:
        scope.guard(y.text)
    if "float" in kinds:
        return Operand(f"({x.text} / {y.text})", "float", plain=True, checked=False)
    tests = [f"{z.text}.__class__ is int" for z in (x, y) if z.kind == "number"]
    is_whole = " and ".join([*tests, f"not {x.text} % {y.text}"])
    text = f"({x.text} // {y.text} if {is_whole} else {x.text} / {y.text})"
    return Operand(text, "number", plain=True, small=not tests, checked=not tests)


def can_divide(divisor: object) -> bool:
    """Tell whether a divisor is an integer that is a float, too, and not zero; of a larger one quotients may vanish."""
    return isinstance(divisor, int) and 0 < abs(divisor) <= _EXACT


def round_quotient(scope: GoalScope, name: str, x: Operand, y: Operand) -> Operand:
    """Return `floor` or `ceiling` of a number by an integer that is known, and that `can_divide`.

    What division makes of an integer below `_EXACT` is less far from the quotient than that is from the next integer.
    """
    x = _between(scope, x, *_EXACTLY) if x.kind != "number" else bounded(scope, scope.named(x))
    of_floats = f"{scope.shared.constant(PLAIN[name].function)}({x.text} / {y.text})"
    of_integers = QUOTIENTS[name].format(x.text, y.text)
    either = f"{of_integers} if {x.text}.__class__ is int else {of_floats}"
    text = {"int": of_integers, "float": of_floats}.get(x.kind, either)
    return Operand(f"({text})", "int", small=True)


def _firm(scope: GoalScope, x: Operand) -> Operand:
    """Return an operand of a division as one that has no size to look at."""
    if x.kind == "int":
        return _between(scope, x, *_FIRMLY)
    return bounded(scope, scope.named(x))


def bounded(scope: GoalScope, x: Operand) -> Operand:
    """Return a number of either kind as one that sums and products can be made of, whatever the other side is."""
    if x.kind != "number" or x.small or not x.is_name:
        return x
    return _between(scope, x, *_EXACTLY, small=True)


def _between(scope: GoalScope, x: Operand, least: float, most: float, *, small: bool = False) -> Operand:
    """Return an operand between two bounds, as a name."""
    if x.constant is not None and least < x.constant < most:
        return x
    named = scope.named(x)
    low, high = scope.shared.constant(least), scope.shared.constant(most)
    scope.guard(f"{low} < {named.text} < {high}")
    return Operand(named.text, named.kind, plain=named.plain, small=small or named.small)
