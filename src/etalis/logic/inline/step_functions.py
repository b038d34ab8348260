"""Functions that steps need besides the code they stand in: goals within goals, and recursive goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from etalis.logic.inline.knowledge.facts import FactsByKey
from etalis.logic.inline.knowledge.recursion import RecursiveCall, RecursiveGoal
from etalis.logic.inline.scope import Compilation
from etalis.logic.inline.step_source import row_of, write_body
from etalis.logic.inline.steps import NAMES, DeclineError, SubGoal


class SourceText(Protocol):
    """Generated code that is being written."""

    def __call__(self, line: str) -> None: ...
    def constant(self, thing: Any) -> str: ...
    def fresh(self, stem: str) -> str: ...
    def function(self) -> Callable[..., Any]: ...


class StepFunctions:
    """Gives the names and objects of steps their place in code; `new` begins a function."""

    def __init__(self, shared: Compilation, new: Callable[[list[str]], Any]) -> None:
        self.shared = shared
        self.new = new

    def named(self, text: str, code: SourceText, local: dict[str, str] | None = None) -> str:
        """Replace the names of steps by those of the code; variables keep theirs unless they have others there."""

        def name(found: Any) -> str:
            old: str = found.group()
            if old[1] == "v":
                if not local:
                    return old
                return local.get(old) or local.setdefault(old, code.fresh("n"))
            thing = self.shared.objects[int(old[2:])]
            if isinstance(thing, SubGoal):
                thing = self._sub_goal(thing)
            elif isinstance(thing, RecursiveCall):
                self._define(thing.goal)
                thing = thing.run
            elif isinstance(thing, FactsByKey):
                thing = thing.run
            return code.constant(thing)

        return NAMES.sub(name, text)

    def _sub_goal(self, goal: SubGoal) -> Callable[..., Any]:
        code = self.new(list(goal.parameters))
        for line in write_body(goal.steps, f"raise {code.constant(DeclineError)}"):
            code(self.named(line, code))
        function: Callable[..., Any] = code.function()
        return function

    def _define(self, goal: RecursiveGoal) -> None:
        """Write the function of a recursive goal, if that has not been done."""
        if goal.run is not None:
            return
        code = self.new([f"_v{i}" for i in range(len(goal.positions))])
        goal.define(code.function)  # which is being written
        inner = StepFunctions(goal.shared, self.new)
        code("found = []")
        for line in write_body(goal.steps, f"raise {code.constant(DeclineError)}", 0, _append):
            code(inner.named(line, code))
        code("return found")
        goal.define(code.function())


def _append(values: Sequence[str]) -> str:
    return f"found.append({values[0] if len(values) == 1 else row_of(values)})"
