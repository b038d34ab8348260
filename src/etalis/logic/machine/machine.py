"""The machine that runs goals: SLD resolution on explicit stacks.

What is left to do is a chain of frames `(code, args, continuation)`; running a frame gives the next one, or None for
failure. Alternatives wait on `choices` as (length of the trail, frame). Nothing recurses, so a chain of a million calls
is a chain of a million tuples; the last call of a clause leaves nothing behind.
Law: a frame's registers are written only ahead of their reading on each path, so alternatives may share them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import thread_time
from typing import Any, TypeAlias

from etalis.logic.errors import LogicError, LogicLimitError, too_many_steps
from etalis.logic.host import NO_HOST, Host
from etalis.logic.terms.unify import MAX_CELLS, Term, Trail, Variable, copy, undo, unify

Frame: TypeAlias = tuple[Any, Any, Any]
Code: TypeAlias = Callable[["Machine", Any, Any], Frame | None]
Test: TypeAlias = Callable[["Machine", Any], bool]

_AUDIT_INTERVAL = 65_536


@dataclass(frozen=True, slots=True)
class GoalLimits:
    """What one goal may use: steps of the machine, pending frames and alternatives, compound terms in a copied term.

    `memory` counts blocks of the interpreter, one for about every compound, variable or number: 10 million are some
    800 MB. `time` is in seconds of the clock. Depth, memory and time are looked at every 65,536 steps, so a goal may
    overshoot them by what it does between. `is_cap` says that the steps are those of the flag `max_steps`.
    Law: steps, depth and size are the same on every machine; steps bound the others, as what takes long is worth more.
    """

    steps: int = 5_000_000
    depth: int = 2_000_000
    size: int = MAX_CELLS
    memory: int = 10_000_000
    time: float | None = None
    clock: Callable[[], float] = thread_time
    is_cap: bool = False

    def capped(self, steps: int | None) -> GoalLimits:
        """Return the limits of which no goal may take more than so many steps; None is no bound."""
        return self if steps is None or steps > self.steps else replace(self, steps=steps, is_cap=True)


def limited_trail(limits: GoalLimits) -> Trail:
    """Return the trail of a goal, which counts its work."""
    trail = Trail()
    trail.limit_steps(limits.steps, is_cap=limits.is_cap)
    trail.memory = limits.memory
    if limits.time is not None:
        trail.limit_time(limits.time, limits.clock)
    return trail


def _finish(_machine: Machine, _args: Any, _cont: Any) -> Frame | None:
    return DONE


DONE: Frame = (_finish, None, None)


class Machine:
    """The state of one goal being solved.

    Its `Database`, `Tabling` and `View` run on machines, so they are typed where they are used, not here.
    """

    __slots__ = (
        "_interval",
        "_next_depth_check",
        "_ticks",
        "choices",
        "database",
        "extra",
        "globals",
        "host",
        "limits",
        "steps",
        "tabling",
        "trail",
        "view",
    )

    def __init__(
        self,
        database: Any,
        limits: GoalLimits,
        extra: Mapping[tuple[str, int], Term] | None = None,
        host: Host = NO_HOST,
        trail: Trail | None = None,
    ) -> None:
        self.database = database
        self.limits = limits
        self.extra = extra
        self.host = host
        self.tabling: Any = None
        self.view: Any = None
        self.globals: dict[Term, Variable] | None = None  # the values of `b_setval/2`
        self.choices: list[tuple[int, Frame]] = []
        self.trail = limited_trail(limits) if trail is None else trail
        self.steps = 0
        self._next_depth_check = 0
        self._interval = min(_AUDIT_INTERVAL, limits.steps)
        self._ticks: Iterator[int] = iter(range(self._interval))

    def run(self, frame: Frame | None) -> bool:
        """Run until the goal succeeds (True) or nothing is left to try (False); frame None asks for the next one."""
        choices, trail, cont = self.choices, self.trail, None
        while True:
            try:
                for _ in self._ticks:
                    if frame is None:
                        if not choices:
                            return False
                        mark, frame = choices.pop()
                        while len(trail) > mark:
                            trail.pop().ref = None
                    code, args, cont = frame
                    frame = code(self, args, cont)
                    if frame is DONE:
                        return True
                self._audit(frame)
            except LogicError as error:
                frame = self._recover(error, cont)

    def _audit(self, frame: Frame | None) -> None:
        """Look at the limits, let go of what the trail need not remember, and start the next stretch of steps."""
        self.steps += self._interval
        if self.steps >= self.limits.steps:
            raise too_many_steps(self.limits.steps, is_cap=self.limits.is_cap)
        if len(self.choices) > self.limits.depth:
            raise LogicLimitError("depth", self.limits.depth)
        if self.steps >= self._next_depth_check:
            self._next_depth_check = self.steps + self._measure_depth(frame)
        self._trim_trail()
        self.trail.look()
        self._interval = min(_AUDIT_INTERVAL, self.limits.steps - self.steps)
        self._ticks = iter(range(self._interval))

    def _measure_depth(self, frame: Frame | None) -> int:
        depth = 0
        while frame is not None:
            depth += 1
            frame = frame[2]
        if depth > self.limits.depth:
            raise LogicLimitError("depth", self.limits.depth)
        return depth

    def _trim_trail(self) -> None:
        """Forget bindings since the last choice whose variable nobody else holds: undoing them would show nowhere."""
        mark = self.choices[-1][0] if self.choices else 0
        if not self.choices:
            self.trail.clear()
            return
        recent = self.trail[mark:]
        del self.trail[mark:]
        while recent:
            variable = recent.pop()
            if sys.getrefcount(variable) > 2:
                self.trail.append(variable)

    def _recover(self, error: LogicError, cont: Frame | None) -> Frame:
        """Return where to go on after an error: the recovery of the innermost catch/3 that is active and matches."""
        if isinstance(error, LogicLimitError):
            raise error
        active = set()
        while cont is not None:
            if cont[0] is leave_catch:
                active.add(id(cont[1]))
            cont = cont[2]
        while self.choices:
            mark, frame = self.choices.pop()
            undo(self.trail, mark)
            if self.tabling is not None:
                self.tabling.abandon(frame)
            if frame[0] is restore_host:
                restore_host(self, frame[1], frame[2])
            if frame[0] is _catch_failed and id(frame[1]) in active:
                catcher, recovery = frame[1]
                if unify(copy(error.term, self.limits.size, self.trail), catcher, self.trail):
                    return recovery[0], recovery[1], frame[2]
                undo(self.trail, mark)
        raise error

    def choose(self, target: Term, candidates: Iterable[Term], cont: Frame) -> Frame | None:
        """Unify a target with one candidate after the other, on backtracking with the next."""
        rest = iter(candidates)
        return _choose(self, (target, rest, next(rest, None)), cont)


def _choose(machine: Machine, args: tuple[Term, Iterator[Term], Term], cont: Frame) -> Frame | None:
    target, rest, candidate = args
    trail = machine.trail
    mark = len(trail)
    while candidate is not None:
        following = next(rest, None)  # asked for ahead, so that the last candidate leaves no choice behind
        if unify(target, candidate, trail):
            if following is not None:
                machine.choices.append((mark, (_choose, (target, rest, following), cont)))
            return cont
        undo(trail, mark)
        candidate = following
    return None


def enter_catch(
    machine: Machine, goal: tuple[Code, Any], catcher: Term, recovery: tuple[Code, Any], cont: Frame
) -> Frame:
    """Run a goal under a catcher; `recovery` is run in its place when it raises an error that matches."""
    cell = (catcher, recovery)
    machine.choices.append((len(machine.trail), (_catch_failed, cell, cont)))
    return goal[0], goal[1], (leave_catch, cell, cont)


def _catch_failed(_machine: Machine, _cell: Any, _cont: Frame) -> Frame | None:
    return None


def leave_catch(machine: Machine, cell: Any, cont: Frame) -> Frame:
    """Leave a catch/3 whose goal succeeded; with no alternative left inside, its choice goes too."""
    choices = machine.choices
    if choices and choices[-1][1][1] is cell:
        choices.pop()
    return cont


def restore_host(machine: Machine, host: Host, _cont: Frame) -> Frame | None:
    """Give the goals behind the host back that they had: a goal with an output of its own failed or raised."""
    machine.host = host
    return None


def fail(_machine: Machine, _args: Any, _cont: Any) -> Frame | None:
    """The code that always fails."""
    return None


FAIL: Frame = (fail, None, None)


def collect(machine: Machine, args: tuple[list[Term], Term], _cont: Frame) -> Frame | None:
    """Keep one solution of findall and ask for the next."""
    results, template = args
    results.append(copy(template, machine.limits.size, machine.trail))
    if len(results) > machine.limits.size:
        raise LogicLimitError("size", machine.limits.size)
    return None


def refute(machine: Machine, args: tuple[list[Any], int], _cont: Frame) -> Frame | None:
    """A negated goal has a solution; the height of the choices before it stands in a register."""
    registers, mark = args
    del machine.choices[registers[mark] :]
    return None


def commit(machine: Machine, args: tuple[list[Any], int, Code], cont: Frame) -> Frame | None:
    """The condition of `->` holds: go on with what follows it, and with nothing else."""
    registers, mark, then = args
    del machine.choices[registers[mark] :]
    return then(machine, registers, cont)


def commit_softly(machine: Machine, args: tuple[list[Any], int, Code], cont: Frame) -> Frame | None:
    """The condition of `*->` holds: only the other branch is given up."""
    registers, mark, then = args
    height = registers[mark]
    machine.choices[height] = (machine.choices[height][0], FAIL)
    return then(machine, registers, cont)


# What waits for the end of a goal to draw a conclusion from all its answers, or from there being none.
GUARDS: frozenset[Code] = frozenset((collect, refute, commit, commit_softly))
