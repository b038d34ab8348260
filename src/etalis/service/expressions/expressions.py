"""All expressions of a service: what each operation does to them, and what it tells.

Law: the state, and every result with its number, is a function of the operations in their order, each with the time at
which it was received. So a replay of the log comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, assert_never

from etalis.errors import Problem
from etalis.service.evaluators.knowledge import Knowledge
from etalis.service.expressions import operations as op
from etalis.service.expressions.hosted_expression import HostedExpression, Provided
from etalis.service.expressions.seen_ids import SeenIds
from etalis.service.expressions.stamping import ClockStamps, EventStamps
from etalis.snoop import Discarded, Instance, LeafIndex, Notice, Registration
from etalis.snoop.expression import read_path
from etalis.snoop.markup.json_form import expression_of

Told = tuple[HostedExpression, Notice]


class Applied(NamedTuple):
    """What came of an operation: the answer to who sent it, and what expressions tell, in order."""

    answer: dict[str, Any]
    told: list[Told]
    changed: bool = True


class Tally:
    """What became of the signals of one body."""

    def __init__(self) -> None:
        self.taken = self.matched = self.late = self.repeated = 0
        self.discarded: list[dict[str, Any]] = []

    def answer(self) -> dict[str, Any]:
        """Return it as it is answered."""
        return {
            "taken": self.taken,
            "matched": self.matched,
            "discarded": self.discarded,
            "late": self.late,
            "repeated": self.repeated,
        }


class Waiting(NamedTuple):
    """A signal that waits for its time: its number, which of its body it is, and itself."""

    number: int
    index: int
    signal: op.TypeSignal | op.LeafSignal
    start: int | None = None


class Expressions:
    """The expressions, and what all of them share: the time, the index of leaves, the knowledge."""

    def __init__(self, *, time: str = "clock", lateness: int = 0) -> None:
        self.by_clock = time == "clock"
        self.hosted: dict[int, HostedExpression] = {}
        self.knowledge = Knowledge()
        self.next_number = 1
        self.signals = 0  # their numbers, from 1
        self.index = LeafIndex()
        self.seen = SeenIds()
        self.dropped = 0  # emissions for expressions that are gone
        self._clock = ClockStamps()
        self._events: EventStamps[Waiting] = EventStamps(lateness)

    # operations

    def apply(self, operation: op.Operation, number: int, now: int) -> Applied:
        """Do an operation: entry `number` of the log, received at `now` (microseconds)."""
        match operation:
            case op.Register():
                return self.add(operation, make_registration(operation), now)
            case op.Unregister(number=which):
                return self._unregister(which)
            case op.Signals(signals=signals):
                return self._take(signals, now)
            case op.Emitted():
                return self._take_emitted(operation, now)
            case op.Began(number=which, path=path, provider_id=provider_id):
                hosted = self.hosted.get(which)
                if hosted is not None:
                    hosted.leaf_at(path).provider_id = provider_id
                    hosted.is_changed = True
                return Applied({}, [])
            case op.Advance(to=to):
                return Applied({}, self._advance(to))
            case op.NewKnowledge(text=text):
                self.knowledge.replace(text, number)
                return Applied({"version": number}, [])
            case _:
                assert_never(operation)

    def add(self, operation: op.Register, registration: Registration, now: int) -> Applied:
        """Add an expression whose registration was made."""
        provided = {path: Provided(cursor) for path, cursor in operation.beginnings.items()}
        hosted = HostedExpression(
            operation.number, operation.client, registration, operation.callback, operation.form, now, provided
        )
        self.put(hosted)
        return Applied({"number": operation.number}, [])

    def put(self, hosted: HostedExpression) -> None:
        """Take an expression in."""
        self.hosted[hosted.number] = hosted
        self.next_number = max(self.next_number, hosted.number + 1)
        if hosted.is_active:
            self.index.add(hosted.registration)

    def _unregister(self, number: int) -> Applied:
        hosted = self.hosted.pop(number, None)
        if hosted is None:
            return Applied({}, [], changed=False)
        self.index.remove(hosted.registration)
        return Applied({}, [])

    # signals

    def _take(self, signals: list[op.Signal], now: int) -> Applied:
        tally = Tally()
        told: list[Told] = []
        for index, signal in enumerate(signals):
            match signal:
                case op.LeafEnd(number=number, path=path):
                    tally.taken += 1
                    told += self._lose(number, lambda r, p=path: r.end(read_path(p)))  # type: ignore[misc]  # mypy infers no lambda with a default
                case op.LeafFailure(number=number, path=path, code=code, text=text):
                    tally.taken += 1
                    told += self._lose(number, lambda r, s=signal: r.fail(read_path(s.path), s.code, s.text))  # type: ignore[misc]
                case op.TypeSignal() | op.LeafSignal():
                    told += self._take_one(index, signal, now, tally)
                case _:
                    assert_never(signal)
        return Applied(tally.answer(), told)

    def _take_one(self, index: int, signal: op.TypeSignal | op.LeafSignal, now: int, tally: Tally) -> Iterator[Told]:
        if signal.id is not None and not self.seen.is_new(signal.id, now):
            tally.repeated += 1
            return
        if self.by_clock:
            stamp, at = self._clock.stamp(now), signal.told
        else:
            stamp, at = signal.at or 0, None
            if self._events.is_late(stamp):
                tally.late += 1
                return
        self.signals += 1
        tally.taken += 1
        waiting = Waiting(self.signals, index, signal)
        if self.by_clock:
            yield from self._offer(waiting, stamp, at, tally)
        else:
            for ripe, each in self._events.take(stamp, waiting):
                yield from self._offer(each, ripe, None, tally)

    def _take_emitted(self, emitted: op.Emitted, now: int) -> Applied:
        """Take what an evaluator found; without a time of its own it occurs now, by either way of time."""
        hosted = self.hosted.get(emitted.number)
        if hosted is None or not hosted.is_active:
            self.dropped += 1
            if hosted is not None:
                hosted.dropped += 1
            return Applied({}, [])
        hosted.leaf_at(emitted.path).cursor = emitted.cursor
        hosted.is_changed = True
        tally = Tally()
        self.signals += 1
        signal = op.LeafSignal(emitted.number, emitted.path, [emitted.bindings], emitted.end)
        if self.by_clock:
            waiting = Waiting(self.signals, 0, signal)
            return Applied(tally.answer(), list(self._offer(waiting, self._clock.stamp(now), None, tally)))
        end = max(self._events.watermark, 0) if emitted.end is None else emitted.end
        if self._events.is_late(end):
            hosted.discard("it came too late")
            return Applied(tally.answer(), [])
        waiting = Waiting(self.signals, 0, signal, emitted.start)
        found = [told for at, each in self._events.take(end, waiting) for told in self._offer(each, at, None, tally)]
        return Applied(tally.answer(), found)

    def _offer(self, waiting: Waiting, stamp: int, at: str | None, tally: Tally) -> Iterator[Told]:
        """Offer a signal to the leaves that it fills; yield what that completes."""
        yield from self._pass_time(stamp)
        signal = waiting.signal
        if isinstance(signal, op.TypeSignal):
            found = self.index.find(signal.operator, signal.language, signal.parameters)
            tally.matched += bool(found)
            for registration, fills in found:
                instance = Instance(str(waiting.number), fills, None, at)
                yield from self._signal(registration.number, [instance], stamp)
            return
        hosted = self.hosted.get(signal.number)
        if hosted is None or not hosted.is_active:
            self.dropped += 1
            tally.discarded.append({"index": waiting.index, "reason": "the expression is gone"})
            return
        instances = self._bound(hosted, waiting, at, tally)
        if instances:
            tally.matched += 1
            yield from self._signal(hosted.number, instances, stamp)

    @staticmethod
    def _bound(hosted: HostedExpression, waiting: Waiting, at: str | None, tally: Tally) -> list[Instance]:
        """Return the instances of a signal that names a leaf; what is none of the leaf is told and counted."""
        signal = waiting.signal
        assert isinstance(signal, op.LeafSignal)
        path = read_path(signal.path)
        leaf = hosted.registration.leaf(path)
        assert leaf is not None
        hosted.is_changed = True
        instances = []
        for count, bindings in enumerate(signal.tuples, 1):
            values = leaf.bind(bindings)
            if isinstance(values, Discarded):
                hosted.discard(values.reason)
                told = {"index": waiting.index, "evaluation": f"{hosted.number}/leaves/{signal.path}"}
                tally.discarded.append({**told, "reason": values.reason})
                continue
            number = f"{waiting.number}.{count}" if len(signal.tuples) > 1 else str(waiting.number)
            instances.append(Instance(number, {path: values}, waiting.start, at))
        return instances

    def _signal(self, number: int, instances: list[Instance], stamp: int) -> list[Told]:
        hosted = self.hosted[number]
        hosted.is_changed = True
        return self._tell(hosted, hosted.registration.signal(instances, stamp))

    def _lose(self, number: int, lose: Callable[[Registration], list[Notice]]) -> list[Told]:
        """Let a leaf of an expression end or fail."""
        hosted = self.hosted.get(number)
        if hosted is None or not hosted.is_active:
            return []
        hosted.is_changed = True
        return self._tell(hosted, lose(hosted.registration))

    def _tell(self, hosted: HostedExpression, notices: list[Notice]) -> list[Told]:
        hosted.notices += len(notices)
        if not hosted.is_active:
            self.index.remove(hosted.registration)
        return [(hosted, notice) for notice in notices]

    # time

    def _advance(self, to: int) -> list[Told]:
        tally = Tally()
        if self.by_clock:
            self._clock.last = max(self._clock.last, to)
            return list(self._pass_time(to))
        ripe = list(self._events.advance(to))
        found = [told for at, each in ripe for told in self._offer(each, at, None, tally)]
        return [*found, *self._pass_time(to)]

    def _pass_time(self, stamp: int) -> Iterator[Told]:
        """Let pass what is due before a stamp."""
        return iter(())

    # as plain data

    def state(self) -> dict[str, Any]:
        """Return what expressions share, as `restore` takes it."""
        events = self._events.state()
        events["held"] = [
            [at, [w.number, w.index, op.write_operation(op.Signals([w.signal])).decode(), w.start]]
            for at, w in events["held"]
        ]
        return {
            "next_number": self.next_number,
            "signals": self.signals,
            "dropped": self.dropped,
            "last": self._clock.last,
            "events": events,
            "knowledge": [self.knowledge.text, self.knowledge.before, self.knowledge.version],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take the state of another run."""
        self.next_number, self.signals, self.dropped = state["next_number"], state["signals"], state["dropped"]
        self._clock.last = state["last"]
        events = dict(state["events"])
        events["held"] = [(at, _waiting(plain)) for at, plain in events["held"]]
        self._events.restore(events)
        self.knowledge.restore(*state["knowledge"])


def _waiting(plain: list[Any]) -> Waiting:
    number, index, body, start = plain
    signals = op.read_operation(body.encode())
    assert isinstance(signals, op.Signals)
    (signal,) = signals.signals
    assert isinstance(signal, op.TypeSignal | op.LeafSignal)
    return Waiting(number, index, signal, start)


def make_registration(operation: op.Register) -> Registration:
    """Return what detects an expression."""
    return Registration(expression_of(operation.expression), operation.number, provided=operation.provided)


def unknown_leaf(uri: str) -> Problem:
    """Return the problem of a signal that names no leaf."""
    hint = "the answer to the registration names the leaves; an expression's own id names none"
    return Problem("E860", f"{uri} is no leaf of an expression", hint=hint)
