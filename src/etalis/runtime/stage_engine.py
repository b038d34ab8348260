"""The engine of one stage: some rules of a program, in a run whose other rules run elsewhere.

What other rules derived comes with the key of its step and its round, and is put into that round beside what the own
rules make, sorted as one round; what the own rules make is handed on in the same way. Law: the own rules make exactly
what they would make in one engine with all rules, because every event reaches them in the same place of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from etalis.runtime.deadlines.timers import LEVELS
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.state import NEVER, HeadKind, Made, Raw, sort_round
from etalis.runtime.step_keys import ALARMS, due_key, is_due, read_due, time_of
from etalis.temporal.event import EventKind
from etalis.temporal.rope import CutRope


@dataclass(slots=True)
class Step:
    """One step of the run: an input, if these rules read it, and what others derived in it, as (round, event).

    The key is found when it is needed: most inputs cause nothing.
    """

    find_key: Callable[[], bytes]
    event: tuple[str, tuple[Any, ...], int, int] | None = None  # name, values, start, end
    derived: list[tuple[int, Raw]] = field(default_factory=list)
    name: str = ""  # what the input is called, where matches tell what they are made of
    known: bytes | None = None

    @property
    def key(self) -> bytes:
        """Its place in the run."""
        if self.known is None:
            self.known = self.find_key()
        return self.known

    @staticmethod
    def of(key: bytes) -> Step:
        """Return a step of which nothing is known but its key."""
        return Step(lambda: key, known=key)


Derived = tuple[Step, int, Raw]  # the step, the round, the event


class Relay:
    """Takes steps in order and returns what its rules derive, with step and round.

    Where ropes are kept, `receive` is told the place and the name of each input when it has got its number.
    """

    def __init__(self, engine: RuntimeEngine, receive: Callable[[bytes, str], object] | None = None) -> None:
        self._receive = receive
        self._run_loop = engine.core.run_loop
        self._state = engine.core.run_loop.state
        self._rules = engine.core.run_loop.rules
        self._made: dict[EventKind, Made] = {}
        self._due: tuple[int, int | None, int] = (NEVER, None, 0)  # what fell due last: time, absences since, number

    def take(self, step: Step) -> list[Derived]:
        """Take the next step, and what falls due before it."""
        out: list[Derived] = []
        if step.event is not None:
            self._pass_time(step.event[3], out)
            self._take_input(step, step.event[3], out)
        else:
            self._pass_before(step.key, out)
            if is_due(step.key):
                self._fall_due(step, self._next_key() == step.key, out)
            else:
                self._take_input(step, time_of(step.key), out)
        return out

    def close(self) -> list[Derived]:
        """Let everything fall due."""
        return self._let_pass(NEVER)

    def advance(self, time: int) -> list[Derived]:
        """Let fall due what is due at or before a moment."""
        return self._let_pass(time + 1)

    def _let_pass(self, end: int) -> list[Derived]:
        out: list[Derived] = []
        self._pass_time(end, out)
        return out

    def _pass_time(self, end: int, out: list[Derived]) -> None:
        """Let fall due what comes before the inputs of a moment."""
        while self._state.timers.due < end and (key := self._next_key()) is not None:
            self._fall_due(Step.of(key), True, out)

    def _pass_before(self, limit: bytes, out: list[Derived]) -> None:
        """Let fall due what comes before a step."""
        while (key := self._next_key()) is not None and key < limit:
            self._fall_due(Step.of(key), True, out)

    def _take_input(self, step: Step, time: int, out: list[Derived]) -> None:
        run_loop, state = self._run_loop, self._state
        taking, run_loop.taking = run_loop.taking, True
        try:
            state.now = max(state.now, time)
            run_loop.made = 0
            state.tag = None
            if step.event is not None:
                self._offer(step, *step.event)
            if state.queue or step.derived:
                self._settle(step, out)
        finally:
            run_loop.taking = taking

    def _offer(self, step: Step, name: str, values: tuple[Any, ...], start: int, end: int) -> None:
        raw: Raw = (end, start, None, *values)
        if self._rules.traced:
            self._state.number += 1
            raw = (*raw, self._state.number)
            if self._receive is not None:
                self._receive(step.key, step.name)
        self._run_loop.occur(name, len(values), raw)

    def _next_key(self) -> bytes | None:
        """Return the key of what falls due next by the own rules."""
        first = self._state.timers.first()
        if first is None:
            return None
        due, back, sequence = first[:3]
        if -back < NEVER:
            return due_key(due, -back, sequence >> LEVELS << ALARMS)
        time, level, number = self._due
        return due_key(due, level, number + 1) if time == due else due_key(due, None, 1)

    def _fall_due(self, step: Step, is_own: bool, out: list[Derived]) -> None:
        """Take a step of what falls due: of the own rules, of others, or of both."""
        run_loop, state = self._run_loop, self._state
        taking, run_loop.taking = run_loop.taking, True
        try:
            state.now = max(state.now, time_of(step.key))
            self._due = read_due(step.key)
            if is_own:
                state.fall_due()
            self._settle(step, out)
        finally:
            run_loop.taking = taking

    def _settle(self, step: Step, out: list[Derived]) -> None:
        """Process round by round what was caused here and elsewhere, until nothing new comes."""
        queue = self._state.queue
        others = sorted(step.derived, key=itemgetter(0))
        number = place = 0
        while queue or place < len(others):
            number = number + 1 if queue else others[place][0]
            batch = queue[:]
            queue.clear()
            own = set(map(id, batch))
            while place < len(others) and others[place][0] == number:
                if self._is_new(others[place][1]):
                    batch.append(others[place][1])
                place += 1
            if batch:
                if len(batch) > 1:
                    sort_round(batch)
                self._run_loop.count(len(batch), batch[-1])
                self._pass_on(batch, own, step, number, out)

    def _is_new(self, raw: Raw) -> bool:
        """Tell whether no other shard has made an event of this moment that is equal."""
        kind: EventKind = raw[2]
        return self._made.setdefault(kind, Made()).note(raw, kind.arity)

    def _pass_on(self, batch: list[Raw], own: set[int], step: Step, number: int, out: list[Derived]) -> None:
        """Offer the events of a round to the own rules, and hand on those that the own rules made."""
        rules = self._rules
        for raw in batch:
            kind: EventKind = raw[2]
            feeds = rules.processors.get((kind.name, kind.arity))
            if id(raw) in own:
                assert isinstance(kind, HeadKind)
                out.append((step, number, raw))
                feeds = kind.feeds
            elif rules.traced and len(raw) == 3 + kind.arity:
                raw = (*raw, CutRope(0))  # what others derived came without
            if feeds is not None:
                if rules.numbered:
                    self._run_loop.number(raw, kind)
                feeds(raw)
