"""What conditions see while a history runs again: the knowledge of each moment, of which nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.lower import to_logic
from etalis.logic.host import Host
from etalis.logic.knowledge.as_of import View
from etalis.logic.machine.fact_lookup import Goal
from etalis.semantics.matches import Bindings

if TYPE_CHECKING:
    from etalis.runtime.core import Core


class KnowledgeThen:
    """The knowledge of an engine, as of the input that is processed again; actions are not asked at all."""

    def __init__(self, core: Core, actions: Iterable[s.Term], multiplied: Iterable[s.Term]) -> None:
        self._core = core
        self._actions = {id(action): action for action in actions}
        self._multiplied = {id(goal): goal for goal in multiplied}  # asked for all solutions
        self._solver = copy(core.rules.conditions.solver)
        self._solver.host = Host(clock=core.tell_time)
        self._goals: dict[int, tuple[s.Term, Goal]] = {}
        self._prepared: dict[tuple[int, tuple[str, ...], bool], tuple[tuple[str, ...], Callable[..., Any]]] = {}
        self._views: list[Any] = []

    def reach(self, number: int, time: int) -> None:
        """Go to an input, or to what falls due after it."""
        record, database = self._core.record, self._solver.database
        if record is None or self._core.disorder is not None or not record.changed_at(time):
            self._views = [database.nearest(time)]
        else:
            self._views = [View(time, g) for g in record.generations_at(number, time, database.generation)]
        self._solver.view = self._views[0]

    def change(self, count: int) -> None:
        """Go past changes that an event made to facts."""
        del self._views[: min(count, len(self._views) - 1)]
        if self._views:
            self._solver.view = self._views[0]

    def seen(self) -> Any:
        """Return what conditions see now."""
        return self._solver.view

    @contextmanager
    def under(self, view: Any) -> Iterator[None]:
        """Let conditions see what they saw then."""
        before, self._solver.view = self._solver.view, view
        try:
            yield
        finally:
            self._solver.view = before

    def solve(self, goal: s.Term, bindings: Bindings, times: Mapping[tuple[str, int], Value]) -> Iterable[Bindings]:
        """Solve a condition; an action is taken for done."""
        if id(goal) in self._actions:
            return (bindings,)
        if id(goal) not in self._goals:
            self._goals[id(goal)] = (goal, to_logic(goal))
        asked = self._goals[id(goal)][1]
        given = tuple([name for name in bindings if name in asked.variables])
        key = (id(goal), given, bool(times))
        if key not in self._prepared:
            free = tuple(name for name in asked.variables if name not in bindings)
            prepare = self._solver.prepare_all if id(goal) in self._multiplied else self._solver.prepare
            self._prepared[key] = free, prepare(asked, given, free, tuple(times))
        free, answer = self._prepared[key]
        found = answer(*[bindings[name] for name in given], *times.values())
        rows = found if id(goal) in self._multiplied else () if found is None else (found,)
        return [{n: value for n, value in zip(free, row, strict=True) if value is not None} for row in rows]
