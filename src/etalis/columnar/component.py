"""Rules over batches: kinds are made in the order in which rules need them, each event once per atom and interval.

A turn is a number that grows with the order of definition 6.5: the row that was taken, the round of what it
caused, the place within the round. Law: what a batch gives is what the engine gives for the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from etalis.columnar.build import Builder, JudgedJoin, SharedOperator
from etalis.columnar.clock import PLACE, moved
from etalis.columnar.data.ascending import have_in_common, place_in_run, places
from etalis.columnar.data.columns import Column, Integers, at_either, concat, fit
from etalis.columnar.data.instances import Instances
from etalis.columnar.derived_events import DerivedEvents, LatestEvents, MadeBlock, stacked
from etalis.columnar.eligibility import has_vague, in_order
from etalis.columnar.kernels.buffers import merge
from etalis.columnar.learning import UNTAUGHT
from etalis.columnar.operators.base import Batch, EventRows
from etalis.columnar.operators.terms import is_compound, values_of, with_nulls
from etalis.columnar.row_numbers import is_row, padded
from etalis.columnar.schedule import LONGEST, alarm_delay, find_makers
from etalis.data.values import Value
from etalis.errors import EventError, Problem
from etalis.language.ground_terms import variables
from etalis.language.syntax import Alarm, Var
from etalis.plan import algebra as p
from etalis.plan.types import Typing
from etalis.runtime.codegen.conditions import Conditions
from etalis.temporal.interval import MICROSECONDS

Kind: TypeAlias = tuple[str, int]


class Members(Protocol):
    """Rules that have one maker in common."""

    def rules(self, rows: Instances) -> Integers:
        """Return the number of the rule that each match is of."""
        ...


class ColumnComponent:
    """Rules connected by events, over batches."""

    def __init__(self, heads: Sequence[p.Head], numbers: Sequence[int], types: Typing, shared: Builder) -> None:
        self.facts = shared.facts
        ordered = in_order(heads, UNTAUGHT if self.facts is None else self.facts.learning)
        assert ordered is not None
        self.numbers = tuple(numbers)
        made = {head.kind for head in heads}
        self.steps: list[tuple[Kind, list[_Maker | AlarmMaker], LatestEvents]] = []
        for group in ordered:
            makers: list[_Maker | AlarmMaker] = []
            for i in group:
                read = [kind for kind in p.read_kinds(heads[i].body) if kind in made]
                is_vague = has_vague(heads[i], types)
                own = len(read) > 1 or is_vague
                builder = Builder(types, shared.conditions, shared, is_vague=is_vague) if own else shared
                operator = builder.build(heads[i].body, heads[i].label)
                fits = shared.conditions.fits(heads[i].label)
                maker = _Maker(heads[i], numbers[i], operator, tuple(read), types, fits, is_vague=is_vague)
                maker.judged = builder.judged(heads[i].body)
                alarm = heads[i].alarm
                if alarm is None:
                    makers.append(maker)
                else:
                    known = types.variables(heads[i].body)
                    makers.append(alarms := AlarmMaker(alarm, maker, known, shared.conditions, heads[i].label))
                    shared.timers.append(alarms)
            kind = heads[group[0]].kind
            self.steps.append((kind, makers, LatestEvents(types[kind])))
        self.read = {kind for head in heads for kind in p.read_kinds(head.body)}
        every = [maker for _, makers, _ in self.steps for maker in makers]
        self.told = [maker for maker in every if isinstance(maker, AlarmMaker) and maker.delay is None]
        self.makers = [maker.maker if isinstance(maker, AlarmMaker) else maker for maker in every]
        tellers = [heads[i] for i, number in enumerate(numbers) if any(t.number == number for t in self.told)]
        self.telling = {h.kind for teller in tellers for h in find_makers(p.read_kinds(teller.body), heads)}
        self.early: dict[Kind, DerivedEvents] = {}
        self.done: dict[Kind, DerivedEvents] = {}
        self.last = max((i for i, (_, makers, _) in enumerate(self.steps) if any(m.judged for m in makers)), default=-1)

    def process(self, batch: Batch) -> Iterator[MadeBlock]:
        """Yield what a batch causes, by kind, and add what rules read of it to the batch."""
        for kind, makers, latest in self.steps:
            if kind not in self.done:
                self._make(kind, makers, latest, batch)
        found, self.done = self.done, {}
        for kind, made in found.items():
            yield MadeBlock((kind,), made)

    def _make(self, kind: Kind, makers: Sequence[_Maker | AlarmMaker], latest: LatestEvents, batch: Batch) -> None:
        made = self.early.pop(kind, None)
        if made is None:
            made = latest.new([maker.process(batch) for maker in makers], batch.turns)
        self.done[kind] = made
        if self.facts is not None:
            self.facts.learn(kind, made.turn, made.start, made.columns)
        if kind in self.read and len(made):
            _add(batch.events, kind, made)

    def begin(self) -> None:
        """Forget what a batch that failed has left."""
        self.early.clear()
        self.done.clear()

    def foresee(self, batch: Batch) -> list[Integers]:
        """Find what tells the times of alarms in a batch that has no clock yet; return when these are due."""
        for kind, makers, latest in self.steps:
            if kind in self.telling:
                self.early[kind] = made = latest.new([maker.process(batch) for maker in makers], batch.turns)
                if len(made):
                    _add(batch.events, kind, made)
        return [alarms.foresee(batch) for alarms in self.told]

    def find_alone(self, batch: Callable[[], Batch]) -> Iterator[tuple[JudgedJoin, Integers]]:
        """Yield the joins that have rows without a partner, and the keys of their steps.

        These get their turns at once, before anything reads them, so the batch is another one after each.
        """
        for kind, makers, latest in self.steps[: self.last + 1]:
            for maker in makers:
                for join in maker.judged:
                    mine = maker.seen(batch())
                    if join.once.batch is not mine:
                        keys = join.find_alone(mine)
                        if keys.shape[1]:
                            yield join, keys
            self._make(kind, makers, latest, batch())

    def move(self, before: Batch, after: Batch, slots: Integers) -> dict[int, Batch]:
        """Give what was found so far the turns that it has where slots have moved.

        Return what stands for batches of its own, by their identities.
        """
        for kept in (self.early, self.done):
            kept.update({kind: made.moved(slots) for kind, made in kept.items()})
        for alarms in self.told:
            alarms.early = alarms.early.moved(slots)
        found = {}
        for maker in self.makers:
            if maker.apart is not None and maker.apart.whole is before:
                own = id(maker.apart.batch)
                maker.apart = maker.apart.moved(after, slots)
                found[own] = maker.apart.batch
        return found


def _add(events: dict[Kind, EventRows], kind: Kind, made: DerivedEvents) -> None:
    """Add derived events to those of their kind that were received."""
    new = EventRows(made.turn, made.start, made.end, made.columns, made.numbers)
    old = events.get(kind)
    if old is None or not len(old.turn):
        events[kind] = new
        return
    order, turn = merge(old.turn, new.turn)
    start, end = at_either(old.start, new.start, None, order), at_either(old.end, new.end, None, order)
    columns = [concat([a, b]).take(order) for a, b in zip(old.columns, new.columns, strict=True)]
    width = max(len(old.numbers), len(new.numbers))
    several = [padded(rows.numbers, width, len(rows.turn)) for rows in (old, new)]
    numbers = [np.concatenate(pair)[order] for pair in zip(*several, strict=True)]
    events[kind] = EventRows(turn, start, end, columns, numbers)


class _Maker:
    """One rule: its operators, and how a match becomes an event."""

    def __init__(
        self, head: p.Head, number: int, operator: SharedOperator, derived: tuple[Kind, ...], types: Typing,
        fits: Callable[..., bool], *, is_vague: bool,
    ) -> None:  # fmt: skip
        self.args = head.event.args
        self.fits = fits
        self.members: Members | None = None
        self.types = types[head.kind] if is_vague else ("term",) * len(self.args)
        self.unsure = {v for arg in self.args for v in variables(arg)} - types.sure(head.body)
        self.number = number
        self.operator = operator
        self.judged: list[JudgedJoin] = []
        self.apart: ToldApart | None = None
        self.derived = derived
        self.rows = [name for name in head.body.exports if is_row(name)]

    def process(self, batch: Batch) -> DerivedEvents:
        """Return the events that the matches of a batch become; the turn is that of the cause."""
        return self.made(self.matches(batch))

    def matches(self, batch: Batch) -> Instances:
        """Return the matches of a batch."""
        rows: Instances = self.operator.process(self.seen(batch))
        if self.apart is None:
            return rows
        return Instances(self.apart.turns(rows.turn), rows.start, rows.end, rows.blocks)

    def seen(self, batch: Batch) -> Batch:
        """Return a batch as the rule sees it."""
        if len(self.derived) < 2:
            return batch
        if not _share_moments(batch, self.derived):
            self.apart = None
            return batch
        if self.apart is None or self.apart.whole is not batch:
            self.apart = _tell_apart(batch)
        return self.apart.batch

    def made(self, rows: Instances) -> DerivedEvents:
        """Return the events that some matches become."""
        if self.unsure:
            rows = rows.with_columns({v: with_nulls(rows.column(v)) for v in self.unsure})
        rows = self._fitting(rows)
        columns = [fit(values_of(arg, rows), kind) for arg, kind in zip(self.args, self.types, strict=True)]
        numbers = [rows.column(name).data for name in self.rows]
        if self.members is not None:
            return _by_rule(DerivedEvents(rows.turn, rows.start, rows.end, self.members.rules(rows), columns, numbers))
        rule = np.broadcast_to(np.int64(self.number), len(rows))
        return DerivedEvents(rows.turn, rows.start, rows.end, rule, columns, numbers)

    def _fitting(self, rows: Instances) -> Instances:
        """Return the matches whose terms are not nested too deep; the others are reported."""
        terms = [arg for arg in self.args if is_compound(arg) and variables(arg)]
        if not terms or not len(rows):
            return rows
        made = zip(*(values_of(term, rows).values() for term in terms), strict=True)
        return rows.take(np.flatnonzero([self.fits(*values) for values in made]))


def _by_rule(made: DerivedEvents) -> DerivedEvents:
    """Return what several rules made, of one turn in the order of the rules."""
    same = made.turn[1:] == made.turn[:-1]
    if not (same & (made.rule[1:] < made.rule[:-1])).any():
        return made
    return made.take(np.lexsort((made.rule, made.turn)))


class AlarmMaker:
    """One rule that sets alarms: what its matches become, when that is due; `pending` has what is to come.

    Where matches tell the time they are found before the clock is known: `early` has what they become, `moments` when.
    """

    def __init__(
        self, alarm: Alarm, maker: _Maker, types: Mapping[str, str], conditions: Conditions, rule: str
    ) -> None:
        self.alarm = alarm
        self.rule = rule
        self.conditions = conditions
        self.delay = alarm_delay(alarm)
        self.type = types[alarm.when.name] if isinstance(alarm.when, Var) else "term"
        none = np.zeros(0, np.int64)
        self.early = DerivedEvents(none, none, none, none, ())
        self.moments = none
        self.maker = maker
        self.number = maker.number
        self.operator = maker.operator
        self.judged = maker.judged
        self.seen = maker.seen
        self.pending: DerivedEvents | None = None

    def due(self) -> Integers:
        """Return when what waits is due."""
        return np.zeros(0, np.int64) if self.pending is None else self.pending.end

    def process(self, batch: Batch) -> DerivedEvents:
        """Return the alarms that fall due, as instants; the turn is that of their step."""
        clock = batch.clock
        if self.delay is None:
            set_now, due = self.early, self.moments
        else:
            set_now = self.maker.process(batch)
            due = self._due(set_now.end, np.int64(self.delay))
        step = np.where(due > set_now.end, 0, clock.step_after(set_now.turn))
        found = replace(set_now, start=due, end=due)
        if self.pending is not None:
            found, step = stacked([self.pending, found]), np.concatenate([np.zeros(len(self.pending), np.int64), step])
        waits = found.end >= clock.horizon
        self.pending = found.take(np.flatnonzero(waits))
        found, step = found.take(np.flatnonzero(~waits)), step[~waits]
        fallen = replace(found, turn=clock.turns(found.end, step))
        return fallen.take(np.argsort(fallen.turn, kind="stable"))

    def _due(self, end: Integers, moment: Integers) -> Integers:
        return end + moment if self.alarm.kind == "after" else np.maximum(end, moment)

    def foresee(self, batch: Batch) -> Integers:
        """Find the matches of a batch that has no clock yet; return when what they set is due."""
        rows = self.maker.matches(batch)
        column = values_of(self.alarm.when, rows)
        if self.type in ("int", "float"):
            good, due = self._told(fit(column, self.type), rows)
        else:
            found = [self._asked(*each) for each in zip(column.values(), rows.end.tolist(), strict=True)]
            good = np.flatnonzero([each is not None for each in found])
            due = np.array([each for each in found if each is not None], np.int64)
        self.early, self.moments = self.maker.made(rows.take(good)), due
        return due

    def _told(self, seconds: Column, rows: Instances) -> tuple[Integers, Integers]:
        """Return the matches that tell a time, and when that is; report the others."""
        moment = to_moments(seconds)
        is_bad = np.zeros(len(rows), bool) if seconds.absent is None else seconds.absent
        if self.alarm.kind == "after":
            is_bad = is_bad | (moment <= 0)
        bad, good = np.flatnonzero(is_bad), np.flatnonzero(~is_bad)
        for row, value in zip(bad.tolist(), seconds.take(bad).values(), strict=True):
            self._asked(value, int(rows.end[row]))
        return good, self._due(rows.end[good], moment[good])

    def _asked(self, value: Value, end: int) -> int | None:
        """Return when an alarm is due that a match sets; None, which is reported, if never."""
        due = self.conditions.due(self.alarm.kind, end, value, self.rule)
        if due is not None and abs(due) >= LONGEST:
            _refuse_far()
        return due


def to_moments(seconds: Column) -> Integers:
    """Return seconds as microseconds; null is 0."""
    if not len(seconds):
        return np.zeros(0, np.int64)
    exact = seconds.data * float(MICROSECONDS)
    if not (np.abs(exact) < LONGEST).all():
        _refuse_far()
    return seconds.data * MICROSECONDS if seconds.type == "int" else np.rint(exact).astype(np.int64)


def _refuse_far() -> NoReturn:
    hint = "give a moment that is nearer, or push the events to an engine"
    raise EventError(Problem("E607", "an alarm is set for a time too far away for columns", hint=hint))


@dataclass(frozen=True, slots=True)
class ToldApart:
    """A batch in which events of several kinds have places of their own in a round, and what their turns are."""

    whole: Batch
    batch: Batch
    turn: Integers
    before: Integers

    def turns(self, turn: Integers) -> Integers:
        """Return the turns in the whole batch; what falls due has the same one."""
        place = np.minimum(places(self.turn, turn), len(self.turn) - 1)
        return np.where(self.turn[place] == turn, self.before[place], turn) if len(self.turn) else turn

    def moved(self, whole: Batch, slots: Integers) -> ToldApart:
        """Return the same where slots have moved."""
        own = self.batch.moved(whole.clock, slots, whole.now)
        return ToldApart(whole, own, moved(self.turn, slots), moved(self.before, slots))


def _share_moments(batch: Batch, kinds: Sequence[Kind]) -> bool:
    """Tell whether events of several kinds come in one round."""
    several = [batch.events[kind].turn for kind in kinds if kind in batch.events]
    return any(have_in_common(a, b, PLACE) for a, b in combinations(several, 2))


def _tell_apart(whole: Batch) -> ToldApart:
    """Give events of several kinds places of their own, in the order of a round."""
    kinds = sorted(whole.events, key=lambda kind: (kind[1], kind[0]))
    parts = [whole.events[kind] for kind in kinds]
    none = np.zeros(0, np.int64)
    turn, start = (np.concatenate([none, *(getattr(rows, name) for rows in parts)]) for name in ("turn", "start"))
    rank = np.repeat(np.arange(len(parts)), [len(rows.turn) for rows in parts])
    order = _in_round(turn, rank, start)
    moment = turn[order] >> PLACE
    told = (moment << PLACE) | place_in_run(moment)
    places = np.empty(len(order), np.int64)
    places[order] = told
    events = {}
    for kind, rows in zip(kinds, parts, strict=True):
        mine, places = np.split(places, [len(rows.turn)])
        events[kind] = replace(rows, turn=mine)
    return ToldApart(whole, Batch(events, whole.now, whole.clock), told, turn[order])


def _in_round(turn: Integers, rank: Integers, start: Integers) -> Integers:
    """Return the order of events of several kinds by moment, start, rank and turn; those of a rank come in order.

    Where the starts of a moment rise so, which is usual, runs are merged and nothing more.
    """
    moment = turn >> PLACE
    order = np.argsort(moment, kind="stable")
    times, starts = moment[order], start[order]
    if not ((times[1:] == times[:-1]) & (starts[1:] < starts[:-1])).any():
        return order
    return np.lexsort((turn, rank, start, moment))
