"""The run loop: inputs and time, each processed to completion before the next (definition 6.5).

What an input causes comes in rounds, each sorted and free of duplicates, then its reactions, then what goals and
reactions ask for, in turn, each with its own rounds and reactions. Changes of knowledge, time points and raised events
come before the inputs of their stamp, alarms and deadlines after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from etalis.data.measure import weigh
from etalis.errors import LimitError, Problem
from etalis.language.steps import Occur, RuleStep, Spy, Step
from etalis.runtime.changes import Changes
from etalis.runtime.deadlines.timers import Tag
from etalis.runtime.reactions.reactor import Reactor
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.state import BEGINNING, MOST_ROUNDS, NEVER, HeadKind, Raw, sort_round
from etalis.temporal.event import Event, EventKind, brief, event_of
from etalis.temporal.rope import RaisedRope

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


_START = itemgetter(1)


class RunLoop:
    """Where a run stands, and how it goes on; goals act on it (`language.steps.Host`)."""

    def __init__(self, program: CompiledProgram, change_rules: Callable[[RuleStep | Spy], None]) -> None:
        self.program = program
        self.change_rules = change_rules
        self.taking = False
        self.made = 0
        self.most = program.settings.max_derivations  # events that one input may cause
        self.fallen = BEGINNING  # when something fell due last
        self.moment: int | None = None  # of what generated code has let fall due last
        self.settled: int = NEVER  # how far deadlines may pass by themselves
        self.reactor: Reactor | None = None
        self.note_raised: Callable[[str, tuple[Any, ...], int, int], None] | None = None  # for what is corrected

    def begin(self, rules: RuleSet, changes: Changes) -> None:
        """Take the rules, whose goals know this run loop already, and the changes of knowledge to come."""
        self.rules = rules
        self.state = rules.state
        self.changes = changes
        self.raised: dict[tuple[str, int], EventKind] = {}

    def process(
        self, kind: tuple[str, int], values: tuple[Any, ...], start: int, end: int, number: int, out: list[Raw],
        tag: Tag | None = None,
    ) -> None:  # fmt: skip
        """Process to completion an input that comes in order; timers that it sets belong to the tag's partition."""
        state = self.state
        taking, self.taking = self.taking, True
        try:
            if end != state.now:
                self.move_to(end, out)
            self.count_anew()
            state.tag = tag
            if self.rules.traced:
                state.number = number
                if self.rules.record is not None:
                    self.rules.record.take(number, kind[0], values, start, end)
                values = (*values, number)
            if not self.occur(*kind, (end, start, None, *values)):
                self.rules.evidence.unread_names[kind[1]][kind[0]] += 1
            if state.queue or state.steps or state.reacting:
                self.settle(out)
        finally:
            self.taking = taking

    def process_together(self, inputs: list[tuple[str, tuple[Any, ...], int, int, int]], out: list[Raw]) -> None:
        """Process inputs that are one arrival: all are offered, by one number, before what they cause is processed."""
        state, rules, end = self.state, self.rules, inputs[0][3]
        taking, self.taking = self.taking, True
        try:
            if end != state.now:
                self.move_to(end, out)
            self.count_anew()
            state.tag = None
            state.current += 1
            for name, values, start, _, number in inputs:
                kind, row = (name, len(values)), values
                if rules.traced:
                    state.number = number
                    if rules.record is not None:
                        rules.record.take(number, name, values, start, end)
                    row = (*values, number)
                rules.log_event(*kind, start, end)
                process = rules.processors.get(kind)
                if process is None:
                    rules.evidence.unread_names[kind[1]][kind[0]] += 1
                else:
                    process((end, start, None, *row))
            if state.queue or state.steps or state.reacting:
                self.settle(out)
        finally:
            self.taking = taking

    def count_anew(self) -> None:
        """Begin to count what an input causes."""
        self.made = 0
        if self.reactor is not None:
            self.reactor.begin()

    def reach(self, end: int, out: list[Raw]) -> None:
        """Let time reach the end of an event that is not taken."""
        taking, self.taking = self.taking, True
        try:
            self.move_to(end, out)
        finally:
            self.taking = taking

    def advance(self, time: int, out: list[Raw]) -> None:
        """Let all happen up to a time, after which nothing ends at or before it."""
        state = self.state
        if time > state.now or time > state.floor:
            taking, self.taking = self.taking, True
            try:
                self.pass_time(time, out, inclusive=True)
            finally:
                self.taking = taking
            state.floor = max(state.floor, time)
            if time < NEVER:
                state.now = max(state.now, time)

    def settle_now(self, made: int = 0) -> tuple[Event, ...]:
        """Process what generated code has queued, of rules that tell no event from another; return what is reported.

        A round of one event, as most are, needs no sorting. So many events the input has caused before.
        """
        out: list[Raw] = []
        self.settle_queue(out, made)
        return tuple(map(event_of, out))

    def settle_kinds(self, batch: Sequence[Raw], made: int) -> tuple[Event, ...]:
        """Process a round of events of one end, each of another kind, in the order of their kinds."""
        out: list[Raw] = []
        self.made = made
        if made + len(batch) > self.most:
            self.count(len(batch), max(batch))
        for raw in sorted(batch, key=_START):
            kind: HeadKind = raw[2]
            if kind.reports(raw):
                out.append(raw)
            if kind.feeds is not None:
                if self.rules.numbered:
                    self.number(raw, kind)
                kind.feeds(raw)
        if self.rules.numbered:
            self.made = made + len(batch)
            self.settle(out)
        else:
            self.settle_queue(out, made + len(batch))
        return tuple(map(event_of, out))

    def settle_reacting(self) -> tuple[Event, ...]:
        """Do as `settle_now`, where there are reactions; most often one has its turn, and nothing follows from it."""
        state, reactor = self.state, self.reactor
        assert reactor is not None
        out: list[Raw] = []
        self.made = self.settle_queue(out) if state.queue else 0
        turns, reacting = 0, state.reacting
        if len(reacting) == 1:
            turns, raw = 1, reacting.pop()
            raw[2].react(raw)
        if reacting or state.steps:
            reactor.begin(turns)
            self.settle(out)
        return tuple(map(event_of, out)) if out else ()

    def settle_rest(self) -> tuple[Event, ...]:
        """Process what follows from a reaction that has had its turn; return what is reported."""
        assert self.reactor is not None
        out: list[Raw] = []
        self.made = 0
        self.reactor.begin(1)
        self.settle(out)
        return tuple(map(event_of, out))

    def settle_due(self, out: list[Raw]) -> None:
        """Process what a step has caused that fell due; reactions begin anew at each moment."""
        if self.reactor is not None:
            if self.state.now != self.moment:
                self.moment = self.state.now
                self.reactor.begin()
            self.settle(out)
        elif self.rules.numbered:
            self.settle(out)
        else:
            self.made = self.settle_queue(out, self.made)

    def settle_queue(self, out: list[Raw], made: int = 0) -> int:
        """Process what is queued, of rules that tell no event from another; return how many events were made."""
        queue, most = self.state.queue, self.most
        while queue:
            if len(queue) > 1 or made == most or queue[0][2].grows:
                self.made = made
                self._settle_round(out)
                made = self.made
                continue
            raw = queue.pop()
            made += 1
            kind: HeadKind = raw[2]
            reported, feeds = kind.reported, kind.feeds
            if reported is True or (reported is not False and reported(*raw[3 : 3 + kind.arity])):
                out.append(raw)
            if feeds is not None:
                follow = kind.follow
                if follow is None or made > most - MOST_ROUNDS:
                    feeds(raw)
                else:
                    made += follow(raw, out)
        return made

    def settle_numbered(self, made: int = 0) -> tuple[Event, ...]:
        """Do as `settle_now`, where events are told apart."""
        out: list[Raw] = []
        self.count_anew()
        self.made = made
        self.settle(out)
        return tuple(map(event_of, out))

    def report(self, batch: list[Raw], made: int = 0) -> tuple[Event, ...]:
        """Return the events of a round that nothing follows from, after so many that the input has caused before."""
        if made + len(batch) > self.most:
            self.made = made
            self.count(len(batch), batch[-1])
        return tuple(map(event_of, batch))

    def reach_now(self, end: int) -> tuple[Event, ...]:
        """Let time reach the end of an event that generated code is about to take; return what is reported."""
        out: list[Raw] = []
        self.made = 0
        taking, self.taking = self.taking, True
        try:
            self.pass_time(end, out, inclusive=False)
        finally:
            self.taking = taking
        return tuple(map(event_of, out))

    def occur(self, name: str, arity: int, raw: Raw) -> bool:
        """Offer one event to the rules; tell whether one reads it."""
        rules = self.rules
        if rules.numbered:
            self.state.current += 1
            rules.log_event(name, arity, raw[1], raw[0])
        process = rules.processors.get((name, arity))
        if process is None:
            return False
        process(raw)
        return True

    def move_to(self, end: int, out: list[Raw]) -> None:
        """Let time reach the end of an event."""
        state = self.state
        if self.rules.ticks or state.timers.due < end or min(self.changes.next, state.next_coming()) <= end:
            self.pass_time(end, out, inclusive=False)
        state.now = end

    def pass_time(self, time: int, out: list[Raw], *, inclusive: bool) -> None:
        """Let all happen up to `time`, in order, but what is due at `time` only if inclusive."""
        state, rules, timers, reactor = self.state, self.rules, self.state.timers, self.reactor
        last = min(time if inclusive else time - 1, self.settled, NEVER - 1)
        moment: int | None = None
        while True:
            others = rules.ticks or state.coming or self.changes.next < NEVER
            if not (others and self._go_to_next(timers.due if timers.due <= self.settled else NEVER, time, out)):
                if timers.due > last:
                    return
                state.reach(timers.due)
                self.fallen = timers.due
                state.fall_due()
            if state.queue or state.steps or state.reacting:
                if reactor is not None and state.now != moment and (time < NEVER or moment is None):
                    moment = state.now
                    reactor.begin()
                self.settle(out)

    def _go_to_next(self, due: int, time: int, out: list[Raw]) -> bool:
        """Let happen what comes next up to `time`, and before what is due; tell whether there is anything."""
        change, tick, coming = self.changes.next, self.rules.next_tick(), self.state.next_coming()
        first = min(change, tick, coming)
        if first > min(due, time) or first >= NEVER:
            return False
        self.state.reach(first)
        if change == first:
            self.changes.make_next()
        elif tick == first:
            self.rules.fire_tick()
        else:
            self._raise(heappop(self.state.coming)[3], out)
        return True

    def settle(self, out: list[Raw]) -> None:
        """Process what was caused, round by round, until nothing new comes; then reactions and what was asked for."""
        state, reactor = self.state, self.reactor
        while True:
            while state.queue:
                self._settle_round(out)
            if reactor is not None and state.reacting:
                reactor.react()
            if not state.steps:
                return
            self._perform(state.steps.popleft(), out)

    def _settle_round(self, out: list[Raw]) -> None:
        queue = self.state.queue
        batch = queue[:]
        queue.clear()
        if len(batch) > 1:
            sort_round(batch)
        self.made += len(batch)
        if self.made > self.most:
            self.count(0, batch[-1])
        for raw in batch:
            kind: HeadKind = raw[2]
            if kind.grows:
                self._weigh(raw, kind)
            reported = kind.reported
            if reported is True or (reported is not False and reported(*raw[3 : 3 + kind.arity])):
                out.append(raw)
            if kind.feeds is not None:
                if self.rules.numbered:
                    self.number(raw, kind)
                kind.feeds(raw)

    def _weigh(self, raw: Raw, kind: HeadKind) -> None:
        """Count an event with large attributes for more than one, so that growing terms reach the limit sooner."""
        more = weigh(raw[3 : 3 + kind.arity])
        if more:
            self.count(more, raw)

    def number(self, raw: Raw, kind: EventKind) -> None:
        """Tell a derived event from those before it, where someone reads that."""
        self.state.current += 1
        self.rules.log_event(kind.name, kind.arity, raw[1], raw[0])

    def count(self, more: int, last: Raw) -> None:
        """Count what an input caused, and stop at the limit."""
        self.made += more
        if self.made <= self.most:
            return
        self.state.drop_unsettled()
        raise too_many(self.most, event_of(last))

    def reached(self) -> int | None:
        """Return the time reached while an event is processed, None else."""
        return self.state.now if self.taking else None

    def follow(self, step: Step) -> None:
        """Take a step that a goal asks for: when the current input is complete, at once if there is none."""
        if self.taking:
            if self.rules.traced and isinstance(step, Occur):
                step = replace(step, cause=self.state.cause)
            self.state.steps.append(step)
        else:
            self._perform(step, [])

    def raise_again(self, step: Occur, out: list[Raw]) -> None:
        """Let an event occur, where the past is run again, that a goal has raised."""
        taking, self.taking = self.taking, True
        try:
            if step.end != self.state.now:
                self.move_to(step.end, out)
            self.made = 0
            self._raise(step, out)
            self.settle(out)
        finally:
            self.taking = taking

    def occur_now(self, name: str, args: tuple[Any, ...], out: list[Raw]) -> None:
        """Process an event of the engine's own, at the time reached, and what was asked for before it."""
        now = self.state.now
        taking, self.taking = self.taking, True
        try:
            self.count_anew()
            self._raise(Occur(name, args, now, now), out)
            self.settle(out)
        finally:
            self.taking = taking

    def _perform(self, step: Step, out: list[Raw]) -> None:
        if not isinstance(step, Occur):
            self.change_rules(step)
        elif step.end > self.state.now:
            self.state.await_event(step)
        else:
            self._raise(step, out)

    def _raise(self, step: Occur, out: list[Raw]) -> None:
        """Let an event occur that a goal raised: an input, but received from nowhere."""
        key = step.name, len(step.args)
        kind = self.raised.get(key)
        if kind is None:
            kind = self.raised[key] = EventKind(*key, None, self.program.attributes.get(key, ()))
            kind.shown = self.rules.heads.shown
        raw: Raw = (step.end, step.start, kind, *step.args)
        if self.rules.traced:
            raw = (*raw, step.cause)
        self.count(1, raw)
        if self.rules.heads.reports_raised(step.name, step.args):
            out.append(raw)
        if self.rules.traced:
            if self.rules.record is not None:
                self.rules.record.raise_event(raw)
            raw = (step.end, step.start, None, *step.args, RaisedRope(raw, step.cause))
        if self.note_raised is not None:
            self.note_raised(step.name, step.args, step.start, step.end)
        self.occur(step.name, len(step.args), raw)


def too_many(limit: int, last: Event) -> LimitError:
    """Return the error that one input caused too many events."""
    source = "a goal" if last.rule is None else f"rule {last.rule}"
    hint = "see `etalis check` for recursion that may not end, or raise max_derivations; large terms count for several"
    message = f"one input caused more than {limit} events; the last came from {source}: {brief(last)}"
    return LimitError(Problem("E320", message, hint=hint))
