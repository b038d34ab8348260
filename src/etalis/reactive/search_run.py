"""One search for an execution: configurations in depth-first order, the state changed in place and taken back.

Nothing recurses: configurations wait on a stack, also those inside of `iso` and `possible`, whose ends lead back to the
configuration that they are a part of. What was tried is remembered by its key; keys are made once something was given
up, or where an action may come back to where it was. Law: path, failure and counts are those of `meaning`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from etalis.errors import EtalisError
from etalis.logic.errors import LogicError
from etalis.logic.machine.control import call_goal
from etalis.logic.machine.database import Database
from etalis.logic.machine.machine import DONE, FAIL, Code, Frame, Machine, limited_trail
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term, copy, deref, flatten_key, unify
from etalis.reactive.analysis import tests
from etalis.reactive.configurations import ActionFrame, ActionScope, Around, SearchAttempt, Steps
from etalis.reactive.execution import Label, SearchLimits, Why
from etalis.reactive.labels import fact_of, label_of, seconds
from etalis.reactive.legality import Legality
from etalis.reactive.rest_keys import RestKeys
from etalis.reactive.state_keys import StateKeys
from etalis.reactive.terms import REPEATED, ActionProgram, interleaved, key_of, sequence
from etalis.reactive.unfolding import outer_variables

_OPEN: Any = "on the way"
_NEW: Any = "new"
_CHANGES = frozenset(("ins", "del", "set"))


CompiledGoals = Mapping[int, tuple[Code, list[Term]]]  # by the identity of goals: their code, and its registers


def compiled_goals(database: Database, action: Term) -> CompiledGoals:
    """Return the tests of an action that stays, compiled."""
    found = {}
    for goal in tests(action):
        with suppress(LogicError):  # whatever is wrong is reported when it is asked
            found[id(goal)] = database.compiler.goal(database, goal)
    return found


class SearchStopError(Exception):
    """No other way is tried: a limit, or an error."""

    def __init__(self, labels: Steps, failed: Any, why: Why, error: EtalisError | None = None) -> None:
        super().__init__(why)
        self.labels, self.failed, self.why, self.error = labels, failed, why, error


class _ClauseChoice:
    """A call whose clauses are tried in turn."""

    __slots__ = ("call", "clauses", "fits", "goal", "mark", "place")

    def __init__(self, call: Term, goal: Term, clauses: Sequence[tuple[Term, Term]], mark: int) -> None:
        self.call = call
        self.goal = goal
        self.clauses = clauses
        self.mark = mark
        self.place = 0
        self.fits = False


class SearchRun:
    """The search for the first execution of one action."""

    def __init__(
        self, solver: Solver, program: ActionProgram, legality: Legality | None, limits: SearchLimits,
        refused: frozenset[Label], *, order_matters: Callable[[], bool], returns: bool, goals: CompiledGoals,
    ) -> None:  # fmt: skip
        self.solver = solver
        self.clauses = program.clauses
        self.legality = legality
        self.limits = limits
        self.refused = refused
        self.returns = returns  # the action may come back to where it was
        self.goals = goals
        self.store: StateStore = solver.database.state
        self.keys = StateKeys(self.store, order_matters)
        self.trail = limited_trail(solver.limits)
        self.rests = RestKeys(self.trail)
        self.stack: list[ActionFrame] = []
        self.tries = 0
        self.serial = 0
        self.found: Steps | None = None
        self.best: SearchAttempt | None = None

    def find(self, action: Term) -> bool:
        """Tell whether there is an execution: its labels are in `found`; else the longest attempt is in `best`."""
        top = ActionScope("action", None, None, action, None)
        self._push(ActionFrame(action, top, None, (), 0, 0, len(self.store.trail), len(self.trail)))
        stack = self.stack
        while stack and self.found is None:
            frame = stack[-1]
            if not self._go_on(frame):
                stack.pop()
                self._leave(frame)
        return self.found is not None

    # configurations

    def _push(self, frame: ActionFrame) -> None:
        """Enter a configuration that is looked at for the first time."""
        if self.returns:
            if frame.key is None:
                frame.key = self._key(frame)
            frame.scope.known[frame.key] = _OPEN
        self.stack.append(frame)

    def _key(self, frame: ActionFrame) -> Any:
        return self.rests.key(frame.rest, frame.scope.answers), self.keys.key()

    def _go_on(self, frame: ActionFrame) -> bool:
        """Go the next way from a configuration; False if there is none left."""
        if len(self.store.trail) > frame.state_mark:
            self.keys.take_back(frame.state_mark)
        trail, agenda = self.trail, frame.agenda
        self.rests.undo(frame.resume_mark)
        if frame.machine is not None and self._resume(frame, frame.machine):
            return True
        while agenda:
            action, around, entered = agenda.pop()
            kind = action[0] if action.__class__ is tuple else action
            if kind == "seq":
                agenda.append((action[1], ("seq", action[2], around), entered))
            elif kind == "par":
                agenda.append((action[2], ("right of", action[1], around), entered))
                agenda.append((action[1], ("left of", action[2], around), entered))
            elif kind == "or":
                agenda.append((action[2], around, entered))
                agenda.append((action[1], around, entered))
            elif kind == "call":
                agenda.append((self._choice(frame, action, entered), around, entered))
            elif kind == "entered":
                self._check_depth(frame, entered)
                self._count(frame)
                agenda.append((action[2], around, entered + 1))
            elif kind.__class__ is _ClauseChoice:
                self._enter_clause(frame, kind, around, entered)
            else:
                frame.resume_mark = len(trail)
                if self._go(frame, kind, action, around, entered):
                    return True
        frame.resume_mark = len(trail)
        return False

    def _leave(self, frame: ActionFrame) -> None:
        """Give up a configuration, and remember how far attempts got from it."""
        scope, best = frame.scope, frame.best
        scope.known[self._key(frame) if frame.key is None else frame.key] = best
        parent = frame.parent
        if parent is None:
            self._leave_scope(scope, best)
        elif best is not None:
            length = frame.length + best.length
            self._note(parent, SearchAttempt(length, best.serial, frame.labels, best, why=best.why))

    def _leave_scope(self, scope: ActionScope, best: SearchAttempt | None) -> None:
        """An action has no execution."""
        owner = scope.owner
        if owner is None:
            self.best = best
        elif scope.kind == "possible":
            self._fail(owner, scope.leaf)
        elif scope.kind == "impossible":
            self._step(owner, None, scope.around, ())
        else:
            _, test, then, otherwise = scope.leaf
            self._step(owner, otherwise if test[0] == "possible" else then, scope.around, ())

    def _note(self, frame: ActionFrame, attempt: SearchAttempt) -> None:
        if attempt.is_before(frame.best):
            frame.best = attempt

    def _count(self, frame: ActionFrame, labels: Steps = ()) -> None:
        self.tries += 1
        if self.tries > self.limits.max_tries:
            failed = f"more than max_tries, {self.limits.max_tries} steps tried"
            raise SearchStopError(self._labels(frame, labels), failed, "limit")

    def _fail(self, frame: ActionFrame, leaf: Term, why: Why = "no execution") -> bool:
        """Note that a part of an action is no step."""
        self._count(frame)
        if frame.best is None:
            self.serial += 1
            frame.best = SearchAttempt(0, self.serial, (), None, copy(leaf), why)
        return False

    def _forbid(self, frame: ActionFrame, labels: Steps, length: int, demand: str) -> bool:
        """Note that a step leads to an illegal state."""
        self._count(frame, labels)
        self.serial += 1
        self._note(frame, SearchAttempt(length, self.serial, labels, None, demand, "illegal state"))
        return False

    def _labels(self, frame: ActionFrame | None, last: Steps = ()) -> Steps:
        """Return the labels on the way to a configuration; for one inside of `possible`, to what it is a part of."""
        parts = [last]
        while frame is not None:
            parts.append(frame.labels)
            if frame.parent is None and frame.scope.owner is not None:
                parts.clear()
                frame = frame.scope.owner
            else:
                frame = frame.parent
        return tuple(label for part in reversed(parts) for label in part)

    # calls

    def _choice(self, frame: ActionFrame, call: Term, entered: int) -> tuple[_ClauseChoice]:
        """Return the choice between the clauses of an action."""
        self._check_depth(frame, entered)
        goal = deref(call[1])
        return (_ClauseChoice(call, goal, self.clauses[key_of(goal)], len(self.trail)),)

    def _check_depth(self, frame: ActionFrame, entered: int) -> None:
        if frame.depth + entered >= self.limits.max_path:
            raise self._too_long(frame)

    def _too_long(self, frame: ActionFrame) -> SearchStopError:
        failed = f"a path longer than max_path, {self.limits.max_path} steps"
        return SearchStopError(self._labels(frame), failed, "limit")

    def _enter_clause(self, frame: ActionFrame, choice: _ClauseChoice, around: Around, entered: int) -> None:
        """Put the next clause that fits on the agenda; behind it what takes its bindings back."""
        trail = self.trail
        self.rests.undo(choice.mark)
        while choice.place < len(choice.clauses):
            clause = choice.clauses[choice.place]
            choice.place += 1
            self._count(frame)
            _, head, body = copy(("clause", *clause))
            if unify(head, choice.goal, trail):
                choice.fits = True
                frame.agenda.append(((choice,), around, entered))
                frame.agenda.append((body, around, entered + 1))
                return
            self.rests.undo(choice.mark)
        if not choice.fits:
            self._fail(frame, choice.call)

    # steps

    def _go(self, frame: ActionFrame, kind: str, leaf: Term, around: Around, entered: int) -> bool:
        """Try a part of an action that is no composition; False if it is no step."""
        try:
            if kind in _CHANGES:
                return self._change(frame, kind, leaf, around)
            if kind == "test":
                return self._test(frame, leaf, around)
            if kind == "skip":
                return self._step(frame, None, around, ())
            if kind in ("raise", "effect"):
                return self._do(frame, leaf, around)
            if kind == "choose" and leaf[1][0] == "test":
                return self._choose(frame, leaf, around)
        except LogicError as error:
            raise SearchStopError(self._labels(frame), leaf, "error", error) from None
        if kind == "abort":
            return self._fail(frame, leaf)
        return self._go_inside(frame, kind, leaf, around, entered)

    def _change(self, frame: ActionFrame, kind: str, leaf: Term, around: Around) -> bool:
        store, loose = self.store, leaf[2:]
        name, row = fact_of(leaf[1], loose)
        predicate = store.predicate(name, len(row))
        if kind == "ins":
            if not predicate.insert(row):
                return self._fail(frame, leaf)
        elif kind == "set":
            predicate.put(row)
        elif loose:
            predicate.delete_matching(row)
        else:
            predicate.delete(row)
        labels = (copy(leaf) if loose else (kind, (name, *row) if row else name),)
        if self.legality is not None and len(store.trail) > frame.state_mark and not frame.scope.isolated:
            demand = self._judge(frame, frame.state_mark)
            if demand is not None:
                self.keys.take_back(frame.state_mark)
                return self._forbid(frame, labels, 1, demand)
        return self._step(frame, None, around, labels)

    def _judge(self, frame: ActionFrame, mark: int) -> str | None:
        """Return the demand that the changes since a mark break."""
        assert self.legality is not None
        try:
            return self.legality.broken(self.store.trail[mark:])
        except LogicError as error:
            raise SearchStopError(self._labels(frame), self.legality.asked, "error", error) from None

    def _do(self, frame: ActionFrame, leaf: Term, around: Around) -> bool:
        kind, term, *after = leaf
        name, row = fact_of(term)
        label = (kind, (name, *row) if row else name, *map(seconds, after))
        if self.refused and label_of(label) in self.refused:
            return self._fail(frame, leaf, "effect refused")
        return self._step(frame, None, around, (label,))

    def _ask(self, goal: Term) -> Machine | None:
        """Return the machine that has found the first solution of a goal; below its choices lies one that fails."""
        trail = self.trail
        trail.restart()
        machine = Machine(self.solver.database, self.solver.limits, None, self.solver.host, trail)
        machine.choices.append((len(trail), FAIL))
        known = self.goals.get(id(goal))
        start: Frame = (call_goal, (goal,), DONE)
        if known is not None:
            registers = known[1].copy()
            registers[0] = 1
            start = known[0], registers, DONE
        return machine if machine.run(start) else None

    def _test(self, frame: ActionFrame, leaf: Term, around: Around) -> bool:
        machine = self._ask(leaf[1])
        if machine is None:
            return self._fail(frame, leaf)
        return self._solved(frame, machine, (leaf, around))

    def _solved(self, frame: ActionFrame, machine: Machine, solved: tuple[Term, Around]) -> bool:
        """Go on with a solution of a test; where there may be others, the machine waits."""
        if len(machine.choices) > 1:
            frame.machine, frame.solved, frame.resume_mark = machine, solved, len(self.trail)
        else:
            frame.machine, frame.resume_mark = None, machine.choices[0][0]
        return self._step(frame, None, solved[1], ())

    def _resume(self, frame: ActionFrame, machine: Machine) -> bool:
        """Go on with the next solution of a test, if there is one."""
        assert frame.solved is not None
        self.rests.forget(machine.choices[0][0])
        try:
            if machine.run(None):
                return self._solved(frame, machine, frame.solved)
        except LogicError as error:
            raise SearchStopError(self._labels(frame), frame.solved[0], "error", error) from None
        frame.machine, frame.resume_mark = None, len(self.trail)
        return False

    def _choose(self, frame: ActionFrame, leaf: Term, around: Around) -> bool:
        _, test, then, otherwise = leaf
        return self._step(frame, otherwise if self._ask(test[1]) is None else then, around, ())

    def _go_inside(self, frame: ActionFrame, kind: Any, leaf: Term, around: Around, entered: int) -> bool:
        """Look for the ends of an action inside."""
        scope = ActionScope(kind, frame.scope, frame, leaf, around)
        action = leaf[1][1] if kind == "choose" else leaf[1]
        parent = None
        if kind == "iso":
            parent, scope.answers = frame, tuple(outer_variables(action))
        state_mark = scope.state_mark = len(self.store.trail)
        start = ActionFrame(action, scope, parent, (), 0, frame.depth, state_mark, len(self.trail))
        start.agenda = [(action, None, entered)]
        self._push(start)
        return True

    def _step(self, frame: ActionFrame, rest: Term, around: Around, labels: Steps, length: int = 1) -> bool:
        """Make a step: to another configuration, or to the end of an action and what follows it."""
        while True:
            self._count(frame)
            depth = frame.depth + length
            if depth > self.limits.max_path:
                raise self._too_long(frame)
            rest = _put_together(rest, around)
            scope = frame.scope
            if rest is not None:
                self._meet(frame, rest, labels, length, depth)
                return True
            if scope.kind == "action":
                self.found = (*self._labels(frame), *labels)
                return True
            owner = scope.owner
            assert owner is not None
            if scope.kind != "iso":
                holds, rest = self._end_possible(scope, owner)
                if not holds:
                    return True
                frame, around, labels, length = owner, scope.around, (), 1
                continue
            labels, length = self._since(owner, frame, labels), depth - owner.depth
            if not self._is_outcome(scope, owner, labels, length):
                return True
            frame, rest, around = owner, None, scope.around

    def _meet(self, frame: ActionFrame, rest: Term, labels: Steps, length: int, depth: int) -> None:
        """Enter a configuration; one that was met already ends this attempt as it ended then."""
        scope = frame.scope
        after = ActionFrame(rest, scope, frame, labels, length, depth, len(self.store.trail), len(self.trail))
        if self.returns or scope.known:
            after.key = self._key(after)
            known = scope.known.get(after.key, _NEW)
            if known is not _NEW:
                if known is not None:
                    self.serial += 1
                    is_open = known is _OPEN
                    attempt = SearchAttempt(
                        length if is_open else length + known.length, self.serial, labels, None if is_open else known,
                        REPEATED if is_open else None,
                    )  # fmt: skip
                    self._note(frame, attempt)
                return
        self._push(after)

    def _since(self, owner: ActionFrame, frame: ActionFrame | None, labels: Steps) -> Steps:
        """Return the labels since a configuration, on the way inside of it."""
        parts = [labels]
        while frame is not owner:
            assert frame is not None
            parts.append(frame.labels)
            frame = frame.parent
        return tuple(label for part in reversed(parts) for label in part)

    def _is_outcome(self, scope: ActionScope, owner: ActionFrame, labels: Steps, length: int) -> bool:
        """Tell whether the end of an isolated action is a new one, and legal."""
        if scope.outcomes or self._has_more(owner):
            outcome = flatten_key(("", *scope.answers)), self.keys.key()
            if outcome in scope.outcomes:
                return False
            scope.outcomes.add(outcome)
        is_judged = self.legality is not None and len(self.store.trail) > scope.state_mark
        if is_judged and not owner.scope.isolated:
            demand = self._judge(owner, scope.state_mark)
            if demand is not None:
                return self._forbid(owner, labels, length, demand)
        return True

    def _has_more(self, owner: ActionFrame) -> bool:
        """Tell whether there may be other ways inside of a configuration."""
        for frame in reversed(self.stack):
            if frame is owner:
                return False
            if frame.agenda or frame.machine is not None:
                return True
        raise AssertionError(owner)

    def _end_possible(self, scope: ActionScope, owner: ActionFrame) -> tuple[bool, Term | None]:
        """An action has an execution: its changes are taken back, what it bound is kept.

        Return whether what asked for it makes a step, and what is left then.
        """
        while self.stack[-1] is not owner:
            self.stack.pop()
        self.keys.take_back(owner.state_mark)
        kind = scope.kind if scope.kind != "choose" else scope.leaf[1][0]
        if kind == "impossible":
            self.rests.undo(owner.resume_mark)
        if scope.kind == "choose":
            return True, scope.leaf[2] if kind == "possible" else scope.leaf[3]
        return kind == "possible" or self._fail(owner, scope.leaf), None


def _put_together(rest: Term | None, around: Around) -> Term | None:
    """Return what is left of an action when a part of it has made a step."""
    while around is not None:
        operator, other, around = around
        if operator == "seq":
            rest = other if rest is None else sequence(rest, other)
        elif operator == "left of":
            rest = interleaved(rest, other)
        else:
            rest = interleaved(other, rest)
    return rest
