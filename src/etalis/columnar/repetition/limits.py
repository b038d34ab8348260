"""How many elements a repetition counts: numbers of its text, of its left sides or its elements (definition 13.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from etalis.columnar.data.columns import Integers
from etalis.columnar.data.instances import Instances
from etalis.language.syntax import Const, Term, Var
from etalis.plan import algebra as p

ANY_NUMBER = -1
NO_COUNT = 0  # at least so many: the bounds are no counts
_MOST = (1 << 62) - 1


def read_bounds(node: p.Repetition) -> tuple[int, int] | None:
    """Return how many elements count at least and at most; None if that is no matter of the text alone."""
    match node.least, node.most:
        case Const(value=int() as least), None if least >= 1:
            return min(least, _MOST), ANY_NUMBER
        case Const(value=int() as least), Const(value=int() as most) if 1 <= least <= most:
            return min(least, _MOST), min(most, _MOST)
        case _:
            return None


def is_any_number(node: p.Repetition) -> bool:
    """Tell whether a repetition is one or more, whatever the number."""
    return read_bounds(node) == (1, ANY_NUMBER)


def find_bounds(least: Integers, most: Integers) -> Iterator[tuple[int, int, Integers]]:
    """Yield the distinct bounds that are counts, each with the rows that have it."""
    both = np.stack([least, most], axis=1)
    known, group = np.unique(both, axis=0, return_inverse=True)
    for number, (low, high) in enumerate(known.tolist()):
        if low != NO_COUNT:
            yield low, high, np.flatnonzero(group.reshape(-1) == number)


class Bounds:
    """The bounds of a repetition: `fixed` by its text, or told by variables."""

    def __init__(self, node: p.Repetition, fail: Callable[[str], None]) -> None:
        self.least, self.most = node.least, node.most
        self.fixed = read_bounds(node)
        self.fail = fail

    def read(self, rows: Instances) -> tuple[Integers, Integers]:
        """Return how many elements count at least and at most, row by row."""
        if self.fixed is not None:
            return np.full(len(rows), self.fixed[0]), np.full(len(rows), self.fixed[1])
        found = np.array([self._checked(*given) for given in self._values(rows)], np.int64).reshape(-1, 2)
        return found[:, 0].copy(), found[:, 1].copy()

    def report(self, rows: Instances, misses: Integers) -> None:
        """Report how often rows were passed over because their bounds are no counts."""
        bad = np.flatnonzero(misses)
        for (least, most), times in zip(self._values(rows.take(bad)), misses[bad].tolist(), strict=True):
            for _ in range(times):
                self.fail(f"ntimes ({least}, {most}) needs whole numbers, 1 or more")

    def _values(self, rows: Instances) -> list[tuple[Any, Any]]:
        least = _told(self.least, rows)
        return list(zip(least, least if self.most is None else _told(self.most, rows), strict=True))

    def _checked(self, least: Any, most: Any) -> tuple[int, int]:
        if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
            return NO_COUNT, NO_COUNT
        return min(least, _MOST), ANY_NUMBER if self.most is None else min(most, _MOST)


def _told(term: Term, rows: Instances) -> list[Any]:
    """Return the values of a bound; None where nothing tells it."""
    match term:
        case Const(value=value):
            return [value] * len(rows)
        case Var(name=name) if any(name in block.columns for block in rows.blocks):
            return list(rows.column(name).values())
        case _:
            return [None] * len(rows)
