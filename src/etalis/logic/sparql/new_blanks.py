"""Blank nodes of a CONSTRUCT template: new for every solution, and the same whenever the solution is found again."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from etalis.data.values import Value

_LENGTH = 16


def name_blank(query: int, label: str, solution: Iterable[tuple[str, Value]], interval: tuple[int, int]) -> str:
    """Return the node that a label of a query's template stands for in a solution, on an interval in microseconds.

    >>> name_blank(1, "b", [("x", 1)], (0, 5)) == name_blank(1, "b", [("x", 1)], (0, 5))
    True
    """
    said = repr((query, sorted(solution), interval))
    return f"_:{sha256(said.encode()).hexdigest()[:_LENGTH]}-{label}"
