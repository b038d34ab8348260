"""Conditions of attempts: whether they hold, else the first conjunct that fails, by how much, or what came later."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from etalis.data.values import Value
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.lower import to_syntax
from etalis.language.traversal import variables
from etalis.temporal.interval import to_microseconds
from etalis.why.reading.conditions import ConditionAsker, Key, times_of
from etalis.why.why_not import KnownLater, Refuted

if TYPE_CHECKING:
    from etalis.runtime.core import Core

COMPARISONS = {"<", ">", "=<", ">=", "=:=", "=\\=", "==", "\\==", "=", "\\=", "@<", "@>", "@=<", "@>=", "is"}
_MOST = 10**15  # microseconds


class GoalAnswer(NamedTuple):
    """What a condition binds, or why it fails and by how much."""

    solution: Mapping[str, Value] | None
    cause: Refuted | KnownLater | None = None
    distance: int = 0


class GoalAsker:
    """Asks the conditions of attempts over the knowledge of their time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._asker = ConditionAsker(core)
        self._changes = core.record is None or bool(core.record.generations) or core.program.reads_clock
        self._answers: dict[tuple[object, ...], tuple[s.Condition, GoalAnswer]] = {}
        self._named: dict[int, tuple[s.Condition, list[str]]] = {}

    def ask(
        self, condition: s.Condition, own: Mapping[str, Value], known: Mapping[str, Value],
        times: tuple[int, int], number: int,
    ) -> GoalAnswer:  # fmt: skip
        """Return how a condition is answered with what its pattern binds; `known` are values it must agree with.

        `number` is that of the last input of the match, 0 if rules made all of it.
        """
        if id(condition) not in self._named:
            self._named[id(condition)] = condition, sorted({v.name for v in variables(condition.goal)})
        named = self._named[id(condition)][1]
        given = {name: own[name] for name in named if name in own}
        wanted = {name: known[name] for name in named if name in known and name not in given}
        then = (times, number) if condition.kind == "check" or self._changes else None
        key = (id(condition), *given.items(), None, *wanted.items(), then)
        if key not in self._answers:
            self._answers[key] = condition, self._ask(condition, given, wanted, times, number)
        return self._answers[key][1]

    def _ask(
        self, condition: s.Condition, given: dict[str, Value], wanted: dict[str, Value],
        times: tuple[int, int], number: int,
    ) -> GoalAnswer:  # fmt: skip
        asker, goal, told = self._asker, condition.goal, times_of(condition, *times)
        if asker.effects(goal):
            return GoalAnswer({})  # a goal that acts is not asked again
        views = asker.views(number, times[1])
        for view in views:
            with asker.seeing(view, times[1]):
                found = self._solve(condition, given, wanted, told)
            if found is not None:
                return GoalAnswer(found)
        both = {**given, **wanted}
        with asker.seeing(views[-1], times[1]):
            failing, bound, error = self._failing(goal, both, told)
            distance = 0 if error is not None else self._distance(failing, bound, told)
        later = self._known_later(condition, given, wanted, told, times[1])
        if later is not None:
            return GoalAnswer(None, later)
        return GoalAnswer(None, Refuted(goal, failing, bound, error), distance)

    def _solve(
        self, condition: s.Condition, given: dict[str, Value], wanted: dict[str, Value], told: Mapping[Key, Value]
    ) -> dict[str, Value] | None:
        """Return the solution that counts, if it agrees with what is wanted; one that raises has none."""
        try:
            for solution in self._asker.solutions(condition.goal, given, told):
                named = {name: value for name, value in solution.items() if not name.startswith("_#")}
                if all(named.get(v, x) == x for v, x in wanted.items()):
                    return {**wanted, **named}
                if condition.kind != "event_multiply":
                    return None
        except EtalisError:
            return None
        return None

    def _failing(
        self, goal: s.Term, bound: Mapping[str, Value], told: Mapping[Key, Value]
    ) -> tuple[s.Term, Mapping[str, Value], str | None]:
        """Return the first conjunct without a solution behind those before it, what these bind, and its error."""
        before: s.Term | None = None
        for conjunct in conjuncts(goal):
            asked = conjunct if before is None else s.Compound(",", (before, conjunct))
            try:
                solution = next(self._asker.solutions(asked, bound, told), None)
            except EtalisError as error:
                return conjunct, bound, error.problems[0].message
            if solution is None:
                return conjunct, bound, None
            bound = {**bound, **{n: x for n, x in solution.items() if not n.startswith("_#")}}
            before = asked
        return goal, bound, None  # all hold, but by another solution than the first

    def _distance(self, failing: s.Term, bound: Mapping[str, Value], told: Mapping[Key, Value]) -> int:
        """Return by how much a comparison fails; 0 if it is none."""
        if not (isinstance(failing, s.Compound) and failing.name in COMPARISONS and len(failing.args) == 2):
            return 0
        numbers = [self._number(side, bound, told) for side in failing.args]
        left, right = numbers
        if left is None or right is None:
            return 1
        difference = abs(left - right)
        return max(1, to_microseconds(difference)) if difference < _MOST else _MOST

    def _number(self, term: s.Term, bound: Mapping[str, Value], told: Mapping[Key, Value]) -> int | float | None:
        asked = s.Compound("is", (s.Var("$value"), term))
        try:
            found = next(self._asker.solutions(asked, bound, told), {}).get("$value")
        except EtalisError:
            return None
        return found if isinstance(found, int | float) and isfinite(found) else None

    def _known_later(
        self, condition: s.Condition, given: dict[str, Value], wanted: dict[str, Value],
        told: Mapping[Key, Value], end: int,
    ) -> KnownLater | None:  # fmt: skip
        """Return the facts by which a condition holds today, and since when they are known."""
        record = self._core.record
        if record is None or not record.facts:
            return None
        with self._asker.seeing(None, end):
            solution = self._solve(condition, given, wanted, told)
            if solution is None:
                return None
            proof = self._asker.prove(condition.goal, {**given, **solution}, told)
        facts = []
        waiting = list(reversed(proof))
        while waiting:
            step = waiting.pop()
            waiting += reversed(step.premises)
            name, row = (step.goal, ()) if isinstance(step.goal, str) else (step.goal[0], step.goal[1:])
            since = record.told(name, row, self._core.state.now) if step.kind == "fact" else None
            if since is not None and since.time > end:
                facts.append((to_syntax(step.goal), since.time))
        return KnownLater(condition.goal, tuple(facts)) if facts else None


def conjuncts(goal: s.Term) -> list[s.Term]:
    """Return the goals of a conjunction, left to right."""
    found, waiting = [], [goal]
    while waiting:
        term = waiting.pop()
        if isinstance(term, s.Compound) and term.name == "," and len(term.args) == 2:
            waiting += reversed(term.args)
        else:
            found.append(term)
    return found
