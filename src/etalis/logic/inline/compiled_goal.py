"""A goal in generated code: as far as possible an expression, the rest a function, the solver where both step aside.

The caller's code gets the expression; what it declines, or what is raised in it, is answered by `slow`, a function of
the goal's inputs that asks the solver for all of it. Nothing here has effects, so that asking again is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etalis.errors import EtalisError
from etalis.logic.inline.calls import PredicateCalls
from etalis.logic.inline.goals import GoalSteps
from etalis.logic.inline.knowledge.facts import Budget
from etalis.logic.inline.knowledge.host_calls import replaying
from etalis.logic.inline.knowledge.lookup import look_ups
from etalis.logic.inline.knowledge.memo import asking
from etalis.logic.inline.knowledge.recursion import Mode, RecursiveGoals
from etalis.logic.inline.scope import Compilation, Operand
from etalis.logic.inline.step_functions import SourceText, StepFunctions
from etalis.logic.inline.step_source import return_row, row_of, split_steps, write_body, write_expression
from etalis.logic.inline.steps import DeclineError, GuardStep, Steps, SuccessStep, declines, without_unread
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver

_LEAST_STEPS = 10_000  # that a goal may take: below, the solver's count of them is what matters
_KINDS: Mapping[str, tuple[str, bool]] = {
    "int": ("int", False),
    "float": ("float", False),
    "number": ("number", False),
    "time": ("number", False),
    "string": ("string", True),
    "bool": ("string", True),
}  # the kind of a declared type, and whether that is sure: null is an atom, too


SwitchedOff = tuple[Collection[Any], Callable[[], Any]]  # goals that are not asked, by their keys; what gives one's own
NEVER_OFF: SwitchedOff = ((), tuple)


@dataclass(frozen=True, slots=True)
class PosedGoal:
    """A goal with its inputs, the types that these are declared with, and its outputs.

    The conjuncts at `settled` hold where they do not raise. Of `every` goal that multiplies its match all solutions are
    found, each once; of others the first. `times` are the names of two more inputs, in microseconds;
    the function `seconds` makes of them what the goal's `t1/1` and `t2/1` give.
    """

    goal: Goal
    inputs: Sequence[str]
    outputs: Sequence[str]
    types: Mapping[str, str]
    settled: Collection[int] = ()
    times: Sequence[str] = ()
    seconds: Callable[[int], Any] | None = None
    every: bool = False


class CompiledGoal:
    """The steps of a goal, ready to be written into code."""

    def __init__(self, question: PosedGoal, shared: Compilation, steps: Steps, budget: Budget) -> None:
        self.question = question
        self.shared = shared
        self.steps = steps
        self.budget = budget

    def write(
        self, code: SourceText, names: Mapping[str, str], slow: Callable[..., Any], new: Callable[[list[str]], Any],
        off: SwitchedOff,
    ) -> tuple[str, dict[str, str]]:  # fmt: skip
        """Return the expression that is true for a solution, and where the outputs then are.

        Where every solution is found, it is the collection of their outputs, false if there are none.
        `names` are those of the inputs and times in the code, `new` begins a function; a goal whose key is among those
        that are `off` is not asked.
        """
        question = self.question
        given = [*question.inputs, *question.times]
        local = {f"_v{i}": names[name] for i, name in enumerate(given)}
        parts, inputs_read = split_steps(self.steps), set(local.values())
        functions = StepFunctions(self.shared, new)
        row, asked = code.fresh("r"), f"{code.constant(slow)}({', '.join(names[name] for name in given)})"
        failed = f"(({row} := {asked}) is not None)"
        where = {name: f"{row}[{i}]" for i, name in enumerate(question.outputs)}
        if parts.rest:
            inputs = [f"_v{i}" for i in range(len(given))]
            more = [name for name in parts.parameters if name not in inputs and name != self.shared.notes]
            function = self._function(parts.rest, inputs, more, slow, functions, off)
            found = f"{code.constant(function)}({', '.join([*inputs, *more])})"
            found = found if question.every else f"(({row} := {found}) is not None)"
        else:
            last = parts.first[-1]
            values = last.values if isinstance(last, SuccessStep) else ("None",) * len(question.outputs)
            if question.every:
                found = f"(({''.join(value + ', ' for value in values)}),)"
                return functions.named(write_expression(parts.first, found, asked), code, local), {}
            where, found = self._results(code, values, local, functions)
            again = [f"{n} := {row}[{i}]" for i, n in enumerate(where.values()) if n not in inputs_read]
            failed = f"({failed} and [{', '.join(again)}])" if again else failed
        text = write_expression(parts.first, found, asked if question.every else failed)
        return functions.named(text, code, local), {} if question.every else where

    def _results(
        self, code: SourceText, values: Sequence[str], local: dict[str, str], functions: StepFunctions
    ) -> tuple[dict[str, str], str]:
        """Return where outputs are, and the text that puts those there that are not."""
        where, puts = {}, []
        for name, value in zip(self.question.outputs, values, strict=True):
            text = functions.named(value, code, local)
            if not (value.startswith("_v") and value.isidentifier()):
                here = code.fresh("n")
                puts.append(f"(({here} := {text}) is not None or True)")
                text = here
            where[name] = text
        return where, f"({' and '.join(puts)})" if puts else "True"

    def _function(
        self, steps: Steps, inputs: list[str], more: list[str], slow: Callable[..., Any],
        functions: StepFunctions, off: SwitchedOff,
    ) -> Callable[..., Any]:  # fmt: skip
        code = functions.new([*inputs, *more])
        notes = self.shared.notes
        asked = f"{code.constant(slow)}({', '.join(inputs)})"
        if notes:
            code(f"{notes} = []")
            again = code.constant(replaying(self.shared.database, slow))
            asked = f"{again}({', '.join([notes, *inputs])}) if {notes} else {asked}"
        decline = f"return {asked}"
        several, key_of = off
        switched_off, key = code.constant(several), code.constant(key_of())
        code(f"if {switched_off} and {key} in {switched_off}:")
        code("    return None")
        code(f"{code.constant(self.budget)}.used = 0")
        every = self.question.every
        if every:
            code("found = {}")
        code("try:")
        for line in write_body(steps, decline, 1, _keep if every else return_row):
            code(functions.named(line, code))
        code(f"except {code.constant(_DECLINED)}:")
        code(f"    {decline}")
        if every:
            code("return found")
        function: Callable[..., Any] = code.function()
        return function


def _keep(values: Sequence[str]) -> str:
    """Write that a solution is among those found, each of which is one."""
    return f"found[{row_of(values)}] = None"


_DECLINED = (DeclineError, EtalisError, OverflowError)


class GoalCompilation:
    """Compiles goals over the knowledge of a solver; those that see old knowledge read none of it."""

    def __init__(self, solver: Solver, *, reads: bool = True) -> None:
        self.solver = solver
        self.reads = reads
        self.find = look_ups(solver)
        self.ask = asking(solver) if reads else _ask_nothing
        self.recursion = RecursiveGoals(solver.database, self._compile_mode)
        self.present = () if solver.database.versions is None else ((solver, ".view is None"),)

    @property
    def is_limited(self) -> bool:
        """Whether goals have so few steps that the solver has to count them."""
        return self.solver.limits.steps < _LEAST_STEPS

    def compile(self, question: PosedGoal) -> CompiledGoal | None:
        """Return a goal as steps, None where the solver must be asked for all of it."""
        limits = self.solver.limits
        if self.is_limited:
            return None
        shared = Compilation(self.solver.database)
        known = {name: _operand(question.types.get(name, "term"), i) for i, name in enumerate(question.inputs)}
        shared.fresh = len(question.inputs) + len(question.times)
        if question.seconds is not None:
            raw = [f"_v{len(question.inputs) + i}" for i in range(2)]
            shared.times = {
                name: _time(shared, text, question.seconds) for name, text in zip(("t1", "t2"), raw, strict=True)
            }
            shared.between = _subtraction(question.seconds)
        calls = self._calls(shared, Budget(limits.steps))
        steps = GoalSteps(calls, self.ask, every=question.every)
        try:
            found = steps.compile(question.goal, known, question.outputs, question.settled)
        except DeclineError:
            return None
        is_empty = isinstance(found[0], GuardStep) and found[0].text == "False"
        if shared.notes and declines(found):  # after a call, perhaps
            return None
        return None if is_empty else CompiledGoal(question, shared, without_unread(found), calls.budget)

    def _calls(self, shared: Compilation, budget: Budget) -> PredicateCalls:
        return PredicateCalls(shared, self.find, budget, self.present, self.recursion, reads=self.reads)

    def _compile_mode(self, recursion: RecursiveGoals, mode: Mode) -> tuple[Compilation, Steps]:
        """Return the steps of the clauses of a predicate that calls itself, none of which are left to the solver."""
        predicate, positions = mode
        shared = Compilation(self.solver.database)
        shared.fresh, shared.stands = len(positions), recursion.stands
        steps = GoalSteps(self._calls(shared, recursion.meter), _ask_nothing, every=True)
        return shared, steps.clauses(predicate, positions)


def _operand(declared: str, number: int) -> Operand:
    kind, sure = _KINDS.get(declared, ("term", True))
    return Operand(f"_v{number}", kind, sure=sure, plain=kind == "float")


def _time(shared: Compilation, name: str, seconds: Callable[[int], Any]) -> Operand:
    """Return a time in seconds, given its name in microseconds."""
    text = f"({name} // 1000000 if not {name} % 1000000 else {shared.constant(seconds)}({name}))"
    return Operand(text, "number", small=True, moment=name)


def _subtraction(seconds: Callable[[int], Any]) -> Callable[[int, int], Any]:
    def between(end: int, start: int) -> Any:
        return seconds(end) - seconds(start)

    return between


def _ask_nothing(*_: Any) -> None:
    return None
