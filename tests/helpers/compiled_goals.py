"""Goals run as generated code runs them, beside the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from etalis.logic.errors import LogicError
from etalis.logic.inline.compiled_goal import NEVER_OFF, GoalCompilation, PosedGoal
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.runtime.codegen.source import Code

DECLINED = "declined"


class GoalRun:
    """One goal, compiled, for its first solution or every one; None where nothing of it can be."""

    def __init__(
        self, solver: Solver, goal: Goal, types: Mapping[str, str], outputs: Sequence[str], *, every: bool = False
    ) -> None:
        self.declined = False
        self.outputs = tuple(outputs)
        inputs = tuple(types)
        self.every = every
        compiled = GoalCompilation(solver).compile(PosedGoal(goal, inputs, self.outputs, types, every=every))
        self.ask = (solver.prepare_all if every else solver.prepare)(goal, inputs, self.outputs)
        self.run = None
        if compiled is not None:
            code = Code([f"x{i}" for i in range(len(inputs))])
            names = dict(zip(inputs, code.parameters, strict=True))
            text, where = compiled.write(code, names, self._slow, Code, NEVER_OFF)
            values = "" if every else "".join(where[name] + ", " for name in self.outputs)
            code(f"return list({text} or ())" if every else f"return ({values}) if {text} else None")
            self.run = code.function()

    def _slow(self, *_: Any) -> tuple[Any, ...]:
        self.declined = True
        return [] if self.every else (None,) * len(self.outputs)

    def found(self, values: Sequence[Any]) -> Any:
        """Return what generated code finds by itself, `DECLINED` where it leaves the goal to the solver."""
        assert self.run is not None
        self.declined = False
        found = self.run(*values)
        return DECLINED if self.declined else found

    def expected(self, values: Sequence[Any]) -> Any:
        """Return what the solver finds, `DECLINED` if that is an error: then it must be the one to raise it."""
        try:
            found = self.ask(*values)
            return list(dict.fromkeys(found)) if self.every else found
        except LogicError:
            return DECLINED
