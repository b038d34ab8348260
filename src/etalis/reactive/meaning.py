"""The meaning of actions, executable: which steps there are from a state, and which chain of them is the execution.

A literal reading of definition 24.11 to 24.28 over states that nothing changes: slow, and meant to be obviously right;
the search is tested against it. A configuration is what is left to be done, a state, and what variables are bound to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from etalis.data.values import Value
from etalis.errors import EtalisError
from etalis.logic.errors import LogicError
from etalis.logic.machine.control import call_goal
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import DONE, Machine
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import (
    Term,
    Trail,
    Variable,
    copy,
    deref,
    flatten_key,
    from_value,
    to_value,
    undo,
    unify,
    variables,
)  # fmt: skip
from etalis.reactive.analysis import takes_first
from etalis.reactive.execution import Execution, Failed, Label, SearchLimits, Why
from etalis.reactive.labels import fact_of, label_of, show_leaf
from etalis.reactive.terms import REPEATED, ActionProgram, Names, interleaved, key_of, sequence

Row = tuple[Term, ...]
FactSets = Mapping[Key, tuple[Row, ...]]  # a state: the facts of each predicate, in order
Bindings = Mapping[Variable, Term]
Around = tuple[Any, ...] | None  # of a part of an action: an operator, its other side, and what is around both


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is left to be done (None: nothing), in which state, with which values of variables."""

    rest: Term
    state: FactSets
    bindings: Bindings


@dataclass(frozen=True, slots=True, eq=False)
class PathStep:
    """A step: what it leads to, its labels (those of its inside, of `iso`), and how many steps it stands for."""

    after: Configuration
    labels: tuple[Label, ...] = ()
    length: int = 1


Path = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class PathAttempt:
    """A path that leads nowhere, and why."""

    path: Path
    failed: str
    why: Why


@dataclass(slots=True)
class Inside:
    """An action whose ends are looked for; `known` are configurations on the way (None) or behind us."""

    answers: tuple[Variable, ...] = ()  # ends with other values of these are other ends
    isolated: bool = False
    remembers: bool = True
    entered: int = 0  # clauses that were entered on the way to it, since the last step
    known: dict[Any, list[PathAttempt] | None] = field(default_factory=dict)


class SearchEndError(Exception):
    """No other way is tried: a limit, or an error."""

    def __init__(self, path: Path, failed: str, why: Why, error: EtalisError | None = None) -> None:
        super().__init__(failed)
        self.path, self.failed, self.why, self.error = path, failed, why, error


