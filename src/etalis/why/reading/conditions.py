"""Conditions asked again: over the knowledge as of the end of their match, for the solution that the match had.

What a goal writes is not written again, and a goal that acts is not asked at all. Of several versions of the knowledge
that a match may have seen, since facts changed at its very moment, the first is taken whose answer agrees with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etalis.data.values import Value, real
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.check.effects import reach
from etalis.language.check.outline import Outline
from etalis.language.lower import to_logic
from etalis.language.traversal import variables
from etalis.logic.host import Host
from etalis.logic.knowledge.as_of import View
from etalis.logic.proof import ProofStep, Prover
from etalis.logic.terms.unify import Term, from_value
from etalis.temporal.interval import to_seconds
from etalis.temporal.rope import Rope, flatten
from etalis.why.reading.parts import MatchPart

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Key = tuple[str, int]
LOST = "the knowledge of then is not kept"


@dataclass(slots=True, eq=False)
class HeldCondition:
    """How a condition was answered: what its solution bound, its proof, and what is to be said of it."""

    condition: s.Condition
    end: int
    solution: dict[str, Value]
    proof: list[ProofStep] = field(default_factory=list)
    note: str | None = None


class ConditionAsker:
    """Asks the conditions of the matches of one engine again."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._database = core.rules.solver.database
        self._functions = core.program.knowledge.functions
        solver = copy(core.rules.conditions.solver)
        solver.host = Host(clock=self._tell_time)
        self._solver = solver
        self._now = 0
        self._outline = Outline(core.program.tree)
        self._known_effects: dict[int, tuple[s.Term, list[str]]] = {}

    def ask(self, condition: s.Condition, part: MatchPart, passed: int = 0) -> HeldCondition:
        """Return how a condition on a part holds; `part.bound` are the values it was asked with.

        Of the solutions of `event_multiply` so many are passed over.
        """
        assert part.start is not None
        assert part.end is not None
        goal = condition.goal
        effects = self.effects(goal)
        given = {v.name: part.bound[v.name] for v in variables(goal) if v.name in part.bound}
        wanted = {v.name: known for v in variables(goal) if (known := part.scope.get(v.name)) is not None}
        if effects:
            note = f"not asked again: {effects[0]} has a side effect"
            return HeldCondition(condition, part.end, wanted | given, note=note)
        times = times_of(condition, part.start, part.end)
        held: HeldCondition | None = None
        for view in self._views(part.rope, part.end):
            with self.seeing(view, part.end):
                held = self._solve(condition, given, wanted, times, part, part.turn + passed)
                if held.note is None:
                    held.note = LOST if self.has_lost(part.end) else None
                    return held
        assert held is not None
        return held

    def has_lost(self, time: int) -> bool:
        """Tell whether the knowledge of a moment is kept no more."""
        versions = self._database.versions
        return versions is not None and versions.has_lost(time)

    def _tell_time(self) -> Any:
        """Return the time that goals see: that of the match, unless the host has a clock."""
        return to_seconds(self._now) if self._core.inputs.clock is None else self._core.tell_time()

    def effects(self, goal: s.Term) -> list[str]:
        """Return the predicates that a goal reaches and that act."""
        if id(goal) not in self._known_effects:
            self._known_effects[id(goal)] = (goal, reach(goal, self._outline)[1])
        return self._known_effects[id(goal)][1]

    def _solve(
        self,
        condition: s.Condition,
        given: dict[str, Value],
        wanted: dict[str, Value],
        times: Mapping[Key, Value],
        part: MatchPart,
        skipped: int,
    ) -> HeldCondition:
        """Return the first solution that agrees with the match, of several after others; else what is found now."""
        goal, end = to_logic(condition.goal), part.end
        assert end is not None
        own = {v: x for v, x in wanted.items() if v not in given}
        passed: list[dict[str, Value]] = []
        try:
            found = None
            for solution in self._solver.solve(goal, given, times):
                found = {v: x for v, x in solution.items() if v not in given and not v.startswith("_#")}
                if all(found.get(v, x) == x for v, x in own.items()):
                    if condition.kind != "event_multiply" or (len(passed) >= skipped and found not in passed):
                        proof = self.prove(condition.goal, solution, times)
                        return HeldCondition(condition, end, given | found, proof)
                    passed += [found] if found not in passed else []
                if condition.kind != "event_multiply":  # the first solution counts
                    break
            note = "it has no solution now" if found is None else "it is answered otherwise now"
        except EtalisError as error:
            note = f"asked now, it raises: {error.problems[0].message}"
        return HeldCondition(condition, end, own | given, note=note)

    def prove(self, goal: s.Term, solution: Mapping[str, Value], times: Mapping[Key, Value]) -> list[ProofStep]:
        """Return the proof of a goal with the values of its solution; one step, if it is not found."""
        asked = to_logic(goal)
        for name, variable in asked.variables.items():
            if name in solution:
                variable.ref = from_value(solution[name])
        extra: dict[Key, Term] = {key: from_value(value) for key, value in times.items()}
        prover = Prover(self._solver, extra, is_function=lambda key: key in self._functions)
        proof = prover.prove(asked.term)
        return [ProofStep("deeper", asked.term)] if proof is None else proof

    def _views(self, rope: Rope, end: int) -> list[View]:
        record = self._core.record
        changed = record is not None and record.changed_at(end)
        return self.views(max(flatten(rope), default=0) if changed else 0, end)

    def views(self, number: int, end: int) -> list[View]:
        """Return the versions of the knowledge that a match may have seen; through a view nothing can be changed.

        `number` is that of its last input.
        """
        record, database = self._core.record, self._database
        if record is None or not record.changed_at(end):
            return [database.nearest(end)]
        return [View(end, generation) for generation in record.generations_at(number, end, database.generation)]

    def solutions(
        self, goal: s.Term, given: Mapping[str, Value], times: Mapping[Key, Value]
    ) -> Iterator[dict[str, Value]]:
        """Yield the solutions of a goal over the knowledge that is seen."""
        return self._solver.solve(to_logic(goal), given, times)

    @contextmanager
    def seeing(self, view: View | None, now: int) -> Iterator[None]:
        """Ask over a version of the knowledge, without one over that of today, as at a moment."""
        self._now = now
        self._solver.view = view
        try:
            yield
        finally:
            self._solver.view = None


def times_of(condition: s.Condition, start: int, end: int) -> dict[Key, Value]:
    """Return what a condition is told of the interval of its match."""
    if condition.kind != "check":
        return {}
    return {("t1", 1): _in_seconds(start), ("t2", 1): _in_seconds(end)}


def _in_seconds(time: int) -> Value:
    seconds = to_seconds(time)
    return real(seconds) if isinstance(seconds, float) else seconds
