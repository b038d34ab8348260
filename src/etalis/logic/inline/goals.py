"""Goals compiled to steps (`steps`), in order, for the first solution.

What can be computed from values is; a call of a relation of facts becomes a loop over the rows that an index gives, a
predicate of a few clauses the alternatives of its clauses (`unfold`); of the rest the solver is asked, with nothing but
its own variables, if `ask` says that this is worth it. Law: where no guard fails and nothing is raised, there is a
solution exactly if the solver has one, with the same first values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from etalis.data.values import Real
from etalis.logic.builtins.table import TESTS
from etalis.logic.inline import numbers
from etalis.logic.inline.facts import Budget, find_facts
from etalis.logic.inline.ground.modes import Mode
from etalis.logic.inline.ground.predicates import PREDICATES, elements, span
from etalis.logic.inline.lookup import Finder
from etalis.logic.inline.scope import Compilation, Operand, Scope, TooLargeError
from etalis.logic.inline.steps import (
    CheckStep,
    ChoiceStep,
    DeclineError,
    ForkStep,
    GuardStep,
    Steps,
    SubGoal,
    SuccessStep,
    as_truth,
    defined_in,
    names_in,
)
from etalis.logic.inline.unfold import alternatives, conjuncts, has_cut, unfold
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, deref, variables

Stands = Sequence[tuple[Any, str]]
Ask = Callable[[Term, Sequence[Variable], Sequence[Variable]], Callable[..., Any] | None]
_EQUALITIES: Mapping[str, str] = {"==": "==", "\\==": "!=", "\\=": "!="}
_CLASSES: Mapping[str, tuple[type, ...]] = {"integer": (int,), "float": (float, Real), "number": (int, float, Real)}
_LOOPS = {("member", 2): 0, ("between", 3): 2}  # the argument that takes one value after the other
_CALLED = frozenset(("call", "prolog", "query", "db"))


class GoalSteps:
    """Compiles one goal.

    `find` gives the look-ups of predicates whose arguments all have values, `ask` a function that asks the solver.
    Unless it `reads` the knowledge as it is, the program's own predicates are left to the solver.
    """

    def __init__(
        self, shared: Compilation, find: Finder, ask: Ask, budget: Budget, present: Stands, *, reads: bool = True
    ) -> None:
        self.shared = shared
        self.database = shared.database
        self.find = find
        self.ask = ask
        self.budget = budget
        self.present = present
        self.reads = reads
        self.settled: set[int] = set()

    def compile(
        self, goal: Goal, known: Mapping[str, Operand], outputs: Sequence[str], settled: Collection[int] = ()
    ) -> Steps:
        """Return the steps of a goal whose inputs are known; of conjuncts that are settled only guards are needed."""
        if has_cut(goal.term):
            raise DeclineError
        wanted = tuple(goal.variable(name) for name in outputs)
        counts = Counter(variables(goal.term))
        given = [goal.variable(name) for name in known]
        self.shared.void = {v for v, n in counts.items() if n == 1}.difference(wanted, given)
        self.settled = {id(each) for i, each in enumerate(conjuncts(goal.term)) if i in settled}
        scope = Scope(self.shared, {goal.variable(name): operand for name, operand in known.items()})
        try:
            self.goals(scope, (goal.term,), wanted)
        except TooLargeError:
            raise DeclineError from None
        self.budget.divide(self.shared.loops)
        return scope.steps

    def goals(self, scope: Scope, goals: tuple[Term, ...], wanted: tuple[Variable, ...]) -> None:
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
            if id(goal) in self.settled and all(isinstance(s, GuardStep | CheckStep) for s in scope.steps[mark:]):
                scope.steps[mark:] = [step for step in scope.steps[mark:] if isinstance(step, GuardStep)]
            if following is None:
                return
            scope, goals = following
        values = [scope.value(v) if v in scope.known else Operand("None") for v in wanted]
        scope.steps.append(SuccessStep(tuple(value.text for value in values)))

    def _goal(
        self, scope: Scope, goal: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
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
        self, scope: Scope, first: Term, second: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        match deref(first):
            case ("->", test, then):
                return self._branch(scope, test, then, second, rest, wanted)
            case ("*->", *_):
                raise DeclineError
        return self._alternatives(scope, [first, second], rest, wanted)

    def _alternatives(
        self, scope: Scope, goals: Sequence[Term], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        """Compile alternatives, each with what follows; if nothing that follows needs to know which, as one test."""
        if not self._bound_for(scope, goals, rest, wanted):
            inner = scope.inner()
            self._fork(inner, goals, (), ())
            self._add_truth(scope, inner, "")
            return scope, rest
        if len(goals) == 1:
            return scope, (goals[0], *rest)
        self._fork(scope, goals, rest, wanted)
        return None

    def _fork(self, scope: Scope, goals: Sequence[Term], rest: tuple[Term, ...], wanted: tuple[Variable, ...]) -> None:
        branches = []
        for goal in goals:
            inner = scope.inner()
            self.goals(inner, (goal, *rest), wanted)
            branches.append(inner.steps)
        scope.steps.append(ForkStep(tuple(branches)))

    def _branch(
        self, scope: Scope, test: Term, then: Term, otherwise: Term, rest: tuple[Term, ...],
        wanted: tuple[Variable, ...],
    ) -> tuple[Scope, tuple[Term, ...]] | None:  # fmt: skip
        inner, bound = scope.inner(), self._bound_for(scope, [test], (then, *rest), wanted)
        self.goals(inner, (test,), bound)
        yes, no = scope.inner(), scope.inner()
        truth = None if bound else as_truth(inner.steps)
        if truth is not None:
            for guard in truth.guards:
                scope.guard(guard)
            text, safe = truth.text, truth.safe
        else:
            found = scope.named(self._function(inner.steps))
            text, safe = f"{found.text} is not None", True
            yes.known.update({v: Operand(f"{found.text}[{i}]") for i, v in enumerate(bound)})
        self.goals(yes, (then, *rest), wanted)
        self.goals(no, (otherwise, *rest), wanted)
        scope.steps.append(ChoiceStep(text, yes.steps, no.steps, safe))
        return None

    def _bound_for(
        self, scope: Scope, goals: Sequence[Term], rest: Sequence[Term], wanted: Sequence[Variable]
    ) -> tuple[Variable, ...]:
        """Return the variables that goals may bind, and that somebody needs later."""
        needed = {*wanted, *(v for goal in rest for v in variables(goal))}
        mine = dict.fromkeys(v for goal in goals for v in variables(goal))
        return tuple(v for v in mine if v in needed and v not in scope.known)

    def _closed(self, scope: Scope, goal: Term, sign: str) -> None:
        """Check whether a goal has a solution, or has none."""
        inner = scope.inner()
        self.goals(inner, (goal,), ())
        self._add_truth(scope, inner, sign)

    def _add_truth(self, scope: Scope, inner: Scope, sign: str) -> None:
        truth = as_truth(inner.steps)
        if truth is None:
            found = self._function(inner.steps)
            scope.check(f"({found.text} is {'' if sign else 'not '}None)", safe=False)
            return
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
        self, scope: Scope, name: str, args: tuple[Term, ...], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        """Compile the call of a predicate: arithmetic, equality, a type, a look-up, or one on values."""
        key = name, len(args)
        if len(args) == 2 and name in numbers.COMPARISONS:
            test = numbers.compare(scope, name, *args)
            scope.check(test.text, safe=test.safe)
        elif key == ("is", 2):
            scope.match(numbers.checked(scope, numbers.number(scope, args[1])), args[0])
        elif key == ("=", 2):
            return self._unify(scope, args[0], args[1], rest)
        elif len(args) == 2 and name in _EQUALITIES:
            test = scope.equal(scope.value(args[0]), scope.value(args[1]), _EQUALITIES[name])
            scope.check(test.text, safe=test.safe)
        elif self.database.overrides(*key):
            return self._own(scope, name, args, rest, wanted)
        elif name in self.shared.times and len(args) == 1:
            self._time(scope, name, args[0])
        elif len(args) == 1 and name in _CLASSES:
            self._is_of(scope, _CLASSES[name], args[0])
        elif key in _LOOPS and not scope.is_known(args[_LOOPS[key]]):
            return self._loop(scope, key, args), rest
        else:
            return self._on_values(scope, key, args, rest, wanted)
        return scope, rest

    def _operand(self, scope: Scope, term: Term) -> Operand:
        known = scope.known.get(deref(term)) if isinstance(deref(term), Variable) else None
        return scope.value(term) if known is None else known

    def _unify(
        self, scope: Scope, left: Term, right: Term, rest: tuple[Term, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        a, b = deref(left), deref(right)
        if scope.is_known(b):
            a, b = b, a
        if scope.is_known(a):
            scope.match(self._operand(scope, a), b)
            return scope, rest
        if isinstance(a, Variable) or isinstance(b, Variable):
            if a in self.shared.void or b in self.shared.void:
                return scope, rest
            raise DeclineError
        if len(a) != len(b) or a[0] != b[0]:
            scope.check("False")
            return None
        return scope, (*(("=", x, y) for x, y in zip(a[1:], b[1:], strict=True)), *rest)

    def _time(self, scope: Scope, name: str, arg: Term) -> None:
        predicate = self.database.predicate(name, 1)
        scope.stand([(predicate, ".defined is False")])
        scope.match(self.shared.times[name], arg)

    def _is_of(self, scope: Scope, classes: tuple[type, ...], arg: Term) -> None:
        """Check the class of a number, and remember it."""
        x = scope.named(self._operand(scope, arg))
        scope.check(f"({' or '.join(f'{x.text}.__class__ is {self._class(c)}' for c in classes)})")
        if x.kind == "term" and isinstance(deref(arg), Variable):
            kind = "number" if len(classes) == 3 else "int" if classes == (int,) else "float"
            scope.known[deref(arg)] = replace(x, kind=kind, sure=True)

    def _class(self, kind: type) -> str:
        return kind.__name__ if kind in (int, float) else self.shared.constant(kind)

    def _own(
        self, scope: Scope, name: str, args: tuple[Term, ...], rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        """Compile the call of one of the program's own predicates: a look-up, a loop over facts, or its clauses."""
        if not self.reads:
            raise DeclineError
        found = self.find(name, len(args)) if all(map(scope.is_known, args)) else None
        if found is not None:
            scope.stand(found.stands)
            values = [scope.value(arg) for arg in args]
            text = f"{self.shared.constant(found.holds)}({', '.join(value.text for value in values)})"
            scope.check(text, safe=all(value.safe for value in values))
            return scope, rest
        predicate = self.database.predicate(name, len(args))
        scope.stand(self.present)
        if predicate.relation is not None and not predicate.tabled:
            return self._facts(scope, predicate, args), rest
        unfolded = unfold(self.database, name, len(args))
        if unfolded is None:
            raise DeclineError
        scope.stand([(predicate, f".changes == {predicate.changes}")])
        goals = alternatives(predicate, args)
        outside = {v for arg in args for v in variables(arg)}
        for goal in goals:
            counts = Counter(variables(goal))
            self.shared.void.update(v for v, n in counts.items() if n == 1 and v not in outside)
        return self._alternatives(scope, goals, rest, wanted)

    def _facts(self, scope: Scope, predicate: Predicate, args: tuple[Term, ...]) -> Scope:
        """Loop over the facts that have the arguments known so far."""
        positions = tuple(i for i, arg in enumerate(args) if scope.is_known(arg))
        keys = [scope.value(args[i]).text for i in positions]
        rows = self.shared.constant(find_facts(predicate, positions, self.budget))
        inner, row = scope.loop(f"{rows}({keys[0] if len(keys) == 1 else f'({chr(44).join(keys)})'})")
        for i, arg in enumerate(args):
            if i not in positions:
                inner.match(Operand(f"{row.text}[{i}]"), arg)
        return inner

    def _loop(self, scope: Scope, key: tuple[str, int], args: tuple[Term, ...]) -> Scope:
        """Loop over the values that a variable may take."""
        values = [scope.value(arg).text for i, arg in enumerate(args) if i != _LOOPS[key]]
        candidates = self.shared.constant(elements if key[0] == "member" else span)
        inner, item = scope.loop(f"{candidates}({self.shared.constant(self.budget)}, {', '.join(values)})")
        inner.match(replace(item, kind="int") if key[0] == "between" else item, args[_LOOPS[key]])
        return inner

    def _on_values(
        self, scope: Scope, key: tuple[str, int], args: tuple[Term, ...], rest: tuple[Term, ...],
        wanted: tuple[Variable, ...],
    ) -> tuple[Scope, tuple[Term, ...]] | None:  # fmt: skip
        """Compile a built-in predicate whose inputs have values."""
        mode = next((mode for mode in PREDICATES.get(key, ()) if self._fits(scope, mode, args)), None)
        if mode is None:
            if key == ("memberchk", 2):
                return self._branch(scope, ("member", *args), "true", "fail", rest, wanted)
            raise DeclineError
        values = [scope.value(args[i]).text for i in mode.inputs]
        text = f"{self.shared.constant(mode.function)}({', '.join(values)})"
        if mode.result is None:
            scope.check(text, safe=False)
            return scope, rest
        found = scope.named(Operand(text, mode.kind, safe=False))
        if mode.may_fail:
            scope.check(f"{found.text} is not None")
        scope.match(found, args[mode.result])
        return scope, rest

    def _fits(self, scope: Scope, mode: Mode, args: tuple[Term, ...]) -> bool:
        known = [scope.is_known(arg) for arg in args]
        return (
            all(known[i] for i in mode.inputs)
            and all(deref(args[i]) in self.shared.void for i in mode.void)
            and (mode.takes == "anything" or (mode.result is not None and not known[mode.result]))
            and (
                mode.takes != "variable" or (mode.result is not None and isinstance(deref(args[mode.result]), Variable))
            )
        )

    def _remainder(
        self, scope: Scope, goal: Term, rest: tuple[Term, ...], wanted: tuple[Variable, ...]
    ) -> tuple[Scope, tuple[Term, ...]] | None:
        """Ask the solver: for one goal if it has no other solution that matters, else together with what follows."""
        bound = self._bound_for(scope, [goal], rest, wanted)
        name, arity = (goal, 0) if isinstance(goal, str) else (goal[0], len(goal) - 1) if goal else ("", 0)
        alone = not bound or ((name, arity) in TESTS and not self.database.overrides(name, arity))
        if not alone:
            bound = tuple(v for v in wanted if v not in scope.known)
        asked = goal if alone else _conjunction((goal, *rest))
        inputs = [v for v in dict.fromkeys(variables(asked)) if v in scope.known]
        ask = self.ask(asked, inputs, bound)
        if ask is None:
            scope.guard("False")
            return None
        scope.stand(self.present)
        values = ", ".join(scope.value(v).text for v in inputs)
        found = scope.named(Operand(f"{self.shared.constant(ask)}({values})", safe=False))
        scope.check(f"{found.text} is not None")
        if alone and bound:
            scope.guard(f"None not in {found.text}")
        scope.known.update({v: Operand(f"{found.text}[{i}]") for i, v in enumerate(bound)})
        return scope, rest if alone else ()


def _conjunction(goals: Sequence[Term]) -> Term:
    *before, last = goals
    for goal in reversed(before):
        last = (",", goal, last)
    return last
