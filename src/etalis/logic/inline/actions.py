"""Goals that change facts, as one function: done for their first solution, step by step.

Each goal of a conjunction is done where it has one solution at most: a test, a look-up with one row, `retract` of one
row, `assert` of a fact over atoms and numbers. Law: what has been done is what the solver would have done, and leaves
it no alternative; so where a goal is not known how to do, or has several solutions, the solver does it and all that
follow, with the values that there are by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from etalis.logic.builtins.table import TESTS
from etalis.logic.inline.compiled_goal import NEVER_OFF, GoalCompilation, PosedGoal
from etalis.logic.inline.knowledge.purity import pure_clauses
from etalis.logic.inline.knowledge.row_changes import SEVERAL, adding, clearing, reading, taking
from etalis.logic.inline.knowledge.unfold import alternatives, commit, conjunction, conjuncts, has_inner_cut, unfold
from etalis.logic.inline.numbers import COMPARISONS
from etalis.logic.inline.scope import normal
from etalis.logic.inline.step_functions import SourceText
from etalis.logic.machine.database import Database
from etalis.logic.machine.fact_lookup import Goal
from etalis.logic.machine.fact_relation import ATOMIC
from etalis.logic.machine.predicate import Predicate
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Term, Variable, deref, variables

_MOST_GOALS = 60
_ASSERT = frozenset(("assert", "assertz", "ins_static_rule"))
_RETRACT = frozenset(("retract", "del_static_rule"))
_CHANGES = _ASSERT | _RETRACT | {"retractall"}
_ONCE = frozenset(("once", "ignore", "\\+", "not", "forall"))
_SAME = frozenset(("is", "=", "==", "\\==", "\\="))

Known = dict[Variable, str]  # the text of a variable's value


@dataclass(slots=True)
class ActionCompilation:
    """Compiles actions over the knowledge of a solver; `new` begins a function."""

    solver: Solver
    compilation: GoalCompilation
    new: Callable[[list[str]], Any]

    def compile(self, goal: Goal, inputs: Sequence[str]) -> Callable[..., Any] | None:
        """Return the function of an action, which returns None where that fails; None if the solver does all of it.

        Its inputs may be floats of any class; where one is unbound the solver does all of it, too.
        """
        if self.compilation.is_limited or has_inner_cut(goal.term):
            return None
        code = self.new([f"x{i}" for i in range(len(inputs))])
        writer = _ActionWriter(self, code)
        known = {goal.variable(name): f"x{i}" for i, name in enumerate(inputs)}
        if inputs:
            values = ", ".join(known.values())
            ask = _later(self.solver, goal, inputs, ())
            code(f"if None in ({values},): return {code.constant(_with_reals(ask))}({values})")
        for value in known.values():
            code(f"if {value}.__class__ is float: {value} = {code.constant(normal)}({value})")
        if not writer.write([commit(conjuncts(goal.term))], known, 0):
            return None
        function: Callable[..., Any] = code.function()
        return function


@dataclass(slots=True)
class _ActionWriter:
    """Writes one action."""

    base: ActionCompilation
    code: SourceText
    goals: int = 0
    names: dict[Variable, str] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.base.solver.database

    def write(self, goals: Sequence[Term], known: Known, depth: int) -> bool:
        """Write goals one after the other; tell whether anything is done but to ask the solver."""
        code, goals = self.code, list(goals)
        pad = "    " * depth
        done = 0
        while goals:
            goal, rest = deref(goals[0]), goals[1:]
            self.goals += 1
            if isinstance(goal, tuple) and len(goal) == 3 and goal[0] == ",":
                goals = [*conjuncts(goal), *rest]
                continue
            branch = _branch_of(goal)
            if branch is not None and not self._is_test(goal):
                if self.goals > _MOST_GOALS or not self._branch(branch, goals, known, depth):
                    break
                return True
            written = self.goals <= _MOST_GOALS and self._goal(goal, goals, known, pad)
            if not written:
                unfolded = self._unfolded(goal, known, goals, pad)
                if unfolded is None:
                    break
                goals = [unfolded, *rest]
                continue
            done += 1
            goals = rest
        code(f"{pad}return {self._asked(goals, known) if goals else '()'}")
        return done > 0

    # what is left to the solver

    def _asked(self, goals: Sequence[Term], known: Known) -> str:
        """Return the call of the solver for some goals."""
        goal = conjunction(goals)
        given = [v for v in dict.fromkeys(variables(goal)) if v in known]
        posed = self._posed(goal)
        ask = _later(self.base.solver, posed, tuple(self._name(v) for v in given), ())
        return f"{self.code.constant(ask)}({', '.join(known[v] for v in given)})"

    def _posed(self, goal: Term) -> Goal:
        return Goal(goal, {self._name(v): v for v in dict.fromkeys(variables(goal))})

    def _name(self, variable: Variable) -> str:
        return self.names.setdefault(variable, f"V{len(self.names)}")

    # goals

    def _goal(self, goal: Term, goals: Sequence[Term], known: Known, pad: str) -> bool:
        """Write one goal, the first of some; False if it is not known how."""
        name, args = (goal, ()) if isinstance(goal, str) else _parts(goal)
        if len(args) == 1 and name in _CHANGES and not self.database.overrides(name, 1):
            return self._change(name, deref(args[0]), goals, known, pad)
        if self._is_test(goal):
            return self._test(goal, goals, known, pad)
        if not args or self.database.provides(name, len(args)):
            return False
        predicate = self.database.predicate(name, len(args))
        if predicate.relation is None or predicate.tabled or predicate.fixed:
            return False
        return self._row(reading(predicate, self._positions(args, known)), args, goals, known, pad)

    def _is_test(self, goal: Term) -> bool:
        """Tell whether a goal has one solution at most, and changes no facts."""
        goal = deref(goal)
        if isinstance(goal, str):
            return goal in ("true", "fail", "false")
        if not (isinstance(goal, tuple) and goal) or _changes(goal):
            return False
        name, arity = goal[0], len(goal) - 1
        if _is_control(goal):
            if name in _ONCE:
                return True
            return all(map(self._is_test, goal[1:])) if name != ";" else self._is_choice(goal)
        if self.database.overrides(name, arity):
            return False
        return (arity == 2 and (name in COMPARISONS or name in _SAME)) or (name, arity) in TESTS

    def _is_choice(self, goal: tuple[Any, ...]) -> bool:
        test = deref(goal[1])
        is_choice = isinstance(test, tuple) and len(test) == 3 and test[0] == "->"
        return is_choice and all(map(self._is_test, (test[2], goal[2])))

    def _test(self, goal: Term, goals: Sequence[Term], known: Known, pad: str) -> bool:
        """Write a goal that has one solution at most."""
        row, bound = self._solution(goal, goals[1:], goals, known, pad)
        if not row:
            return False
        self.code(f"{pad}if {row} is None: return None")
        self._name_values(bound, goals[1:], known, pad)
        return True

    def _solution(
        self, goal: Term, later: Sequence[Term], goals: Sequence[Term], known: Known, pad: str
    ) -> tuple[str, Known]:
        """Write the first solution of a goal without effects, as `_found` does of a row."""
        code, needed = self.code, {v for each in later for v in variables(each)}
        mine = list(dict.fromkeys(variables(goal)))
        inputs = {self._name(v): known[v] for v in mine if v in known}
        outputs = {self._name(v): v for v in mine if v in needed and v not in known}
        if outputs and pure_clauses(self.database, goal) is None:
            return "", {}
        posed = self._posed(goal)
        compiled = self.base.compilation.compile(PosedGoal(posed, tuple(inputs), tuple(outputs), {}))
        if compiled is None:
            return "", {}
        slow = _later(self.base.solver, posed, tuple(inputs), tuple(outputs))
        text, found = compiled.write(code, inputs, slow, self.base.new, NEVER_OFF)
        row = code.fresh("r")
        code(f"{pad}{row} = ({''.join(found[name] + ', ' for name in outputs)}) if {text} else None")
        if outputs:
            code(f"{pad}if {row} is not None and None in {row}: return {self._asked(goals, known)}")
        return row, {v: f"{row}[{i}]" for i, v in enumerate(outputs.values())}

    def _positions(self, args: Sequence[Term], known: Known) -> tuple[int, ...]:
        return tuple(i for i, arg in enumerate(args) if not self._is_open(arg, known))

    def _is_open(self, arg: Term, known: Known) -> bool:
        arg = deref(arg)
        return isinstance(arg, Variable) and arg not in known

    def _values(self, args: Sequence[Term], known: Known) -> list[str] | None:
        """Return the texts of arguments that are values, None if one has parts."""
        found = []
        for arg in map(deref, args):
            if isinstance(arg, Variable):
                found.append(known[arg])
            elif arg.__class__ in ATOMIC:
                found.append(self.code.constant(arg))
            else:
                return None
        return found

    def _plain(self, args: Sequence[Term], values: Sequence[str]) -> str:
        """Return the test that values are atoms and numbers, empty for constants."""
        atomic = self.code.constant(ATOMIC)
        tested = dict.fromkeys(v for arg, v in zip(args, values, strict=True) if isinstance(deref(arg), Variable))
        return " and ".join(f"{value}.__class__ in {atomic}" for value in tested)

    def _found(
        self, find: Callable[..., Any], args: Sequence[Term], goals: Sequence[Term], known: Known, pad: str
    ) -> tuple[str, Known]:
        """Write that the only row with the arguments that are known is looked up or taken away.

        Return the name of the row, empty where it is not known how, and what its other arguments give.
        """
        code, positions = self.code, self._positions(args, known)
        free = [deref(arg) for i, arg in enumerate(args) if i not in positions]
        mine = [args[i] for i in positions]
        values = self._values(mine, known)
        if values is None or len(set(free)) < len(free):
            return "", {}
        asked, row, plain = self._asked(goals, known), code.fresh("r"), self._plain(mine, values)
        if plain:
            code(f"{pad}if not ({plain}): return {asked}")
        code(f"{pad}{row} = {code.constant(find)}(({''.join(value + ', ' for value in values)}))")
        code(f"{pad}if {row} is {code.constant(SEVERAL)}: return {asked}")
        return row, {deref(arg): f"{row}[{i}]" for i, arg in enumerate(args) if i not in positions}

    def _row(
        self, find: Callable[..., Any], args: Sequence[Term], goals: Sequence[Term], known: Known, pad: str
    ) -> bool:
        """Write that a goal has the only row that there is."""
        row, bound = self._found(find, args, goals, known, pad)
        if not row:
            return False
        self.code(f"{pad}if {row} is None: return None")
        self._name_values(bound, goals[1:], known, pad)
        return True

    def _name_values(self, bound: Known, later: Sequence[Term], known: Known, pad: str) -> None:
        """Write that what is needed later has a name."""
        needed = {v for each in later for v in variables(each)}
        for variable, text in bound.items():
            if variable in needed:
                known[variable] = self.code.fresh("y")
                self.code(f"{pad}{known[variable]} = {text}")

    def _change(self, name: str, fact: Term, goals: Sequence[Term], known: Known, pad: str) -> bool:
        """Write that facts come or go."""
        if not (isinstance(fact, tuple) and len(fact) > 1) or fact[0] == ":-":
            return False
        args = fact[1:]
        predicate = self._changing(fact[0], len(args))
        if predicate is None:
            return False
        positions = self._positions(args, known)
        if name in _RETRACT:
            return self._row(taking(predicate, positions), args, goals, known, pad)
        free = [deref(arg) for i, arg in enumerate(args) if i not in positions]
        mine = [args[i] for i in positions]
        values = self._values(mine, known)
        if values is None or len(set(free)) < len(free) or (free and name in _ASSERT):
            return False
        change = adding(predicate) if name in _ASSERT else clearing(predicate, positions)
        plain = self._plain(mine, values)
        call = f"{self.code.constant(change)}(({''.join(value + ', ' for value in values)}))"
        test = f"{plain} and {call}" if plain else call
        self.code(f"{pad}if not ({test}): return {self._asked(goals, known)}")
        return True

    def _changing(self, name: str, arity: int) -> Predicate | None:
        """Return a predicate whose facts may change, None where that is not so, or not known."""
        database = self.database
        if database.provides(name, arity) or (name, arity) in database.compiler.protected:
            return None
        predicate = database.own(name, arity)
        return None if predicate.fixed or predicate.is_state or predicate.tabled else predicate

    # branches

    def _branch(self, branch: tuple[Term, Term, Term], goals: Sequence[Term], known: Known, depth: int) -> bool:
        """Write a condition and what follows either way, the goals behind it included."""
        test, then, otherwise = branch
        code, pad, rest = self.code, "    " * depth, goals[1:]
        tests = conjuncts(test)
        if any(_changes(each) for each in tests) and len(tests) > 1:
            return False
        row, bound = self._decided(test, [then, *rest], goals, known, pad)
        if not row:
            return False
        code(f"{pad}if {row} is not None:")
        inner = dict(known)
        self._name_values(bound, [then, *rest], inner, pad + "    ")
        self.write([*conjuncts(then), *rest], inner, depth + 1)
        self.write([*conjuncts(otherwise), *rest], dict(known), depth)
        return True

    def _decided(
        self, test: Term, later: Sequence[Term], goals: Sequence[Term], known: Known, pad: str
    ) -> tuple[str, Known]:
        """Write the condition of a branch; return the name of what is None where it fails, and what it binds."""
        test = deref(test)
        if not _changes(test):
            return self._solution(("once", test), later, goals, known, pad)
        fact = deref(test[1]) if isinstance(test, tuple) and len(test) == 2 and test[0] in _RETRACT else None
        if not (isinstance(fact, tuple) and len(fact) > 1) or fact[0] == ":-" or self.database.overrides(test[0], 1):
            return "", {}
        predicate = self._changing(fact[0], len(fact) - 1)
        if predicate is None:
            return "", {}
        args = fact[1:]
        return self._found(taking(predicate, self._positions(args, known)), args, goals, known, pad)

    def _unfolded(self, goal: Term, known: Known, goals: Sequence[Term], pad: str) -> Term | None:
        """Return what a call of a predicate with clauses stands for, None if it is no such call."""
        if self.goals > _MOST_GOALS or not (isinstance(goal, tuple) and len(goal) > 1):
            return None
        name, args = goal[0], goal[1:]
        predicate = unfold(self.database, name, len(args))
        if predicate is None:
            return None
        counted = Counter(v for arg in args for v in variables(arg))
        found = alternatives(predicate, args, lambda term: self._is_open(term, known) and counted[deref(term)] == 1)
        if len(found) != 1:
            return None
        here = f"{self.code.constant(predicate)}.changes == {predicate.changes}"
        self.code(f"{pad}if not ({here}): return {self._asked(goals, known)}")
        return found[0]


def _parts(goal: Term) -> tuple[str, tuple[Term, ...]]:
    """Return name and arguments of a goal, no name of what is none."""
    return (goal[0], goal[1:]) if isinstance(goal, tuple) and goal else ("", ())


def _is_control(goal: tuple[Any, ...]) -> bool:
    name, arity = goal[0], len(goal) - 1
    return (arity == 2 and name in (",", ";", "->", "forall")) or (arity == 1 and name in _ONCE)


def _branch_of(goal: Term) -> tuple[Term, Term, Term] | None:
    """Return condition and both branches of a goal, None if it has none."""
    match goal:
        case (";", test, otherwise):
            match deref(test):
                case ("->", first, then):
                    return deref(first), deref(then), deref(otherwise)
            return None
        case ("->", first, then):
            return deref(first), deref(then), "fail"
        case ("once", inner):
            return deref(inner), "true", "fail"
        case ("ignore", inner):
            return deref(inner), "true", "true"
    return None


def _changes(goal: Term) -> bool:
    """Tell whether a goal may change facts, or do something else that is to be done once."""
    todo = [goal]
    while todo:
        term = deref(todo.pop())
        if isinstance(term, tuple) and term:
            if term[0] in _CHANGES or term[0] == "asserta":
                return True
            todo.extend(term[1:])
    return False


def _with_reals(ask: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: ask(*map(normal, values))


def _later(solver: Solver, goal: Goal, inputs: Sequence[str], outputs: Sequence[str]) -> Callable[..., Any]:
    """Return the function of a goal, which is prepared when it is first called."""
    solve: Callable[..., Any] | None = None

    def ask(*values: Any) -> Any:
        nonlocal solve
        if solve is None:
            solve = solver.prepare(goal, inputs, outputs)
        return solve(*values)

    return ask
