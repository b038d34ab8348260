"""A program over a stream of batches: what qualifies runs over columns, the rest event at a time beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.admission import OrderedAdmission, admission_of
from etalis.columnar.atomic_batch import AtomicBatches, BatchPart
from etalis.columnar.batch_order import BatchOrder
from etalis.columnar.build import Builder
from etalis.columnar.clock import END, MOST_ROUNDS, PLACE, slot_of
from etalis.columnar.component import ColumnComponent
from etalis.columnar.conditions.changing_facts import ChangingFacts
from etalis.columnar.data.batches import NO_ROWS, InputBatch, Kind, ReceivedRows, listed
from etalis.columnar.data.casts import UnfitError
from etalis.columnar.data.columns import forget_texts
from etalis.columnar.derivation_limit import Derivations
from etalis.columnar.derived_events import DerivedEvents, MadeBlock
from etalis.columnar.durations import has_no_duration
from etalis.columnar.eligibility import in_order
from etalis.columnar.families.component import FamilyComponent
from etalis.columnar.kernels.buffers import keep_freed_memory
from etalis.columnar.learning import UNTAUGHT
from etalis.columnar.recursion.component import Recursion
from etalis.columnar.routing import choose, event_at_a_time, part_from, tied_to, whole_engine
from etalis.columnar.row_numbers import alike
from etalis.columnar.row_rules import RowRules, readers_of
from etalis.columnar.schedule import Schedule
from etalis.columnar.state.recursion import RecursionLinks
from etalis.columnar.state.wiring import ComponentLinks
from etalis.data.uncollected import uncollected
from etalis.errors import ConditionError
from etalis.plan import algebra as p
from etalis.plan.types import Types
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.ruleset import RuleSet, Tick
from etalis.runtime.run_loop import too_many
from etalis.runtime.state import NEVER, Reported
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.rope import FlatRope

KindKey: TypeAlias = Kind
Placed: TypeAlias = tuple[tuple[Any, ...], Event]  # where an event stands among those of its batch, and the event
Component: TypeAlias = ColumnComponent | FamilyComponent | Recursion
_LEAST = -(1 << 62)
_LOG = logging.getLogger("etalis.columns")


class ColumnRun:
    """A run of a program over batches, on an engine of its own or on one that goes on.

    On an engine that goes on, `load` takes over what it holds, and `save` puts it back; between them only this run may
    use the engine. An engine of its own is used by nobody else, so nothing is put there. With `only_points` no event
    that comes in has a duration. With `contributors`, events have the numbers of the rows they are made of as parts.
    With `row_by_row` all rules run event at a time.
    """

    def __init__(
        self, program: CompiledProgram, received: Types, *, policy: str | None = None,
        on_error: Callable[[ConditionError], object] | None = None, engine: RuntimeEngine | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None, only_points: bool = False,
        contributors: bool = False, row_by_row: bool = False,
    ) -> None:  # fmt: skip
        keep_freed_memory()
        self.program = program
        options = EngineOptions(
            policy, parts=contributors, on_error=on_error, on_dead_letter=on_dead_letter, defers=True
        )
        self.engine = RuntimeEngine(program, options) if engine is None else engine
        rules = self.engine.core.rules
        database = rules.conditions.solver.database
        choice = choose(program, received, rules.settings.policy, database, contributors=contributors)
        choice = event_at_a_time(choice) if row_by_row else part_from(self.engine, choice, goes_on=engine is not None)
        self.choice = choice
        rules.evidence.types.update({kind: tuple(types) for kind, types in received.items()})
        heads = choice.heads
        names = alike([planned.head for planned, _ in rules.rules], heads) if contributors else {}
        learns = choice.learning.changes and choice.columnar
        self.facts = ChangingFacts(choice.learning, rules.conditions) if learns else None
        evidence, levels = rules.evidence.nodes, choice.levels
        shared = Builder(
            choice.types, rules.conditions, evidence=evidence, names=names, levels=levels, facts=self.facts
        )
        self._operators = shared.every
        self._joins = shared.joins
        families = choice.families if engine is None else ()
        related = {i for family in families for i in family.numbers}
        apart = [part for part in choice.columnar if part[0] not in related]
        several = [self._component([heads[i] for i in part], part, shared) for part in apart]
        self._all: list[Component] = [*several, *(FamilyComponent(f, shared, rules.evidence) for f in families)]
        if only_points and engine is None:
            for join in self._joins:
                join.comes_at_once = has_no_duration(join.node.right, choice.lasting)
        each_once = [heads[i] for part in (*apart, *(family.numbers[:1] for family in families)) for i in part]
        self.schedule = Schedule(each_once, shared.timers)
        self._shared = [] if engine is None else [_share(component, rules) for component in several]
        self.loaded: list[ComponentLinks | RecursionLinks] = []
        self._is_loaded = False
        self.atomic = AtomicBatches(self)
        self.derivations = Derivations(program.settings.max_derivations, self.schedule.may_fall_due)
        self.admitted = NO_ROWS
        self._ticks: list[Tick] = []
        self._row_rules: dict[frozenset[int], RowRules] = {}
        self.admission = admission_of(self.engine) if choice.columnar else OrderedAdmission(self.engine)
        self.components: Sequence[Component] = self._all
        self.now = _LEAST
        self._set_row_rules()
        if engine is None and self.components:
            rules.ticks = self._row_rules[self.at_a_time].ticks()

    def _component(
        self, heads: Sequence[p.Head], numbers: Sequence[int], shared: Builder
    ) -> ColumnComponent | Recursion:
        types = self.choice.types
        if in_order(heads, UNTAUGHT) is not None:
            return ColumnComponent(heads, numbers, types, shared)
        return Recursion(heads, numbers, types, shared.conditions, self.program.settings.max_derivations)

    def _set_row_rules(self) -> None:
        """Let the engine itself run all rules that are not among the components."""
        over = {number for component in self.components for number in component.numbers}
        self.at_a_time = frozenset(range(len(self.choice.heads))) - over
        if self.components and self.at_a_time not in self._row_rules:
            self._row_rules[self.at_a_time] = RowRules(self.engine, self.at_a_time)

    @property
    def rules_apart(self) -> int:
        """How many rules over columns have operators of their own; a family has them in common."""
        return sum(1 if isinstance(each, FamilyComponent) else len(each.numbers) for each in self.components)

    @property
    def waiting(self) -> int:
        """How many instances wait in joins."""
        return sum(len(side) for join in self._joins for side in join.waiting)

    @property
    def goes_on(self) -> bool:
        """Whether the state of an engine that goes on has been taken over."""
        return self._is_loaded

    @property
    def is_mixed(self) -> bool:
        """Whether some rules run over columns and others event at a time."""
        return bool(self.components and self.at_a_time)

    @property
    def errors(self) -> list[ConditionError]:
        """Errors of conditions."""
        return self.engine.errors

    @property
    def in_any_order(self) -> bool:
        """Whether rows may come in any order, within the bound on lateness."""
        return self.engine.core.disorder is not None and self.engine.core.disorder.watermark is not None

    @uncollected()
    def load(self) -> None:
        """Begin where the engine stands; rules whose state columns cannot hold run event at a time until `save`."""
        self.engine.core.rules.note_waiting()
        self.now = max(self.engine.core.state.now, _LEAST)
        self.atomic.rows = self.derivations.last = 0
        try:
            if self._shared:
                self.admission.load(self.choice.types)
            loaded = [shared for shared in self._shared if _loads(shared)]
        except UnfitError as error:
            _LOG.warning("event at a time: %s", error)
            loaded = []
        if self.facts is not None:
            loaded = loaded if len(loaded) == len(self._shared) else []  # what events change, all see
            self.facts.load()
        over = [tuple(shared.component.numbers) for shared in loaded]
        left = set(range(len(self.choice.heads))).difference(*over)
        tied = tied_to(left, over, readers_of(self.engine.core.rules)) if len(loaded) < len(self._shared) else []
        self.loaded = [shared for shared in loaded if tuple(shared.component.numbers) not in tied]
        self.components = [shared.component for shared in self.loaded]
        self._set_row_rules()
        if self.components:
            self._take_over()

    def _take_over(self) -> None:
        """Let the engine do no more what is now done over columns."""
        self._ticks = self.engine.core.rules.ticks
        self.schedule.begin(self.now)
        self._is_loaded = True
        self.admission.take_over()
        for shared in self.loaded:
            shared.take_over()
        self.engine.core.rules.ticks = self._row_rules[self.at_a_time].ticks()

    @uncollected()
    def save(self) -> None:
        """Let the engine go on from here; what an interruption cuts short is done again, since it must be whole."""
        if self._is_loaded:
            try:
                self._put_back()
            except BaseException:
                self._put_back()
                raise
            finally:
                self._is_loaded = False
        for shared in self._shared:
            shared.clear()
        self.admission.clear()
        forget_texts()
        self.admitted = NO_ROWS

    def _put_back(self) -> None:
        self.admission.save()
        self._reach()
        rules = self.engine.core.rules
        rules.ticks = [tick for tick in self._ticks if tick[0] > rules.state.now]
        saved: set[Hashable] = set()
        for shared in self.loaded:
            shared.save(saved)
        if self.facts is not None:
            self.facts.commit()

    def _reach(self) -> None:
        """Let the engine's time be that of the rows."""
        state = self.engine.core.state
        if self.now > _LEAST:
            state.now = max(state.now, self.now)

    def process(self, batch: InputBatch) -> Iterator[Event]:
        """Process a batch and yield what it causes, in order.

        On an engine that goes on, nothing of it is taken if it fails over columns, and if it fails event at a time, the
        rows up to there.
        """
        if not self.components:
            yield from self._one_by_one(batch)
        elif self._is_loaded:
            yield from self.atomic.process(batch)
        else:
            for piece in self.admit(batch):
                yield from self._process(piece)
            yield from self.advance()

    def admit(self, batch: InputBatch) -> Iterator[InputBatch]:
        """Yield the rows that are to be taken now, in order, at most `MOST_ROWS` at a time."""
        self.admitted = self.admission.admit(batch)
        yield from self.schedule.pieces(self.admitted)

    def release(self) -> Iterator[InputBatch]:
        """Yield the rows that were held until now, in order."""
        held = self.admission.release()
        if held is not None:
            yield from self.schedule.pieces(held)

    def process_part(self, batch: InputBatch, horizon: int | None = None) -> BatchPart:
        """Process a part of a batch by the rules over columns."""
        found = [event for made in self.process_columns(batch, horizon) for event in self._events(*made)]
        return BatchPart(batch, self._clock, found, self.schedule.handed)

    def _process(self, batch: InputBatch, horizon: int | None = None) -> list[Event]:
        return self.process_part(batch, horizon).merged(self.row_rules.process(batch))

    @property
    def row_rules(self) -> RowRules:
        """The rules that run event at a time."""
        return self._row_rules[self.at_a_time]

    def process_rows(self, batch: InputBatch) -> list[Event]:
        """Process an admitted batch by the rules that run event at a time; return what it causes."""
        return [event for _, event in self.row_rules.process(batch)]

    @property
    def waits_for_rows(self) -> bool:
        """Whether rules over columns make events only when a row comes, and at once."""
        return not (self.schedule.may_fall_due or self.in_any_order)

    def process_columns(self, batch: InputBatch, horizon: int | None = None) -> Iterator[tuple[Kind, DerivedEvents]]:
        """Process a part of a batch by the rules over columns; yield what is reported, by kind.

        Time comes to the end of the last row, or to a horizon.
        """
        for kind, made in self.derive(batch, horizon):
            reported = self.program.is_reported(*kind)
            if reported is not False:
                yield kind, self.reported(made, reported)

    def reported_blocks(self, batch: InputBatch, horizon: int | None = None) -> Iterator[MadeBlock]:
        """Process a part of a batch, as `process_columns` does; leave kinds together of which all is reported."""
        for block in self.derive_blocks(batch, horizon):
            reported = self._reports(block.kinds)
            if reported == {True}:
                yield block
            elif reported != {False}:
                for kind, made in block.by_kind():
                    told = self.program.is_reported(*kind)
                    if told is not False:
                        yield MadeBlock((kind,), self.reported(made, told))

    def _reports(self, kinds: Sequence[Kind]) -> set[Reported]:
        """Return what is reported of events of some kinds; where no trigger asks, all is."""
        return {self.program.is_reported(*kind) for kind in kinds} if self.program.triggers else {True}

    def derive(self, batch: InputBatch, horizon: int | None = None) -> Iterator[tuple[Kind, DerivedEvents]]:
        """Process a part of a batch, as `process_columns` does; yield all that is made."""
        for block in self.derive_blocks(batch, horizon):
            yield from block.by_kind()

    def derive_blocks(self, batch: InputBatch, horizon: int | None = None) -> Iterator[MadeBlock]:
        """Process a part of a batch, as `derive` does; leave kinds together that rules alike have made."""
        if len(batch.end):
            self.now = max(self.now, int(batch.end[-1]))
        until = (self.now, self.now) if horizon is None else (horizon, horizon - 1)
        components = [each for each in self.components if isinstance(each, ColumnComponent)]
        taken = BatchOrder(batch, components, self._operators, self.schedule, self.now, self.facts).settle(*until)
        self.now, self._clock = taken.now, taken.clock
        if not self.at_a_time:  # else the engine comes there by itself
            self._reach()
        evidence = self.engine.core.evidence
        for kind, received in batch.events.items():
            if len(received.rows):
                evidence.kind(kind).seen = True
        found: list[MadeBlock] = []
        for component in self.components:
            for block in component.process(taken):
                if len(block.made):
                    for kind in block.present():
                        evidence.kind(kind).seen = True
                    if isinstance(component, Recursion):
                        evidence.nodes.update(self.choice.heads[i].body for i in np.unique(block.made.rule).tolist())
                    found.append(block)
                    yield block
        if self.facts is not None:
            self.facts.settle(goes_on=self._is_loaded)
        over = self.derivations.count(taken.clock, found)
        if over is not None:
            kind, made, row = over
            ((_, event),) = self._events(kind, made.take(np.array([row])))
            raise too_many(self.derivations.limit, event)

    @staticmethod
    def reported(made: DerivedEvents, reported: Reported) -> DerivedEvents:
        """Return what is reported of some events."""
        if reported is True or reported is False:
            return made
        values = zip(*(column.values() for column in made.columns), strict=True)
        return made.take(np.flatnonzero([reported(*row) for row in values]))

    def _events(self, kind: Kind, made: DerivedEvents) -> Iterator[Placed]:
        labels = {int(i): self.choice.heads[int(i)].label for i in np.unique(made.rule)}
        kinds = {i: EventKind(*kind, label, self.program.attributes.get(kind, ())) for i, label in labels.items()}
        columns = [column.values() for column in made.columns]
        times = zip(made.turn.tolist(), made.end.tolist(), made.start.tolist(), made.rule.tolist(), strict=True)
        rows = zip(*(numbers.tolist() for numbers in made.numbers), strict=True)
        told = [(FlatRope(tuple(sorted({*several} - {0}))),) for several in rows] or repeat(())
        for (turn, end, start, rule), rope, *args in zip(times, told, *columns, strict=False):
            yield (
                (int(slot_of(turn)), end, *_in_round(turn, start, kind)),
                new_event(Event, (end, start, kinds[rule], *args, *rope)),
            )

    def advance(self) -> list[Event]:
        """Let time pass as far as what has come allows; return what that settles."""
        found = [
            event for piece in self.advance_columns() for event in piece.merged(self.row_rules.process(piece.rows))
        ]
        return found + self.advance_row_rules()

    def advance_columns(self) -> Iterator[BatchPart]:
        """Let time pass, for the rules over columns, as far as what has come allows."""
        settled = self.admission.settled
        if settled is not None and self.schedule.may_fall_due:
            horizon = max(min(settled + 1, END), -END)
            yield from map(self.process_part, self.schedule.rest(horizon))
            yield self.process_part(NO_ROWS, horizon)

    def advance_row_rules(self) -> list[Event]:
        """Let time pass for the other rules; return what that settles."""
        settled = self.admission.settled
        return [] if settled is None else self.row_rules.pass_time(settled)

    def _one_by_one(self, batch: InputBatch) -> Iterator[Event]:
        """Process a batch event at a time by all rules."""
        if self.engine.core.state.floor >= NEVER:
            self.engine.core.refuse_closed("a row")
        core, takers = self.engine.core, None if batch.numbers is not None else self.engine.read_events
        events: list[tuple[Kind, tuple[Any, ...]] | None] = [None] * len(batch.end)
        for row, kind, values in listed(batch, list(batch.events)):
            events[row] = kind, values
        for row, (event, start, end) in enumerate(zip(events, batch.start.tolist(), batch.end.tolist(), strict=True)):
            self.atomic.rows += 1
            if event is None:
                yield from core.reach(end)
                continue
            kind, values = event
            if batch.numbers is not None:
                core.row_numbers[core.next_number()] = int(batch.numbers[row])
            take = None if takers is None else takers[kind]
            found = None if take is None else take(*values, start, end, None)
            yield from core.take(kind[0], values, start, end, None) if found is None else found

    def close(self) -> Iterator[Event]:
        """End the stream; yield what that settles."""
        for piece, horizon in self.last_pieces():
            yield from self._process(piece, horizon)
        yield from self.engine.close()

    def let_go(self) -> None:
        """Let go of what the rules over columns keep: nothing follows, and else it would wait for the collector."""
        for once in self._operators:
            once.let_go()
        forget_texts()
        self._operators.clear()
        self._joins.clear()
        self._all.clear()
        self.components = ()
        self.admitted = NO_ROWS

    def last_pieces(self) -> Iterator[tuple[InputBatch, int | None]]:
        """Yield what the rules over columns have still to process when the stream ends, each up to a horizon."""
        for piece in self.release():
            yield piece, None
        if self.components and not self.waits_for_rows:
            for piece in self.schedule.rest():
                yield piece, None
            yield NO_ROWS, END


