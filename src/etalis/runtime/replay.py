"""A second engine of the same rules, in which the history of one partition is run again.

Only the partition's own events go through it, so all the state it comes to is that partition's, whatever the join keys.
It is then put in the place of the partition's state in the engine that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.plan.keys import Kind
from etalis.runtime.changes import Changes
from etalis.runtime.course import Course
from etalis.runtime.row_log import Row
from etalis.runtime.state import BEGINNING, Raw
from etalis.runtime.tables import Fifo, Table, fifos_of, logs_of, tables_of

if TYPE_CHECKING:
    from etalis.runtime.program import Program
    from etalis.runtime.ruleset import RuleSet

Chain = list[tuple[Row, int]]  # rows of one partition with the numbers of their kinds
TimerData = tuple[int, int, Hashable, Any]  # due, since, place of the owner, payload
_OWN_NUMBERS = -(1 << 62)  # events of a replay are numbered apart from those of the engine that runs


@dataclass(frozen=True, slots=True)
class Content:
    """The state of a partition: its tables, queues, logs and timers, and the time it has reached."""

    tables: tuple[Table, ...]
    fifos: tuple[tuple[Any, ...], ...]
    logs: tuple[list[Any], ...]
    timers: tuple[TimerData, ...]
    now: int

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not any(self.tables) and not any(self.logs) and not self.timers


class Shelves:
    """The state of a rule set, opened for lifting partitions in and out."""

    def __init__(self, rules: RuleSet, keys: Sequence[Any]) -> None:
        parts = [rules.memory[key] for key in keys]
        self.tables: list[Table] = [table for part in parts for table in tables_of(part)]
        self.fifos: list[Fifo] = [fifo for part in parts for fifo in fifos_of(part)]
        self.logs: list[list[Any]] = [log for part in parts for log in logs_of(part)]
        self.owners = rules.timer_owners()
        self.state = rules.state

    def take(self) -> Content:
        """Take everything out."""
        content = Content(
            tuple([table.copy() for table in self.tables]),
            tuple([tuple(fifo) for fifo in self.fifos]),
            tuple([log.copy() for log in self.logs]),
            tuple((t[0], -t[1], t[3].place, t[4]) for t in sorted(self.state.timers, key=lambda t: t[:3])),
            self.state.now,
        )
        for table in self.tables:
            table.clear()
        for fifo in self.fifos:
            fifo.clear()
        for log in self.logs:
            log.clear()
        self.state.clear_timers()
        return content

    def put(self, content: Content) -> None:
        """Put a partition's state in, beside what is there."""
        for table, taken in zip(self.tables, content.tables, strict=True):
            table.update(taken)
        for fifo, ends in zip(self.fifos, content.fifos, strict=True):
            fifo.extend(ends)
        for log, items in zip(self.logs, content.logs, strict=True):
            log.extend(items)
        for due, since, place, payload in content.timers:
            self.state.schedule(due, since, self.owners[place], payload)

    def drop(self, content: Content) -> None:
        """Take a partition's state out; its timers go with their tag."""
        for table, taken in zip(self.tables, content.tables, strict=True):
            for key in taken:
                table.pop(key, None)
        for log, items in zip(self.logs, content.logs, strict=True):
            del log[: len(items)]

    def has_none_of(self, content: Content) -> bool:
        """Tell whether nothing of a partition's state is here any more."""
        if content.timers or any(content.logs):
            return False
        pairs = zip(self.tables, content.tables, strict=True)
        return all(table.keys().isdisjoint(taken) for table, taken in pairs)


