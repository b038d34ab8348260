"""How the values of a match are put together from the instances that were chosen: a function made at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any

from etalis.language.rules import MOST_CHOICES
from etalis.runtime.operators.base import Values


def chooser(
    exports: Sequence[str], parts: Sequence[Sequence[str]], count: int
) -> Callable[[dict[int, tuple[Any, ...]]], Values]:
    """Return how the exported values come from instances of so many of several parts: a variable is as one binds it.

    What contributes is told as an `or` of conjunctions tells it.
    """
    bound = [[(place, names.index(name)) for place, names in enumerate(parts) if name in names] for name in exports]
    ways = comb(len(parts), count)
    branches = {way: i for i, way in enumerate(combinations(range(len(parts)), count))} if ways <= MOST_CHOICES else {}

    def combine(taken: dict[int, tuple[Any, ...]]) -> Values:
        found: list[Any] = []
        for name, where in zip(exports, bound, strict=True):
            values = [taken[place][at] for place, at in where if place in taken]
            if name == "$parts":
                rope = reduce(lambda a, b: (a, b), values)
                found.append(rope if ways == 1 else (None, branches.get(tuple(sorted(taken)), 0), rope))
            elif name == "$ids":
                found.append(frozenset[int]().union(*values))
            else:
                found.append(next((value for value in values if value is not None), None))
        return tuple(found)

    return combine
