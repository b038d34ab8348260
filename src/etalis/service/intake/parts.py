"""The rows of batches in parts: lists of rows that engines take as they are, or one that is looked at alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from etalis.formats import Bad, Pause
from etalis.temporal.interval import MICROSECONDS

_PART = 100


class NamedRow(NamedTuple):
    """A row with the name that its sender gave it: one of a name is taken, once."""

    key: str
    row: Any


Part: TypeAlias = list[Any] | NamedRow | Pause | Bad  # rows that engines take as they are, or one that they do not
_APART = (NamedRow, Pause, Bad)


def as_parts(rows: Iterable[Any]) -> Iterator[Part]:
    """Yield rows in parts of at most a hundred, those that engines do not take alone.

    >>> list(as_parts([("a", 1), ("b", 2), NamedRow("k", ("a", 3)), ("a", 4)]))
    [[('a', 1), ('b', 2)], NamedRow(key='k', row=('a', 3)), [('a', 4)]]
    """
    source: Iterator[Any] = iter(rows)
    while several := list(islice(source, _PART)):
        start = 0
        for place, row in enumerate(several):
            if isinstance(row, _APART):
                if place > start:
                    yield several[start:place]
                yield row
                start = place + 1
        if start < len(several):
            yield several[start:] if start else several


def seconds_of(moment: int) -> int | float | Fraction:
    """Return microseconds as seconds: an integer, a float where it is exact, else a fraction."""
    whole, rest = divmod(moment, MICROSECONDS)
    if not rest:
        return whole
    near = moment / MICROSECONDS
    return near if round(near * MICROSECONDS) == moment else Fraction(moment, MICROSECONDS)