class Replayer:
    """Runs histories from the states they begin with; between runs it is empty."""

    def __init__(
        self, program: Program, again: Callable[..., RuleSet], kinds: Sequence[Kind], places: Sequence[Any]
    ) -> None:
        self.errors: list[ConditionError] = []
        self.rules = again(report=self.errors.append)
        self.state = self.rules.state
        self.state.current = _OWN_NUMBERS
        self.course = Course(program, _change_nothing)
        self.course.begin(self.rules, Changes(self.state, self.rules.conditions.solver.database, self.errors.append))
        self.shelves = Shelves(self.rules, places)
        self.kinds = kinds
        self.processors = [self.rules.processors.get(kind, _nothing) for kind in kinds]
        self.ticks = list(self.rules.ticks)
        self._errors_before: list[ConditionError] = []
        for kind in self.rules.heads.kinds.values():
            kind.reported = True

    def run(self, base: Content | None, chain: Chain, settled: int, now: int, floor: int) -> tuple[list[Raw], Content]:
        """Run a history up to the time reached, deadlines as far as they are settled.

        Return all that it makes, and the state that it comes to.
        """
        self._begin(base)
        course = self.course
        course.settled = settled
        out: list[Raw] = []
        self._run(chain, out)
        course.pass_time(now, out, inclusive=False)
        course.pass_time(floor, out, inclusive=True)
        for raw in out:
            raw[2].made.reset()
        return out, self.shelves.take()

    def swap(self, key: Any, old: Chain, new: Chain, live: Shelves) -> tuple[list[Raw], list[Raw]]:
        """Run a history as it was and as it is, where all that waits stands under the bare key and nothing is timed.

        Return what either makes, and put the state in the place of the key's.
        """
        was = self._run_plainly(old)
        tables, fifos = self.shelves.tables, self.shelves.fifos
        for table in tables:
            if table:
                table.clear()
        for fifo in fifos:
            fifo.clear()
        made = self._run_plainly(new)
        for table, other in zip(tables, live.tables, strict=True):
            other.pop(key, None)
            if table:
                other.update(table)
                table.clear()
        if fifos:
            for fifo, queue in zip(fifos, live.fifos, strict=True):
                queue.extend(fifo)
                fifo.clear()
        return was, made

    def _run_plainly(self, chain: Chain) -> list[Raw]:
        course, state, processors = self.course, self.state, self.processors
        queue = state.queue
        self._forget_errors()
        out: list[Raw] = []
        for row, number in chain:
            state.reached = row[0]
            processors[number](row)
            if queue:
                if len(queue) == 1 and queue[0][2].feeds is None:  # no rounds follow, and all that is made is reported
                    out.append(queue.pop())
                else:
                    course.made = 0
                    course.settle(out)
        for raw in out:
            raw[2].made.reset()
        return out

    def _forget_errors(self) -> None:
        """Keep the errors of the last run apart from those of the next."""
        if self.errors or self._errors_before:
            self._errors_before = self.errors.copy()
            self.errors.clear()

    def new_errors(self) -> list[ConditionError]:
        """Return the errors of conditions in the last run that the one before did not have."""
        if not self.errors:
            return []
        known = set(map(str, self._errors_before))
        return [error for error in self.errors if str(error) not in known]

    def _begin(self, base: Content | None) -> None:
        state = self.state
        self._forget_errors()
        state.now = BEGINNING if base is None else base.now
        state.floor = BEGINNING
        if base is not None:
            self.shelves.put(deepcopy(base))
        if self.ticks:
            self.rules.ticks = [tick for tick in self.ticks if tick[0] > state.now]

    def _run(self, chain: Chain, out: list[Raw]) -> None:
        course, state, numbered = self.course, self.state, self.rules.numbered
        for row, number in chain:
            end = row[0]
            if end != state.now:
                course.move_to(end, out)
            course.made = 0
            if numbered:
                state.number, state.parts = row[2], (row[2],)
                course.occur(*self.kinds[number], row)
            else:
                self.processors[number](row)
            if state.queue:
                course.settle(out)


def _change_nothing(step: Any) -> None:
    """Goals that act on a run are refused where events are run again."""
    raise AssertionError(step)


def _nothing(row: Row) -> None:
    """An event that no rule reads, but isolation must see."""
