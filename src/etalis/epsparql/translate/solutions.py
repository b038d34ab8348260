"""Solutions of a part of a query: those with an interval are a pattern, those without time a conjunction of goals.

What reads the stream and the background both has solutions of either kind; every operation below says what becomes of
each. Law: patterns and goals bind a variable or leave it unbound as the solutions do. A pattern is evaluated by itself,
but a goal may find its variables bound already. Where that could change its answers (a FILTER, BIND, OPTIONAL or MINUS
in it looks at a variable that it has not surely bound before) the variable is `fragile`: the goal is asked with another
one in its place, and the two are compared afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from etalis.epsparql.translate.naming import VariableNames
from etalis.errors import Span
from etalis.language.syntax import Binary, Compound, Condition, Const, EventPattern, Or, Pattern, Side, Term, Var
from etalis.language.traversal import names as names_of
from etalis.language.traversal import rewrite, rewrite_term, variables

Names = frozenset[str]
NONE: Names = frozenset()
TRUE = Const("true")


@dataclass(frozen=True, slots=True)
class Timed:
    """A pattern, and the variables that its matches bind always or perhaps."""

    pattern: Pattern
    sure: Names
    maybe: Names = NONE

    @property
    def binds(self) -> Names:
        return self.sure | self.maybe


@dataclass(frozen=True, slots=True)
class Timeless:
    """Goals in their order; none at all is the one solution that binds nothing."""

    goals: tuple[Term, ...] = ()
    sure: Names = NONE
    maybe: Names = NONE
    fragile: Names = NONE

    @property
    def binds(self) -> Names:
        return self.sure | self.maybe

    @property
    def goal(self) -> Term:
        return conjunction(self.goals)

    def look_at(self, names: Names, *goals: Term) -> Timeless:
        """Return these goals and more, whose answers depend on what some variables are bound to by then."""
        fragile = self.fragile | ((names & self.binds) - self.sure)
        return replace(self, goals=(*self.goals, *goals), fragile=fragile)


@dataclass(frozen=True, slots=True)
class Solutions:
    """The solutions with an interval, and those without; None where there are none of a kind.

    `branches` is how many combinations of the two kinds it is made of.
    """

    timed: Timed | None = None
    timeless: Timeless | None = None
    branches: int = 1

    @property
    def parts(self) -> list[Timed | Timeless]:
        return [part for part in (self.timed, self.timeless) if part is not None]

    @property
    def binds(self) -> Names:
        return NONE.union(*(part.binds for part in self.parts))

    @property
    def sure(self) -> Names:
        """The variables that each of them binds."""
        return frozenset.intersection(*(part.sure for part in self.parts))

    def ask(self, kind: str, goal: Term) -> Solutions:
        """Return these solutions under a condition that looks at none of their variables."""
        timed, timeless = self.timed, self.timeless
        if timed is not None:
            timed = replace(timed, pattern=test_with(timed.pattern, kind, goal))
        if timeless is not None:
            timeless = replace(timeless, goals=(*timeless.goals, goal))
        return replace(self, timed=timed, timeless=timeless)


UNIT = Solutions(timeless=Timeless())


def conjunction(goals: Iterable[Term]) -> Term:
    """Return goals as one."""
    several = [goal for goal in goals if goal != TRUE]
    return (
        reduce(lambda rest, goal: Compound(",", (goal, rest)), reversed(several[:-1]), several[-1]) if several else TRUE
    )


def disjunction(goals: Iterable[Term]) -> Term:
    """Return alternatives as one goal."""
    several = list(goals)
    return reduce(lambda rest, goal: Compound(";", (goal, rest)), reversed(several[:-1]), several[-1])


def negation(goal: Term) -> Term:
    return Compound("\\+", (goal,))


def variables_of(*terms: Term) -> Names:
    """Return the names of the variables of terms."""
    return names_of(variables(*terms))


def rename_term(term: Term, renaming: Mapping[str, str]) -> Term:
    """Return a term with other names of variables."""

    def change(_: Term, new: Term) -> Term:
        return replace(new, name=renaming[new.name]) if isinstance(new, Var) and new.name in renaming else new

    return rewrite_term(term, change) if renaming else term


def rename_pattern(pattern: Pattern, renaming: Mapping[str, str]) -> Pattern:
    """Return a pattern with other names of variables."""

    def change(node: Pattern) -> Pattern:
        match node:
            case EventPattern(args=args):
                return replace(node, args=tuple(rename_term(arg, renaming) for arg in args))
            case Condition(goal=goal):
                return replace(node, goal=rename_term(goal, renaming))
            case _:
                return node

    return rewrite(pattern, change) if renaming else pattern


def rename(found: Solutions, renaming: Mapping[str, str]) -> Solutions:
    """Return solutions whose variables have other names."""
    timed, timeless = found.timed, found.timeless
    if timed is not None:
        pattern = rename_pattern(timed.pattern, renaming)
        timed = replace(
            timed, pattern=pattern, sure=_rename(timed.sure, renaming), maybe=_rename(timed.maybe, renaming)
        )
    if timeless is not None:
        goals = tuple(rename_term(goal, renaming) for goal in timeless.goals)
        sets = (_rename(part, renaming) for part in (timeless.sure, timeless.maybe, timeless.fragile))
        timeless = Timeless(goals, *sets)
    return Solutions(timed, timeless, found.branches)


def _rename(names: Names, renaming: Mapping[str, str]) -> Names:
    return frozenset(renaming.get(name, name) for name in names)


def test_with(pattern: Pattern, kind: str, goal: Term) -> Pattern:
    """Return a pattern under a condition, one with what is asked of it already where the kinds allow it."""
    if goal == TRUE:
        return pattern
    if kind != "event_multiply" and isinstance(pattern, Condition) and pattern.kind == kind:
        return Condition(kind, pattern.pattern, conjunction((*_conjuncts(pattern.goal), goal)))
    return Condition(kind, pattern, goal)


def _conjuncts(goal: Term) -> list[Term]:
    found: list[Term] = []
    while isinstance(goal, Compound) and goal.name == "," and len(goal.args) == 2:
        found.append(goal.args[0])
        goal = goal.args[1]
    return [*found, goal]


def beside(goals: Timeless, known: Names, names: VariableNames) -> Timeless:
    """Return goals that answer the same where some variables are bound already."""
    clashing = sorted(goals.fragile & known)
    if not clashing:
        return goals
    renaming = {name: names.fresh(name) for name in clashing}
    asked = tuple(rename_term(goal, renaming) for goal in goals.goals)
    merged = tuple(
        Compound(";", (Compound("->", (Compound("var", (Var(new),)), TRUE)), Compound("=", (Var(old), Var(new)))))
        for old, new in renaming.items()
    )
    return replace(goals, goals=(*asked, *merged), fragile=goals.fragile - known)


def ask(timed: Timed, goals: Timeless, names: VariableNames) -> Timed:
    """Return the matches of a pattern with every solution of goals that agrees."""
    if not goals.goals:
        return timed
    asked = beside(goals, timed.binds, names)
    kind = "where" if goals.binds <= timed.sure else "event_multiply"
    sure = timed.sure | goals.sure
    maybe = (timed.binds | goals.binds) - sure
    return Timed(test_with(timed.pattern, kind, asked.goal), sure, maybe)


def then(first: Timeless, second: Timeless, names: VariableNames) -> Timeless:
    """Return the solutions that two conjunctions have together."""
    asked = beside(second, first.binds, names)
    sure = first.sure | second.sure
    maybe = (first.binds | second.binds) - sure
    return Timeless((*first.goals, *asked.goals), sure, maybe, first.fragile | asked.fragile)


def pair(operator: str, a: Timed, b: Timed, alone: Side | None = None, span: Span | None = None) -> Timed:
    """Return the pairs of matches under a relation, also of one side alone."""
    pattern = Binary(operator, a.pattern, b.pattern, span, alone)
    sure = {"left": a.sure, "right": b.sure, None: a.sure | b.sure}[alone]
    return Timed(pattern, sure, (a.binds | b.binds) - sure)


def either(*several: Timed | None) -> Timed | None:
    """Return the matches of all patterns."""
    found = [part for part in several if part is not None]
    if not found:
        return None
    sure = frozenset.intersection(*(part.sure for part in found))
    maybe = NONE.union(*(part.binds for part in found)) - sure
    pattern = reduce(Or, (part.pattern for part in found))
    return Timed(pattern, sure, maybe)


def join(a: Solutions, b: Solutions, names: VariableNames) -> Solutions:
    """Return the compatible pairs, on the hull of their intervals."""
    timed = either(
        None if a.timed is None or b.timed is None else pair("and", a.timed, b.timed),
        None if a.timed is None or b.timeless is None else ask(a.timed, b.timeless, names),
        None if b.timed is None or a.timeless is None else ask(b.timed, a.timeless, names),
    )
    timeless = None if a.timeless is None or b.timeless is None else then(a.timeless, b.timeless, names)
    return Solutions(timed, timeless, a.branches * b.branches)


def union(several: Iterable[Solutions]) -> Solutions:
    """Return the solutions of all."""
    parts = list(several)
    return Solutions(
        either(*(part.timed for part in parts)),
        _either(*(part.timeless for part in parts)),
        max(part.branches for part in parts),
    )


def _either(*several: Timeless | None) -> Timeless | None:
    found = [part for part in several if part is not None]
    if len(found) < 2:
        return found[0] if found else None
    sure = frozenset.intersection(*(part.sure for part in found))
    maybe = NONE.union(*(part.binds for part in found)) - sure
    return Timeless((disjunction(part.goal for part in found),), sure, maybe, NONE.union(*(p.fragile for p in found)))