class Meaning:
    """The executions of actions over one knowledge."""

    def __init__(self, solver: Solver, program: ActionProgram, limits: SearchLimits | None = None) -> None:
        self.solver = solver
        self.store = StateStore.of(solver.database)
        self.program = program
        self.limits = limits or SearchLimits()
        self.refused: frozenset[Label] = frozenset()
        self.attempts: list[PathAttempt] = []
        self.tries = 0
        self.is_ordered = False
        self.entered: FactSets | None = None

    def execute(
        self, action: Term, names: Names, state: FactSets, given: Mapping[str, Value] | None = None,
        refused: frozenset[Label] = frozenset(),
    ) -> tuple[Execution | Failed, FactSets]:  # fmt: skip
        """Return the first execution, or how far the longest attempt got, and the state after it."""
        start = self._begin(action, names, state, given or {}, refused)
        try:
            path = next(self._ends(start, Inside(), ()), None)
        except SearchEndError as end:
            return Failed(_labels(end.path), end.failed, end.why, end.error), state
        if path is None:
            best = _longest(self.attempts)
            return Failed(_labels(best.path), best.failed, best.why), state
        after = path[-1].after
        with bound(after.bindings):
            values = {name: to_value(variable) for name, variable in names.items()}
        return Execution(_labels(path), {n: x for n, x in values.items() if x is not None}), after.state

    def executions(self, action: Term, names: Names, state: FactSets) -> Iterator[tuple[tuple[Label, ...], FactSets]]:
        """Yield all executions in depth-first order, nothing that was tried being remembered: labels and last state."""
        start = self._begin(action, names, state, {}, frozenset())
        for path in self._ends(start, Inside(remembers=False), ()):
            yield _labels(path), path[-1].after.state

    def _begin(
        self, action: Term, names: Names, state: FactSets, given: Mapping[str, Value], refused: frozenset[Label]
    ) -> Configuration:
        self.attempts, self.tries, self.entered, self.refused = [], 0, None, refused
        self.is_ordered = takes_first(self.solver.database, self.program, action)
        bindings = {names[name]: from_value(value) for name, value in given.items() if name in names}
        return Configuration(action, state, bindings)

    # chains of steps

    def _ends(self, start: Configuration, inside: Inside, path: Path) -> Iterator[Path]:
        """Yield every chain of steps that leaves nothing to be done, in depth-first order, the path before included."""
        inside.known[self._key(start, inside)] = None
        stack = [(path, self._steps(start, inside, path, inside.entered), len(self.attempts))]
        while stack:
            here, steps, since = stack[-1]
            step = next(steps, None)
            if step is None:
                self._leave(here[-1].after if len(stack) > 1 else start, inside, here, since)
                stack.pop()
                continue
            longer = (*here, step)
            self._count(here)
            if _length(longer) > self.limits.max_path:
                raise SearchEndError(here, f"a path longer than max_path, {self.limits.max_path} steps", "limit")
            if step.after.rest is None:
                yield longer
            elif self._is_new(step.after, inside, longer):
                inside.known[self._key(step.after, inside)] = None
                stack.append((longer, self._steps(step.after, inside, longer), len(self.attempts)))

    def _is_new(self, configuration: Configuration, inside: Inside, path: Path) -> bool:
        """Tell whether a configuration was not met yet; one that was ends this attempt as it ended then."""
        key = self._key(configuration, inside)
        if key not in inside.known:
            return True
        found = inside.known[key]
        if found is None:
            self.attempts.append(PathAttempt(path, REPEATED, "no execution"))
        else:
            self.attempts.extend(PathAttempt((*path, *a.path), a.failed, a.why) for a in found)
        return False

    def _leave(self, configuration: Configuration, inside: Inside, here: Path, since: int) -> None:
        """Remember how far the longest attempt got from a configuration."""
        key = self._key(configuration, inside)
        if not inside.remembers:
            del inside.known[key]
            return
        n = len(here)
        mine = [a for a in self.attempts[since:] if not n or (len(a.path) >= n and a.path[n - 1] is here[-1])]
        best = [_longest(mine)] if mine else []
        inside.known[key] = [PathAttempt(a.path[n:], a.failed, a.why) for a in best]

    def _key(self, configuration: Configuration, inside: Inside) -> Any:
        """Return what equal configurations have in common: variables by any names, facts in order if that matters."""
        with bound(configuration.bindings):
            rest = flatten_key(("", configuration.rest or "", *inside.answers))
        form = tuple if self.is_ordered else frozenset
        return rest, tuple(form(rows) for rows in configuration.state.values())

    def _count(self, path: Path) -> None:
        self.tries += 1
        if self.tries > self.limits.max_tries:
            raise SearchEndError(path, f"more than max_tries, {self.limits.max_tries} steps tried", "limit")

    def _fail(self, path: Path, failed: str, why: Why = "no execution") -> None:
        self._count(path)
        self.attempts.append(PathAttempt(path, failed, why))

    # steps

    def _steps(self, before: Configuration, inside: Inside, path: Path, entered: int = 0) -> Iterator[PathStep]:
        """Yield every step from a configuration, in order."""
        for leaf, around, bindings, inner in self._leaves(before, path, entered):
            here = Configuration(leaf, before.state, bindings)
            steps = self._leaf_steps(here, inside, path, inner)
            while True:
                try:
                    step = next(steps, None)
                except LogicError as error:
                    raise SearchEndError(path, self._show(here), "error", error) from None
                if step is None:
                    break
                after = step.after
                rest = _put_together(after.rest, around)
                yield PathStep(Configuration(rest, after.state, after.bindings), step.labels, step.length)

    def _leaves(self, before: Configuration, path: Path, entered: int) -> Iterator[tuple[Term, Around, Bindings, int]]:
        """Yield every part of an action that may be next, with what stands around it and what clauses have bound."""
        todo: list[tuple[Term, Around, Bindings, int]] = [(before.rest, None, before.bindings, entered)]
        while todo:
            action, around, bindings, entered = todo.pop()
            match action:
                case ("seq", left, right):
                    todo.append((left, ("seq", right, around), bindings, entered))
                case ("par", left, right):
                    todo.append((right, ("right of", left, around), bindings, entered))
                    todo.append((left, ("left of", right, around), bindings, entered))
                case ("or", left, right):
                    todo.append((right, around, bindings, entered))
                    todo.append((left, around, bindings, entered))
                case ("call", *_):
                    bodies = self._bodies(action, before, bindings, path, entered)
                    todo.append((("clauses", bodies), around, bindings, entered))
                case ("clauses", bodies):
                    found = next(bodies, None)
                    if found is not None:
                        todo.append((action, around, bindings, entered))
                        todo.append((found[0], around, found[1], entered + 1))
                case _:
                    yield action, around, bindings, entered

    def _bodies(
        self, call: Term, before: Configuration, bindings: Bindings, path: Path, entered: int
    ) -> Iterator[tuple[Term, Bindings]]:
        """Yield the bodies of the clauses whose heads a call fits, with the bindings that make it fit."""
        if _length(path) + entered >= self.limits.max_path:
            raise SearchEndError(path, f"a path longer than max_path, {self.limits.max_path} steps", "limit")
        goal, fits = deref(call[1]), False
        for clause in self.program.clauses[key_of(goal)]:
            self._count(path)
            _, head, body = copy(("clause", *clause))
            trail = Trail()
            with bound(bindings):
                same = unify(head, goal, trail)
                more = {v: v.ref for v in trail}
                undo(trail, 0)
            if same:
                fits = True
                yield body, {**bindings, **more}
        if not fits:
            self._fail(path, self._show(Configuration(call, before.state, bindings)))

    def _leaf_steps(self, here: Configuration, inside: Inside, path: Path, entered: int) -> Iterator[PathStep]:
        """Yield the steps of a part of an action that is no composition: the rest is what is left of the part."""
        leaf, state, bindings = here.rest, here.state, here.bindings
        match leaf:
            case "skip":
                yield PathStep(Configuration(None, state, bindings))
            case "abort":
                self._fail(path, "abort")
            case ("ins" | "del" | "set", *_):
                yield from self._change(here, inside, path)
            case ("raise" | "effect", *_):
                with bound(bindings):
                    label = label_of(leaf)
                if label in self.refused:
                    self._fail(path, str(label), "effect refused")
                else:
                    yield PathStep(Configuration(None, state, bindings), (label,))
            case ("test", *_):
                fits = False
                for found in self._solutions(here):
                    fits = True
                    yield PathStep(Configuration(None, state, found))
                if not fits:
                    self._fail(path, self._show(here))
            case ("possible" | "impossible", *_):
                found_one = self._possibility(here, inside, path, entered)
                if found_one is None:
                    self._fail(path, self._show(here))
                else:
                    yield PathStep(Configuration(None, state, found_one))
            case ("choose", test, then, otherwise):
                part = Configuration(test, state, bindings)
                is_test = test[0] == "test"
                chosen = (
                    next(self._solutions(part), None) if is_test else self._possibility(part, inside, path, entered)
                )
                then, after = (otherwise, bindings) if chosen is None else (then, chosen)
                yield PathStep(Configuration(then, state, after))
            case ("iso", *_):
                yield from self._isolated(here, inside, path, entered)

    def _change(self, here: Configuration, inside: Inside, path: Path) -> Iterator[PathStep]:
        """Yield the one step of a change of facts, if it is one."""
        with bound(here.bindings):
            label, (name, row) = label_of(here.rest), fact_of(here.rest[1], here.rest[2:])
            key = (name, len(row))
            predicate = self.store.predicate(*key)
            rows = here.state[key]
            size = predicate.key or len(row)
            match label.kind:
                case "del":
                    rows = tuple(other for other in rows if not _fits(row, other))
                case "set":
                    rows = (*(other for other in rows if other[:size] != row[:size]), row)
                case _ if row not in rows:
                    rows = (*rows, row)
        if label.kind == "ins" and any(x != row and x[:size] == row[:size] for x in rows):
            self._fail(path, str(label))
            return
        after = here.state if rows == here.state[key] else {**here.state, key: rows}
        step = PathStep(Configuration(None, after, here.bindings), (label,))
        yield from self._legal(here.state, step, inside, path)

    def _isolated(self, here: Configuration, inside: Inside, path: Path, entered: int) -> Iterator[PathStep]:
        """Yield one step for each outcome of an action that nothing interrupts."""
        with bound(here.bindings):
            answers = tuple(dict.fromkeys(variables(here.rest[1])))
        within, outcomes = Inside(answers, True, inside.remembers, entered), set()
        for end in self._ends(Configuration(here.rest[1], here.state, here.bindings), within, path):
            mine, last = end[len(path) :], end[-1].after
            outcome = self._key(last, within)
            if outcome not in outcomes:
                outcomes.add(outcome)
                step = PathStep(Configuration(None, last.state, last.bindings), _labels(mine), _length(mine))
                yield from self._legal(here.state, step, inside, path)

    def _legal(self, before: FactSets, step: PathStep, inside: Inside, path: Path) -> Iterator[PathStep]:
        """Yield a step, unless it changes the state into an illegal one."""
        state = step.after.state
        broken = None if state is before or inside.isolated else self._broken(state, path)
        if broken is None:
            yield step
        else:
            self._fail((*path, step), broken, "illegal state")

    def _broken(self, state: FactSets, path: Path) -> str | None:
        """Return the first goal of `always` that a state does not meet."""
        for goal, written in self.program.always:
            try:
                if next(self._solutions(Configuration(("test", goal), state, {})), None) is None:
                    return written
            except LogicError as error:
                raise SearchEndError(path, written, "error", error) from None
        return None

    def _possibility(self, here: Configuration, inside: Inside, path: Path, entered: int) -> Bindings | None:
        """Return the bindings with which a possibility holds: those of the first execution of its action."""
        kind, action, *_ = here.rest
        mark, within = len(self.attempts), Inside((), inside.isolated, inside.remembers, entered)
        try:
            end = next(self._ends(Configuration(action, here.state, here.bindings), within, path), None)
        except SearchEndError as error:
            error.path = path
            raise
        del self.attempts[mark:]
        if kind == "impossible":
            return here.bindings if end is None else None
        return None if end is None else end[-1].after.bindings

    # goals

    def _solutions(self, here: Configuration) -> Iterator[Bindings]:
        """Yield the solutions of a test, each found when it is asked for."""
        goal = here.rest[1]
        for number in count(1):
            self._enter(here.state)
            machine = Machine(self.solver.database, self.solver.limits, host=self.solver.host)
            with bound(here.bindings):
                mine = list(dict.fromkeys(variables(goal)))
                found = machine.run((call_goal, (goal,), DONE))
                for _ in range(number - 1):
                    found = found and machine.run(None)
                more = {v: v.ref for v in mine if v.ref is not None}
                for variable in mine:
                    variable.ref = None
            if not found:
                return
            yield {**here.bindings, **more}

    def _enter(self, state: FactSets) -> None:
        """Let goals see a state."""
        if state is not self.entered:
            self.store.load(state)
            self.entered = state

    def _show(self, here: Configuration) -> str:
        with bound(here.bindings):
            return show_leaf(here.rest)


@contextmanager
def bound(bindings: Bindings) -> Iterator[None]:
    """Let variables have their values."""
    for variable, term in bindings.items():
        variable.ref = term
    try:
        yield
    finally:
        for variable in bindings:
            variable.ref = None


def _put_together(rest: Term | None, around: Around) -> Term | None:
    """Return what is left of an action when a part of it has made a step."""
    while around is not None:
        operator, other, around = around
        match operator:
            case "seq":
                rest = sequence(rest, other)
            case "left of":
                rest = interleaved(rest, other)
            case _:
                rest = interleaved(other, rest)
    return rest


def _fits(pattern: Row, row: Row) -> bool:
    trail = Trail()
    fits = unify(("", *pattern), ("", *row), trail) if row else True
    undo(trail, 0)
    return fits


def _labels(path: Path) -> tuple[Label, ...]:
    return tuple(label for step in path for label in step.labels)


def _length(path: Path) -> int:
    return sum(step.length for step in path)


def _longest(attempts: Sequence[PathAttempt]) -> PathAttempt:
    """Return the longest attempt, the first of equals."""
    return max(attempts, key=lambda attempt: _length(attempt.path))
