"""From the goal of a condition to steps: what arrays can compute, and what the solver is asked.

Conjuncts become steps one by one, in their order. One that binds what others read, perhaps several times over, and is
no look-up of facts, stays together with all behind it, since they may send it back for another solution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from etalis.columnar.conditions import branches as b
from etalis.columnar.conditions.asked import Asked, asking
from etalis.columnar.conditions.expressions import as_arithmetic
from etalis.columnar.conditions.lookups import ColumnLookup
from etalis.columnar.conditions.lookups_at_turns import LookupAtTurns
from etalis.columnar.conditions.steps import Calculation, Comparison, Comparisons, GoalStep, Moment
from etalis.language.check.goals import BINDS_NOTHING, Call, bound_by, calls, conjuncts, indicator
from etalis.language.lower import to_logic, to_syntax
from etalis.language.syntax import Clause, Compound, Const, Term, Var
from etalis.language.traversal import names, variables
from etalis.logic.builtins.table import CODES, TESTS
from etalis.logic.inline import python_source as n
from etalis.logic.inline.ground.predicates import PREDICATES
from etalis.logic.inline.inline import inline
from etalis.logic.inline.knowledge.unfold import unfold
from etalis.logic.machine.control import FORMS
from etalis.plan import algebra as p

if TYPE_CHECKING:
    from etalis.columnar.conditions.changing_facts import ChangingFacts
    from etalis.runtime.codegen.conditions import Conditions

_CALL_NOTHING = TESTS.keys() | (CODES.keys() & PREDICATES.keys())
_ONCE = frozenset({("\\+", 1), ("not", 1), ("once", 1), ("ignore", 1), ("forall", 2), ("findall", 3)})


def find_steps(
    test: p.Condition, wanted: Sequence[str], types: Mapping[str, str], conditions: Conditions,
    facts: ChangingFacts | None = None,
) -> tuple[GoalStep, ...] | None:  # fmt: skip
    """Return a condition as steps, which bind what is wanted; None if it is to be asked as a whole."""
    goals = conjuncts(test.goal)
    if any(_is_cut(call) for goal in goals for call in calls(goal)):
        return None
    lowering = _Lowering(test, wanted, conditions, facts, {name: types[name] for name in test.inputs}, count())
    steps: list[GoalStep] = []
    for place, goal in enumerate(goals):
        later = frozenset(wanted).union(*(names(variables(each)) for each in goals[place + 1 :]))
        step = lowering.step(goal, later)
        if step is None:
            steps.append(lowering.rest(goals[place:]))
            break
        steps.append(step)
    if not lowering.known.keys() >= set(wanted):
        return None  # one of these stays without a value
    together = _merged(steps)
    return None if len(together) == 1 and isinstance(together[0], Asked) else together


def _is_cut(call: Call) -> bool:
    return call.indicator == ("!", 0)


def _merged(steps: Sequence[GoalStep]) -> tuple[GoalStep, ...]:
    """Return steps with comparisons that follow each other in one."""
    found: list[GoalStep] = []
    for step in steps:
        match step, found[-1:]:
            case Comparison(), [Comparisons(parts=parts)]:
                found[-1] = Comparisons((*parts, step))
            case Comparison(), _:
                found.append(Comparisons((step,)))
            case _:
                found.append(step)
    return tuple(found)


@dataclass(slots=True)
class _Lowering:
    """Makes steps of conjuncts; `known` are the variables that have values, with their types."""

    test: p.Condition
    wanted: Sequence[str]
    conditions: Conditions
    facts: ChangingFacts | None
    known: dict[str, str]
    numbers: Iterator[int]  # of the clauses that are unfolded

    def steps(self, goals: Sequence[Term], wanted: frozenset[str]) -> tuple[GoalStep, ...] | None:
        """Return the steps of goals one after the other; None if one has none."""
        found: list[GoalStep] = []
        for place, goal in enumerate(goals):
            if indicator(goal) != ("true", 0):
                later = wanted.union(*(names(variables(each)) for each in goals[place + 1 :]))
                step = self.step(goal, later)
                if step is None:
                    return None
                found.append(step)
        return _merged(found)

    def step(self, goal: Term, later: frozenset[str]) -> GoalStep | None:
        """Return the step of a goal, and note what it binds; None if it may have to be asked again."""
        at_once = self._moment(goal) or self._look_up(goal, later) or self._calculation(goal)
        return at_once or self._branches(goal, later) or self._clauses(goal, later) or self._once(goal, later)

    def _moment(self, goal: Term) -> Moment | None:
        """Return the start or end of a match for a variable that has no value."""
        match goal:
            case Compound(name=("t1" | "t2") as which, args=(Var(name=name),)) if name not in self.known:
                if self.test.kind == "check" and not self._is_own((which, 1)):
                    self.known[name] = "number"
                    return Moment(name, which)
            case _:
                pass
        return None

    def _is_own(self, key: tuple[str, int]) -> bool:
        return self.conditions.solver.database.overrides(*key)

    def _look_up(self, goal: Term, later: frozenset[str]) -> ColumnLookup | LookupAtTurns | None:
        """Return a look-up of facts; every variable that is new occurs in it once."""
        key = indicator(goal)
        if not isinstance(goal, Compound) or key is None or not self._is_own(key):
            return None
        predicate = self.conditions.solver.database.predicate(*key)
        new = [arg.name for arg in goal.args if isinstance(arg, Var) and arg.name not in self.known]
        if predicate.relation is None or predicate.tabled or len(set(new)) < len(new):
            return None
        given: dict[int, str] = {}
        constants: list[tuple[int, str | int | float]] = []
        makes: dict[int, str] = {}
        for place, arg in enumerate(goal.args):
            match arg:
                case Var(name=name) if name in self.known:
                    given[place] = name
                case Var(name=name):
                    makes[place] = name
                case Const(value=str() | int() | float() as value):
                    constants.append((place, value))
                case _:
                    return None
        makes = {place: name for place, name in makes.items() if name in later}
        self.known.update(dict.fromkeys(makes.values(), "term"))
        if self.facts is not None and key in self.facts.known:
            return LookupAtTurns(self.facts, key, given, tuple(constants), makes)
        return ColumnLookup(predicate, given, tuple(constants), makes)

    def _calculation(self, goal: Term) -> Comparison | Calculation | None:
        """Return a comparison or a calculation."""
        found = inline(to_logic(as_arithmetic(goal, self.known) or goal), self.known)
        if found is None:
            return None
        reads = self._reads(goal)
        match found.node, found.bindings:
            case n.Bind() as node, _:
                otherwise = self._asked(goal, [node.name])
                self.known.update(found.bindings)
                return Calculation(node, reads, otherwise)
            case node, ():
                return Comparison(node, reads, self._asked(goal, ()))
            case _:
                return None

    def _branches(self, goal: Term, later: frozenset[str]) -> b.BranchingStep | b.NegatedStep | None:
        """Return the branches of a goal that asks for facts that events change; None if it is asked as a whole."""
        if self.facts is None or not self.facts.learning.asked(goal):
            return None
        match goal:
            case Compound(name="\\+" | "not", args=(test,)) if not self._is_own((goal.name, 1)):
                steps = None if any(map(_is_cut, calls(test))) else self._inner().steps(conjuncts(test), frozenset())
                return None if steps is None else b.NegatedStep(steps)
            case _:
                found = self._alternatives(goal)
        return None if found is None else self._branching(found, goal, later)

    def _clauses(self, goal: Term, later: frozenset[str]) -> b.ClausesStep | None:
        """Return a call as its clauses, if arrays compute all that these do."""
        key = indicator(goal)
        if not isinstance(goal, Compound) or key is None or not self._is_own(key):
            return None
        if self.facts is not None and self.facts.learning.asked(goal):
            return None
        predicate = unfold(self.conditions.solver.database, *key)
        if predicate is None:
            return None
        clauses = [to_syntax((":-", (key[0], *args), body)) for args, body in predicate.live()]
        own = [Clause(each.args[0], each.args[1]) for each in clauses if isinstance(each, Compound)]
        found, known = b.unfold(goal, own, next(self.numbers)), dict(self.known)
        branching = None if found is None else self._branching(found, goal, later)
        if branching is None or b.asks(branching):
            self.known = known
            return None
        return b.ClausesStep(predicate, predicate.changes, branching)

    def _branching(self, found: Sequence[b.GoalBranch], goal: Term, later: frozenset[str]) -> b.BranchingStep | None:
        makes = tuple(sorted(v for v in names(variables(goal)) if v in later and v not in self.known))
        several = [self._branch(each, makes) for each in found]
        branches = [branch for branch in several if branch is not None]
        if len(branches) < len(several):
            return None
        self.known.update(dict.fromkeys(makes, "term"))
        return b.BranchingStep(tuple(branches), makes)

    def _alternatives(self, goal: Term) -> list[b.GoalBranch] | None:
        """Return the clauses of a goal, or what a control goal puts together."""
        key = indicator(goal)
        if key is None or self.facts is None or key in self.facts.known:
            return None
        if not self._is_own(key):
            return b.alternatives(goal)
        clauses, predicate = self.facts.learning.clauses(key), self.conditions.solver.database.predicate(*key)
        if clauses is None or predicate.tabled or len(list(predicate.live())) > len(clauses):
            return None
        return b.unfold(goal, clauses, next(self.numbers))

    def _branch(self, alternative: b.GoalBranch, makes: tuple[str, ...]) -> b.StepBranch | None:
        inner, wanted = self._inner(), frozenset(makes)
        before = inner.steps(alternative.before, wanted.union(*(names(variables(g)) for g in alternative.after)))
        binds = tuple(v for v in inner.known if v not in self.known)
        after = None if before is None else inner.steps(alternative.after, wanted)
        if before is None or after is None or not inner.known.keys() >= wanted:
            return None
        return b.StepBranch(before, alternative.commits, binds, after)

    def _inner(self) -> _Lowering:
        return replace(self, known=dict(self.known))

    def _once(self, goal: Term, later: frozenset[str]) -> Asked | None:
        """Return a goal to ask that gives others nothing, or has no second solution."""
        makes = sorted(v for v in self._bound_by(goal) if v in later and v not in self.known)
        if makes and not self._is_single(goal):
            return None
        asked = self._asked(goal, makes)
        self.known.update(dict.fromkeys(makes, "term"))
        return asked

    def _bound_by(self, goal: Term) -> frozenset[str]:
        """Return the variables that a goal may bind."""
        if any(call.indicator in BINDS_NOTHING and self._is_own(call.indicator) for call in calls(goal)):
            return names(variables(goal))
        return bound_by(goal).perhaps

    def _is_single(self, goal: Term) -> bool:
        """Tell whether a goal has at most one solution."""
        match goal:
            case Compound(name=";", args=(Compound(name="->", args=(_, then)), otherwise)):
                return self._is_single(then) and self._is_single(otherwise)
            case Compound(name=",", args=(first, second)):
                return self._is_single(first) and self._is_single(second)
            case _:
                key = indicator(goal)
                return key in _ONCE or (
                    key is not None and not self._is_own(key) and (key in TESTS or self._gives(goal))
                )

    def _gives(self, goal: Term) -> bool:
        """Tell whether a goal is a function of arguments that have values."""
        if not isinstance(goal, Compound):
            return False
        has_value = [names(variables(arg)) <= self.known.keys() for arg in goal.args]
        return any(
            mode.result is not None and all(has_value[place] for place in mode.inputs)
            for mode in PREDICATES.get((goal.name, len(goal.args)), ())
        )

    def rest(self, goals: Sequence[Term]) -> Asked:
        """Return what is left of a goal, to be asked as a whole."""
        goal = reduce(lambda right, left: Compound(",", (left, right), left.span), reversed(goals))
        kind = "event_multiply" if self.test.kind == "event_multiply" else "where"
        makes = [v for v in self.wanted if v not in self.known]
        asked = self._asked(goal, makes, kind)
        self.known.update(dict.fromkeys(makes, "term"))
        return asked

    def _reads(self, goal: Term) -> tuple[str, ...]:
        return tuple(v for v in dict.fromkeys(v.name for v in variables(goal)) if v in self.known)

    def _asked(self, goal: Term, makes: Sequence[str], kind: str = "where") -> Asked:
        """Return a goal that the solver is asked: for its first solution, or for all if the condition multiplies."""
        multiplies = kind == "event_multiply"
        is_timed = self.test.kind == "check" and self._sees_times(goal)
        reads = self._reads(goal)
        asked = p.GoalTest("check" if is_timed and not multiplies else kind, goal, reads, tuple(makes))
        replayed = None if self.facts is None else self.facts.replayed(goal)
        solving = asking(replayed, self.conditions, lambda own: own.solving(asked, asked.outputs, is_firm=True))
        return Asked(solving, reads, makes, is_timed=is_timed, multiplies=multiplies, replayed=replayed)

    def _sees_times(self, goal: Term) -> bool:
        """Tell whether a goal may ask for the times of a match: whatever calls others may."""
        return any(
            call.indicator not in FORMS and (self._is_own(call.indicator) or call.indicator not in _CALL_NOTHING)
            for call in calls(goal)
        )
