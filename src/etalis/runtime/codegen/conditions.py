"""Conditions and actions in generated code: goals over the background knowledge, each failure kept to its own match.

What can be computed from values is written in line (`logic/inline`); a function prepared once asks the solver the rest.
What raises is reported with rule, bindings and text, and fails that match alone (definition 15.8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from etalis.data.measure import TOO_DEEP, is_too_deep
from etalis.data.values import Struct, Value, format_value, real
from etalis.errors import ConditionError, EtalisError, Problem
from etalis.language.check.goals import takes_unbound
from etalis.language.lower import to_logic
from etalis.language.printer import print_term
from etalis.logic.inline.actions import ActionCompilation
from etalis.logic.inline.compiled_goal import NEVER_OFF, GoalCompilation, PosedGoal
from etalis.logic.inline.inline import inline
from etalis.logic.inline.python_source import HELPERS
from etalis.logic.inline.scope import normal
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.solver import Solver
from etalis.plan import algebra as p
from etalis.runtime.codegen.source import Code
from etalis.runtime.limits.circuit_breaker import Breaker, Key
from etalis.temporal.calendar import calendar_time
from etalis.temporal.interval import MICROSECONDS, to_microseconds, to_seconds

if TYPE_CHECKING:
    from etalis.runtime.codegen.passing import Passing

Names = dict[str, str]


class Conditions:
    """Prepares the goals of a program against its knowledge; of old knowledge, where `as_of` tells the moment."""

    def __init__(
        self, solver: Solver, report: Callable[[ConditionError], None], breaker: Breaker,
        as_of: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        self.solver = solver
        self.compilation = GoalCompilation(solver, reads=as_of is None)
        self.as_of = as_of
        self.breaker = breaker
        self.report = report
        self.reports = 0
        self.acts = True  # not where the past is run again for an explanation

    def over(self, database: Database) -> Conditions:
        """Return conditions over other knowledge; what they report is reported here."""
        solver = self.solver.within(self.solver.limits)
        solver.database = database
        return Conditions(solver, self._report, self.breaker)

    def _report(self, error: ConditionError) -> None:
        self.reports += 1
        self.report(error)

    def write(
        self,
        code: Code,
        test: p.GoalTest,
        names: Names,
        firm: frozenset[str],
        t1: str,
        t2: str,
        passing: Passing,
        rule: str,
        types: Mapping[str, str],
    ) -> None:
        """Add a condition to a match's tests; what it binds is added to `names`, also where an input may be unbound."""
        timed = test.kind == "check"
        is_open = takes_unbound(test.goal, test.inputs)
        outputs = test.outputs if is_open else (*test.outputs, *(v for v in test.inputs if v not in firm))
        slow = self.prepare(test, outputs, rule)
        every = test.kind == "event_multiply"
        if is_open or all(v in firm for v in test.inputs):
            times = {_START: t1, _END: t2} if timed else {}
            seconds = _seconds if timed else None
            goal = to_logic(test.goal)
            question = PosedGoal(goal, test.inputs, test.outputs, types, test.settled, tuple(times), seconds, every)
            off = self.breaker.off, partial(self.breaker.key, rule, "condition", test.goal)
            if self._compiled(code, question, {**names, **times}, names, slow, off, passing):
                return
        arguments = ", ".join([*(names[v] for v in test.inputs), *((t1, t2) if timed else ())])
        call, row = f"{code.constant(slow)}({arguments})", code.fresh("r")
        if every:
            passing.expressions.append(f"({row} := {call})")
            passing.loops.append((row, outputs))
        elif outputs:
            passing.expressions.append(f"({row} := {call}) is not None")
            names.update({v: f"{row}[{i}]" for i, v in enumerate(outputs)})
        else:
            passing.expressions.append(f"{call} is not None")

    def _compiled(
        self, code: Code, question: PosedGoal, given: Names, names: Names, slow: Callable[..., Any], off: Any,
        passing: Passing,
    ) -> bool:  # fmt: skip
        """Add what of a condition can be computed in line; False if that is nothing."""
        compiled = self.compilation.compile(question)
        if compiled is None:
            return False
        text, found = compiled.write(code, given, slow, Code, off)
        if question.every:
            row = code.fresh("r")
            passing.expressions.append(f"({row} := {text})")
            passing.loops.append((row, tuple(question.outputs)))
        else:
            passing.expressions.append(text)
        names.update(found)
        return True

    def write_prefilter(
        self, code: Code, test: p.Prefilter, names: Names, passing: Passing, types: Mapping[str, str]
    ) -> None:
        """Add a prefilter to a match's tests; all that it reads is bound."""
        keep = self.prepare_prefilter(test)
        question = PosedGoal(to_logic(test.goal), test.inputs, (), types)
        if not self._compiled(code, question, names, {}, keep, NEVER_OFF, passing):
            arguments = ", ".join(names[v] for v in test.inputs)
            passing.expressions.append(f"{code.constant(keep)}({arguments}) is not None")

    def ask(
        self, test: p.Condition, outputs: tuple[str, ...], rule: str, *, is_firm: bool = False
    ) -> Callable[..., Any]:
        """Return the function of a condition or of a prefilter: its outputs, or None; all inputs are bound if firm."""
        if isinstance(test, p.Prefilter):
            return self.prepare_prefilter(test)
        return self.prepare(test, outputs, rule, is_firm=is_firm)

    def prepare_prefilter(self, test: p.Condition) -> Callable[..., Any]:
        """Return the function (inputs...) of a prefilter: None where it is refuted; what raises stays, unreported."""
        solve: Callable[..., Any] | None = None
        unknown = (True,) * len(test.outputs)

        def keep(*values: Any) -> Any:
            nonlocal solve
            if solve is None:
                goal = to_logic(test.goal)
                solve = self._expression(goal, test.inputs, test.outputs, ()) or self.solver.prepare(
                    goal, test.inputs, test.outputs, ()
                )
            try:
                return solve(*map(normal, values))
            except EtalisError:
                return unknown

        return keep

    def action(self, code: Code, action: p.Action, names: Names, rule: str) -> str:
        """Return the statement that runs an action."""
        if not self.acts:
            return "pass"
        test = p.GoalTest("where", action.goal, action.inputs, ())
        act = self._guarded_action(test, rule)
        return f"{code.constant(act)}({', '.join(names[v] for v in action.inputs)})"

    def _guarded_action(self, test: p.GoalTest, rule: str) -> Callable[..., None]:
        """Return the function of an action, which reports failures and errors; it is written when first called."""
        run: Callable[..., Any] | None = None
        key, off = self.breaker.key(rule, "action", test.goal), self.breaker.off

        def act(*values: Any) -> None:
            nonlocal run
            if off and key in off:
                return
            if run is None:
                run = self._acting(test)
            try:
                if run(*values) is not None:
                    return
                failure = ConditionError(Problem("E501", "failure"))
            except EtalisError as error:
                self.note_error(error, test, values, key)
                return
            self._report(self._explain(failure, test, values, rule, "action"))

        return act

    def prepare(
        self, test: p.GoalTest, outputs: tuple[str, ...], rule: str, *, is_firm: bool = False
    ) -> Callable[..., Any]:
        """Return the function (inputs..., [start, end]) of a goal: its outputs or None, a list where it multiplies.

        It is written when it is first called: for most goals generated code never asks.
        """
        return GuardedGoal(self, test, outputs, rule, is_firm)

    def solving(self, test: p.GoalTest, outputs: tuple[str, ...], *, is_firm: bool) -> Callable[..., Any]:
        """Return the function of a goal as `prepare` does; what raises is neither reported nor caught."""
        solve = self._solving(test, outputs)
        if not is_firm:
            return solve
        every = test.kind == "event_multiply"
        is_timed = test.kind == "check"
        times, seconds = ((_START, _END), _seconds) if is_timed else ((), None)
        question = PosedGoal(to_logic(test.goal), test.inputs, outputs, {}, (), times, seconds, every)
        compiled = self.compilation.compile(question)
        if compiled is None:
            return solve
        given = [*test.inputs, *times]
        code = Code([f"v{i}" for i in range(len(given))])
        names = dict(zip(given, code.parameters, strict=True))
        text, found = compiled.write(code, names, solve, Code, NEVER_OFF)
        if every:
            code(f"return list({text} or ())")
            return code.function()
        where = {**names, **found}
        code(f"return ({''.join(where[v] + ', ' for v in outputs)}) if {text} else None")
        return code.function()

    def note_error(self, error: EtalisError, test: p.GoalTest, values: tuple[Any, ...], key: Key) -> None:
        """Report what a goal raised, and switch it off where that came too often."""
        rule, what, _ = key
        self._report(self._explain(error, test, values, rule, what))
        broken = self.breaker.note(key, error, test.goal.span)
        if broken is not None:
            self._report(broken)

    def _acting(self, test: p.GoalTest) -> Callable[..., Any]:
        """Return the function of an action: None where it fails; what raises is not caught."""
        if self.as_of is None:
            compiled = ActionCompilation(self.solver, self.compilation, Code).compile(to_logic(test.goal), test.inputs)
            if compiled is not None:
                return compiled
        solve = self.solving(test, (), is_firm=False)
        return lambda *values: solve(*map(normal, values))  # some may be plain floats

    def _solving(self, test: p.GoalTest, outputs: tuple[str, ...]) -> Callable[..., Any]:
        goal, inputs = to_logic(test.goal), test.inputs
        extra = _TIMES if test.kind == "check" else ()
        if test.kind == "event_multiply":
            find = self.solver.prepare_all(goal, inputs, outputs, extra)
            solve: Callable[..., Any] = lambda *values: list(dict.fromkeys(find(*values)))  # noqa: E731
        else:
            solve = self._expression(goal, inputs, outputs, extra) or self.solver.prepare(goal, inputs, outputs, extra)
        if self.as_of is not None:
            solve = self._in_the_past(solve, self.as_of)
        count, timeless = len(inputs), solve
        return (lambda *values: timeless(*values[:count], *map(_seconds, values[count:]))) if extra else solve

    def _in_the_past(self, solve: Callable[..., Any], as_of: Callable[[], int]) -> Callable[..., Any]:
        """Return a goal that sees the knowledge of its moment, if that has ever changed."""
        solver = self.solver

        def asked(*values: Any) -> Any:
            if solver.database.versions is None or not solver.database.versions.changed:
                return solve(*values)
            with solver.as_of(as_of()):
                return solve(*values)

        return asked

    def _expression(
        self, goal: Goal, inputs: tuple[str, ...], outputs: tuple[str, ...], extra: tuple[Any, ...]
    ) -> Callable[..., Any] | None:
        """Return a goal of arithmetic and comparison as a function, None where only the solver can run it."""
        found = None if extra or set(inputs) & set(outputs) else inline(goal, dict.fromkeys(inputs, "term"))
        if found is None or {v for v, _ in found.bindings} != set(outputs):
            return None
        code = Code([f"v{i}" for i in range(len(inputs))])
        names = dict(zip(inputs, code.parameters, strict=True)) | {v: f"n{i}" for i, v in enumerate(outputs)}
        text = found.source(names, code.constant)
        for name, function in HELPERS.items():
            if name in text:
                code(f"{name} = {code.constant(function)}")
        code(f"return ({''.join(names[v] + ', ' for v in outputs)}) if {text} else None")
        return code.function()

    def _explain(
        self, error: EtalisError, test: p.GoalTest, values: tuple[Any, ...], rule: str, what: str
    ) -> ConditionError:
        bound = ", ".join(
            f"{v} = {format_value(x)}" for v, x in zip(test.inputs, values, strict=False) if x is not None
        )
        first = error.problems[0]
        message = f"the {what} {print_term(test.goal)} of rule {rule} raised {first.message}"
        found = ConditionError(Problem("E501", message + (f" ({bound})" if bound else ""), test.goal.span, first.hint))
        found.kind = (rule, what, print_term(test.goal), first.code)
        return found

    def fail(self, rule: str) -> Callable[[str], None]:
        """Return the function that reports a value an operator cannot use."""

        def fail(message: str) -> None:
            self._report(ConditionError(Problem("E501", f"rule {rule}: {message}")))

        return fail

    def fits(self, rule: str) -> Callable[..., bool]:
        """Return the test of what a rule's head makes: a term nested too deep is reported, and its match fails."""

        def fits(*values: Value) -> bool:
            if not is_too_deep(values):
                return True
            self.fail(rule)(TOO_DEEP)
            return False

        return fits

    def due(self, form: str, now: int, when: Value, rule: str) -> int | None:
        """Return the moment of an alarm, or report that there is none."""
        try:
            moment = to_moment(when)
        except (TypeError, ValueError, OverflowError):
            self.fail(rule)(f"an alarm cannot be set for {format_value(when)}; a number of seconds is needed")
            return None
        if form == "after":
            if moment <= 0:
                self.fail(rule)(f"an alarm must be set for a positive number of seconds, not {format_value(when)}")
                return None
            return now + moment
        return max(now, moment)


