"""Ground values as the engine holds them, and their standard order.

atom = str, integer = int, float = float (`Real` when integral, so that 1 and 1.0 stay apart in dictionaries),
proper list = tuple, compound = `Struct`. True, False and None arrive as the atoms true, false and null.
Law: two values are equal (==) exactly if they unify; hashing agrees with that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from etalis.errors import EventError, Problem

Value: TypeAlias = Any  # str | int | float | tuple[Value, ...] | Struct

MAX_DEPTH = 200


class Real(float):
    """An integral float: equal to floats of its value, never to the integer."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


class Rational(Fraction):
    """A fraction that is no integer: equal to its like alone, never to the float of its value.

    It lives inside the logic machine; outside it is the expression `N rdiv D` (`unify.to_value`).
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fraction) and Fraction.__eq__(self, other)

    __hash__ = Fraction.__hash__


class Struct:
    """A ground compound term `name(arg, ...)`, hashed once."""

    __slots__ = ("args", "hash", "name")

    def __init__(self, name: str, args: Iterable[Value]) -> None:
        self.name = name
        self.args = tuple(args)
        self.hash = hash((name, self.args))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Struct)
            and self.hash == other.hash
            and self.name == other.name
            and self.args == other.args
        )

    def __hash__(self) -> int:
        return self.hash

    def __repr__(self) -> str:
        return format_value(self)


def real(number: float) -> float:
    """Return a float as the engine holds it.

    >>> real(2.0) == 2, real(2.0) == 2.0, real(2.5)
    (False, True, 2.5)
    """
    return Real(number) if number.is_integer() else number


def to_value(x: object, depth: int = 0) -> Value:
    """Turn a Python object into a value, or refuse it.

    >>> to_value([1, "a", True, None])
    (1, 'a', 'true', 'null')
    """
    kind = type(x)
    if kind is int or kind is str:
        return x
    if kind is Struct or kind is Real:
        return x
    if isinstance(x, float):
        if math.isnan(x):
            raise _refuse("NaN is not a value", "leave the event out, or send None for a missing number")
        return real(float(x))
    if x is None:
        return "null"
    if isinstance(x, bool):
        return "true" if x else "false"
    if depth > MAX_DEPTH:
        raise _refuse(f"a term nested deeper than {MAX_DEPTH} levels", "flatten the attribute before it is pushed")
    if isinstance(x, list | tuple):
        return tuple(to_value(item, depth + 1) for item in x)
    if isinstance(x, dict):
        return tuple(Struct("-", (str(k), to_value(v, depth + 1))) for k, v in x.items())
    return _from_other(x)


def _from_other(x: object) -> Value:
    """Turn the less common scalar types (NumPy, Decimal, Fraction, str subclasses) into values."""
    if isinstance(x, int):
        return int(x)
    if isinstance(x, str):
        return str(x)
    if isinstance(x, Decimal | Fraction):
        return to_value(float(x))
    item = getattr(x, "item", None)
    if callable(item) and not isinstance(x, type):
        plain = item()
        if type(plain) is not type(x):
            return to_value(plain)
    raise _refuse(
        f"a value of type {type(x).__name__} cannot be an attribute",
        "use str, int, float, bool, None, or lists of these",
    )


def _refuse(message: str, hint: str) -> EventError:
    return EventError(Problem("E301", message, hint=hint))


def order_key(value: Value) -> tuple[Any, ...]:
    """Return a key that sorts values in the standard order: numbers < atoms < compound terms.

    >>> sorted(["b", 2, 1.5, Struct("f", [1]), "a", (1,)], key=order_key)
    [1.5, 2, 'a', 'b', f(1), (1,)]
    """
    if isinstance(value, float):
        return (1, float(value), 0)
    if isinstance(value, int):
        return (1, value, 1)
    if isinstance(value, str):
        return (3, value, 1)
    if isinstance(value, tuple):
        if not value:
            return (3, "[]", 0)
        return (4, 2, "[|]", (*map(order_key, value), (0,)))
    return (4, len(value.args), value.name, tuple(map(order_key, value.args)))


def format_value(value: Value) -> str:
    """Write a value as program text that reads back as the same value.

    >>> format_value(Struct("f", ["a b", (1, 2.0)]))
    "f('a b',[1,2.0])"
    """
    if isinstance(value, str):
        return format_atom(value)
    if isinstance(value, float):
        return format_float(float(value))
    if isinstance(value, int):
        return decimal_text(value)
    if isinstance(value, tuple):
        return "[" + ",".join(map(format_value, value)) + "]"
    return f"{format_atom(value.name)}({','.join(map(format_value, value.args))})"


def decimal_text(number: int) -> str:
    """Write an integer of any size (Python refuses str() of very long ones)."""
    if number.bit_length() < 10_000:
        return str(number)
    sign, number, digits = "-" if number < 0 else "", abs(number), 1 << (number.bit_length().bit_length() - 3)
    high, low = divmod(number, 10**digits)
    return sign + decimal_text(high) + decimal_text(low).zfill(digits)


def format_float(number: float) -> str:
    """Write a float so that it reads back: 1e22 needs its point."""
    text = repr(number)
    if "inf" in text:
        return text
    mantissa, e, exponent = text.partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + e + exponent


_SYMBOL_CHARS = frozenset("+-*/\\^<>=~:.?@#&$")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0\\"}


def is_plain_atom(name: str) -> bool:
    """Tell whether an atom needs no quotes."""
    if name in ("[]", "!", ";", "{}", ","):
        return name != "[]" and name != ","
    if name and all(c in _SYMBOL_CHARS for c in name):
        return name != "." and not name.startswith("/*")  # which opens a comment
    return bool(name) and name[0].islower() and all(c.isalnum() or c == "_" for c in name)


def format_atom(name: str) -> str:
    """Write an atom, quoted where the reader would need it.

    >>> print(format_atom("Basel"), format_atom("basel"), format_atom("it's"))
    'Basel' basel 'it\\'s'
    """
    if is_plain_atom(name):
        return name
    return "'" + "".join(_ESCAPES.get(c, c if c.isprintable() else f"\\x{ord(c):x}\\") for c in name) + "'"
