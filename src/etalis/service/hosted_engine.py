"""An engine of the service: what can be asked of it and done with it, each in the turn of its queue.

What ends in `_now` runs in the worker's thread, everything else in the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from etalis.errors import EtalisError
from etalis.language.syntax import Rule
from etalis.runtime.reporting.inspection import Waiting
from etalis.runtime.state import NEVER
from etalis.service.clock import ServiceClock
from etalis.service.engine_parts import EngineCounts, EngineSpec, MadeEngine
from etalis.service.intake.batches import EventBatch, Taken
from etalis.service.intake.bodies import Body, BodyOptions, KnownEvents, count_rows, read_parts
from etalis.service.intake.parts import Part, as_parts, seconds_of
from etalis.service.kept import Kind
from etalis.service.limits import ServiceLimits
from etalis.service.matches import MatchEntry, MatchLog
from etalis.service.plans import EXPLAINED
from etalis.service.programs import read_rules
from etalis.service.seen_names import SeenNames
from etalis.service.store.journal import Journal
from etalis.service.store.plain_data import write_data
from etalis.service.worker import Actor, QueuedCall, Work, Worker
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.interval import MICROSECONDS
from etalis.why.justification import Justification
from etalis.why.partial import PartialMatches
from etalis.why.why_not import WhyNot

T = TypeVar("T")
_MOST_WAYS = 20  # to read bodies, that are kept
_SEARCH_SECONDS = 1.0  # in which is looked for why something did not occur
_PAUSE = 50_000  # microseconds between two looks at what does not pass


class EngineHome(Protocol):
    """What a service has for all of its engines."""

    worker: Worker
    clock: ServiceClock
    limits: ServiceLimits
    journal: Journal | None


class HostedEngine:
    """One engine, its queue, its matches, and who made it."""

    def __init__(self, name: str, spec: EngineSpec, owner: str, made: MadeEngine, home: EngineHome) -> None:
        self.name = name
        self.spec = spec
        self.owner = owner
        self.program = made.program
        self.letters = made.letters
        self.matches = MatchLog(kept=home.limits.kept, seconds=home.limits.kept_seconds)
        self.actor = Actor(name)
        self.counts = EngineCounts()
        self.followed: frozenset[Kind] = frozenset()
        self.by_clock = spec.time == "clock"
        self.closed = False
        self.used = home.clock.monotonic()
        self._asked: frozenset[Kind] = frozenset()
        self._engine = made.engine
        self._worker = home.worker
        self._clock = home.clock
        self._limits = home.limits
        self._home = home
        self.entry = 0  # the last one of the log that was put into the queue
        self._ticked = 0  # the last moment of the clock that was
        self._known: dict[BodyOptions, KnownEvents] = {}  # how bodies are read
        self._stamp = 0  # the last one given
        self._seen = SeenNames(home.clock.monotonic)
        self._alarm: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<engine {self.name}, {self.matches.last} matches>"

    # events

    async def take(self, rows: Sequence[Any], matches: bool = True) -> Taken:
        """Take rows in order; those that come meanwhile come after them."""
        return await self._take(as_parts(rows), len(rows), {"rows": rows}, matches=matches)

    async def take_body(self, media: str, data: bytes, options: BodyOptions, matches: bool = True) -> Taken:
        """Take the events of a body of some content type."""
        given = {"media": media, "data": data, "options": (options.event, options.time, options.unit)}
        return await self._take(self._parts(media, data, options), count_rows(media, data), given, matches=matches)

    def _parts(self, media: str, data: bytes, options: BodyOptions) -> Iterable[Part]:
        """Return the events of a body as they are read."""
        known = self._known.get(options)
        if known is None:
            if len(self._known) >= _MOST_WAYS:
                self._known.clear()
            known = self._known[options] = KnownEvents(self.program.compiled, options, by_clock=self.by_clock)
        return read_parts(media, Body(data, known, self.reached, self.by_clock, self._limits))

    def _parts_again(self, given: Mapping[str, Any]) -> Iterable[Part]:
        """Return the events of an entry of the log."""
        if "rows" in given:
            return as_parts(given["rows"])
        event, time, unit = given["options"]
        return self._parts(given["media"], given["data"], BodyOptions(event=event, time=time, unit=unit))

    async def _take(self, parts: Iterable[Part], weight: int, given: dict[str, Any], *, matches: bool) -> Taken:
        answer: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
        stamp = max(self._clock.now(), self._ticked + 1) if self.by_clock else None
        batch = EventBatch(self, parts, answer, stamp=stamp, matches=matches)
        return await self._perform(batch, answer, "events", {**given, "stamp": stamp, "wanted": matches}, events=weight)

    async def _perform(
        self, job: Work, answer: asyncio.Future[T], kind: str, data: dict[str, Any], *, events: int = 0
    ) -> T:  # fmt: skip
        """Do a job that changes the engine, after it was written, if something is written."""
        self.used = self._clock.monotonic()
        journal = None if self.spec.scratch else self._home.journal
        if journal is None:
            self._worker.submit(self.actor, job, events=events)
            return await answer

        def make(number: int) -> tuple[Work, asyncio.Future[T]]:
            self.entry = number
            return job, answer

        return await journal.perform(self.actor, self.unit, kind, write_data(data), make, events=events)

    @property
    def unit(self) -> str:
        """What the log calls it."""
        return f"engine:{self.name}"

    def run_now(self, rows: Iterator[Any]) -> Iterator[Event]:
        """Run rows through the engine."""
        return self._engine.run(rows)

    def advance_now(self, seconds: Any) -> tuple[Event, ...]:
        """Let time pass."""
        return self._engine.advance(to=seconds)

    def stamped(self, rows: list[Any], moment: int) -> list[Any]:
        """Return rows that happen now, a microsecond after each other, whatever time they tell."""
        found = []
        self._stamp = max(self._stamp, moment - 1)
        for row in rows:
            self._stamp += 1
            found.append(self._at(row, self._stamp))
        return found

    @staticmethod
    def _at(row: Any, moment: int) -> Any:
        if isinstance(row, Event):
            return new_event(type(row), (moment, moment, *tuple.__getitem__(row, slice(2, None))))
        if isinstance(row, tuple):
            return (*row[:-1], seconds_of(moment))
        if isinstance(row, dict):
            return {**{k: v for k, v in row.items() if k not in ("start", "end")}, "at": seconds_of(moment)}
        return row

    def received(self, row: Any) -> Event | None:
        """Return a row that was taken as an event, if someone follows its kind."""
        inputs = self._engine.core.inputs
        name, values, start, end, _ = inputs.row(row)
        if (name, len(values)) not in self.followed:
            return None
        kind = EventKind(name, len(values), None, tuple(a for a, _ in inputs.signatures.get(name, ())))
        kind.shown = inputs.shown
        return new_event(Event, (end, start, kind, *values))

    def is_new(self, key: str) -> bool:
        """Note the name that a client gave an event; tell whether it is the first of this name."""
        return self._seen.note(key)

    def reached(self) -> int:
        """Return the time that the engine has reached, in microseconds."""
        return self._engine.core.state.now

    # what comes of it

    def deliver(self, found: list[tuple[int | None, Event, bool]], due: int | None) -> list[MatchEntry]:
        """Number what was found, and wait for what is due."""
        entries = self.matches.add(found)
        for entry in entries:
            if entry.sign < 0:
                self.counts.retractions += 1
            elif not entry.received:
                self.counts.matches += 1
        self._wait_for(due)
        return entries

    def next_due(self) -> int | None:
        """Return the moment at which something may happen without an event, of an engine that follows the clock."""
        due = self._engine.core.due() if self.by_clock else NEVER
        return None if due >= NEVER else due

    def _wait_for(self, due: int | None) -> None:
        """Advance the engine when the clock has passed a moment."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None and not self.closed:
            pause = 0 if due > self._ticked else _PAUSE  # that it was due was told, and it is still there
            left = max(pause, due + 1 - self._clock.now()) / MICROSECONDS
            self._alarm = asyncio.get_running_loop().call_later(left, self._tick)

    def _tick(self) -> None:
        """Let time pass up to the clock; the queue is never too full for that."""
        self._alarm = None
        self._ticked = moment = self._clock.now()

        def advance() -> tuple[Event, ...]:
            self._stamp = max(self._stamp, moment)
            return self.advance_now(seconds_of(moment))

        answer: asyncio.Future[list[MatchEntry]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(asyncio.Future.exception)  # nobody waits for it
        self._worker.submit(self.actor, _Changing(self, advance, answer), always=True)

    # what else it does, in its turn

    async def _do(self, function: Callable[[], T]) -> T:
        self.used = self._clock.monotonic()
        return await self._worker.do(self.actor, function)

    async def _change(self, function: Callable[[], T], kind: str, data: dict[str, Any]) -> T:
        """Do what changes the engine, and keep that it was done."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        return await self._perform(QueuedCall(function, answer), answer, kind, data)

    async def _cause(self, change: Callable[[], Iterable[Event]], kind: str, data: dict[str, Any]) -> list[MatchEntry]:
        """Do what may cause matches; return them with their numbers."""
        answer: asyncio.Future[list[MatchEntry]] = asyncio.get_running_loop().create_future()
        return await self._perform(_Changing(self, change, answer), answer, kind, data)

    async def advance(self, at: Any) -> list[MatchEntry]:
        """Say that nothing more ends at or before a time."""
        return await self._cause(lambda: self._engine.advance(to=at), "advance", {"to": at})

    async def close(self) -> list[MatchEntry]:
        """End the stream: all deadlines pass."""
        found = await self._cause(self._engine.close, "close", {})
        self.closed = True
        return found

    async def reset(self) -> None:
        """Drop all that waits; rules, knowledge, time and matches stay."""
        await self._change(self._engine.reset, "reset", {})

    async def query(self, goal: str, limit: int = 1_000) -> list[dict[str, Any]]:
        """Return the first solutions of a goal."""
        given = {"goal": goal, "limit": limit}
        return await self._change(lambda: self._engine.query(goal, limit=limit), "query", given)

    async def state(self) -> tuple[Waiting, ...]:
        """Return what the engine holds on to, by rule and operator."""
        return await self._do(self._engine.state)

    async def partial(self, rule: str | None = None, limit: int = 100) -> PartialMatches:
        """Return the patterns that have begun, the fullest first."""
        return await self._do(lambda: self._engine.partial(rule, limit=limit))

    async def explain(self, form: str = "text") -> str | dict[str, Any]:
        """Return the plan of the rules with what waits in it: as text, as SVG, or as boxes and links."""
        return await self._do(lambda: EXPLAINED[form](self._engine))

    async def why(self, event: Event | str) -> Justification:
        """Return why an event occurred, in an engine that keeps its past."""
        return await self._do(lambda: self._engine.justify(event))

    async def why_not(self, question: str, between: tuple[Any, Any] | None = None, *, repair: bool = False) -> WhyNot:
        """Return why no event fits a pattern, and what came nearest."""
        return await self._do(lambda: self._ask_why_not(question, between, repair))

    def _ask_why_not(self, question: str, between: tuple[Any, Any] | None, repair: bool) -> WhyNot:
        return self._engine.why_not(question, between=between, repair=repair, seconds=_SEARCH_SECONDS)

    async def follow(self, kinds: Iterable[Kind]) -> None:
        """Note the events of received kinds among the matches, from now on, for who names them."""
        added = self.followed | frozenset(kinds)
        if added - self._asked:
            self._asked |= added
            await self._change(lambda: self._follow_now(added), "follow", {"kinds": sorted(added)})

    def _follow_now(self, kinds: frozenset[Kind]) -> None:
        made = {planned.head.kind for planned, _ in self._engine.core.rules.rules}
        self.followed = kinds - made

    async def insert_rules(self, text: str) -> list[str]:
        """Add rules, effective for later events; return their labels."""
        return await self._change(lambda: self._insert_now(text), "insert_rules", {"rules": text})

    def _insert_now(self, text: str) -> list[str]:
        """Add all rules, or none."""
        engine, added = self._engine, list[Rule]()
        labels = []
        try:
            for rule in read_rules(text):
                labels.append(engine.insert_rule(rule))
                added.append(rule)
        except EtalisError:
            for rule in added:
                engine.delete_rule(rule)
            raise
        return labels

    async def delete_rule(self, label: str) -> int:
        """Delete the rules of a label; return how many there were."""
        return await self._change(lambda: self._engine.delete_rule(label), "delete_rule", {"label": label})

    async def snapshot(self) -> bytes:
        """Return all that the engine knows."""
        return await self._do(self._engine.snapshot)

    # in a log

    def job_again(self, kind: str, data: Mapping[str, Any]) -> tuple[Work, asyncio.Future[Any]]:
        """Return the job of an entry of the log, which was done in an earlier run."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        engine = self._engine
        match kind:
            case "events":
                return EventBatch(self, self._parts_again(data), answer, stamp=data["stamp"], matches=True), answer
            case "advance":
                return _Changing(self, lambda: engine.advance(to=data["to"]), answer), answer
            case "close":
                self.closed = True
                return _Changing(self, engine.close, answer), answer
            case "reset":
                return QueuedCall(engine.reset, answer), answer
            case "query":
                return QueuedCall(lambda: engine.query(data["goal"], limit=data.get("limit")), answer), answer
            case "follow":
                kinds = frozenset((str(name), int(arity)) for name, arity in data["kinds"])
                return QueuedCall(lambda: self._follow_now(kinds), answer), answer
            case "insert_rules":
                return QueuedCall(lambda: self._insert_now(data["rules"]), answer), answer
            case _:
                assert kind == "delete_rule"
                return QueuedCall(lambda: engine.delete_rule(data["label"]), answer), answer

    async def freeze(self) -> tuple[dict[str, Any], bytes]:
        """Return a snapshot of the engine, and what belongs to it outside; put into the queue at once."""
        answer: asyncio.Future[tuple[dict[str, Any], bytes]] = asyncio.get_running_loop().create_future()
        self._worker.submit(self.actor, _Freezing(self, answer), always=True)
        return await answer

    def freeze_now(self) -> tuple[dict[str, Any], bytes]:
        """Return a snapshot, and what else the worker's thread changes."""
        told = {"stamp": self._stamp, "followed": sorted(self.followed), "seen": self._seen.names()}
        return told, self._engine.snapshot()

    def tell_rest(self) -> dict[str, Any]:
        """Return what the event loop changes."""
        return {"last": self.matches.last, "closed": self.closed, "counts": asdict(self.counts)}

    def thaw(self, told: Mapping[str, Any]) -> None:
        """Take what belongs to a snapshot."""
        self._stamp, self.closed = told["stamp"], told["closed"]
        self.followed = self._asked = frozenset((name, arity) for name, arity in told["followed"])
        self.counts = EngineCounts(**told["counts"])
        for name in told["seen"]:
            self._seen.note(name)

    def look_at_clock(self) -> None:
        """Wait for what is due by the clock."""
        self._wait_for(self.next_due())

    def end(self) -> None:
        """Let go of the engine: readers hear that no more comes."""
        self._wait_for(None)
        self.closed = True
        self.matches.end()


class _Changing:
    """A job of one piece that may cause matches."""

    def __init__(
        self, engine: HostedEngine, change: Callable[[], Iterable[Event]], answer: asyncio.Future[list[MatchEntry]]
    ) -> None:  # fmt: skip
        self.engine = engine
        self.change = change
        self.answer = answer

    def step(self) -> tuple[tuple[list[Event], int | None], bool]:
        return (list(self.change()), self.engine.next_due()), False

    def deliver(self, found: tuple[list[Event], int | None]) -> None:
        events, due = found
        entries = self.engine.deliver([(None, event, False) for event in events], due)
        if not self.answer.done():
            self.answer.set_result(entries)

    def finish(self) -> None:
        """Say no more: the answer was the only piece."""

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class _Freezing:
    """A job of one piece that takes a snapshot; what the event loop knows is told in the turn of its delivery."""

    def __init__(self, engine: HostedEngine, answer: asyncio.Future[tuple[dict[str, Any], bytes]]) -> None:
        self.engine = engine
        self.answer = answer

    def step(self) -> tuple[tuple[dict[str, Any], bytes], bool]:
        return self.engine.freeze_now(), False

    def deliver(self, found: tuple[dict[str, Any], bytes]) -> None:
        if not self.answer.done():
            told, snapshot = found
            self.answer.set_result(({**told, **self.engine.tell_rest()}, snapshot))

    def finish(self) -> None:
        """Say no more: the answer was the only piece."""

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
