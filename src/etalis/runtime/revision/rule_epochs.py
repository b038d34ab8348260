"""Rule epochs: the intervals of a history between two changes of rules, each run under the rules of its time.

A change of rules, a turn, has its place in the history: after all that was processed before it. What waits goes over to
the parts of rules that are still there, as it does in the engine that runs; new parts begin empty.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from etalis.plan.keys import Kind
from etalis.runtime.deadlines.timers import PENDING
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.operators.blockers import Blockers, EventLog, LooseBlockers
from etalis.runtime.operators.partition_state import Fifo, Table, fifos_of, logs_of, tables_of
from etalis.runtime.operators.store import Doubles
from etalis.runtime.revision.row_log import Row
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet

TimerData = tuple[int, int, Hashable, Any]  # due, since, place of the owner, payload
_PLAIN = (
    dict,
    deque,
    Blockers,
    LooseBlockers,
    EventLog,
    Doubles,
    Unmatched,
    Waiter,
)  # what keeps plain instances alone
Slot = tuple[Hashable, int]  # a part of the state, and the number of one of its stores


@dataclass(frozen=True, slots=True)
class Content:
    """The state of a partition: its tables, queues, logs and timers, and the time it has reached.

    `epoch` says under which rules it stands, `expires` after which moment nothing that waits can be used any more.
    """

    tables: tuple[Table, ...]
    fifos: tuple[tuple[Any, ...], ...]
    logs: tuple[list[Any], ...]
    timers: tuple[TimerData, ...]
    now: int
    epoch: int = 0
    expires: int = NEVER

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not any(self.tables) and not any(self.logs) and not self.timers

    def copied(self) -> Content:
        """Return a copy whose groups are its own; the instances in them never change."""
        tables = tuple([{key: _copied(group) for key, group in table.items()} for table in self.tables])
        return replace(self, tables=tables, logs=tuple([log.copy() for log in self.logs]))

    def with_other(self, other: Content) -> Content:
        """Return the state of two partitions of one epoch together."""
        assert self.epoch == other.epoch
        return Content(
            tuple({**a, **b} for a, b in zip(self.tables, other.tables, strict=True)),
            tuple(tuple(sorted((*a, *b), key=_end)) for a, b in zip(self.fifos, other.fifos, strict=True)),
            tuple([*a, *b] for a, b in zip(self.logs, other.logs, strict=True)),
            tuple(sorted((*self.timers, *other.timers), key=lambda timer: timer[:2])),
            max(self.now, other.now), self.epoch, max(self.expires, other.expires),
        )  # fmt: skip


def _copied(group: Any) -> Any:
    kind = type(group)
    return group if kind is tuple else group.copy() if kind is list or kind is deque else deepcopy(group)


def _end(item: tuple[int, Any]) -> int:
    return item[0]


class Shelves:
    """The state of a rule set, opened for lifting partitions in and out."""

    def __init__(self, rules: RuleSet, places: Sequence[Any]) -> None:
        parts = [(place, rules.memory[place]) for place in places]
        self.tables: list[Table] = [table for _, part in parts for table in tables_of(part)]
        self.fifos: list[Fifo] = [fifo for _, part in parts for fifo in fifos_of(part)]
        self.logs: list[list[Any]] = [log for _, part in parts for log in logs_of(part)]
        self.whole = [isinstance(part, EventLog) for _, part in parts for _ in logs_of(part)]  # all is one partition
        self.slots = [
            [(place, i) for place, part in parts for i in range(len(of(part)))] for of in (tables_of, fifos_of, logs_of)
        ]
        self.owners = rules.timer_owners()
        self.unmatched = [part for _, part in parts if isinstance(part, Unmatched)]
        self.state = rules.state
        self._is_plain = all(isinstance(part, _PLAIN) for _, part in parts)

    def copy(self, content: Content) -> Content:
        """Return a partition's state as one that can be changed apart; what counts refers to its parts, and so on."""
        return content.copied() if self._is_plain else deepcopy(content)

    def look(self) -> Content:
        """Return everything as it is now, in the groups that are still in use."""
        return Content(
            tuple([table.copy() for table in self.tables]),
            tuple([tuple(fifo) for fifo in self.fifos]),
            tuple([log.copy() for log in self.logs]),
            tuple((t[0], -t[1], t[3].place, t[4]) for t in self.state.timers.in_order() if t[3].awaits(t[4])),
            self.state.now,
        )

    def take(self) -> Content:
        """Take everything out."""
        content = self.look()
        for table in self.tables:
            table.clear()
        for fifo in self.fifos:
            fifo.clear()
        for log in self.logs:
            log.clear()
        for part in self.unmatched:
            part.met.clear()
        self.state.timers.replace(())
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
        for log, items, is_whole in zip(self.logs, content.logs, self.whole, strict=True):
            if is_whole:
                log.clear()
                continue
            gone = Counter(items)
            for place in reversed(range(len(log))):
                if gone[log[place]]:
                    gone[log[place]] -= 1
                    del log[place]
        for fifo, ends in zip(self.fifos, content.fifos, strict=True):
            if 2 * len(ends) > len(fifo):
                keys = {key for _, key in ends}
                others = [item for item in fifo if item[1] not in keys]
                fifo.clear()
                fifo.extend(others)


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of rules: its place in the order of the history, its time, whether what was due then had passed.

    `empties`: all that waited was dropped.
    """

    place: tuple[int, ...]
    time: int
    passed: bool
    empties: bool = False

    def cuts_off(self, due: int) -> bool:
        """Tell whether what was due at a moment fell due before the turn."""
        return due < self.time or (self.passed and due == self.time)


class Epoch:
    """The rules of one stretch of history, compiled for running it again, and the turn it began with."""

    def __init__(self, number: int, turn: Turn | None, rules: RuleSet, kinds: Iterable[Kind]) -> None:
        self.number = number
        self.turn = turn
        self.rules = rules
        self.places = list(rules.memory)
        self.shelves = Shelves(rules, self.places)
        self.ticks = list(rules.ticks)
        self.listen(kinds)
        for kind in rules.heads.kinds.values():
            kind.reported = True

    def listen(self, kinds: Iterable[Kind]) -> None:
        """Learn the numbers of kinds of event; those that no rule reads do nothing."""
        self.processors = [self.rules.processors.get(kind, _nothing) for kind in kinds]


def carry(content: Content, old: Epoch, new: Epoch, settled: int) -> Content:
    """Return what is left of a state after a turn.

    Deadlines that were to pass before the turn, but are not settled, are remembered: when they are, this history is to
    be run again.
    """
    assert new.turn is not None
    kept = {} if new.turn.empties else new.shelves.owners
    timers = [
        (due, since, place, payload) if place in kept else (due, since, PENDING, ())
        for due, since, place, payload in content.timers
        if place in kept or (due > settled and new.turn.cuts_off(due))
    ]
    found: list[list[Any]] = []
    for stores, theirs, ours in zip(
        (content.tables, content.fifos, content.logs), old.shelves.slots, new.shelves.slots, strict=True
    ):
        left = {} if new.turn.empties else dict(zip(theirs, stores, strict=True))
        found.append([left.get(slot) for slot in ours])
    tables, fifos, logs = found
    return replace(
        content,
        tables=tuple(x or {} for x in tables),
        fifos=tuple(x or () for x in fifos),
        logs=tuple(x or [] for x in logs),
        timers=tuple(timers),
    )


def _nothing(row: Row) -> None:
    """An event that no rule reads, but isolation must see."""
