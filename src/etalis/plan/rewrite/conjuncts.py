"""A condition in parts: its conjuncts, and which of them are pure tests of given variables.

Pure is what is computed from values alone: arithmetic, comparison, equality, tests of types and texts, and `;` `->`
`\\+` of these. It gives the same answer whenever it is asked, has one answer at most, ends, and asks no knowledge; none
of it can be defined by a program. What a calculation before it binds (`Total is A + B`) is carried along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from etalis.language.check.goals import COMPARISONS, conjuncts, indicator
from etalis.language.lower import to_logic
from etalis.language.syntax import Compound, Term
from etalis.language.traversal import term_variables
from etalis.logic.builtins.sparql import SPARQL_TESTS
from etalis.logic.builtins.table import PROTECTED
from etalis.logic.builtins.terms import TERM_TESTS
from etalis.logic.builtins.text import TEXT_TESTS
from etalis.logic.inline.inline import inline
from etalis.plan import algebra as p


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
    bound: dict[str, tuple[frozenset[str], tuple[int, ...]]] = {name: (frozenset({name}), ()) for name in inputs}
    tests: list[Conjunct] = []
    for number, each in enumerate(goals):
        names = term_variables(each)
        if not _is_pure(each, bound):
            return SplitCondition(goals, tuple(tests), is_pure=False)
        read = [bound[name] for name in names if name in bound]
        reads = frozenset().union(*(origins for origins, _ in read))
        needs = tuple(dict.fromkeys(n for _, numbers in read for n in numbers))
        if all(name in bound for name in names):
            tests.append(Conjunct(number, reads, needs))
        bound.update({name: (reads, (*needs, number)) for name in names if name not in bound})
    return SplitCondition(goals, tuple(tests), is_pure=True)


def _is_pure(goal: Term, bound: Collection[str]) -> bool:
    """Tell whether a goal is a pure test of values that are there, or calculates others from them."""
    if inline(to_logic(goal), dict.fromkeys(bound, "term")) is not None:
        return True
    match goal:
        case Compound(name="," | ";" | "->" | "\\+" | "not", args=parts):
            is_test = all(name in bound for name in term_variables(goal))
            return is_test and all(_is_pure(part, bound) for part in parts)
        case _:
            return indicator(goal) in _PURE


_PURE = (
    ((SPARQL_TESTS.keys() | TERM_TESTS.keys() | TEXT_TESTS.keys()) & PROTECTED) - COMPARISONS - {("is", 2)}
)  # these must be in line


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
