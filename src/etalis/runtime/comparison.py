"""Two rule sets over the same history: the matches that only one of them has.

Law: a match is its atom and its interval, as often as it occurs; which rule made it does not count, so that renaming
or splitting a rule changes nothing. What is taken back (a `Retraction`) counts as not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from etalis.temporal.event import Event, Retraction, sort_key

GAINED, LOST = "gained", "lost"


@dataclass(frozen=True, slots=True)
class Difference:
    """A match that only the new rules find (`gained`), or only the old ones (`lost`)."""

    change: str
    match: Event

    def __str__(self) -> str:
        return f"{self.change} {self.match}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python data: the change, then the match; an attribute of that name is `change_2`."""
        row = self.match.to_dict()
        return {"change": self.change, **{"change_2" if name == "change" else name: row[name] for name in row}}


def compare_matches(old: Iterable[Event], new: Iterable[Event]) -> list[Difference]:
    """Return what was gained and lost from old matches to new ones, in the order of events.

    >>> a, b = Event.make("d", (1,), 0, 5), Event.make("d", (2,), 0, 5)
    >>> [str(difference) for difference in compare_matches([a, a], [a, b])]
    ['lost d(1) [0, 5e-06]', 'gained d(2) [0, 5e-06]']
    """
    surplus: Counter[Event] = Counter()
    for matches, weight in ((old, -1), (new, 1)):
        for match in matches:
            occurred = match.reported if isinstance(match, Retraction) else match
            surplus[occurred] += weight * match.sign
    found = [Difference(GAINED if n > 0 else LOST, match) for match, n in surplus.items() for _ in range(abs(n))]
    return sorted(found, key=lambda difference: (sort_key(difference.match), difference.change))
