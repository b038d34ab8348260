"""Arithmetic on integers of any size and floats, as in ISO Prolog and SWI-Prolog.

`evaluate` turns an expression into a number. `/` on integers gives an integer if exact, else a float. Float results
pass through `term.real`; infinities and NaN never arise, they are evaluation errors. An integer of more than `MAX_BITS`
bits is a limit error. The functions are rows of tables, so that an addition is a row.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from etalis.logic.errors import LogicLimitError
from etalis.logic.iso_errors import evaluation_error, instantiation_error, type_error
from etalis.logic.term import Real
from etalis.logic.unify import LIST, MAX_CELLS, Term, Variable, deref

Number: TypeAlias = Any  # int | float
Function: TypeAlias = Callable[..., Number]

MAX_BITS = 1 << 20
_DIRECT_DEPTH = 100


def number(result: float) -> float:
    """Return a float result as the engine holds it; refuse what is no number."""
    if result.is_integer():
        return Real(result)
    if result != result or result in (math.inf, -math.inf):
        raise evaluation_error("undefined" if result != result else "float_overflow")
    return result


def _as_float(x: Number) -> float:
    try:
        return float(x)
    except OverflowError:
        raise evaluation_error("float_overflow") from None


def _mixed(operation: Callable[[Any, Any], Any]) -> Function:
    """Make a ring operation: exact on integers, checked on floats."""

    def compute(x: Number, y: Number) -> Number:
        if x.__class__ is int and y.__class__ is int:
            result = operation(x, y)
            if result.bit_length() > MAX_BITS:
                raise LogicLimitError("bits of an integer", MAX_BITS)
            return result
        return number(operation(_as_float(x), _as_float(y)))

    return compute


def multiply(x: Number, y: Number) -> Number:
    """Multiply two numbers."""
    if x.__class__ is int and y.__class__ is int:
        if x.bit_length() + y.bit_length() > MAX_BITS:
            raise LogicLimitError("bits of an integer", MAX_BITS)
        return x * y
    return number(_as_float(x) * _as_float(y))


def divide(x: Number, y: Number) -> Number:
    """Divide: exact on integers where possible, else a float."""
    if y == 0 or y == 0.0:
        raise evaluation_error("undefined" if x == 0.0 and isinstance(y, float) else "zero_divisor")
    if x.__class__ is int and y.__class__ is int:
        quotient, rest = divmod(x, y)
        if not rest:
            return quotient
        try:
            return number(x / y)
        except OverflowError:
            raise evaluation_error("float_overflow") from None
    return number(_as_float(x) / _as_float(y))


def _integers(operation: Callable[[int, int], int], *, divides: bool = False) -> Function:
    """Make an operation on integers alone."""

    def compute(x: Number, y: Number) -> int:
        for operand in (x, y):
            if operand.__class__ is not int:
                raise type_error("integer", operand)
        if divides and y == 0:
            raise evaluation_error("zero_divisor")
        return operation(x, y)

    return compute


def _integer(operation: Callable[[int], int]) -> Function:
    def compute(x: Number) -> int:
        if x.__class__ is not int:
            raise type_error("integer", x)
        return operation(x)

    return compute


def _truncating_quotient(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _remainder(x: int, y: int) -> int:
    return x - y * _truncating_quotient(x, y)


def _shift_left(x: int, y: int) -> int:
    if y < 0:
        return x >> -y
    if x and x.bit_length() + y > MAX_BITS:
        raise LogicLimitError("bits of an integer", MAX_BITS)
    return x << y if x else 0


def _power_of_integers(x: int, y: int) -> int:
    if abs(x) > 1 and x.bit_length() * y > MAX_BITS + y:
        raise LogicLimitError("bits of an integer", MAX_BITS)
    return x**y if abs(x) > 1 else x if y % 2 or x == 1 else int(x != 0 or y == 0)


def _float_power(x: Number, y: Number) -> float:
    base, exponent = _as_float(x), _as_float(y)
    if base == 0.0 and exponent < 0:
        raise evaluation_error("zero_divisor")
    try:
        result = base**exponent
    except OverflowError:
        raise evaluation_error("float_overflow") from None
    if isinstance(result, complex):
        raise evaluation_error("undefined")
    return number(result)


def _power(x: Number, y: Number) -> Number:
    """Compute `**`: integers give an integer, a negative exponent a float."""
    if x.__class__ is int and y.__class__ is int and (y >= 0 or x in (1, -1)):
        return _power_of_integers(x, abs(y))
    return _float_power(x, y)


def _caret(x: Number, y: Number) -> Number:
    """Compute `^`: integers give an integer or an error."""
    if x.__class__ is int and y.__class__ is int:
        if y >= 0 or x in (1, -1):
            return _power_of_integers(x, abs(y))
        raise evaluation_error("zero_divisor") if x == 0 else type_error("float", x)
    return _float_power(x, y)


def _real_function(function: Callable[..., float]) -> Function:
    """Make a float function of integers or floats, its domain errors turned into evaluation errors."""

    def compute(*args: Number) -> float:
        operands = [_as_float(x) for x in args]
        try:
            return number(function(*operands))
        except ValueError:
            raise evaluation_error("undefined") from None
        except OverflowError:
            raise evaluation_error("float_overflow") from None

    return compute


def _atan2(y: float, x: float) -> float:
    if x == 0.0 and y == 0.0:
        raise evaluation_error("undefined")
    return math.atan2(y, x)


def _log_of_base(base: float, x: float) -> float:
    if base == 1.0:
        raise evaluation_error("zero_divisor")
    return math.log(x) / math.log(base)


def _rounding(function: Callable[[float], int]) -> Function:
    def compute(x: Number) -> Number:
        if x.__class__ is int:
            return x
        try:
            return function(x)
        except OverflowError:  # an infinity that came with an event
            raise evaluation_error("undefined") from None

    return compute


def _round_half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else 0)


def _sign(x: Number) -> Number:
    sign = (x > 0) - (x < 0)
    return sign if x.__class__ is int else number(float(sign))


def _negate(x: Number) -> Number:
    return -x if x.__class__ is int else number(-float(x))


def _absolute(x: Number) -> Number:
    return abs(x) if x.__class__ is int else number(abs(float(x)))


def _whole_part(x: Number) -> Number:
    return x if x.__class__ is int else number(math.modf(x)[1])


def _fraction_part(x: Number) -> Number:
    return 0 if x.__class__ is int else number(math.modf(x)[0])


def smaller(x: Number, y: Number) -> Number:
    """Return the lesser number; of equal ones the first in the standard order (the float)."""
    return x if x < y or (not y < x and isinstance(x, float)) else y


def larger(x: Number, y: Number) -> Number:
    """Return the greater number; of equal ones the last in the standard order (the integer)."""
    return x if x > y or (not y > x and isinstance(y, float)) else y


def _highest_bit(x: int) -> int:
    if x <= 0:
        raise type_error("not_less_than_one", x)
    return x.bit_length() - 1


add = _mixed(operator.add)
subtract = _mixed(operator.sub)

BINARY: Mapping[str, Function] = MappingProxyType(
    {
        "+": add,
        "-": subtract,
        "*": multiply,
        "/": divide,
        "//": _integers(_truncating_quotient, divides=True),
        "div": _integers(operator.floordiv, divides=True),
        "mod": _integers(operator.mod, divides=True),
        "rem": _integers(_remainder, divides=True),
        "min": smaller,
        "max": larger,
        "gcd": _integers(math.gcd),
        "**": _power,
        "^": _caret,
        ">>": _integers(lambda x, y: _shift_left(x, -y)),
        "<<": _integers(_shift_left),
        "/\\": _integers(operator.and_),
        "\\/": _integers(operator.or_),
        "xor": _integers(operator.xor),
        "atan2": _real_function(_atan2),
        "atan": _real_function(_atan2),
        "copysign": _real_function(math.copysign),
        "log": _real_function(_log_of_base),
    }
)
UNARY: Mapping[str, Function] = MappingProxyType(
    {
        "-": _negate,
        "+": lambda x: x,
        "abs": _absolute,
        "sign": _sign,
        "\\": _integer(operator.invert),
        "msb": _integer(_highest_bit),
        "succ": _integer(lambda x: x + 1),
        "sqrt": _real_function(math.sqrt),
        "sin": _real_function(math.sin),
        "cos": _real_function(math.cos),
        "tan": _real_function(math.tan),
        "asin": _real_function(math.asin),
        "acos": _real_function(math.acos),
        "atan": _real_function(math.atan),
        "sinh": _real_function(math.sinh),
        "cosh": _real_function(math.cosh),
        "tanh": _real_function(math.tanh),
        "exp": _real_function(math.exp),
        "log": _real_function(math.log),
        "log2": _real_function(math.log2),
        "float": _real_function(float),
        "floor": _rounding(math.floor),
        "ceiling": _rounding(math.ceil),
        "round": _rounding(_round_half_away),
        "integer": _rounding(_round_half_away),
        "truncate": _rounding(math.trunc),
        "float_integer_part": _whole_part,
        "float_fractional_part": _fraction_part,
    }
)
CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e, "epsilon": 2.0**-52})


def evaluate(term: Term, depth: int = 0) -> Number:
    """Compute the value of an expression.

    >>> evaluate(("+", 1, ("*", 2, 3)))
    7
    """
    term = deref(term)
    kind = term.__class__
    if kind is int or kind is float or kind is Real:
        return term
    if kind is tuple and term:
        if depth > _DIRECT_DEPTH:
            return _evaluate_deep(term)
        if len(term) == 3 and term[0] in BINARY:
            return BINARY[term[0]](evaluate(term[1], depth + 1), evaluate(term[2], depth + 1))
        if len(term) == 2 and term[0] in UNARY:
            return UNARY[term[0]](evaluate(term[1], depth + 1))
        if _is_singleton(term):
            return evaluate(term[1], depth + 1)
    return _evaluate_leaf(term)


def _is_singleton(term: Term) -> bool:
    """Tell whether a term is a list of one element, which stands for that element."""
    return term.__class__ is tuple and len(term) == 3 and term[0] == LIST and deref(term[2]) == ()


def _evaluate_leaf(term: Term) -> Number:
    if isinstance(term, Variable):
        raise instantiation_error()
    if isinstance(term, str):
        if term in CONSTANTS:
            return CONSTANTS[term]
        raise type_error("evaluable", ("/", term, 0))
    if isinstance(term, tuple):
        raise type_error("evaluable", ("/", term[0], len(term) - 1) if term else ("/", "[]", 0))
    assert isinstance(term, int | float)
    return term


def _evaluate_deep(term: Term) -> Number:
    """Compute the value of a deeply nested expression on a stack of its own."""
    todo: list[Any] = [term]
    done: list[Number] = []
    cells = 0
    while todo:
        x = todo.pop()
        cells += 1
        if cells > MAX_CELLS:
            raise LogicLimitError("size", MAX_CELLS)
        if x.__class__ is list:
            function, arity = x
            args = done[-arity:]
            del done[-arity:]
            done.append(function(*args))
            continue
        x = deref(x)
        table = BINARY if x.__class__ is tuple and len(x) == 3 else UNARY
        if x.__class__ is tuple and len(x) in (2, 3) and x[0] in table:
            todo.append([table[x[0]], len(x) - 1])
            todo.extend(x[:0:-1])
        elif _is_singleton(x):
            todo.append(x[1])
        else:
            done.append(_evaluate_leaf(x))
    return done[0]


def numbers_equal(x: Number, y: Number) -> bool:
    """Compare by value (`=:=`), 1 and 1.0 alike."""
    return not (x < y or x > y)


COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        ">": operator.gt,
        "=<": operator.le,
        ">=": operator.ge,
        "=:=": numbers_equal,
        "=\\=": lambda x, y: not numbers_equal(x, y),
    }
)
