"""The lattice of types: what is known of a value before the run, and whether it is bound for sure.

A type is that of all values that are not null; `term` is any, `number` an integer or a float, as computed from times;
a nested column has the name of its own type (`array<int>`). They are ordered: none, the flat ones, `term`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from etalis.data.values import Real

Type: TypeAlias = str | None  # None: no value has been seen, null aside

TERM = "term"
NUMBER = "number"
_WORD = 1 << 63


@dataclass(frozen=True, slots=True)
class TypeBound:
    """What is known of a variable: the type of its values, and whether it is sure to have one."""

    type: Type
    sure: bool


ANYTHING = TypeBound(TERM, False)
ANY_VALUE = TypeBound(TERM, True)
NULL = TypeBound(None, True)


def either(a: Type, b: Type) -> Type:
    """Return the type of what is of one type or the other."""
    return b if a is None else a if b is None or a == b else TERM


def both(a: Type, b: Type) -> Type:
    """Return the type of what is of both types at once: the narrower."""
    for known in (TERM, None, NUMBER, "time", "string"):
        if known in (a, b):
            return b if a == known else a
    return a


def one_of(a: TypeBound, b: TypeBound) -> TypeBound:
    """Return what is known of a value that comes one way or the other; what may be missing may be anything."""
    return TypeBound(either(a.type, b.type), True) if a.sure and b.sure else ANYTHING


def narrow(known: TypeBound, more: TypeBound) -> TypeBound:
    """Return what is known of a value of which two things are; what may be missing may be anything."""
    if known.sure and more.sure:
        return TypeBound(both(known.type, more.type), True)
    return known if known.sure else more if more.sure else ANYTHING


def type_of_value(value: Any) -> Type:
    """Return the type of a term without variables; an integer beyond 64 bits is none that columns have.

    >>> [type_of_value(value) for value in (1, 1.5, "a", "null", 1 << 63, ("f", 1))]
    ['int', 'float', 'string', None, 'term', 'term']
    """
    match value:
        case "null":
            return None
        case str():
            return "string"
        case int() if -_WORD <= value < _WORD:
            return "int"
        case float():
            return "float"
        case _:
            return TERM


def _is_written(texts: Iterable[str]) -> bool:
    """Tell whether texts can be written down: halves of characters cannot."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def type_of_values(values: Iterable[Any]) -> Type:
    """Return the type of all of some values; texts that cannot be written down have none that columns have.

    >>> [type_of_values(several) for several in ((1, "null"), ("a", "null"), ("null",), (1, 2.5), ("a", chr(0xD800)))]
    ['int', 'string', None, 'term', 'term']
    """
    known = tuple(values)
    kinds = set(map(type, known))
    if str in kinds and not _is_written(known if len(kinds) == 1 else [x for x in known if isinstance(x, str)]):
        return TERM
    if kinds <= _PLAIN:
        known = tuple(_extremes(known, kinds))
    first: Type = None
    return reduce(either, map(type_of_value, known), first)


_PLAIN = frozenset((int, float, Real, str))


def _extremes(values: Sequence[Any], kinds: Set[type]) -> Iterator[Any]:
    """Yield some of many plain values that have the types of all of them."""
    if int in kinds:
        whole = values if len(kinds) == 1 else [x for x in values if x.__class__ is int]
        yield from (min(whole), max(whole))
    if not kinds.isdisjoint((float, Real)):
        yield 0.5
    if str in kinds:
        texts = [x for x in values if x.__class__ is str] if len(kinds) > 1 else values
        yield next((x for x in texts if x != "null"), "null")


_HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "bool": lambda value: value in ("true", "false", "null"),
    "time": lambda value: isinstance(value, int | float) or value == "null",
}


def type_of_column(values: Sequence[Any], table: Type) -> Type:
    """Return the type of all values of a column of facts; that of the `table` they come from, if it has them all.

    >>> type_of_column(("true", "null"), "bool"), type_of_column((1, 2.5), "time"), type_of_column(("true", 1), "bool")
    ('bool', 'time', 'term')
    >>> type_of_column((), "int"), type_of_column((), None)
    ('int', None)
    """
    holds = None if table is None else _HOLDS.get(table)
    if holds is not None and all(map(holds, values)):
        return table
    found = type_of_values(values)
    return table if found is None else found
