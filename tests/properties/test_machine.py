"""One engine driven in random order: events in order and late, corrections, time, snapshots, rules that come and go.

Law: whatever is done, and at every point, what the changelog comes to is what the history as it then stands means: the
events that stand, in their order, under the rules of their place. Without changes of rules the meaning itself says
what that is; with them, an engine that takes the same history in order, each change where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import etalis
from etalis import Stamp
from etalis.errors import LimitError
from etalis.language.printer import print_program
from etalis.language.rules import event_rules
from etalis.runtime.revision import history
from etalis.temporal.event import Event, new_event, sort_key
from helpers.programs import RECEIVED, SECOND, Shape, policies, programs
from properties.test_disorder import net
from properties.test_engine import MOST, meaning, moment

pytestmark = pytest.mark.property

SMALL = Shape(rules=3, leaves=4, depth=3)
VALUES = (0, 0, 0, 1, 1, "x")
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "revision": {"revision_flag": "on"},
    "on_watermark": {"out_of_order": "on", "reporting": "on_watermark"},
    "on_arrival": {"out_of_order": "on", "reporting": "on_arrival"},
    "both": {"out_of_order": "on", "reporting": "on_arrival", "revision_flag": "on"},
    "held": {"out_of_order": "on", "reporting": "on_watermark", "revision_flag": "on"},
}
ADDED = (
    "z(X) <- a(X) seq b(X).",
    "z(X, Y) <- a(X) seq b(Y).",
    "z(X) <- (a(X) seq b(X)) cnot n.",
    "z(X) <- a(X) seq (not b(X) within 2).",
    "z(N) <- a(X) seq aggregate(count, b(X), N).",
    "z(X) <- (c(X, _) seq a(X)) within 3.",
    "z <- iso(a(_) seq n).",
    "z <- 3 seq a(_).",
    "z(X) <- d(X) and b(X).",
    "z(X) <- b(X) ntimes 2.",
    "exceptionAlarm(z(X), 2) <- a(X).",
)


@dataclass(slots=True)
class Stood:
    """An event as it stands, with its rank, its id, and the number of its arrival."""

    event: Event
    rank: int
    id: int | None
    arrival: int


@dataclass(slots=True)
class Turned:
    """A change of rules: what was done, and after which place in the history."""

    what: str
    subject: str
    place: tuple[float, ...]
    time: int
    passed: bool


@dataclass(slots=True)
class Model:
    """What was done so far, as it stands."""

    events: list[Stood] = field(default_factory=list)
    turns: list[Turned] = field(default_factory=list)
    ranks: int = 0


@st.composite
def happenings(draw: st.DrawFn) -> tuple[str, tuple[Any, ...], int]:
    """Name, attributes and length of an event."""
    name = draw(st.sampled_from(("a", "a", "b", "b", "c", "n")))
    values = tuple(draw(st.sampled_from(VALUES)) for _ in range(RECEIVED[name]))
    return name, values, draw(st.sampled_from((0, 0, 0, 0, 1, 3)))


class Machine(RuleBasedStateMachine):
    """Drives one engine, and keeps what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.trim = patch.object(history, "LEAST_TRIM", 2)  # old rows go at once, not by the thousand
        self.trim.start()
        self.model = Model()
        self.found: list[Event] = []
        self.is_over = True
        self.time = 0
        self.inserted = 0
        self.data: list[bytes] = []

    @initialize(
        tree=programs(SMALL), policy=policies(), way=st.sampled_from(list(WAYS)), bound=st.sampled_from((1, 3, 9)),
        horizon=st.sampled_from((None, 2, 5)),
    )  # fmt: skip
    def begin(self, tree, policy, way, bound, horizon) -> None:
        self.text, self.policy, self.way = print_program(tree), policy, way
        flags = dict(WAYS[way])
        if "out_of_order" in flags:
            flags["ooo_window"] = bound
        if "revision_flag" in flags and horizon is not None:
            flags["revision_window"] = horizon
        note(f"{policy} {flags}\n{self.text}")
        self.labels = sorted({r.label for r in event_rules(tree) if r.label is not None})
        self.program = etalis.compile(self.text, max_derivations=MOST, **flags)
        self.engine = self.program.engine(policy=policy)
        self.is_over = False

    def order(self, stood: Stood) -> tuple[int, ...]:
        """The place of an event in the history."""
        event = stood.event
        if "out_of_order" in WAYS[self.way]:
            return event.end_time, event.start_time, stood.rank
        return event.end_time, stood.rank

    def act(self, do) -> bool:
        """Do something; tell whether nothing was refused. Too much derived ends the run."""
        before = self.engine.dead_letter_count
        try:
            self.found += do()
        except LimitError:
            self.is_over = True
        return not self.is_over and self.engine.dead_letter_count == before

    @precondition(lambda self: not self.is_over)
    @rule(what=happenings(), step=st.sampled_from((0, 0, 1, 1, 2)), named=st.booleans())
    def push(self, what, step, named) -> None:
        self.time += step
        self.send(what, self.time, named)

    @precondition(lambda self: not self.is_over and self.model.events)
    @rule(what=happenings(), back=st.integers(1, 4), named=st.booleans())
    def push_late(self, what, back, named) -> None:
        self.send(what, self.time - back, named)

    def send(self, what, end, named) -> None:
        name, values, length = what
        if "out_of_order" not in WAYS[self.way] and any(x.event.end_time == end * SECOND for x in self.model.events):
            length = 0  # the meaning takes equal ends by their starts, the engine in the order given
        event = Event.make(name, values, (end - length) * SECOND, end * SECOND)
        rank = self.model.ranks = self.model.ranks + 1
        at = Stamp(moment(event), id=rank) if named else moment(event)
        if self.act(lambda: self.engine.push(name, *values, at=at)) and self.is_read(event):
            self.model.events.append(Stood(event, rank, rank if named else None, rank))

    def is_read(self, event: Event) -> bool:
        """Tell whether an event can have any effect: what no rule reads when it comes has none."""
        disorder = self.engine.core.disorder
        if disorder is None or disorder.revision is None or disorder.held is not None:
            return True
        return (event.name, len(event.args)) in disorder.history.parts

    def pick(self, data) -> Stood:
        """An event to be taken back; of equal ones without an id the last that came."""
        stood = data.draw(st.sampled_from(self.model.events))
        if stood.id is not None or self.way == "held":
            return stood
        alike = [x for x in self.model.events if x.event == stood.event]
        return max(alike, key=lambda x: x.arrival)

    @precondition(lambda self: not self.is_over and self.model.events and "revision_flag" in WAYS[self.way])
    @rule(data=st.data())
    def retract(self, data) -> None:
        stood = self.pick(data)
        if stood.id is None and self.way == "held":
            return
        event = stood.event
        if self.act(
            lambda: (
                self.engine.retract(stood.id)
                if stood.id is not None
                else self.engine.retract(event.name, *event.args, at=moment(event))
            )
        ):
            self.model.events.remove(stood)

    @precondition(lambda self: not self.is_over and self.model.events and "revision_flag" in WAYS[self.way])
    @rule(data=st.data(), what=happenings(), shift=st.integers(-2, 2))
    def correct(self, data, what, shift) -> None:
        stood = self.pick(data)
        if stood.id is None:
            return
        name, values, length = what
        end = stood.event.end_time // SECOND + shift
        event = Event.make(name, values, (end - length) * SECOND, end * SECOND)
        now = self.engine.core.state.now
        held = self.engine.core.disorder.held is not None and stood.id in self.engine.core.disorder.held_ids
        rank = self.model.ranks = self.model.ranks + 1
        if self.act(lambda: self.engine.correct(stood.id, to=(name, *values, moment(event)))):
            self.model.events.remove(stood)
            kept = held or event.end_time <= now
            if self.is_read(event):
                self.model.events.append(Stood(event, stood.rank if kept else rank, stood.id, rank))

    @precondition(lambda self: not self.is_over)
    @rule(step=st.integers(-2, 2))
    def advance(self, step) -> None:
        self.act(lambda: self.engine.advance(to=self.time + step))

    @precondition(lambda self: not self.is_over)
    @rule(delta=st.booleans())
    def put_down(self, delta) -> None:
        """Go on with an engine restored from a snapshot, or from a chain of them."""
        if delta and self.data:
            self.data.append(self.engine.snapshot(since=self.data))
        else:
            self.data = [self.engine.snapshot()]
        self.engine = self.program.restore(*self.data)

    @precondition(lambda self: not self.is_over)
    @rule(text=st.sampled_from(ADDED))
    def insert_rule(self, text) -> None:
        self.inserted += 1
        label = f"new{self.inserted}"
        self.engine.insert_rule(f"{label} rule: {text}")
        self.labels.append(label)
        self.turn("insert", f"{label} rule: {text}")

    @precondition(lambda self: not self.is_over and self.labels)
    @rule(data=st.data())
    def delete_rule(self, data) -> None:
        label = data.draw(st.sampled_from(self.labels))
        self.engine.delete_rule(label)
        self.labels.remove(label)
        self.turn("delete", label)

    @precondition(lambda self: not self.is_over and self.labels)
    @rule(data=st.data(), window=st.integers(1, 4))
    def set_window(self, data, window) -> None:
        label = data.draw(st.sampled_from(self.labels))
        self.engine.set_property(label, "window", window)
        self.turn("property", f"{label} {window}")

    @precondition(lambda self: not self.is_over)
    @rule()
    def reset(self) -> None:
        self.engine.reset()
        self.turn("reset", "")

    def turn(self, what: str, subject: str) -> None:
        """Note where in the history a change of rules stands: after all that was processed."""
        state, disorder = self.engine.core.state, self.engine.core.disorder
        place: tuple[float, ...] = (state.now, float("inf"), float("inf"))
        passed = state.floor >= state.now
        if disorder is not None and disorder.revision is not None:
            turn = disorder.revision.replayer.epochs[-1].turn
            place = (-float("inf"),) if turn is None else turn.place
            passed = turn is not None and turn.passed
        elif disorder is None:
            place = (state.now, self.model.ranks)
        self.model.turns.append(Turned(what, subject, place, state.now, passed))

    @precondition(lambda self: not self.is_over)
    @rule()
    def check(self) -> None:
        """Compare what the changelog would come to, if the stream ended here, with what the history means."""
        expected = self.expected()
        if expected is None:
            self.is_over = True
            return
        copy = self.program.restore(self.engine.snapshot())
        try:
            found = [*self.found, *copy.close()]
        except LimitError:
            self.is_over = True
            return
        assert net(found) == sorted(expected, key=sort_key)

    def expected(self) -> list[Event] | None:
        stream = sorted(self.model.events, key=self.order)
        if not self.model.turns:
            return meaning(self.text, [stood.event for stood in stream], self.policy)
        engine = etalis.compile(self.text, max_derivations=MOST).engine(policy=self.policy)
        found: list[Any] = []
        done = 0
        try:
            for turn in self.model.turns:
                while done < len(stream) and self.order(stream[done]) <= turn.place:
                    found += self.repeat(engine, stream[done].event)
                    done += 1
                if turn.time > engine.core.state.now:
                    engine.core.run_loop.reach(turn.time, found)
                if turn.passed:
                    engine.core.run_loop.advance(turn.time, found)
                _change(engine, turn)
            for stood in stream[done:]:
                found += self.repeat(engine, stood.event)
            found += engine.close()
        except LimitError:
            return None
        return [new_event(Event, raw) if raw.__class__ is tuple else raw for raw in found]

    def repeat(self, engine: etalis.Engine, event: Event) -> tuple[Event, ...]:
        found = engine.push(event.name, *event.args, at=moment(event))
        assert not engine.dead_letters
        return found

    def teardown(self) -> None:
        if not self.is_over:
            self.check()
        self.trim.stop()


def _change(engine: etalis.Engine, turn: Turned) -> None:
    match turn.what:
        case "insert":
            engine.insert_rule(turn.subject)
        case "delete":
            engine.delete_rule(turn.subject)
        case "property":
            label, window = turn.subject.split()
            engine.set_property(label, "window", int(window))
        case "reset":
            engine.reset()


Machine.TestCase.settings = settings(max_examples=max(10, settings.default.max_examples // 20), stateful_step_count=16)
TestMachine = pytest.mark.property(Machine.TestCase)
