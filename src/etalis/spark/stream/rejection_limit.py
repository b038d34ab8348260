"""How many rows may be rejected before a stream stops: a number, or a share of all rows.

Late rows do not count: they are what streams are like. Shards count for themselves; one that rejects rows adds what all
of them had counted when the batch began. So the bound holds for the query, and may be passed by what other shards
reject in the same batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.errors import InputError, Problem
from etalis.spark.stream.dead_letters import LATE, Letters
from etalis.tables.schema import refuse

_MEANING = {"ahead": "being too far ahead", "event": "their event", "time": "their time", "value": "a value"}
FEW = 1000  # a share is judged as if there were at least so many rows


@dataclass(frozen=True, slots=True)
class Bound:
    """Most rows that may be rejected: a number, or a share of all rows."""

    most: int | float

    def allows(self, rejected: int, rows: int) -> bool:
        """Tell whether so many are tolerated, of so many that were taken.

        >>> Bound(0.01).allows(10, 500), Bound(0.01).allows(11, 500), Bound(0).allows(1, 10**6)
        (True, False, False)
        """
        if isinstance(self.most, int):
            return rejected <= self.most
        return rejected <= self.most * max(rows + rejected, FEW)

    def __str__(self) -> str:
        return str(self.most) if isinstance(self.most, int) else f"{self.most:.4%} of all rows"


def read_bound(given: Any) -> Bound | None:
    """Return a bound as a caller gives it: rows, or a share between 0 and 1."""
    if given is None:
        return None
    is_share = isinstance(given, float) and 0 < given < 1
    if isinstance(given, bool) or not (is_share or (isinstance(given, int) and given >= 0)):
        hint = "give a number of rows (max_rejected=100), or a share of all (max_rejected=0.01)"
        raise refuse("E605", f"max_rejected is {given!r}", hint)
    return Bound(given)


def check_rejected(
    bound: Bound | None, headers: Callable[[], Iterable[Mapping[str, Any]]], letters: Sequence[Letters], rows: int,
    folder: str,
) -> None:  # fmt: skip
    """Stop a stream that has rejected too many rows.

    `headers` tells what all shards had counted before the batch; `letters` and `rows` are what this one has rejected
    and taken in it.
    """
    fresh = Counter({letter.cause: 0 for letter in letters})
    for letter in letters:
        fresh[letter.cause] += len(letter.reasons)
    if bound is None or not _rejected(fresh):
        return
    for header in headers():
        fresh.update(header.get("causes", {}))
        rows += header["counts"]["rows"]
    if not bound.allows(_rejected(fresh), rows):
        shown = ", ".join(f"{count} for {_MEANING[cause]}" for cause, count in sorted(fresh.items()) if cause != LATE)
        message = f"{_rejected(fresh)} rows were rejected ({shown}), and max_rejected is {bound}"
        hint = f"see which in {folder}, then correct the source, or allow more: max_rejected="
        raise InputError(Problem("E627", message, hint=hint))


def _rejected(causes: Mapping[Any, int]) -> int:
    return sum(count for cause, count in causes.items() if cause != LATE)
