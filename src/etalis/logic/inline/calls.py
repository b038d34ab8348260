"""Calls of predicates compiled to steps: arithmetic, equality, types, look-ups, and built-in predicates on values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etalis.data.values import Real
from etalis.logic.inline import numbers, sparql
from etalis.logic.inline.ground.modes import Mode
from etalis.logic.inline.ground.predicates import PREDICATES, elements, span
from etalis.logic.inline.knowledge.facts import Budget, FactsByKey, find_facts
from etalis.logic.inline.knowledge.host_calls import calling
from etalis.logic.inline.knowledge.lookup import Finder
from etalis.logic.inline.knowledge.recursion import RecursiveGoals
from etalis.logic.inline.knowledge.unfold import alternatives, unfold
from etalis.logic.inline.scope import Compilation, GoalScope, Operand
from etalis.logic.inline.steps import DeclineError
from etalis.logic.knowledge.foreign import Foreign, Function
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, deref, variables

Stands = Sequence[tuple[Any, str]]
_EQUALITIES: Mapping[str, str] = {"==": "==", "\\==": "!=", "\\=": "!="}
_CLASSES: Mapping[str, tuple[type, ...]] = {"integer": (int,), "float": (float, Real), "number": (int, float, Real)}
_LOOPS = {("member", 2): 0, ("between", 3): 2}  # the argument that takes one value after the other


@dataclass(frozen=True, slots=True)
class Called:
    """What is left of a call: where what follows it goes, and goals that come first; one of several if `either`."""

    scope: GoalScope
    goals: tuple[Term, ...] = ()
    either: bool = False


class PredicateCalls:
    """Compiles calls.

    `find` gives the look-ups of predicates whose arguments all have values. Unless it `reads` the knowledge as it is,
    the program's own predicates are left to the solver.
    """

    def __init__(
        self, shared: Compilation, find: Finder, budget: Budget, present: Stands, recursion: RecursiveGoals, *,
        reads: bool,
    ) -> None:  # fmt: skip
        self.shared = shared
        self.database = shared.database
        self.find = find
        self.budget = budget
        self.present = present
        self.recursion = recursion
        self.reads = reads

    def compile(self, scope: GoalScope, name: str, args: tuple[Term, ...]) -> Called:
        """Compile the call of a predicate."""
        key = name, len(args)
        if len(args) == 2 and name in numbers.COMPARISONS:
            test = numbers.compare(scope, name, *args)
            scope.check(test.text, safe=test.safe)
        elif key == ("is", 2):
            scope.match(numbers.checked(scope, numbers.number(scope, args[1])), args[0])
        elif key == ("=", 2):
            return Called(scope, self._unify(scope, *map(deref, args)))
        elif len(args) == 2 and name in _EQUALITIES:
            test = scope.equal(scope.value(args[0]), scope.value(args[1]), _EQUALITIES[name])
            scope.check(test.text, safe=test.safe)
        elif self.database.overrides(*key):
            return self._own(scope, name, args)
        elif name in self.shared.times and len(args) == 1:
            scope.stand([(self.database.predicate(name, 1), ".defined is False")])
            scope.match(self.shared.times[name], args[0])
        elif key == ("sparql", 1):
            scope.check(sparql.compile_test(scope, args[0]).text)
        elif len(args) == 1 and name in _CLASSES:
            self._is_of(scope, _CLASSES[name], args[0])
        elif key in _LOOPS and not scope.is_known(args[_LOOPS[key]]):
            if name == "between" and not isinstance(deref(args[2]), Variable):
                raise DeclineError
            return Called(self._loop(scope, key, args))
        else:
            return self._on_values(scope, key, args)
        return Called(scope)

    def compute(self, scope: GoalScope, expression: Term, result: Term, *, is_needed: bool) -> None:
        """Compute an expression of SPARQL; where that is an error, a result that is needed is left to the solver."""
        found = scope.named(sparql.compile_value(scope, expression))
        if is_needed or scope.is_known(result) or not isinstance(deref(result), Variable):
            scope.guard(f"{found.text} is not None")
        scope.match(found, result)

    def _operand(self, scope: GoalScope, term: Term) -> Operand:
        known = scope.known.get(deref(term)) if isinstance(deref(term), Variable) else None
        return scope.value(term) if known is None else known

    def _unify(self, scope: GoalScope, a: Term, b: Term) -> tuple[Term, ...]:
        """Make two terms equal, one of which is known; return what is left to do of two that are not."""
        if scope.is_known(b):
            a, b = b, a
        if scope.is_known(a):
            scope.match(self._operand(scope, a), b)
            return ()
        if isinstance(a, Variable) or isinstance(b, Variable):
            if a in self.shared.void or b in self.shared.void:
                return ()
            raise DeclineError
        if len(a) != len(b) or a[0] != b[0]:
            return ("fail",)
        return tuple(("=", x, y) for x, y in zip(a[1:], b[1:], strict=True))

    def _is_of(self, scope: GoalScope, classes: tuple[type, ...], arg: Term) -> None:
        """Check the class of a number, and remember it."""
        x = scope.named(self._operand(scope, arg))
        scope.check(f"({' or '.join(f'{x.text}.__class__ is {self.shared.constant(kind)}' for kind in classes)})")
        if x.kind == "term" and isinstance(deref(arg), Variable):
            kind = "number" if len(classes) == 3 else "int" if classes == (int,) else "float"
            scope.known[deref(arg)] = replace(x, kind=kind, sure=True)

    def _own(self, scope: GoalScope, name: str, args: tuple[Term, ...]) -> Called:
        """Compile the call of one of the program's own predicates: a look-up, a loop over facts, or its clauses."""
        if not self.reads:
            raise DeclineError
        found = self.find(name, len(args)) if all(map(scope.is_known, args)) else None
        if found is not None:
            scope.stand(found.stands)
            values = [scope.value(arg) for arg in args]
            text = f"{self.shared.constant(found.holds)}({', '.join(value.text for value in values)})"
            scope.check(text, safe=all(value.safe for value in values))
            return Called(scope)
        predicate = self.database.predicate(name, len(args))
        scope.stand(self.present)
        if isinstance(predicate, Foreign) and predicate.function is not None:
            return Called(self._host(scope, predicate.function, args))
        if predicate.relation is not None and not predicate.tabled:
            return Called(self._facts(scope, predicate, args))
        if unfold(self.database, name, len(args)) is None:
            return Called(self._recursive(scope, predicate, args))
        scope.stand([(predicate, f".changes == {predicate.changes}")])
        return Called(scope, self.clauses(scope, predicate, args), either=True)

    def _host(self, scope: GoalScope, function: Function, args: tuple[Term, ...]) -> GoalScope:
        """Call a function of the host, which is a test or gives one value."""
        if function.left > 1 or not all(map(scope.is_known, args[: function.taken])):
            raise DeclineError
        values = [scope.value(arg).text for arg in args[: function.taken]]
        self.shared.notes = self.shared.notes or self.shared.name()
        text = f"{self.shared.constant(calling(function))}({', '.join([self.shared.notes, *values])})"
        if function.left == 0:
            scope.check(text, safe=False)
        else:
            found = scope.named(Operand(text, safe=False))
            scope.check(f"{found.text} is not None")
            scope.match(found, args[-1])
        return scope

    def _recursive(self, scope: GoalScope, predicate: Predicate, args: tuple[Term, ...]) -> GoalScope:
        """Loop over what a predicate that calls itself gives for the arguments known so far."""
        positions = tuple(i for i, arg in enumerate(args) if scope.is_known(arg))
        free = [deref(arg) for i, arg in enumerate(args) if i not in positions]
        if not all(isinstance(arg, Variable) for arg in free) or len(set(free)) < len(free):
            raise DeclineError
        found = self.recursion.find((predicate, positions), self.budget)
        scope.stand(self.recursion.stands)
        keys = [scope.value(args[i]).text for i in positions]
        key = keys[0] if len(keys) == 1 else f"({''.join(key + ', ' for key in keys)})"
        text = f"{self.shared.constant(found)}({key})"
        if not free:
            scope.check(text, safe=False)
            return scope
        inner, row = scope.loop(text)
        for i, arg in enumerate(free):
            inner.match(row if len(free) == 1 else Operand(f"{row.text}[{i}]"), arg)
        return inner

    def clauses(self, scope: GoalScope, predicate: Predicate, args: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the clauses of a predicate as goals; which variables occur once is another matter in them."""
        counted = Counter(v for arg in args for v in variables(arg))
        goals = alternatives(predicate, args, lambda term: counted[deref(term)] == 1 and not scope.is_known(term))
        outside = {v for arg in args for v in variables(arg)}
        self.shared.void -= outside
        for goal in goals:
            counts = Counter(variables(goal))
            self.shared.void.update(v for v, n in counts.items() if n == 1 and v not in outside)
        return tuple(goals)

    def _facts(self, scope: GoalScope, predicate: Predicate, args: tuple[Term, ...]) -> GoalScope:
        """Loop over the facts that have the arguments known so far."""
        positions = tuple(i for i, arg in enumerate(args) if scope.is_known(arg))
        keys = [scope.value(args[i]).text for i in positions]
        rows = self.shared.constant(FactsByKey(predicate, positions, find_facts(predicate, positions, self.budget)))
        inner, row = scope.loop(f"{rows}({keys[0]})" if len(keys) == 1 else f"{rows}(({', '.join(keys)}))")
        for i, arg in enumerate(args):
            if i not in positions:
                inner.match(Operand(f"{row.text}[{i}]"), arg)
        return inner

    def _loop(self, scope: GoalScope, key: tuple[str, int], args: tuple[Term, ...]) -> GoalScope:
        """Loop over the values that a variable may take."""
        values = [scope.value(arg).text for i, arg in enumerate(args) if i != _LOOPS[key]]
        candidates = self.shared.constant(elements if key[0] == "member" else span)
        inner, item = scope.loop(f"{candidates}({self.shared.constant(self.budget)}, {', '.join(values)})")
        inner.match(replace(item, kind="int") if key[0] == "between" else item, args[_LOOPS[key]])
        return inner

    def _on_values(self, scope: GoalScope, key: tuple[str, int], args: tuple[Term, ...]) -> Called:
        """Compile a built-in predicate whose inputs have values."""
        mode = next((mode for mode in PREDICATES.get(key, ()) if self._fits(scope, mode, args)), None)
        if mode is None:
            if key == ("memberchk", 2) and not self.database.overrides("member", 2):
                return Called(scope, (("once", ("member", *args)),))
            raise DeclineError
        values = [scope.value(args[i]).text for i in mode.inputs]
        text = f"{self.shared.constant(mode.function)}({', '.join(values)})"
        if mode.result is None:
            scope.check(text, safe=False)
            return Called(scope)
        found = scope.named(Operand(text, mode.kind, safe=False))
        if mode.may_fail:
            scope.check(f"{found.text} is not None")
        scope.match(found, args[mode.result])
        return Called(scope)

    def _fits(self, scope: GoalScope, mode: Mode, args: tuple[Term, ...]) -> bool:
        known = [scope.is_known(arg) for arg in args]
        if not (all(known[i] for i in mode.inputs) and all(deref(args[i]) in self.shared.void for i in mode.void)):
            return False
        if mode.result is None or mode.takes == "anything":
            return True
        return not known[mode.result] and (mode.takes == "open" or isinstance(deref(args[mode.result]), Variable))
