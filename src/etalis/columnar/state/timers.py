"""What is to fall due, over columns and among the timers of an engine.

A timer of an engine is data with an owner: an absence until its deadline, or a rule that sets alarms. Law: of what is
due together, what was set first comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from etalis.columnar.component import AlarmMaker
from etalis.columnar.data.casts import to_column, to_integers
from etalis.columnar.derived_events import DerivedEvents
from etalis.columnar.operators.deadline import DeadlineOperator
from etalis.columnar.state.base import KeptField, Link
from etalis.columnar.state.links import by_end
from etalis.runtime.codegen.heads import Ring
from etalis.runtime.deadlines.timers import LEVELS, Owner, Timer
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.state import NEVER, State


def find_timers(state: State, owner: Owner) -> list[Timer]:
    """Return the timers of an owner, in the order in which they were set."""
    return sorted((timer for timer in state.timers if timer[3] is owner), key=lambda timer: timer[2])


def take_timers(state: State, owner: Owner) -> None:
    """Let an owner have no timers."""
    if any(timer[3] is owner for timer in state.timers):
        state.timers.replace([timer for timer in state.timers if timer[3] is not owner])


def set_timers(state: State, owner: Owner, given: Iterable[tuple[int, int, tuple[Any, ...]]]) -> None:
    """Add timers of an owner: when each is due, since when, and what for."""
    timers = [
        (due, -since, (owner.level << LEVELS) + number, owner, payload, None)
        for number, (due, since, payload) in enumerate(given, state.sequence + 1)
    ]
    if timers:
        state.sequence += len(timers)
        state.timers.replace([*state.timers, *timers])


@dataclass(frozen=True, slots=True)
class DeadlineLink(Link):
    """Left sides whose deadline is to come; `types` are those of their values, in the engine's order."""

    operator: DeadlineOperator
    theirs: Waiter
    state: State
    types: Mapping[str, str]

    def fields(self) -> Iterator[KeptField]:
        """Yield what waits."""
        yield KeptField.of_rows(self.operator, "pending", self.types)

    def content(self) -> Any:
        """Return what waits in the engine."""
        return [timer[4] for timer in find_timers(self.state, self.theirs)]

    def load(self) -> None:
        """Take what waits in the engine."""
        *columns, start, end = _columns(
            [timer[4] for timer in find_timers(self.state, self.theirs)], len(self.types) + 2
        )
        found = {name: to_column(values, self.types[name]) for name, values in zip(self.types, columns, strict=True)}
        self.operator.pending = by_end(to_integers(start), to_integers(end), found)

    def take_over(self) -> None:
        """Keep the engine from judging what waits."""
        take_timers(self.state, self.theirs)

    def save(self) -> None:
        """Let the engine wait for what waits over columns."""
        self.take_over()
        rows = self.operator.pending
        ends = rows.end.tolist()
        values = [rows.column(name).values() for name in self.types]
        due = (rows.end + self.theirs.duration).tolist()
        payloads = zip(*values, rows.start.tolist(), ends, strict=True)
        set_timers(self.state, self.theirs, zip(due, map(self.theirs.since, ends), payloads, strict=True))


@dataclass(frozen=True, slots=True)
class AlarmLink(Link):
    """The alarms that one rule has set; `types` are those of the attributes of its events."""

    operator: AlarmMaker
    theirs: Ring
    state: State
    types: Sequence[str]

    def fields(self) -> Iterator[KeptField]:
        """Yield the alarms that are to come."""
        yield KeptField(self.operator, "pending", lambda: None)

    def content(self) -> Any:
        """There is but one part for each rule."""
        return id(self.theirs)

    def load(self) -> None:
        """Take the alarms that are set in the engine."""
        *columns, due = _columns([timer[4] for timer in find_timers(self.state, self.theirs)], len(self.types) + 1)
        found = [to_column(values, kind) for values, kind in zip(columns, self.types, strict=True)]
        end, zeros = to_integers(due), np.zeros(len(due), np.int64)
        self.operator.pending = DerivedEvents(zeros, end, end, np.full(len(due), self.operator.number), found)

    def take_over(self) -> None:
        """Keep the engine from ringing."""
        take_timers(self.state, self.theirs)

    def save(self) -> None:
        """Set in the engine the alarms that are to come."""
        self.take_over()
        made = self.operator.pending
        if made is not None:
            due = made.end.tolist()
            values = [column.values() for column in made.columns]
            payloads = zip(*values, due, strict=True)
            set_timers(
                self.state, self.theirs, ((at, NEVER, payload) for at, payload in zip(due, payloads, strict=True))
            )


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> Sequence[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width
