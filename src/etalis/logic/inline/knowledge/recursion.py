"""Predicates that call themselves as functions of the arguments that are known, for every solution in order.

`above(X, Z) :- boss(X, Y), above(Y, Z).` asked with X known becomes a function of X that returns the list of all Z.
What it has returned is kept while the knowledge stands still. Law: the answers are those of the solver, repeated ones
included; what may take more steps than the solver has, what goes too deep, and what leaves an argument open is
declined. So is a predicate of which any part would be left to the solver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, TypeAlias

from etalis.logic.inline.knowledge.facts import Budget, FactsByKey
from etalis.logic.inline.knowledge.purity import pure_clauses
from etalis.logic.inline.knowledge.unfold import calls, has_inner_cut
from etalis.logic.inline.scope import Compilation, TooLargeError
from etalis.logic.inline.steps import DeclineError, ForkStep, LoopStep, Steps, declines
from etalis.logic.machine.database import Database
from etalis.logic.machine.predicate import Predicate

Mode: TypeAlias = tuple[Predicate, tuple[int, ...]]  # a predicate, and which of its arguments are known
Rows: TypeAlias = list[Any]  # the other arguments: bare if it is one, else in a tuple
Compile: TypeAlias = Callable[["RecursiveGoals", Mode], tuple[Compilation, Steps]]
Stand: TypeAlias = tuple[Any, str]
_MOST_KEPT = 500_000  # rows
_TRIES = 20  # one after the other that are declined, after which a call is left to the solver for good
_BY_KEY = re.compile(r"_k(\d+)\(_v0\)")  # the search by the only argument that is known
_GOALS_PER_CANDIDATE = 4  # that a budget reckons with


class Meter(Budget):
    """How much the calls within one call from outside have done, of what they may do.

    What is kept counts as what it took to find, since the solver would find it again.
    """

    __slots__ = ("kept",)

    def __init__(self) -> None:
        super().__init__(0)
        self.kept = 0  # rows, of all calls


class RecursiveGoal:
    """A predicate in one mode: its steps, written once as a function, and what that has returned."""

    def __init__(self, mode: Mode, database: Database, meter: Meter) -> None:
        self.predicate, self.positions = mode
        self.open_positions = [i for i in range(self.predicate.arity) if i not in self.positions]
        self.meter = meter
        self.shared = Compilation(database)
        self.steps: Steps = ()
        self.weight = 1  # how many times as much as a budget reckons with the solver may do for a candidate
        self.run: Callable[[Any], Rows] | None = None
        self.kept: dict[Any, tuple[Rows, int]] = {}
        self.entered: list[FactsByKey] | None = None  # one of these finds something, or there is no solution
        self.indexes: list[Container[Any]] | None = None  # what they find something for
        self.call = self._calling()

    def _calling(self) -> Callable[[Any], Rows]:
        """Return the function of the known arguments, bare if it is one; it counts what it does and keeps its rows."""
        kept, meter = self.kept, self.meter
        nothing: Rows = []

        def call(key: Any) -> Rows:
            if self.indexes is not None:
                for index in self.indexes:
                    if key in index:
                        break
                else:
                    meter.used += 1
                    if meter.used > meter.most:
                        raise DeclineError
                    return nothing
            found = kept.get(key)
            if found is None:
                before = meter.used
                assert self.run is not None
                rows = self.run(key)
                found = kept[key] = rows, meter.used - before + len(rows) + 1
                meter.used = before
                meter.kept += len(rows) + 1
            meter.used += found[1]
            if meter.used > meter.most:
                raise DeclineError
            return found[0]

        return call

    def begin(self) -> None:
        """Forget what was kept, and look where something may be found now."""
        self.kept.clear()
        self.indexes = None
        if self.entered is not None:
            relations = [search.predicate.relation for search in self.entered]
            if None not in relations:
                found = zip(relations, self.entered, strict=True)
                self.indexes = [relation.index(search.positions) for relation, search in found if relation is not None]

    def define(self, function: Callable[..., Rows]) -> None:
        """Take the function of the known arguments that the steps are written as."""
        self.run = function if len(self.positions) == 1 else lambda key: function(*key)


@dataclass(frozen=True, slots=True, eq=False)
class RecursiveCall:
    """A goal as it is called: from outside of all recursion, or from within."""

    goal: RecursiveGoal
    run: Callable[[Any], Rows]


class RecursiveGoals:
    """The recursive goals of a database, as it was when they were compiled."""

    def __init__(self, database: Database, compile_mode: Compile) -> None:
        self.database = database
        self.compile_mode = compile_mode
        self.meter = Meter()
        self.stands: dict[Stand, None] = {}  # what the functions rely on, which whoever calls them looks after
        self._goals: dict[Mode, RecursiveGoal | None] = {}
        self._compiled_at = -1
        self._generation = -1

    def find(self, mode: Mode, budget: Budget) -> RecursiveCall:
        """Return a predicate in some mode, as code that has a budget calls it."""
        if self._compiled_at != self.database.generation:
            self._compiled_at = self.database.generation
            self._goals, self.stands = {}, {}
        if mode not in self._goals:
            self._goals[mode] = goal = RecursiveGoal(mode, self.database, self.meter)
            self._compile(mode, goal)
        found = self._goals[mode]
        if found is None:
            raise DeclineError
        return RecursiveCall(found, found.call if budget is self.meter else self._asking(found, budget))

    def _compile(self, mode: Mode, goal: RecursiveGoal) -> None:
        before = list(self._goals)
        predicate = mode[0]
        clauses = pure_clauses(self.database, (predicate.name, *["_"] * predicate.arity))
        try:
            if clauses is None or any(called.tabled or called.is_state for called, _ in clauses):
                raise DeclineError
            if any(has_inner_cut(body) for _, body in predicate.live()):
                raise DeclineError
            goal.shared, goal.steps = self.compile_mode(self, mode)
            plain = [called for called, _ in clauses if called.relation is None]
            self.stands.update({(called, f".changes == {called.changes}"): None for called in plain})
            goals = sum(1 + sum(1 for _ in calls(body)) for called in plain for _, body in called.live())
            goal.weight = -(-goals // _GOALS_PER_CANDIDATE)
            if declines(goal.steps):
                raise DeclineError
            goal.entered = _entered(goal.steps, goal.shared) if len(mode[1]) == 1 else None
        except (DeclineError, TooLargeError):
            self._goals = {each: self._goals[each] for each in before} | {mode: None}

    def _asking(self, goal: RecursiveGoal, budget: Budget) -> Callable[[Any], Rows]:
        """Return the function as code outside of the recursion calls it, with what its budget allows."""
        call, meter, database, goals, weight = goal.call, self.meter, self.database, self._goals, goal.weight
        tries = _TRIES

        def ask(key: Any) -> Rows:
            if database.generation != self._generation or meter.kept > _MOST_KEPT:
                self._generation, meter.kept = database.generation, 0
                for each in goals.values():
                    if each is not None:
                        each.begin()
            nonlocal tries
            if not tries:
                raise DeclineError
            meter.most, meter.used = (budget.most - budget.used) // weight, 0
            try:
                rows = call(key)
                budget.admit(meter.used * weight)
            except (DeclineError, RecursionError):
                tries -= 1
                raise DeclineError from None
            tries = _TRIES
            return rows

        return ask


def _entered(steps: Steps, shared: Compilation) -> list[FactsByKey] | None:
    """Return searches for facts by the one known argument that begin all alternatives; None where others do."""
    first = steps[0] if steps else None
    if isinstance(first, ForkStep):
        branches = [_entered(branch, shared) for branch in first.branches]
        found = [search for branch in branches if branch is not None for search in branch]
        several = {(id(search.predicate), search.positions): search for search in found}
        return None if None in branches else list(several.values())
    call = _BY_KEY.fullmatch(first.candidates) if isinstance(first, LoopStep) else None
    search = shared.objects[int(call[1])] if call is not None else None
    return [search] if isinstance(search, FactsByKey) else None
