r"""Whether changes lead into a legal state: the goals of `always`, each asked where it may have become false.

A goal of the form `\+ (f(..), tests)`, whose tests look at nothing but values, is asked of the facts f that have come.
Law: where the state before the changes was legal, the answer is that of all goals, asked of the whole state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from etalis.data.values import Value
from etalis.logic.inline.knowledge.purity import pure_clauses
from etalis.logic.inline.knowledge.unfold import conjunction, conjuncts
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.logic.state.state_predicate import StatePredicate, Trailed
from etalis.logic.terms.unify import Term, Variable, deref, to_value


@dataclass(frozen=True, slots=True)
class Demand:
    """A goal of `always`; one about the facts of a predicate alone is asked of each, the other of the whole state."""

    written: str
    about: StatePredicate | None
    is_broken: Callable[..., bool]
    is_broken_anywhere: Callable[[], bool]


class Legality:
    """The demands of a program; `asked` is the one that was asked last."""

    __slots__ = ("asked", "demands")

    def __init__(self, solver: Solver, always: Iterable[tuple[Term, str]]) -> None:
        self.demands = [_demand(solver, goal, written) for goal, written in always]
        self.asked = ""

    def broken(self, changes: Sequence[Trailed]) -> str | None:
        """Return the first goal that does not hold after changes."""
        for demand in self.demands:
            self.asked = demand.written
            if demand.about is None:
                if demand.is_broken():
                    return demand.written
                continue
            for predicate, number in changes:
                if predicate is demand.about and number >= 0 and number not in predicate.facts.died:
                    row = predicate.facts.rows[number]
                    if demand.is_broken(*[to_value(x) if x.__class__ is tuple else x for x in row]):
                        return demand.written
        return None

    def broken_anywhere(self) -> str | None:
        """Return the first goal that does not hold in the state as a whole."""
        for demand in self.demands:
            self.asked = demand.written
            if demand.is_broken_anywhere():
                return demand.written
        return None


def _demand(solver: Solver, goal: Term, written: str) -> Demand:
    found, ask = _about_facts(solver.database, goal), solver.prepare(Goal(goal, {}), (), ())

    def is_broken_anywhere() -> bool:
        return ask() is None

    if found is None:
        return Demand(written, None, is_broken_anywhere, is_broken_anywhere)
    predicate, args, tests = found
    names = {f"A{i}": Variable() for i in range(len(args))}
    parts = [("=", variable, arg) for variable, arg in zip(names.values(), args, strict=True)]
    of_fact = solver.prepare(Goal(conjunction([*parts, *tests]), names), tuple(names), ())

    def is_broken(*values: Value) -> bool:
        return of_fact(*values) is not None

    return Demand(written, predicate, is_broken, is_broken_anywhere)


def _about_facts(database: Database, goal: Term) -> tuple[StatePredicate, Sequence[Term], list[Term]] | None:
    """Return predicate, arguments and tests of a goal that forbids single facts, None if it is none."""
    match deref(goal):
        case ("\\+" | "not", inner):
            first, *tests = conjuncts(inner)
        case ("forall", each, inner):
            first, *more = conjuncts(each)
            tests = [*more, ("\\+", inner)]
        case _:
            return None
    name, *args = first if first.__class__ is tuple and first else (first,)
    predicate = database.state.predicates.get((name, len(args))) if database.state is not None else None
    return None if predicate is None or pure_clauses(database, conjunction(tests)) != () else (predicate, args, tests)