class GuardedGoal:
    """The function of a goal as `Conditions.prepare` returns it; there is one for each rule, so it is small."""

    __slots__ = ("_conditions", "_is_firm", "_outputs", "_rule", "_solve", "_test")

    def __init__(
        self, conditions: Conditions, test: p.GoalTest, outputs: tuple[str, ...], rule: str, is_firm: bool
    ) -> None:  # fmt: skip
        self._conditions = conditions
        self._test = test
        self._outputs = outputs
        self._rule = rule
        self._is_firm = is_firm
        self._solve: Callable[..., Any] | None = None

    def _key(self) -> Key:
        return self._conditions.breaker.key(self._rule, "condition", self._test.goal)

    def __call__(self, *values: Any) -> Any:
        """Return what the goal finds; what it raises is reported, and None returned."""
        off = self._conditions.breaker.off
        if off and self._key() in off:
            return None
        if self._solve is None:
            self._solve = self._conditions.solving(self._test, self._outputs, is_firm=self._is_firm)
        try:
            return self._solve(*map(normal, values))  # some may be plain floats
        except EtalisError as error:
            self._conditions.note_error(error, self._test, values, self._key())
            return None


def to_moment(value: Value) -> int:
    """Turn seconds or `datetime(Y,M,D,H,Mi,S)` into microseconds."""
    if isinstance(value, int):
        return value * MICROSECONDS
    if isinstance(value, Struct):
        return calendar_time(value.name, value.args)
    return to_microseconds(value)


_START, _END = "$start", "$end"  # of a match, beside its variables
_TIMES = (("t1", 1), ("t2", 1))


def _seconds(time: int) -> Value:
    seconds = to_seconds(time)
    return real(seconds) if isinstance(seconds, float) else seconds
