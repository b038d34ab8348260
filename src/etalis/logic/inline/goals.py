"""Goals compiled to steps (`steps`), in order, for the first solution or for every one.

What can be computed from values is; a call of a relation of facts becomes a loop over the rows that an index gives, a
predicate of a few clauses the alternatives of its clauses (`knowledge/unfold`), one that calls itself a function
(`knowledge/recursion`); of the rest the solver is asked, with nothing but its own variables, if `ask` says that this is
worth it. Law: where no guard fails and nothing is raised, there is a
solution exactly if the solver has one, with the same first values, or the same values in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from etalis.logic.builtins.table import TESTS
from etalis.logic.inline.calls import PredicateCalls
from etalis.logic.inline.cost_order import order_by_cost
from etalis.logic.inline.knowledge.memo import Wanted
from etalis.logic.inline.knowledge.unfold import commit, conjunction, conjuncts, has_inner_cut
from etalis.logic.inline.scope import GoalScope, Operand, TooLargeError
from etalis.logic.inline.steps import (
    CheckStep,
    ChoiceStep,
    DeclineError,
    ForkStep,
    GuardStep,
    Step,
    Steps,
    SubGoal,
    SuccessStep,
    TruthTest,
    as_truth,
    defined_in,
    names_in,
)
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, deref, variables

Ask = Callable[[Term, Sequence[Variable], Sequence[Variable], Wanted], Callable[..., Any] | None]
_CALLED = frozenset(("call", "prolog", "query", "db"))


class GoalSteps:
    """Compiles one goal, for its first solution or for every; `ask` gives a function that asks the solver."""

    def __init__(self, calls: PredicateCalls, ask: Ask, *, every: bool = False) -> None:
        self.calls = calls
        self.shared = calls.shared
        self.database = calls.database
        self.present = calls.present
        self.ask = ask
        self.every = every
        self.settled: set[int] = set()
        self.wanted: tuple[Variable, ...] = ()  # which must have values

    def compile(
        self, goal: Goal, known: Mapping[str, Operand], outputs: Sequence[str], settled: Collection[int] = ()
    ) -> Steps:
        """Return the steps of a goal whose inputs are known; of conjuncts that are settled only guards are needed."""
        if has_inner_cut(goal.term):
            raise DeclineError
        wanted = tuple(goal.variable(name) for name in outputs)
        counts = Counter(variables(goal.term))
        given = [goal.variable(name) for name in known]
        self.shared.void = {v for v, n in counts.items() if n == 1}.difference(wanted, given)
        self.settled = {id(each) for i, each in enumerate(conjuncts(goal.term)) if i in settled}
        scope = GoalScope(self.shared, {goal.variable(name): operand for name, operand in known.items()})
        try:
            self.goals(scope, (commit(conjuncts(goal.term)),), wanted)
        except TooLargeError:
            raise DeclineError from None
        return order_by_cost(scope.steps)

    def clauses(self, predicate: Predicate, positions: Sequence[int]) -> Steps:
        """Return the steps of a predicate's clauses, of which some arguments are known; all others must come to be."""
        args = tuple(Variable() for _ in range(predicate.arity))
        known = {args[place]: Operand(f"_v{i}") for i, place in enumerate(positions)}
        scope = GoalScope(self.shared, known)
        self.wanted = tuple(arg for arg in args if arg not in known)
        self._fork(scope, self.calls.clauses(scope, predicate, args), (), self.wanted)
        return order_by_cost(scope.steps)

    def goals(self, scope: GoalScope, goals: tuple[Term, ...], wanted: tuple[Variable, ...]) -> None:
        """Compile goals in sequence; what follows an alternative or a loop is written into it."""
        while goals:
            goal, goals = deref(goals[0]), goals[1:]
            before, standing, mark = dict(scope.known), scope.standing, len(scope.steps)
            try:
                self.shared.count()
                following = self._goal(scope, goal, goals, wanted)
            except DeclineError:
                scope.known, scope.standing = before, standing
                del scope.steps[mark:]
                following = self._remainder(scope, goal, goals, wanted)
            if id(goal) in self.settled and all(_is_settled(step) for step in scope.steps[mark:]):
                scope.steps[mark:] = [step for step in scope.steps[mark:] if isinstance(step, GuardStep)]
            if following is None:
                return
            scope, goals = following
        if self.wanted and wanted == self.wanted and not all(v in scope.known for v in wanted):
            raise DeclineError
        values = [scope.value(v) if v in scope.known else Operand("None") for v in wanted]
        scope.steps.append(SuccessStep(tuple(value.text for value in values)))

    def _goal(
        self, scope: GoalScope, goal: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:
        """Compile one goal; return where and with what to go on, None if what follows is compiled already."""
        match goal:
            case "true":
                return scope, rest
            case "fail" | "false":
                scope.check("False")
                return None
            case (",", first, second):
                return scope, (first, second, *rest)
            case (";", first, second):
                return self._either(scope, first, second, rest, wanted)
            case ("->", test, then):
                return self._branch(scope, test, then, "fail", rest, wanted)
            case ("once", inner):
                return self._branch(scope, inner, "true", "fail", rest, wanted)
            case ("ignore", inner):
                return self._branch(scope, inner, "true", "true", rest, wanted)
            case ("\\+" | "not", inner):
                self._closed(scope, inner, "not ")
                return scope, rest
            case ("forall", each, inner):
                self._closed(scope, (",", each, ("\\+", inner)), "not ")
                return scope, rest
            case (str() as name, (_, *_) as inner) if name in _CALLED and not self.database.overrides(name, 1):
                return scope, (inner, *rest)
            case (str() as name, *args) if args:
                return self._call(scope, name, tuple(args), rest, wanted)
            case _:
                raise DeclineError

    def _either(
        self, scope: GoalScope, first: Term, second: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:
        match deref(first):
            case ("->", test, then):
                return self._branch(scope, test, then, second, rest, wanted)
            case ("*->", *_):
                raise DeclineError
        return self._alternatives(scope, [first, second], rest, wanted)

    def _alternatives(
        self, scope: GoalScope, goals: Sequence[Term], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:
        """Compile alternatives, each with what follows; if nothing that follows needs to know which, as one test.

        That test must be safe: where what follows fails, the solver goes on to the next, which may raise.
        """
        if not self._bound_for(scope, goals, rest, wanted):
            inner = scope.inner()
            self._fork(inner, goals, (), ())
            truth = as_truth(inner.steps)
            if truth is not None and truth.safe:
                self._add_test(scope, truth, "")
                return scope, rest
        if len(goals) == 1:
            return scope, (goals[0], *rest)
        self._fork(scope, goals, rest, wanted)
        return None

    def _fork(
        self, scope: GoalScope, goals: Sequence[Term], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> None:
        branches = []
        for goal in goals:
            inner = scope.inner()
            self.goals(inner, (goal, *rest), wanted)
            branches.append(inner.steps)
        scope.steps.append(ForkStep(tuple(branches)))

    def _branch(
        self, scope: GoalScope, test: Term, then: Term, otherwise: Term, rest: tuple[Term, ...],
        wanted: tuple[Variable, ...],
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:  # fmt: skip
        bound = self._bound_for(scope, [test], (then, *rest), wanted)
        inner = self._first(scope, test, bound)
        yes, no = scope.inner(), scope.inner()
        truth = None if bound else as_truth(inner.steps)
        if truth is not None:
            for guard in truth.guards:
                scope.guard(guard)
            text, safe = truth.text, truth.safe
        else:
            found = scope.named(self._function(inner.steps))
            if bound:  # which it need not be: a variable may be local to a goal inside
                scope.guard(f"({found.text} is None or None not in {found.text})")
            text, safe = f"{found.text} is not None", True
            yes.known.update({v: Operand(f"{found.text}[{i}]") for i, v in enumerate(bound)})
        self.goals(yes, (then, *rest), wanted)
        self.goals(no, (otherwise, *rest), wanted)
        scope.steps.append(ChoiceStep(text, yes.steps, no.steps, safe))
        return None

    def _bound_for(
        self, scope: GoalScope, goals: Sequence[Term], rest: Sequence[Term], wanted: Sequence[Variable]
    ) -> tuple[Variable, ...]:
        """Return the variables that goals may bind, and that somebody needs later."""
        needed = {*wanted, *(v for goal in rest for v in variables(goal))}
        mine = dict.fromkeys(v for goal in goals for v in variables(goal))
        return tuple(v for v in mine if v in needed and v not in scope.known)

    def _closed(self, scope: GoalScope, goal: Term, sign: str) -> None:
        """Check whether a goal has a solution, or has none."""
        inner = self._first(scope, goal, ())
        truth = as_truth(inner.steps)
        if truth is None:
            found = self._function(inner.steps)
            scope.check(f"({found.text} is {'' if sign else 'not '}None)", safe=False)
        else:
            self._add_test(scope, truth, sign)

    def _first(self, scope: GoalScope, goal: Term, wanted: tuple[Variable, ...]) -> GoalScope:
        """Compile a goal of which the first solution decides, in a scope of its own."""
        inner, every = scope.inner(), self.every
        self.every = False
        self.goals(inner, (goal,), wanted)
        self.every = every
        return inner

    def _add_test(self, scope: GoalScope, truth: TruthTest, sign: str) -> None:
        for guard in truth.guards:
            scope.guard(guard)
        scope.check(f"({sign}{truth.text})", safe=truth.safe)

    def _function(self, steps: Steps) -> Operand:
        """Return the call of a function that has some steps."""
        own = defined_in(steps)
        parameters = tuple(name for name in names_in(steps) if name not in own)
        name = self.shared.constant(SubGoal(steps, parameters))
        return Operand(f"{name}({', '.join(parameters)})", safe=False)

    def _call(
        self, scope: GoalScope, name: str, args: tuple[Term, ...], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:
        if name == "sparql" and len(args) == 2:
            following = [each for goal in rest for each in conjuncts(goal)]
            self.calls.compute(scope, *args, is_needed=not all(_takes_unbound(each, args[1]) for each in following))
            return scope, rest
        called = self.calls.compile(scope, name, args)
        if called.either:
            return self._alternatives(called.scope, called.goals, rest, wanted)
        return called.scope, (*called.goals, *rest)

    def _remainder(
        self, scope: GoalScope, goal: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[GoalScope, tuple[Term, ...]] | None:
        """Ask the solver: for one goal if it has no other solution that matters, else together with what follows."""
        bound = self._bound_for(scope, [goal], rest, wanted)
        name, arity = (goal, 0) if isinstance(goal, str) else (goal[0], len(goal) - 1) if goal else ("", 0)
        is_test = (name, arity) in TESTS and not self.database.overrides(name, arity)
        alone = is_test or not bound
        if not alone:
            bound = tuple(v for v in wanted if v not in scope.known)
        asked = goal if alone else conjunction((goal, *rest))
        inputs = [v for v in dict.fromkeys(variables(asked)) if v in scope.known]
        every = self.every and not alone
        ask = self.ask(asked, inputs, bound, "every" if every else "truth" if alone and not is_test else "first")
        if ask is None:
            scope.guard("False")
            return None
        scope.stand(self.present)
        values = ", ".join(scope.value(v).text for v in inputs)
        answer = f"{self.shared.constant(ask)}({values})"
        if every:
            scope, found = scope.loop(answer)
        else:
            found = scope.named(Operand(answer, safe=False))
            scope.check(f"{found.text} is not None")
        if alone and bound:
            scope.guard(f"None not in {found.text}")
        scope.known.update({v: Operand(f"{found.text}[{i}]") for i, v in enumerate(bound)})
        return scope, rest if alone else ()


def _takes_unbound(goal: Term, result: Term) -> bool:
    """Tell whether a goal computes with a variable whether it is bound or not."""
    goal = deref(goal)
    if isinstance(goal, tuple) and goal[0] == "sparql" and deref(goal[-1]) is not deref(result):
        return True
    return not any(v is deref(result) for v in variables(goal))


def _is_settled(step: Step) -> bool:
    """Tell whether a step of a settled conjunct guards or checks what cannot raise; what raises is to be reported."""
    return isinstance(step, GuardStep) or (isinstance(step, CheckStep) and step.safe)
