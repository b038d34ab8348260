"""The attempts of a rule, nearest first: a best-first search over choices, since what is wrong only grows."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from time import monotonic
from typing import Any

from etalis.data.values import Value
from etalis.why.search.candidates import Supply, others
from etalis.why.search.extents import Choice
from etalis.why.search.measure import Measure


@dataclass(slots=True)
class StepBudget:
    """How many steps may be taken, and how many were; none after a moment of the clock that never goes back."""

    most: int
    until: float = inf
    steps: int = 0

    @property
    def is_left(self) -> bool:
        """Whether one more may be taken."""
        return self.steps < self.most and (self.until == inf or monotonic() < self.until)


@dataclass(slots=True)
class Ranked:
    """The nearest attempts of a rule in their order, and how many more were seen."""

    attempts: list[tuple[Measure, Choice]] = field(default_factory=list)
    more: int = 0


def rank(measures: Iterable[Measure], bound: dict[str, Value], limit: int, budget: StepBudget) -> Ranked:
    """Return the nearest attempts of a rule, of all its branches."""
    numbers = count()
    queue: list[tuple[tuple[Any, ...], int, Measure, Choice, Supply | None]] = []
    found = Ranked()

    def put(measure: Measure, choice: Choice | None) -> None:
        if choice is not None:
            heapq.heappush(queue, (choice.rank, next(numbers), measure, choice, None))

    def put_off(measure: Measure, choice: Choice, supply: Supply) -> None:
        cost = supply.next_cost
        if cost is not None:
            heapq.heappush(queue, (_at_least(choice, cost, supply.leaf), next(numbers), measure, choice, supply))

    for measure in measures:
        put(measure, measure.begin(dict(bound)))
    while queue and len(found.attempts) < limit and budget.is_left:
        _, _, measure, choice, supply = heapq.heappop(queue)
        budget.steps += 1
        if supply is not None:
            put(measure, measure.extend(choice, supply.draw()))
            put_off(measure, choice, supply)
        elif choice.place == len(measure.shape.leaves):
            found.attempts.append((measure, choice))
        else:
            leaf = measure.shape.leaves[measure.shape.order[choice.place]]
            for taken in others(measure, choice, leaf):
                put(measure, measure.extend(choice, taken))
            if leaf.event is not None:
                put_off(measure, choice, Supply(measure, choice, leaf))
    rest = sorted(item for item in queue if item[4] is None and item[3].place == len(item[2].shape.leaves))
    short = (
        0 if budget.is_left else limit - len(found.attempts)
    )  # the nearest that were seen, if there may be nearer ones
    found.attempts += [(measure, choice) for _, _, measure, choice, _ in rest[:short]]
    found.more = len(rest[short:])
    return found


def _at_least(choice: Choice, cost: tuple[int, int, int, int], leaf: int) -> tuple[Any, ...]:
    """Return where a choice stands at least when its next leaf costs so much."""
    _, _, _, hull, presence, ends = choice.rank
    more, by, wide, late = cost
    missing, failed, distance = choice.cost
    place = len(ends) - 1 - leaf
    floor = max((missing, failed + more, distance + by), (0, 1, 0))
    return (*floor, max(hull, wide), presence, (*ends[:place], late, *ends[place + 1 :]))
