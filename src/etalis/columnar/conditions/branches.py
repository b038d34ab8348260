"""Alternatives of a goal as steps: clauses, and disjunctions, conditionals and negation over facts that events change.

A branch is entered by rows, finds their solutions by steps of its own, and may commit: a row that has come past the cut
of a clause, or the condition of `->`, goes on with that solution alone and enters no branch behind. Law: the solutions
of a row are those of the branches in their order, as the solver finds them; a row in doubt in any branch has none here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from etalis.columnar.conditions.arithmetic import InexactError
from etalis.columnar.conditions.asked import Asked
from etalis.columnar.conditions.steps import Found, GoalStep, Solved, follow
from etalis.columnar.data.columns import Column, Flags, Integers, concat
from etalis.columnar.data.instances import ColumnBlock, Instances
from etalis.language.check.goals import calls, conjuncts, indicator
from etalis.language.syntax import Clause, Compound, Const, Term, Var
from etalis.language.traversal import rewrite_term, variables
from etalis.logic.machine.predicate import Predicate

_CUT = ("!", 0)
_MOST = 8  # branches of one goal


@dataclass(frozen=True, slots=True)
class GoalBranch:
    """Goals one after the other; where it `commits`, the first solution of those `before` counts, `after` follows."""

    before: tuple[Term, ...]
    commits: bool = False
    after: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class StepBranch:
    """The steps of an alternative; `binds` is what those before bind for those after."""

    before: tuple[GoalStep, ...]
    commits: bool
    binds: tuple[str, ...]
    after: tuple[GoalStep, ...]


@dataclass(frozen=True, slots=True)
class BranchingStep:
    """Alternatives, each of which binds what the goal `makes`."""

    branches: tuple[StepBranch, ...]
    makes: tuple[str, ...]

    def find(self, rows: Instances) -> Found:
        """Return the solutions of rows."""
        left = np.arange(len(rows))
        doubt = np.zeros(len(rows), bool)
        kept: list[Integers] = []
        bound: list[dict[str, Column]] = []
        for branch in self.branches:
            if not len(left) and kept:
                break
            here = rows.take(left)
            solved = follow(branch.before, here, branch.binds if branch.commits else self.makes)
            gone = _marked(len(left), solved.doubt)
            doubt[left[gone]] = True
            origin = left
            if branch.commits:
                first = np.flatnonzero(np.diff(solved.kept, prepend=-1))
                chosen = solved.kept[first]
                gone[chosen] = True
                origin = left[chosen]
                columns = {name: column.take(first) for name, column in solved.bound.items()}
                solved = self._after(branch, here.take(chosen).with_columns(columns))
                doubt[origin[_marked(len(chosen), solved.doubt)]] = True
            kept.append(origin[solved.kept])
            bound.append(dict(solved.bound))
            left = left[~gone]
        return self._together(kept, bound, doubt)

    def _after(self, branch: StepBranch, rows: Instances) -> Solved:
        if not branch.after:
            return Solved(np.arange(len(rows)), {name: rows.column(name) for name in self.makes}, None)
        return follow(branch.after, rows, self.makes)

    def _together(self, kept: Sequence[Integers], bound: Sequence[dict[str, Column]], doubt: Flags) -> Found:
        """Return the solutions of all branches, row by row."""
        rows = np.concatenate([np.zeros(0, np.int64), *kept])
        order = np.argsort(rows, kind="stable")
        order = order[~doubt[rows[order]]]
        columns = {name: concat([part[name] for part in bound]) for name in self.makes} if bound else {}
        block = ColumnBlock(columns, order) if columns else None
        return Found(rows[order], block, doubt if doubt.any() else None)


@dataclass(frozen=True, slots=True)
class ClausesStep:
    """A call as its clauses; arrays cannot tell any more when the predicate has got others."""

    predicate: Predicate
    changes: int
    clauses: BranchingStep

    def find(self, rows: Instances) -> Found:
        """Return the solutions of rows."""
        if self.predicate.changes != self.changes:
            raise InexactError
        return self.clauses.find(rows)


@dataclass(frozen=True, slots=True)
class NegatedStep:
    """Rows for which goals have no solution."""

    steps: tuple[GoalStep, ...]

    def find(self, rows: Instances) -> Found:
        """Return the rows that pass."""
        solved = follow(self.steps, rows, ())
        passes = np.ones(len(rows), bool)
        passes[solved.kept] = False
        if solved.doubt is not None:
            passes &= ~solved.doubt
        return Found(np.flatnonzero(passes), None, solved.doubt)


def asks(step: GoalStep) -> bool:
    """Tell whether a step asks the solver whatever the rows are."""
    match step:
        case BranchingStep(branches=branches):
            return any(asks(inner) for branch in branches for inner in (*branch.before, *branch.after))
        case ClausesStep(clauses=clauses):
            return asks(clauses)
        case NegatedStep(steps=steps):
            return any(map(asks, steps))
        case _:
            return isinstance(step, Asked)


def _marked(count: int, doubt: Flags | None) -> Flags:
    return np.zeros(count, bool) if doubt is None else doubt.copy()


def alternatives(goal: Term) -> list[GoalBranch] | None:
    """Return the alternatives of a control goal; None if it is none."""
    match goal:
        case Compound(name=";", args=(Compound(name="->", args=(test, then)), otherwise)):
            found = [GoalBranch((test,), True, (then,)), *_either(otherwise)]
        case Compound(name=";", args=(one, otherwise)):
            found = [*_either(one), *_either(otherwise)]
        case Compound(name="->", args=(test, then)):
            found = [GoalBranch((test,), True, (then,))]
        case Compound(name="once", args=(test,)):
            found = [GoalBranch((test,), True)]
        case _:
            return None
    return None if any(call.indicator == _CUT for call in calls(goal)) or len(found) > _MOST else found


def _either(goal: Term) -> Iterator[GoalBranch]:
    """Yield the alternatives of a disjunction without conditionals, else the goal as it is."""
    match goal:
        case Compound(name=";", args=(Compound(name=name), _)) if name == "->":
            yield GoalBranch((goal,))
        case Compound(name=";", args=(one, otherwise)):
            yield from _either(one)
            yield from _either(otherwise)
        case _:
            yield GoalBranch((goal,))


def unfold(goal: Term, clauses: Sequence[Clause], number: int) -> list[GoalBranch] | None:
    """Return the clauses of a goal as alternatives over its arguments; variables of clauses get a number of their own.

    None where an argument is a term, or where there is more than one cut, or one within another goal.
    """
    if len(clauses) > _MOST:
        return None
    found = [_unfolded(goal, clause, f"{number}.{place}") for place, clause in enumerate(clauses)]
    several = [alternative for alternative in found if alternative is not None]
    return several if len(several) == len(found) else None


def _unfolded(goal: Term, clause: Clause, mark: str) -> GoalBranch | None:
    args = goal.args if isinstance(goal, Compound) else ()
    own = clause.head.args if isinstance(clause.head, Compound) else ()
    if indicator(goal) != indicator(clause.head):
        return None  # it is wrapped
    named: dict[str, Term] = {}
    goals: list[Term] = []
    for given, mine in zip(args, own, strict=True):
        match given, mine:
            case Var() | Const(), Var(name=name) if name not in named:
                named[name] = given
            case Var() | Const(), Var(name=name):
                goals.append(Compound("=", (named[name], given), goal.span))
            case Var() | Const(), Const():
                goals.append(Compound("=", (given, mine), goal.span))
            case _:
                return None
    if clause.body is not None:
        for variable in variables(clause.body):
            named.setdefault(variable.name, Var(f"{variable.name}#{mark}", variable.span))
        body = rewrite_term(clause.body, lambda _, now: named[now.name] if isinstance(now, Var) else now)
        goals += conjuncts(body)
    cuts = [place for place, each in enumerate(goals) if any(call.indicator == _CUT for call in calls(each))]
    if not cuts:
        return GoalBranch(tuple(goals))
    if len(cuts) > 1 or indicator(goals[cuts[0]]) != _CUT:
        return None
    return GoalBranch(tuple(goals[: cuts[0]]), True, tuple(goals[cuts[0] + 1 :]))
