"""Values of added events: by solving the conditions, then those of question, stream and program, and numbers next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice, product
from typing import TYPE_CHECKING

from etalis.data.values import Value
from etalis.errors import EtalisError
from etalis.language import syntax as s
from etalis.language.lower import to_logic
from etalis.language.rules import with_checks
from etalis.language.traversal import names, postorder, subterms, terms, variables
from etalis.logic.host import Host
from etalis.why.justification import Received

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Bindings = Mapping[str, Value]
MOST = 8  # sets of values that are tried
_TESTED = 400
_DOMAIN = 40


class ValueChooser:
    """Chooses values for variables that an attempt leaves free."""

    def __init__(
        self, core: Core, question: s.EventPattern, inputs: Sequence[Received], rules: Iterable[s.Rule],
        elsewhere: Mapping[tuple[str, int, int], Mapping[Value, None]],
    ) -> None:  # fmt: skip
        self._solver = copy(core.rules.conditions.solver)
        self._solver.host = Host(clock=core.tell_time)
        self._acts = any("condition" in effect or "clause" in effect for effect in core.program.effects)
        self._places: dict[tuple[str | None, int, int], dict[Value, None]] = {}
        for given in reversed(inputs):
            for place, value in enumerate(given.args):
                self._places.setdefault((given.name, len(given.args), place), {})[value] = None
        self._elsewhere = elsewhere
        written = [term for rule in rules for term in _terms(rule)]
        asked = [x.value for arg in question.args for x in subterms(arg) if isinstance(x, s.Const)]
        self.constants: dict[Value, None] = dict.fromkeys(
            [*asked, *(x.value for term in written for x in subterms(term) if isinstance(x, s.Const))]
        )

    def domain(self, kind: tuple[str, int], place: int) -> list[Value]:
        """Return values for a place of a kind of event, near ones first."""
        key = (*kind, place)
        found = dict.fromkeys([*self._places.get(key, ()), *self._elsewhere.get(key, ()), *self.constants])
        numbers = [x for x in found if isinstance(x, int | float)]
        found.update(dict.fromkeys(x + by for x in numbers for by in (1, -1)))
        return list(islice(found, _DOMAIN)) or [0]

    def grid_values(self, inputs: Iterable[Received]) -> list[Value]:
        """Return the values of the question, the program and the stream."""
        return list(dict.fromkeys([*self.constants, *(value for given in inputs for value in given.args)]))

    def choices(self, rule: s.Rule, missing: Sequence[s.EventPattern], bound: Bindings) -> list[Bindings]:
        """Return values for the variables of missing parts: those for which the conditions hold come first."""
        free: dict[str, list[Value]] = {}
        for pattern in missing:
            for place, arg in enumerate(pattern.args):
                for name in names(variables(arg)):
                    if name not in bound and name not in free:
                        free[name] = self.domain((pattern.name, len(pattern.args)), place)
        if not free:
            return [{}]
        found: list[Bindings] = []
        goal = None if self._acts else _goal(rule)
        for several in (self._solved(goal, free, bound), self._tested(goal, free, bound)):
            found += [one for one in islice(several, MOST) if one not in found]
        return found[:MOST]

    def _solved(self, goal: s.Term | None, free: Mapping[str, list[Value]], bound: Bindings) -> Iterator[Bindings]:
        """Yield the solutions of the conditions, other variables with the first of their values."""
        if goal is None:
            return
        try:
            for solution in islice(self._solver.solve(to_logic(goal), bound), MOST):
                if any(name in solution for name in free):
                    yield {name: solution.get(name, values[0]) for name, values in free.items()}
        except EtalisError:
            return

    def _tested(self, goal: s.Term | None, free: Mapping[str, list[Value]], bound: Bindings) -> Iterator[Bindings]:
        """Yield combinations of values for which the conditions hold, then those that cannot be tested."""
        unsure: list[Bindings] = []
        for values in islice(product(*free.values()), _TESTED):
            chosen = dict(zip(free, values, strict=True))
            holds = True if goal is None else self._holds(goal, {**bound, **chosen})
            if holds:
                yield chosen
            elif holds is None:
                unsure.append(chosen)
        yield from unsure

    def _holds(self, goal: s.Term, bound: Bindings) -> bool | None:
        try:
            return next(iter(self._solver.solve(to_logic(goal), bound)), None) is not None
        except EtalisError:
            return None


def _goal(rule: s.Rule) -> s.Term | None:
    """Return the conditions of a rule as one goal."""
    goals = [node.goal for node in postorder(with_checks(rule).pattern) if isinstance(node, s.Condition)]
    goal: s.Term | None = None
    for one in goals:
        goal = one if goal is None else s.Compound(",", (goal, one))
    return goal


def _terms(rule: s.Rule) -> Iterator[s.Term]:
    yield from rule.head.args
    for node in postorder(rule.pattern):
        yield from terms(node)
