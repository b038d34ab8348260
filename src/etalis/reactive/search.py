"""The search for the execution of an action: the first in depth-first order, over the state of a database.

It changes that state, and the caller commits or takes back; where there is no execution, the state is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.flags import settings
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term, Variable, from_value, to_value, undo
from etalis.reactive.analysis import comes_back, takes_first
from etalis.reactive.configurations import SearchAttempt
from etalis.reactive.execution import Execution, Failed, Label, SearchLimits
from etalis.reactive.labels import label_of, show_leaf
from etalis.reactive.legality import Legality
from etalis.reactive.search_run import CompiledGoals, SearchRun, SearchStopError, compiled_goals
from etalis.reactive.straight_line import straight_line
from etalis.reactive.terms import ActionProgram, Names
from etalis.reactive.unfolding import Unfolder

Prepared: TypeAlias = Callable[..., Execution | Failed]


class Search:
    """Searches over one database, by the actions and the demands of one program."""

    def __init__(self, solver: Solver, program: ActionProgram, limits: SearchLimits | None = None) -> None:
        self.solver = solver
        self.program = program
        self.limits = limits or SearchLimits()
        self.state = StateStore.of(solver.database)
        self.unfolder = Unfolder(program)
        self.legality = Legality(solver, program.always) if program.always else None

    @staticmethod
    def of(program: s.Tree, solver: Solver) -> Search:
        """Return the search of a program, with the limits that its flags say."""
        found = settings(program)
        return Search(solver, ActionProgram.of(program), SearchLimits(found.max_path, found.max_tries))

    def illegal(self) -> str | None:
        """Return the first demand that the state as a whole does not meet."""
        return None if self.legality is None else self.legality.broken_anywhere()

    def prepare(self, action: s.Action, inputs: Sequence[str]) -> Prepared:
        """Return a function of the inputs' values, and of effects that are no step: what comes of the action."""
        names: Names = {}
        written = self.program.action(action, names)
        given = [names.get(name) or Variable() for name in inputs]
        returns = comes_back(self.program, written)
        term = self.unfolder.unfold(written)
        goals = compiled_goals(self.solver.database, term)

        def run(values: Sequence[Value], refused: frozenset[Label] = frozenset()) -> Execution | Failed:
            for variable, value in zip(given, values, strict=True):
                variable.ref = None if value is None else from_value(value)
            try:
                return self._execute(term, names, refused, returns, goals)
            finally:
                for variable in given:
                    variable.ref = None

        known = dict(zip(inputs, given, strict=True))
        return straight_line(self.state, term, known, names, self.limits, self.legality, run) or run

    def execute(self, action: Term, names: Names, refused: frozenset[Label] = frozenset()) -> Execution | Failed:
        """Search for the execution of an action."""
        return self._execute(self.unfolder.unfold(action), names, refused, comes_back(self.program, action))

    def _execute(
        self, action: Term, names: Names, refused: frozenset[Label], returns: bool, goals: CompiledGoals | None = None
    ) -> Execution | Failed:
        run = SearchRun(
            self.solver, self.unfolder.program, self.legality, self.limits, refused,
            order_matters=partial(takes_first, self.solver.database, self.program, action), returns=returns,
            goals=goals or {},
        )  # fmt: skip
        store = self.state
        mark, found = store.mark(), None
        try:
            if run.find(action):
                found = _execution(run, names)
                return found
            assert run.best is not None
            return _failed(run.best)
        except SearchStopError as stop:
            return Failed(_as_labels(stop.labels), _text(stop.failed), stop.why, stop.error)
        finally:
            undo(run.trail, 0)
            if found is None:
                store.take_back(mark)


def _execution(run: SearchRun, names: Names) -> Execution:
    assert run.found is not None
    values = {name: to_value(variable) for name, variable in names.items() if not name.startswith("_#")}
    return Execution(_as_labels(run.found), {name: value for name, value in values.items() if value is not None})


def _failed(attempt: SearchAttempt) -> Failed:
    labels = list(attempt.labels)
    while attempt.after is not None:
        attempt = attempt.after
        labels.extend(attempt.labels)
    return Failed(_as_labels(labels), _text(attempt.failed), attempt.why)


def _as_labels(steps: Sequence[Term]) -> tuple[Label, ...]:
    return tuple(map(label_of, steps))


def _text(failed: Term) -> str:
    """Return where an attempt ended: a part of an action, or a text already."""
    return failed if failed.__class__ is str else show_leaf(failed)
