"""All expressions of a service: what each operation does to them, and what they tell.

Law: the state, and every result with its number, is a function of the operations in their order, each with the time at
which it was received. So a replay of the log comes to the same. It runs in the worker's thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, assert_never

from etalis.service.evaluators.knowledge import ServiceKnowledge
from etalis.service.expressions import operations as op
from etalis.service.expressions.hosted_expression import HostedExpression, ProvidedLeaf
from etalis.service.seen_names import SeenNames
from etalis.snoop import Detector, Notice, Registration, SignalReception
from etalis.snoop.expression import read_path
from etalis.snoop.markup.json_form import expression_of
from etalis.temporal.interval import MICROSECONDS


class Applied(NamedTuple):
    """What came of an operation: the answer to who sent it, and what expressions tell, in order."""

    answer: dict[str, Any]
    told: list[tuple[HostedExpression, Notice]]


class Expressions:
    """The expressions, and what all of them share: the time and the index of leaves, the ids seen, the knowledge."""

    def __init__(self, *, time: str = "clock", lateness: int = 0) -> None:
        self.by_clock = time == "clock"
        self.detector = Detector(time="clock" if self.by_clock else "events", lateness=lateness)
        self.hosted: dict[int, HostedExpression] = {}
        self.knowledge = ServiceKnowledge()
        self.seen = SeenNames(lambda: self._now)
        self._now = 0.0  # when the operation was received, in seconds
        self.entry = 0  # the last one that was done
        self.numbers = 0  # of expressions: the last one given
        self.dropped = 0  # what came for expressions that were gone

    def apply(self, operation: op.Operation, number: int, now: int) -> Applied:
        """Do an operation: entry `number` of the log, received at `now` (microseconds)."""
        self.entry, self._now = number, now / MICROSECONDS
        match operation:
            case op.Register():
                return self.add(operation, make_registration(operation), number, now)
            case op.Unregister(number=which):
                hosted = self.hosted.pop(which, None)
                self.detector.unregister(which)
                return Applied({"removed": hosted is not None}, [])
            case op.Signals(signals=signals):
                return self._take(signals, now)
            case op.Emitted():
                return self._take_emitted(operation, now)
            case op.Began(number=which, path=path, provider_id=provider_id):
                if which in self.hosted:
                    self.hosted[which].leaf_at(path).provider_id = provider_id
                    self.hosted[which].changes += 1
                return Applied({}, [])
            case op.AdvanceTime(to=to):
                return Applied({}, self._own(self.detector.advance(to)))
            case op.NewKnowledge(text=text):
                self.knowledge.replace(text, number)
                return Applied({"version": number}, [])
            case _:
                assert_never(operation)

    # expressions

    def add(self, operation: op.Register, registration: Registration, number: int, now: int) -> Applied:
        """Add an expression whose registration was made."""
        self.entry = number
        provided = {path: ProvidedLeaf(cursor) for path, cursor in operation.beginnings.items()}
        hosted = HostedExpression(
            operation.number, operation.client, registration, operation.callback, operation.form, now, provided
        )
        self.put(hosted)
        return Applied({"number": hosted.number}, self._own((registration, each) for each in registration.opening))

    def put(self, hosted: HostedExpression) -> None:
        """Take an expression in, new or restored."""
        self.hosted[hosted.number] = hosted
        self.numbers = max(self.numbers, hosted.number)
        if hosted.is_active:
            self.detector.add(hosted.registration)

    # signals

    def _take(self, signals: list[op.Signal], now: int) -> Applied:
        counts = {"taken": 0, "matched": 0, "late": 0, "repeated": 0}
        discarded: list[dict[str, Any]] = []
        told: list[tuple[HostedExpression, Notice]] = []
        for place, signal in enumerate(signals):
            if isinstance(signal, op.LeafEnd | op.LeafFailure):
                counts["taken"] += 1
                told += self._lose(signal)
                continue
            if signal.id is not None and not self.seen.note(signal.id):
                counts["repeated"] += 1
                continue
            found = self._take_one(signal, now)
            counts["late" if found.late else "taken"] += 1
            counts["matched"] += found.matched
            discarded += [{"index": place, "reason": reason} for reason in found.discarded]
            told += self._own(found.told)
        return Applied({**counts, "discarded": discarded}, told)

    def _take_one(self, signal: op.TypeSignal | op.LeafSignal, now: int) -> SignalReception:
        if isinstance(signal, op.TypeSignal):
            return self.detector.signal(
                signal.operator, signal.language, signal.parameters, at=signal.at, clock=now, echo=signal.told
            )
        hosted = self._alive(signal.number)
        if hosted is None:
            return SignalReception(discarded=("the expression is gone",))
        path = read_path(signal.path)
        found = self.detector.signal_leaf(
            hosted.registration, path, signal.tuples, at=signal.at, clock=now, echo=signal.told
        )
        hosted.discard(found.discarded)
        return found

    def _take_emitted(self, emitted: op.Emitted, now: int) -> Applied:
        """Take what an evaluator found; without a time of its own it occurs now, as the stream has it."""
        hosted = self._alive(emitted.number)
        if hosted is None:
            return Applied({}, [])
        hosted.leaf_at(emitted.path).cursor = emitted.cursor
        hosted.changes += 1
        end = (self.detector.last or 0) if emitted.end is None else emitted.end
        found = self.detector.signal_leaf(
            hosted.registration, read_path(emitted.path), [emitted.bindings], at=end, clock=now,
            start=None if self.by_clock else emitted.start,
        )  # fmt: skip
        hosted.discard([*found.discarded, *(["it came too late"] if found.late else [])])
        return Applied({}, self._own(found.told))

    def _alive(self, number: int) -> HostedExpression | None:
        """Return an expression that can still be detected; count what came for another."""
        hosted = self.hosted.get(number)
        if hosted is None or not hosted.is_active:
            self.dropped += 1
            return None
        return hosted

    def _lose(self, signal: op.LeafEnd | op.LeafFailure) -> list[tuple[HostedExpression, Notice]]:
        """Let a leaf of an expression end or fail."""
        hosted = self._alive(signal.number)
        if hosted is None:
            return []
        path = read_path(signal.path)
        if isinstance(signal, op.LeafEnd):
            return self._own(self.detector.end(hosted.registration, path))
        return self._own(self.detector.fail(hosted.registration, path, signal.code, signal.text))

    def _own(self, told: Iterable[tuple[Registration, Notice]]) -> list[tuple[HostedExpression, Notice]]:
        """Say whose results they are."""
        found = [(self.hosted[registration.number], notice) for registration, notice in told]
        for hosted, _ in found:
            hosted.notices += 1
        return found

    def recall(self, seen: Iterable[tuple[str, float]]) -> None:
        """Take the ids of signals that were seen, with when, oldest first."""
        for name, self._now in seen:
            self.seen.note(name)

    # as plain data

    def state(self) -> dict[str, Any]:
        """Return what expressions share, as `restore` takes it; what they hold is in their own snapshots."""
        return {
            "signals": self.detector.signals,
            "last": self.detector.last,
            "dropped": self.dropped,
            "numbers": self.numbers,
            "knowledge": [self.knowledge.text, self.knowledge.before, self.knowledge.version],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take the state of another run."""
        self.detector.signals, self.detector.last = state["signals"], state["last"]
        self.dropped, self.numbers = state["dropped"], state["numbers"]
        self.knowledge.restore(*state["knowledge"])


def make_registration(operation: op.Register) -> Registration:
    """Return what detects an expression."""
    return Registration(expression_of(operation.expression), operation.number, provided=operation.provided)
