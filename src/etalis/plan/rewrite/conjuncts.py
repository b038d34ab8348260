"""A condition in parts: its conjuncts, and which of them are pure tests of given variables.

Pure is what can be computed of values alone: arithmetic, comparison, equality, and `;` `->` `\\+` of these
(`logic/inline`). It gives the same answer whenever it is asked, binds nothing, and asks no knowledge. What a
calculation before it binds (`Total is A + B`) is carried along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from etalis.language.check.goals import conjuncts
from etalis.language.lower import to_logic
from etalis.language.syntax import Compound, Term
from etalis.logic.inline.inline import inline
from etalis.plan import algebra as p
from etalis.plan.binarize import term_variables


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A pure test among the conjuncts of a goal: its number, what it reads, and the calculations that it needs."""

    number: int
    reads: frozenset[str]
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SplitCondition:
    """The conjuncts of a goal, and those of them that are pure, up to the first that is neither test nor calculation.

    `is_pure`: there is no other.
    """

    goals: tuple[Term, ...]
    tests: tuple[Conjunct, ...]
    is_pure: bool

    def goal_of(self, tests: Iterable[Conjunct]) -> Term:
        """Return some of the tests as one goal, with the calculations that they need, in their order."""
        numbers = sorted({number for test in tests for number in (*test.needs, test.number)})
        *others, last = (self.goals[number] for number in numbers)
        goal = last
        for other in reversed(others):
            goal = Compound(",", (other, goal))
        return goal


def split_condition(goal: Term, inputs: Sequence[str]) -> SplitCondition:
    """Split a condition over variables that have a value."""
    goals = tuple(conjuncts(goal))
    origins = {name: (frozenset({name}), ()) for name in inputs}
    bound: dict[str, tuple[frozenset[str], tuple[int, ...]]] = dict(origins)
    types = dict.fromkeys(inputs, "term")
    tests: list[Conjunct] = []
    for number, each in enumerate(goals):
        found = inline(to_logic(each), types)
        if found is None:
            return SplitCondition(goals, tuple(tests), is_pure=False)
        read = [bound[name] for name in term_variables(each) if name in bound]
        reads = frozenset().union(*(names for names, _ in read))
        needs = tuple(dict.fromkeys(n for _, numbers in read for n in numbers))
        if not found.bindings:
            tests.append(Conjunct(number, reads, needs))
        for name, type_ in found.bindings:
            bound[name], types[name] = (reads, (*needs, number)), type_
    return SplitCondition(goals, tuple(tests), is_pure=True)


def are_harmless(tests: Iterable[p.Test]) -> bool:
    """Tell whether nothing is missed where a match does not come to these tests: no action, no goal but pure ones."""
    return all(_is_harmless(test) for test in tests)


def _is_harmless(test: p.Test) -> bool:
    match test:
        case p.GoalTest(goal=goal, inputs=inputs):
            return split_condition(goal, inputs).is_pure
        case p.Action():
            return False
        case p.Window() | p.Prefilter() | p.Absent() | p.Alone():
            return True
