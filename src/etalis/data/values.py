"""Ground values as the engine holds them, and their standard order.

atom = str, integer = int, float = float (`Real` when integral, so that 1 and 1.0 stay apart in dictionaries),
proper list = tuple, compound = `Struct`. True, False and None arrive as the atoms true, false and null.
Law: two values are equal (==) exactly if they unify; hashing agrees with that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from operator import is_
from typing import Any, TypeAlias
from uuid import UUID

from etalis.data.scalars import ITEMS, is_numpy_time, show, to_python
from etalis.errors import EventError, Problem

Value: TypeAlias = Any  # str | int | float | tuple[Value, ...] | Struct

MAX_DEPTH = 200
MAX_DIGITS = 4_300  # that a Decimal may have as an integer, as many as Python reads


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
    """A ground compound term `name(arg, ...)`, hashed and measured once: how many levels, how many parts.

    What a host puts into it, the rim converts.
    """

    __slots__ = ("args", "depth", "hash", "name", "size")

    def __init__(self, name: str, args: Iterable[Value]) -> None:
        self.name = name
        self.args = tuple(args)
        try:
            self.hash = hash((name, self.args))
        except TypeError:  # lists, dictionaries and arrays are values, but not hashed as they come
            self.args = tuple(map(to_value, self.args))
            self.hash = hash((name, self.args))
        self.depth, self.size = 1, len(self.args)
        if not _PARTS.isdisjoint(map(type, self.args)):
            self._measure()

    def _measure(self) -> None:
        todo = [(self.args, 1)]
        while todo:
            items, depth = todo.pop()
            self.depth = max(self.depth, depth)
            for x in items:
                if x.__class__ is Struct:
                    self.depth = max(self.depth, depth + x.depth)
                    self.size += x.size
                elif x.__class__ is tuple and x:
                    self.size += len(x)
                    todo.append((x, depth + 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or self.hash != other.hash or self.name != other.name:
            return False
        if self.depth != other.depth or self.size != other.size:
            return False
        return self.args == other.args if self.depth <= MAX_DEPTH else _are_equal(self.args, other.args)

    def __hash__(self) -> int:
        return self.hash

    def __repr__(self) -> str:
        if self.depth > MAX_DEPTH:  # the host's own, which no engine takes
            return f"{format_atom(str(self.name))}(...{self.depth} levels...)"
        try:
            return format_value(to_value(self))
        except EventError:
            return f"Struct({self.name!r}, {self.args!r})"


def _are_equal(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
    """Compare the arguments of terms that are nested too deep for Python's own comparison."""
    todo = [(a, b)]
    while todo:
        xs, ys = todo.pop()
        if len(xs) != len(ys):
            return False
        for x, y in zip(xs, ys, strict=True):
            if x.__class__ is Struct and y.__class__ is Struct and x.name == y.name and x.hash == y.hash:
                todo.append((x.args, y.args))
            elif x.__class__ is tuple and y.__class__ is tuple:
                todo.append((x, y))
            elif x != y:
                return False
    return True


_PARTS = frozenset((Struct, tuple))


def real(number: float) -> float:
    """Return a float as the engine holds it: integral ones apart from integers, and no negative zero.

    >>> real(2.0) == 2, real(2.0) == 2.0, real(2.5), real(-0.0)
    (False, True, 2.5, 0.0)
    """
    return Real(number + 0.0) if number.is_integer() else number


def to_value(x: object, depth: int = 0) -> Value:
    """Turn a Python object into a value, or refuse it, by one rule at any depth.

    >>> to_value([1, "a", True, None, Struct("f", [2.5, False])])
    (1, 'a', 'true', 'null', f(2.5,false))
    """
    kind = type(x)
    if kind is int or kind is str or kind is Real:
        return x
    if kind in ITEMS:
        return to_value(to_python(x), depth)
    if isinstance(x, float):
        if math.isnan(x):
            raise _refuse("NaN is not a value", "leave the event out, or send None for a missing number")
        return real(float.__float__(x))
    if x is None:
        return "null"
    if kind is bool:
        return "true" if x else "false"
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(x, Struct):
        if depth + x.depth > MAX_DEPTH:
            raise _too_deep()
        return _from_struct(x, depth + 1)
    if isinstance(x, list | tuple):
        return tuple([to_value(item, depth + 1) for item in x])
    if isinstance(x, dict):
        return tuple([Struct("-", (to_value(k, depth + 1), to_value(v, depth + 1))) for k, v in x.items()])
    return _from_other(x, depth)


def _from_struct(x: Struct, depth: int) -> Value:
    """Return a term whose arguments are values: itself if they are, as in all terms that the engine made."""
    if type(x.name) is not str:
        raise _refuse(f"{show(x.name)} is not the name of a term", "a name is a text")
    args = [to_value(arg, depth) for arg in x.args]
    if x.name == "[|]" and len(args) == 2 and isinstance(args[1], tuple):
        return (args[0], *args[1])  # the list it stands for
    return x if all(map(is_, args, x.args)) else Struct(x.name, args)


def _from_other(x: object, depth: int) -> Value:
    """Turn the less common types into values: subclasses, exact numbers, other libraries' scalars and arrays."""
    if isinstance(x, int):
        return int.__int__(x)
    if isinstance(x, str):
        return str.__str__(x)  # of an Enum, too, whose own str() is its name
    if isinstance(x, Decimal | Fraction):
        return _from_exact(x)
    if isinstance(x, UUID):
        return str(x)
    plain = to_python(x)
    if plain is not x:
        return to_value(plain, depth)
    raise _refuse(f"a value of type {type(x).__name__} cannot be an attribute", _remedy(x))


def _from_exact(x: Decimal | Fraction) -> Value:
    """Return a number without fractional digits; what others should become is for the program to say."""
    if isinstance(x, Fraction) and x.denominator == 1:
        return x.numerator
    if isinstance(x, Decimal):
        if x.is_nan():
            return to_value(math.nan)
        if x.is_finite() and int(x.as_tuple().exponent) >= 0 and x.adjusted() <= MAX_DIGITS:
            return int(x)
    raise _refuse(f"{show(x)} is no integer, and no declared type says what it becomes", _remedy(x))


def _remedy(x: object) -> str:
    if isinstance(x, datetime | date | time | timedelta) or is_numpy_time(x):
        return "declare the attribute as `time`, or give a number of seconds"
    if isinstance(x, Decimal | Fraction):
        return "declare the attribute as float (the nearest one), string (its text) or int, or give float(x) or str(x)"
    if isinstance(x, bytes | bytearray | memoryview):
        return "decode it to text: x.decode(), or x.hex()"
    if isinstance(x, Enum):
        return "give its value: x.value"
    return "use str, int, float, bool, None, lists and dictionaries of these, or etalis.Struct"


def _too_deep() -> EventError:
    return _refuse(f"a term nested deeper than {MAX_DEPTH} levels", "flatten the attribute before it is pushed")


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
    if name.isascii() and name.isidentifier():  # what most are
        return name[0].islower()
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
