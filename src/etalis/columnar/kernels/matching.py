"""How two sides match, in numbers: relation, policy and window as kernels take them.

Kernels know no program: what a rule says comes in as the numbers of `Matching`, so that the set of kernels is closed.
"""

from __future__ import annotations

from typing import NamedTuple

from etalis.columnar.kernels.jit import part
from etalis.plan.retention import retention
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation

ALL, EARLIEST, LATEST = range(3)  # candidates that an arrival selects
ALWAYS, UNMATCHED, NEWEST, NEWEST_BY_TURN = range(4)  # what waits; by turn: the newest, and what it replaced this turn
HULL, ON_A, ON_B = range(3)  # where a pair occurs
FOR_EVER, NEVER = -2, -1  # how long a side waits, if there is no number of microseconds
NO_WINDOW = -1
ANY, BEFORE = 0x3FFFF, 0x3FE7F  # relations that hold always, and where one ends before the other starts (`allows`)

_SELECT = {"all": ALL, "together": ALL, "earliest": EARLIEST, "latest": LATEST}
_KEEP = {"always": ALWAYS, "unmatched": UNMATCHED, "newest": NEWEST}
_OCCURS = {"hull": HULL, "a": ON_A, "b": ON_B}
_PAIRS = (("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2"), ("a1", "a2"), ("b1", "b2"))  # three bits each
_BITS = {"<": 0b001, "<=": 0b011, "=": 0b010}
_SWAPPED = {"<": 0b100, "<=": 0b110, "=": 0b010}


class Matching(NamedTuple):
    """What a kernel takes of relation, policy and window."""

    select: int
    consume: bool
    keep: int
    relation: int
    occurs_on: int
    window: int
    retain: tuple[int, int]

    @staticmethod
    def of(relation: Relation, policy: Policy, window: int | None) -> Matching:
        """Read the rows."""
        left, right = (retention(relation, place, window) for place in (0, 1))
        return Matching(
            _SELECT[policy.select], policy.consume, _KEEP[policy.keep], _relation(relation),
            _OCCURS[relation.occurs_on], NO_WINDOW if window is None else window,
            (FOR_EVER if left is None else left, FOR_EVER if right is None else right),
        )  # fmt: skip

    def by_turn(self, *, all_of_them: bool) -> Matching:
        """Return the one that keeps what is replaced while the event that did so is under way, and selects the latest.

        Or all of them, where more is asked of candidates.
        """
        return self._replace(select=ALL if all_of_them else self.select, keep=NEWEST_BY_TURN)

    def without_policy(self) -> Matching:
        """Return the one that finds every pair and consumes none."""
        return self._replace(select=ALL, consume=False, keep=ALWAYS)


def _relation(relation: Relation) -> int:
    """Return what a relation allows, as bits (`allows`)."""
    allowed = (1 << 3 * len(_PAIRS)) - 1
    for x, operator, y in relation.comparisons:
        pair, bits = ((x, y), _BITS[operator]) if (x, y) in _PAIRS else ((y, x), _SWAPPED[operator])
        at = 3 * _PAIRS.index(pair)
        allowed &= ~(0b111 << at) | bits << at
    return allowed


@part
def allows(relation: int, a1: int, a2: int, b1: int, b2: int) -> bool:
    """Tell whether a relation holds, by its bits for <, =, > between a1 b1, a1 b2, a2 b1, a2 b2, a1 a2 and b1 b2."""
    if relation == BEFORE:
        return a2 < b1
    if relation == ANY:
        return True
    return (
        (relation >> (int(a1 >= b1) + int(a1 > b1)))
        & (relation >> (3 + int(a1 >= b2) + int(a1 > b2)))
        & (relation >> (6 + int(a2 >= b1) + int(a2 > b1)))
        & (relation >> (9 + int(a2 >= b2) + int(a2 > b2)))
        & (relation >> (12 + int(a1 >= a2)))
        & (relation >> (15 + int(b1 >= b2)))
        & 1
    ) == 1


@part
def length(occurs_on: int, a1: int, a2: int, b1: int, b2: int) -> int:
    """Return how long a pair lasts."""
    if occurs_on == ON_A:
        return a2 - a1
    if occurs_on == ON_B:
        return b2 - b1
    return max(a2, b2) - min(a1, b1)