def run_on(engine: RuntimeEngine, received: Types) -> ColumnRun:
    """Return a run on an engine that goes on, for rows of some types; the last one is used again where it fits."""
    facts = engine.core.rules.conditions.solver.database.generation
    wiring, known = engine.core.rules.wiring, (dict(received), tuple(whole_engine(engine)), facts)
    if engine.core.over_columns is None or engine.core.over_columns[:2] != (wiring, known):
        run = ColumnRun(engine.core.program, received, engine=engine)
        engine.core.over_columns = (wiring, known, run if engine.core.level == "full" else warned(run))
    found: ColumnRun = engine.core.over_columns[2]
    return found


def warned(run: ColumnRun) -> ColumnRun:
    """Say which rules of a run go event at a time, if some do."""
    if run.choice.at_a_time:
        _LOG.warning("%s", run.choice.describe())
    return run


def _share(component: ColumnComponent | Recursion, rules: RuleSet) -> ComponentLinks | RecursionLinks:
    """Tie what a component keeps to an engine."""
    return (
        ComponentLinks(component, rules) if isinstance(component, ColumnComponent) else RecursionLinks(component, rules)
    )


def _loads(shared: ComponentLinks | RecursionLinks) -> bool:
    """Take over the state of a component; tell whether columns can hold it."""
    try:
        shared.load()
    except UnfitError as error:
        _LOG.warning("event at a time: %s", error)
        return False
    return True


def _in_round(turn: int, start: int, kind: KindKey) -> tuple[Any, ...]:
    """Return what orders the events that one row causes: round, start, atom."""
    moment, place = divmod(turn, 1 << PLACE)
    return moment % MOST_ROUNDS, start, kind[1], kind[0], place


__all__ = ["ColumnRun", "InputBatch", "ReceivedRows", "choose", "run_on", "warned"]
