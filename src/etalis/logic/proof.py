"""Proofs of goals: which facts and clauses a solution came by.

A goal whose solution is known is shown once more, step by step, over the clauses that a view sees; cuts, conditionals
and disjunctions do what they do in the machine. Built-in predicates, functions of the host, and whatever lies deeper
than asked for are asked of the machine, and are leaves. Nothing recurses. Law: a proof has only goals that hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from etalis.logic.errors import LogicError
from etalis.logic.knowledge.as_of import View
from etalis.logic.machine.control import call_goal
from etalis.logic.machine.machine import DONE, Machine
from etalis.logic.machine.predicate import Predicate
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Term, Trail, copy, deref, flatten_key, undo, unify

DEPTH = 20
MOST_STEPS = 20_000
_CALLED = frozenset((("call", 1), ("prolog", 1), ("query", 1), ("db", 1)))
StepKind = Literal["fact", "clause", "builtin", "function", "deeper"]


@dataclass(slots=True, eq=False)
class ProofStep:
    """A goal that holds, as it was answered, and what it follows from."""

    kind: StepKind
    goal: Term
    premises: list[ProofStep] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Call:
    """A call of a clause on the way: its goal, the call it stands in, how deep, and the height that a cut goes to."""

    goal: Term
    around: _Call | None
    depth: int
    height: int


_Goals = tuple[Any, _Call, int, Any] | None  # a goal, the call it stands in, where its cut goes to, what follows
_Trace = tuple[StepKind, Term, _Call | None, _Call, Any] | None  # a step, its own call, that around it, steps before


class Prover:
    """Shows goals over the database as a solver sees it now; `extra` are predicates with one value each."""

    def __init__(
        self, solver: Solver, extra: dict[tuple[str, int], Term], *, depth: int = DEPTH,
        is_function: Callable[[tuple[str, int]], bool] = lambda _key: False,
    ) -> None:  # fmt: skip
        self.solver = solver
        self.database = solver.database
        self.view: View | None = solver.view
        self.extra = extra
        self.depth = depth
        self.is_function = is_function
        self.trail = Trail()
        self.choices: list[tuple[int, Iterator[tuple[_Goals, _Trace]]]] = []
        self.steps = 0

    def prove(self, goal: Term) -> list[ProofStep] | None:
        """Return the steps that show a goal, its conjuncts in order; None if they are not found within the limits."""
        top = _Call("true", None, 0, 0)
        goals: _Goals = (goal, top, 0, None)
        trace: _Trace = None
        while goals is not None:
            self.steps += 1
            if self.steps > MOST_STEPS:
                return None
            try:
                found = self._step(goals, trace) or self._next()
            except LogicError:
                return None
            if found is None:
                return None
            goals, trace = found
        return _gather(trace, top)

    def _next(self) -> tuple[_Goals, _Trace] | None:
        """Go the next of the ways that wait."""
        while self.choices:
            mark, ways = self.choices[-1]
            undo(self.trail, mark)
            found = next(ways, None)
            if found is not None:
                return found
            self.choices.pop()
        return None

    def _try(self, ways: Iterator[tuple[_Goals, _Trace]]) -> tuple[_Goals, _Trace] | None:
        """Let several ways wait; the first is the next."""
        self.choices.append((len(self.trail), ways))
        return self._next()

    def _step(self, goals: _Goals, trace: _Trace) -> tuple[_Goals, _Trace] | None:
        assert goals is not None
        term, call, height, rest = goals
        if isinstance(term, _Cut):
            term.make(self.choices)
            return rest, trace
        goal = deref(term)
        name, args = (goal[0], goal[1:]) if goal.__class__ is tuple and goal else (goal, ())
        match (name, len(args)):
            case ("true", 0) | ("otherwise", 0):
                return rest, trace
            case (",", 2):
                return (args[0], call, height, (args[1], call, height, rest)), trace
            case ("!", 0):
                del self.choices[height:]
                return rest, trace
            case (";", 2):
                return self._choose(args, goals, trace)
            case ("->", 2):
                cut = _Cut(len(self.choices))
                return (args[0], call, cut.height, (cut, call, height, (args[1], call, height, rest))), trace
            case ("once", 1):
                cut = _Cut(len(self.choices))
                return (args[0], call, cut.height, (cut, call, height, rest)), trace
            case (str(), 1) if (name, 1) in _CALLED and not self.database.overrides(name, 1):
                return (args[0], call, len(self.choices), rest), trace
            case _:
                return self._call(goal, (name, len(args)), goals, trace)

    def _choose(self, args: tuple[Term, ...], goals: _Goals, trace: _Trace) -> tuple[_Goals, _Trace] | None:
        assert goals is not None
        _, call, height, rest = goals
        left = deref(args[0])
        kind = left[0] if left.__class__ is tuple and len(left) == 3 else None
        first: _Goals = (left, call, height, rest)
        if kind in ("->", "*->"):
            cut = _Cut(len(self.choices), soft=kind == "*->")
            first = (left[1], call, cut.height + 1, (cut, call, height, (left[2], call, height, rest)))
        return self._try(iter([(first, trace), ((args[1], call, height, rest), trace)]))

    def _call(self, goal: Term, key: tuple[str, int], goals: _Goals, trace: _Trace) -> tuple[_Goals, _Trace] | None:
        assert goals is not None
        _, call, _, rest = goals
        predicate = self.database.predicate(*key) if self.database.overrides(*key) else None
        if predicate is None or (predicate.fixed and not predicate.is_state):
            kind: StepKind = "function" if self.is_function(key) else "builtin"
            return self._try(self._ask(kind, goal, call, rest, trace))
        if call.depth >= self.depth:
            return self._try(self._ask("deeper", goal, call, rest, trace))
        if (predicate.special and predicate.find_closure() is not None) or predicate.tabled:
            wanted, around = flatten_key(goal), call
            while around.around is not None:
                if flatten_key(around.goal) == wanted:
                    return None  # a proof never needs its own goal
                around = around.around
        return self._try(self._by_clauses(predicate, goal, call, rest, trace))

    def _by_clauses(
        self, predicate: Predicate, goal: Term, call: _Call, rest: _Goals, trace: _Trace
    ) -> Iterator[tuple[_Goals, _Trace]]:
        args: tuple[Term, ...] = () if isinstance(goal, str) else goal[1:]
        own = _Call(goal, call, call.depth + 1, len(self.choices) - 1)  # a cut gives up these ways, too
        entries = predicate.entries(args) if self.view is None else self.view.entries(predicate, args)
        mark = len(self.trail)
        for _, head, body in entries:
            _, fresh, *parts = copy(("clause", body, *head))
            if unify(("head", 0, *args), ("head", 0, *parts), self.trail):
                if fresh == "true":
                    yield rest, ("fact", goal, None, call, trace)
                else:
                    yield (fresh, own, own.height, rest), ("clause", goal, own, call, trace)
            undo(self.trail, mark)

    def _ask(
        self, kind: StepKind, goal: Term, call: _Call, rest: _Goals, trace: _Trace
    ) -> Iterator[tuple[_Goals, _Trace]]:
        """Yield a way on for each answer of the machine."""
        machine = Machine(self.database, self.solver.limits, self.extra, self.solver.host)
        machine.view = self.view
        asked = copy(goal)
        mark = len(self.trail)
        found = machine.run((call_goal, (asked,), DONE))
        while found:
            if unify(goal, copy(asked), self.trail):
                yield rest, (kind, goal, None, call, trace)
            undo(self.trail, mark)
            found = machine.run(None)


@dataclass(slots=True, eq=False)
class _Cut:
    """A goal that gives up the choices since a height; a soft one the alternative at that height alone."""

    height: int
    soft: bool = False

    def make(self, choices: list[tuple[int, Iterator[Any]]]) -> None:
        if self.soft:
            choices[self.height] = (choices[self.height][0], iter(()))
        else:
            del choices[self.height :]


def _gather(trace: _Trace, top: _Call) -> list[ProofStep]:
    """Return the steps of a trace, which has the last first, each with those that stand in it."""
    below: dict[int, list[ProofStep]] = {id(top): []}
    steps: list[tuple[StepKind, Term, _Call | None, _Call]] = []
    while trace is not None:
        *step, trace = trace
        steps.append(tuple(step))
    for kind, goal, own, around in reversed(steps):
        shown = ProofStep(kind, copy(goal), [])
        if own is not None:
            below[id(own)] = shown.premises
        below[id(around)].append(shown)
    return below[id(top)]
