"""The functions of arithmetic: on integers of any size, rationals and floats, as in ISO Prolog and SWI-Prolog.

`/` on integers gives an integer if exact, else a float; `rdiv` gives a rational. Float results pass through
`term.real`; infinities and NaN never arise, they are evaluation errors. An integer of more than `MAX_BITS` bits is a
limit error. The functions are rows of tables, so that an addition is a row.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

from etalis.data.values import Rational
from etalis.logic.arithmetic.reals import REAL_BINARY, REAL_UNARY, as_float, number, power
from etalis.logic.errors import LogicLimitError
from etalis.logic.terms.iso_errors import evaluation_error, type_error

Number: TypeAlias = Any  # int | float | Rational
Function: TypeAlias = Callable[..., Number]

MAX_BITS = 1 << 18
_MAX_RATIONAL_BITS = 1 << 16


def bounded(result: int) -> int:
    """Return an integer, unless it is too long."""
    if result.bit_length() > MAX_BITS:
        raise LogicLimitError("bits of an integer", MAX_BITS)
    return result


def _exact(result: Fraction) -> Number:
    """Return an exact result: an integer where it is one."""
    if result.denominator == 1:
        return bounded(result.numerator)
    if result.numerator.bit_length() + result.denominator.bit_length() > _MAX_RATIONAL_BITS:
        raise LogicLimitError("bits of a rational", _MAX_RATIONAL_BITS)
    return Rational(result.numerator, result.denominator)


def _is_exact(x: Number) -> bool:
    return x.__class__ is int or x.__class__ is Rational


def _mixed(operation: Callable[[Any, Any], Any]) -> Function:
    """Make a ring operation: exact on integers and rationals, checked on floats."""

    def compute(x: Number, y: Number) -> Number:
        if x.__class__ is int and y.__class__ is int:
            return bounded(operation(x, y))
        if _is_exact(x) and _is_exact(y):
            return _exact(operation(Fraction(x), Fraction(y)))
        return number(operation(as_float(x), as_float(y)))

    return compute


def multiply(x: Number, y: Number) -> Number:
    """Multiply two numbers."""
    if x.__class__ is int and y.__class__ is int:
        if x.bit_length() + y.bit_length() > MAX_BITS:
            raise LogicLimitError("bits of an integer", MAX_BITS)
        return x * y
    if _is_exact(x) and _is_exact(y):
        return _exact(Fraction(x) * Fraction(y))
    return number(as_float(x) * as_float(y))


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
    if _is_exact(x) and _is_exact(y):
        return _exact(Fraction(x) / Fraction(y))
    return number(as_float(x) / as_float(y))


def _divide_exactly(x: Number, y: Number) -> Number:
    """Compute `rdiv`: the rational, or the integer if it is one."""
    for operand in (x, y):
        if not _is_exact(operand):
            raise type_error("rational", operand)
    if y == 0:
        raise evaluation_error("zero_divisor")
    for operand in (x, y):
        if operand.__class__ is int and operand.bit_length() > _MAX_RATIONAL_BITS:
            raise LogicLimitError("bits of a rational", _MAX_RATIONAL_BITS)
    return _exact(Fraction(x) / Fraction(y))


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


def _power(x: Number, y: Number) -> Number:
    """Compute `**`: integers give an integer, a negative exponent a float."""
    if y.__class__ is int:
        if x.__class__ is int and (y >= 0 or x in (1, -1)):
            return _power_of_integers(x, abs(y))
        if x.__class__ is Rational:
            return _power_of_rational(x, y)
    return power(x, y)


def _caret(x: Number, y: Number) -> Number:
    """Compute `^`: integers give an integer or an error."""
    if x.__class__ is int and y.__class__ is int:
        if y >= 0 or x in (1, -1):
            return _power_of_integers(x, abs(y))
        raise evaluation_error("zero_divisor") if x == 0 else type_error("float", x)
    return _power(x, y)


def _power_of_rational(x: Rational, y: int) -> Number:
    if max(x.numerator.bit_length(), x.denominator.bit_length()) * abs(y) > _MAX_RATIONAL_BITS:
        raise LogicLimitError("bits of a rational", _MAX_RATIONAL_BITS)
    return _exact(Fraction(x) ** y)


def _rounding(function: Callable[[float], int]) -> Function:
    def compute(x: Number) -> Number:
        if x.__class__ is int:
            return x
        try:
            return bounded(function(x))
        except OverflowError:  # an infinity that came with an event
            raise evaluation_error("undefined") from None

    return compute


def _round_half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else 0)


def _sign(x: Number) -> Number:
    sign = (x > 0) - (x < 0)
    return number(float(sign)) if isinstance(x, float) else sign


def _negate(x: Number) -> Number:
    return -x if x.__class__ is int else number(-float(x)) if isinstance(x, float) else _exact(-x)


def _absolute(x: Number) -> Number:
    return _negate(x) if x < 0 else number(abs(float(x))) if isinstance(x, float) else x


def _whole_part(x: Number) -> Number:
    return number(math.modf(x)[1]) if isinstance(x, float) else math.trunc(x)


def _fraction_part(x: Number) -> Number:
    return number(math.modf(x)[0]) if isinstance(x, float) else _exact(Fraction(x) - math.trunc(x))


def _to_rational(x: Number) -> Number:
    """Compute `rational`: exactly what the number is."""
    return x if _is_exact(x) else _finite(x, lambda: _exact(Fraction(float(x))))


def _rationalize(x: Number) -> Number:
    """Compute `rationalize`: the simplest fraction that is the same float."""
    return x if _is_exact(x) else _finite(x, lambda: _exact(_simplest(Fraction(float(x)), float(x))))


def _finite(x: float, compute: Callable[[], Number]) -> Number:
    if x - x != 0:  # an infinity that came with an event
        raise evaluation_error("undefined")
    return compute()


def _simplest(exact: Fraction, value: float) -> Fraction:
    """Follow the continued fraction of a float until it gives the float."""
    p0, q0, p1, q1 = 0, 1, 1, 0
    rest = exact
    while True:
        whole = math.floor(rest)
        p0, q0, p1, q1 = p1, q1, whole * p1 + p0, whole * q1 + q0
        if p1 / q1 == value or rest == whole:
            return Fraction(p1, q1)
        rest = 1 / (rest - whole)


def _part_of_rational(part: Callable[[Fraction], int]) -> Function:
    def compute(x: Number) -> int:
        if not _is_exact(x):
            raise type_error("rational", x)
        return part(Fraction(x))

    return compute


def _common_multiple(x: int, y: int) -> int:
    if x.bit_length() + y.bit_length() > MAX_BITS:
        raise LogicLimitError("bits of an integer", MAX_BITS)
    return math.lcm(x, y)


def _bit(x: int, place: int) -> int:
    for operand in (x, place):
        if operand < 0:
            raise type_error("not_less_than_zero", operand)
    return x >> place & 1


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


def _lowest_bit(x: int) -> int:
    if x <= 0:
        raise type_error("not_less_than_one", x)
    return (x & -x).bit_length() - 1


def _count_bits(x: int) -> int:
    if x < 0:
        raise type_error("not_less_than_zero", x)
    return x.bit_count()


add = _mixed(operator.add)
subtract = _mixed(operator.sub)

BINARY: Mapping[str, Function] = MappingProxyType(
    {
        **REAL_BINARY,
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
        "rdiv": _divide_exactly,
        "gcd": _integers(math.gcd),
        "lcm": _integers(_common_multiple),
        "getbit": _integers(_bit),
        "**": _power,
        "^": _caret,
        ">>": _integers(lambda x, y: _shift_left(x, -y)),
        "<<": _integers(_shift_left),
        "/\\": _integers(operator.and_),
        "\\/": _integers(operator.or_),
        "xor": _integers(operator.xor),
    }
)
UNARY: Mapping[str, Function] = MappingProxyType(
    {
        **REAL_UNARY,
        "-": _negate,
        "+": lambda x: x,
        "abs": _absolute,
        "sign": _sign,
        "\\": _integer(operator.invert),
        "msb": _integer(_highest_bit),
        "lsb": _integer(_lowest_bit),
        "popcount": _integer(_count_bits),
        "succ": _integer(lambda x: x + 1),
        "floor": _rounding(math.floor),
        "ceiling": _rounding(math.ceil),
        "round": _rounding(_round_half_away),
        "integer": _rounding(_round_half_away),
        "truncate": _rounding(math.trunc),
        "trunc": _rounding(math.trunc),
        "rational": _to_rational,
        "rationalize": _rationalize,
        "numerator": _part_of_rational(lambda x: x.numerator),
        "denominator": _part_of_rational(lambda x: x.denominator),
        "float_integer_part": _whole_part,
        "float_fractional_part": _fraction_part,
    }
)
CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e, "epsilon": 2.0**-52})
# The functions whose work grows with the square of their operands' length.
DIVISIONS = frozenset(("/", "//", "div", "mod", "rem", "rdiv", "gcd", "lcm"))
# The functions that make a long integer of shorter ones.
GROWING = frozenset(("*", "**", "^", "<<"))
# The functions that make a rational of what is none.
MAKES_RATIONALS = frozenset(("rdiv", "rational", "rationalize"))


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
