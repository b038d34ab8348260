"""A program over a stream of batches: what qualifies runs over columns, the rest event at a time beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.build import Builder
from etalis.columnar.columns import Column
from etalis.columnar.execute import MOST_ROUNDS, MOST_ROWS, PLACE, Component, Made, first_turns, row_of
from etalis.columnar.operators import Batch, Rows
from etalis.columnar.qualify import find_components, flat_types, read_kinds
from etalis.errors import ConditionError
from etalis.language.rules import declarations, knowledge_changes
from etalis.language.syntax import Initially
from etalis.plan import algebra as p
from etalis.plan.rules import plan_rules
from etalis.plan.types import Types, infer_types
from etalis.runtime.conditions import Conditions
from etalis.runtime.program import Program
from etalis.runtime.state import Reported
from etalis.temporal.event import Event, Kind

KindKey: TypeAlias = tuple[str, int]
_LOG = logging.getLogger("etalis.columns")


@dataclass(frozen=True, slots=True)
class Received:
    """Events of one kind in a batch: their rows in the batch, and their attributes."""

    rows: Any
    columns: Sequence[Column]


@dataclass(frozen=True, slots=True)
class Input:
    """A batch of rows in the order of language.md section 2: end points of all, and the events by kind."""

    start: Any
    end: Any
    events: Mapping[KindKey, Received]


@dataclass(frozen=True, slots=True)
class Choice:
    """How a program runs: which rules over columns, which event at a time, and why."""

    heads: tuple[p.Head, ...]
    columnar: tuple[tuple[int, ...], ...]
    at_a_time: tuple[int, ...]
    reasons: tuple[str, ...]
    types: Types

    def describe(self) -> str:
        """Say it in lines."""
        over = [self.heads[i].label for part in self.columnar for i in part]
        lines = [f"over columns: {_listed(over)}"] if over else []
        if self.at_a_time:
            lines.append(f"event at a time: {_listed([self.heads[i].label for i in self.at_a_time])}")
            lines.extend(f"  {reason}" for reason in self.reasons)
        return "\n".join(lines)


def _listed(labels: Sequence[str]) -> str:
    return f"{'rule' if len(labels) == 1 else 'rules'} {', '.join(labels)}"


def choose(program: Program, received: Types, policy: str | None = None) -> Choice:
    """Decide what of a program runs over columns, given the types of what comes in."""
    settings = program.settings if policy is None else replace(program.settings, policy=policy)
    heads = plan_rules(program.rules, settings)
    declared = {kind: tuple(t for _, t in d.attributes) for kind, d in declarations(program.tree).items()}
    types = flat_types(infer_types(heads, received, declared))
    whole = tuple(_whole_program(program, heads))
    if whole:
        return Choice(heads, (), tuple(range(len(heads))), whole, types)
    parts = find_components(heads, types)
    good = tuple(part.rules for part in parts if not part.reasons and len(part.rules) < MOST_ROUNDS)
    rest = tuple(sorted(i for part in parts if part.rules not in good for i in part.rules))
    return Choice(heads, good, rest, tuple(reason for part in parts for reason in part.reasons), types)


def _whole_program(program: Program, heads: Sequence[p.Head]) -> Iterator[str]:
    """Yield what makes a whole program run event at a time."""
    settings = program.settings
    if settings.lateness is not None or settings.revision:
        yield "events may be late or taken back"
    if settings.logging or settings.store_fired_events:
        yield "every event is logged or kept"
    if program.effects or program.acts_on_run:
        yield "goals have side effects"
    if program.reads_clock:
        yield "goals read the clock"
    if knowledge_changes(program.tree):
        yield "events change facts"
    if any(isinstance(item, Initially) for item in program.tree.items):
        yield "directives are run"
    if any(isinstance(test, p.Alone) for head in heads for node in p.walk(head.body) for test in p.tests(node)):
        yield "iso looks at events of every kind"


class ColumnRun:
    """One run of a program over batches."""

    def __init__(
        self, program: Program, received: Types, *, policy: str | None = None,
        on_error: Callable[[ConditionError], object] | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.choice = choose(program, received, policy)
        self.errors: list[ConditionError] = []
        self._on_error = on_error
        report = self._report
        solver = program.solver(lambda _: None, lambda: 0)
        conditions = Conditions(solver, report)
        heads, types = self.choice.heads, self.choice.types
        shared = Builder(types, conditions)
        self.components = [Component([heads[i] for i in part], part, types, shared) for part in self.choice.columnar]
        self.now = -(1 << 62)
        self.engine = None
        if self.choice.at_a_time:
            _LOG.warning("%s", self.choice.describe())
            rest = copy(program)
            rest.rules = tuple(
                replace(program.rules[i], label=program.rules[i].label or str(i + 1)) for i in self.choice.at_a_time
            )
            self.engine = rest.engine(policy=policy, on_error=report)
        self.read = {kind for i in self.choice.at_a_time for kind in read_kinds(heads[i].body)}

    @property
    def is_mixed(self) -> bool:
        """Whether some rules run over columns and others event at a time."""
        return bool(self.components) and self.engine is not None

    def _report(self, error: ConditionError) -> None:
        self.errors.append(error)
        if self._on_error is not None:
            self._on_error(error)

    def take(self, batch: Input) -> Iterator[Event]:
        """Take a batch and yield what it causes, in order."""
        for low in range(0, max(len(batch.end), 1), MOST_ROWS):
            yield from self._take(batch if len(batch.end) <= MOST_ROWS else _cut(batch, low, low + MOST_ROWS))

    def _take(self, batch: Input) -> Iterator[Event]:
        found = [event for made in self.columns(batch) for event in self._events(*made)]
        if self.engine is not None:
            found.extend(self._one_by_one(batch))
        found.sort(key=lambda pair: pair[0])
        for _, event in found:
            yield event

    def columns(self, batch: Input) -> Iterator[tuple[KindKey, Made]]:
        """Take a batch of at most `MOST_ROWS` rows by the rules over columns; yield what is reported, by kind."""
        if len(batch.end):
            self.now = max(self.now, int(batch.end[-1]))
        received = {
            kind: Rows(first_turns(r.rows), batch.start[r.rows], batch.end[r.rows], r.columns)
            for kind, r in batch.events.items()
        }
        taken = Batch(received, self.now)
        for component in self.components:
            for kind, made in component.take(taken).items():
                reported = self.program.is_reported(*kind)
                if reported is not False and len(made):
                    yield kind, self._reported(made, reported)

    @staticmethod
    def _reported(made: Made, reported: Reported) -> Made:
        if reported is True or reported is False:
            return made
        values = zip(*(column.values() for column in made.columns), strict=True)
        return made.take(np.flatnonzero([reported(*row) for row in values]))

    def _events(self, kind: KindKey, made: Made) -> Iterator[tuple[tuple[Any, ...], Event]]:
        labels = {int(i): self.choice.heads[int(i)].label for i in np.unique(made.rule)}
        kinds = {i: Kind(*kind, label, self.program.attributes.get(kind, ())) for i, label in labels.items()}
        columns = [column.values() for column in made.columns]
        times = zip(made.turn.tolist(), made.end.tolist(), made.start.tolist(), made.rule.tolist(), strict=True)
        for (turn, end, start, rule), *args in zip(times, *columns, strict=True):
            yield (int(row_of(turn)), end, *_in_round(turn, start, kind)), Event((end, start, kinds[rule], *args))

    def _one_by_one(self, batch: Input) -> Iterator[tuple[tuple[Any, ...], Event]]:
        assert self.engine is not None
        at = _Place()
        for number, event in enumerate(self.engine.run(self._rows(batch, at))):
            yield (at.row, event.end_time, MOST_ROUNDS, number), event

    def _rows(self, batch: Input, at: _Place) -> Iterator[Event]:
        kinds = {kind: Kind(*kind) for kind in batch.events}
        rows: list[tuple[int, KindKey, tuple[Any, ...]]] = []
        for kind, received in batch.events.items():
            values = list(zip(*(c.values() for c in received.columns), strict=True)) or [()] * len(received.rows)
            rows.extend((row, kind, args) for row, args in zip(received.rows.tolist(), values, strict=True))
        rows.sort(key=lambda row: row[0])
        for row, kind, args in rows:
            at.row = row
            yield Event((int(batch.end[row]), int(batch.start[row]), kinds[kind], *args))

    def close(self) -> Iterator[Event]:
        """End the stream; yield what that settles."""
        if self.engine is not None:
            yield from self.engine.close()


def _in_round(turn: int, start: int, kind: KindKey) -> tuple[Any, ...]:
    """Return what orders the events that one row causes: round, start, atom."""
    moment, place = divmod(turn, 1 << PLACE)
    return moment % MOST_ROUNDS, start, kind[1], kind[0], place


class _Place:
    """Which row is being taken."""

    row = 0


def _cut(batch: Input, low: int, high: int) -> Input:
    events = {}
    for kind, received in batch.events.items():
        a, b = np.searchsorted(received.rows, (low, high))
        part = np.arange(a, b)
        events[kind] = Received(received.rows[a:b] - low, [column.take(part) for column in received.columns])
    return Input(batch.start[low:high], batch.end[low:high], events)


__all__ = ["ColumnRun", "Input", "Received", "choose"]
