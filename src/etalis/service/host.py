"""The service: engines by their names, for clients; every door works on it.

`Service.start` begins in the event loop that runs, `stop` does what waits and ends. An engine of a client that is
`scratch` is its own, and goes when nobody used it for a while; others are seen by all, and changed by who made them.
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from etalis.errors import ProgramWarning, SnapshotError
from etalis.language.read.imports import Reader, read_nothing
from etalis.reactive.effects.rehearsal import nowhere
from etalis.service.access import LOCAL, OPERATOR, Client, Doorkeeper, TokenFile
from etalis.service.clock import ServiceClock
from etalis.service.engine_parts import EngineSpec, LetterSlot, MadeEngine
from etalis.service.expressions.durable import DurableExpressions
from etalis.service.expressions.opening import SnoopOptions, open_snoop
from etalis.service.figures import ServiceFigures
from etalis.service.hosted_engine import HostedEngine
from etalis.service.limits import ServiceLimits
from etalis.service.problems import (
    ConflictError,
    ForbiddenError,
    LargeBodyError,
    NotFoundError,
    TooManyError,
    UnprocessableError,
)
from etalis.service.programs import LANGUAGES, CheckedProgram, check_program, compile_program
from etalis.service.store.durability import Durability
from etalis.service.store.durable_engines import DurableEngines
from etalis.service.store.journal import Journal
from etalis.service.store.marks import DurableActor
from etalis.service.store.plain_data import write_data
from etalis.service.worker import Actor, Worker

__all__ = ["Client", "EngineSpec", "HostedEngine", "ServedProgram", "Service", "ServiceLimits"]

TIMES = ("events", "clock")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LOOK = 30.0  # seconds between two looks for engines that nobody uses


@dataclass(frozen=True, slots=True)
class ServedProgram:
    """A program that is an engine from the start; `read` finds what it imports."""

    spec: EngineSpec
    read: Reader = read_nothing


class Service:
    """All engines, the worker that runs them, and the limits of their clients."""

    def __init__(
        self, *, limits: ServiceLimits | None = None, time: str = "events", clock: ServiceClock | None = None,
        public_url: str = "", tokens: TokenFile | None = None, data: Path | None = None,
        snoop: SnoopOptions | None = None, programs: Sequence[ServedProgram] = (),
    ) -> None:  # fmt: skip
        self.public_url = public_url.rstrip("/")
        self.limits = limits or ServiceLimits()
        self.time = time
        self.programs = programs
        self.clock = clock or ServiceClock()
        self.worker = Worker(most_requests=self.limits.queue_requests, most_events=self.limits.queue_events)
        self.tokens = tokens
        self.journal: Journal | None = None
        self.durability = None if data is None else Durability(self, data)
        self.access = Doorkeeper(tokens, public_url=public_url, rate=self.limits.rate, burst=self.limits.burst)
        self.figures = ServiceFigures()
        self.closing = asyncio.Event()
        self.snoop = open_snoop(self, snoop or SnoopOptions())
        self._streams: Counter[str] = Counter()
        self._engines: dict[str, HostedEngine] = {}
        self._compilers: dict[str, Actor] = {}
        self._names_taken: set[str] = set()
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to work: with what was kept, and the engines of the programs that the service was started with."""
        self.worker.start()
        if self.durability is not None:
            await self.durability.start()
        for program in self.programs:
            known = self._engines.get(program.spec.name or "")
            if known is None:
                await self.create(program.spec, OPERATOR, read=program.read)
            else:
                await self._edit(known, self._checked(replace(program.spec, name=known.name)))
        self._sweeping = asyncio.create_task(self._sweep())
        await self.snoop.start()

    async def stop(self) -> None:
        """Do what waits, tell the readers, and end."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
            self._sweeping = None
        await self.snoop.stop()
        if self.durability is not None:
            await self.durability.stop()
        await self.worker.stop()
        for engine in self._engines.values():
            engine.end()

    def hang_up(self) -> None:
        """Let go of the readers of streams, before the service ends."""
        self.closing.set()

    @contextmanager
    def streaming(self, client: Client) -> Iterator[None]:
        """Count a client as the reader of one stream more."""
        self.begin_stream(client)
        try:
            yield
        finally:
            self.end_stream(client)

    def begin_stream(self, client: Client) -> None:
        """Count a stream that a client begins to read, or refuse it."""
        if self._streams[client.name] >= self.limits.streams:
            message = f"{client.name} reads {self.limits.streams} streams, and may read no more"
            raise TooManyError("E827", message, "end one of them: one stream tells all kinds of an engine")
        self._streams[client.name] += 1

    def end_stream(self, client: Client) -> None:
        """Count a stream that a client reads no more."""
        self._streams[client.name] -= 1

    @property
    def streams(self) -> int:
        """How many streams are being read."""
        return self._streams.total()

    # what is kept on disk

    def durable_actors(self) -> list[DurableActor]:
        """Return what has units in the log."""
        return [DurableExpressions(self.snoop), DurableEngines(self)]

    def take_journal(self, journal: Journal) -> None:
        """Write what is done from now on."""
        self.journal = self.snoop.journal = journal

    def durable(self) -> dict[str, HostedEngine]:
        """Return the engines that are kept, by name."""
        return {name: engine for name, engine in self._engines.items() if not engine.spec.scratch}

    def reader_of(self, name: str) -> Reader:
        """Return what finds the imports of a program that the service was started with."""
        return next((program.read for program in self.programs if program.spec.name == name), read_nothing)

    async def _edit(self, known: HostedEngine, spec: EngineSpec) -> None:
        """Let an engine that was kept go on with the program of its file, if that is another one now."""
        if self.journal is not None and (known.spec.program, known.spec.language) != (spec.program, spec.language):
            given = write_data({"spec": asdict(spec)})
            entry = await self.journal.log.write(known.unit, "program", given)
            self.exchange(known, spec).entry = entry

    def exchange(self, old: HostedEngine, spec: EngineSpec) -> HostedEngine:
        """Put an engine of another program in the place of one: parts of rules that both have keep their state."""
        told, snapshot = old.freeze_now()
        told |= old.tell_rest()
        old.end()
        read = self.reader_of(old.name)
        try:
            made = self.make_engine(spec, read, snapshot)
        except SnapshotError:  # they have nothing in common
            made = self.make_engine(spec, read)
        hosted = self.host(spec, old.owner, made)
        hosted.thaw(told)
        hosted.matches.keep(old.matches.kept())
        hosted.matches.last = old.matches.last
        self.put(hosted)
        return hosted

    # engines

    async def create(
        self, spec: EngineSpec, client: Client = LOCAL, *, read: Reader = read_nothing
    ) -> HostedEngine:  # fmt: skip
        """Make an engine of a program."""
        spec = self._checked(spec)
        name = spec.name or self._free_name("scratch" if spec.scratch else "engine")
        if name in self._engines or name in self._names_taken:
            raise ConflictError("E821", f"there is an engine {name} already", "give another name, or none")
        owned = sum(engine.owner == client.name for engine in self._engines.values())
        if owned + len(self._names_taken) >= self.limits.engines and client is not OPERATOR:
            raise TooManyError("E827", f"{client.name} has {owned} engines, and may have no more", "delete one of them")
        self._names_taken.add(name)
        try:
            made = await self.worker.do(self._compiler(client), partial(self.make_engine, spec, read))
            hosted = self.host(replace(spec, name=name), client.name, made)
            if self.journal is not None and not spec.scratch:
                given = write_data({"spec": asdict(spec), "owner": client.name})
                hosted.entry = await self.journal.log.write(hosted.unit, "create", given)
        finally:
            self._names_taken.discard(name)
        self.put(hosted)
        return hosted

    def host(self, spec: EngineSpec, owner: str, made: MadeEngine) -> HostedEngine:
        """Return an engine with its queue."""
        return HostedEngine(spec.name or "", spec, owner, made, self)

    def put(self, hosted: HostedEngine) -> None:
        """Take an engine in, new or restored."""
        self._engines[hosted.name] = hosted

    def _checked(self, spec: EngineSpec) -> EngineSpec:
        if spec.name is not None and not _NAME.fullmatch(spec.name):
            hint = "a name has up to 64 letters, digits, _, . and -, and begins with a letter or digit"
            raise UnprocessableError("E823", f"{spec.name!r} is not a name for an engine", hint)
        self._refuse_long(spec.program)
        time = spec.time or self.time
        if time not in TIMES:
            raise UnprocessableError("E823", f"time is {time!r}", f"one of {', '.join(TIMES)}")
        if spec.language not in LANGUAGES:
            raise UnprocessableError("E823", f"the language is {spec.language!r}", f"one of {', '.join(LANGUAGES)}")
        return replace(spec, time=time)

    def _bounds(self, flags: Mapping[str, object]) -> dict[str, object]:
        """Return the flags that go before those of a text: what one goal and one event may take of the worker."""
        bounds = {"max_steps": self.limits.goal_steps, "max_derivations": self.limits.derivations}
        given = {name: flags.get(name) for name in bounds}
        return {
            name: asked if isinstance(asked, int) and 0 < asked < most else most
            for (name, most), asked in zip(bounds.items(), given.values(), strict=True)
        }

    def make_engine(self, spec: EngineSpec, read: Reader, snapshot: bytes | None = None) -> MadeEngine:
        """Compile a program and make its engine, or the one of a snapshot; in the worker's thread."""
        program = compile_program(
            spec.program, spec.language, {**spec.flags, **self._bounds(spec.flags)}, spec.background, read=read
        )
        held = program.compiled.settings.hard_limit
        most = self.limits.instances if held is None else min(held, self.limits.instances)
        letters = LetterSlot()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProgramWarning)
            options: dict[str, Any] = {
                "output": lambda _: None, "on_dead_letter": letters, "on_error": lambda _: None, "effects": nowhere(),
                "limits": {"hard_limit": most},
            }  # fmt: skip
            if snapshot is not None:
                return MadeEngine(program, program.restore(snapshot, **options), letters)
            justification = "full" if spec.scratch else None
            engine = program.engine(policy=spec.policy, justification=justification, **options)
        return MadeEngine(program, engine, letters)

    async def check(self, text: str, language: str, client: Client = LOCAL) -> CheckedProgram:
        """Return the problems of a program, and what it reads and makes."""
        if language not in LANGUAGES:
            raise UnprocessableError("E823", f"the language is {language!r}", f"one of {', '.join(LANGUAGES)}")
        self._refuse_long(text)
        return await self.worker.do(self._compiler(client), partial(check_program, text, language))

    def _compiler(self, client: Client) -> Actor:
        return self._compilers.setdefault(client.name, Actor(f"the programs of {client.name}"))

    def _refuse_long(self, text: str) -> None:
        if len(text) > self.limits.program:
            message = f"the program has {len(text)} characters, {self.limits.program} are allowed"
            raise LargeBodyError("E824", message, "make several engines of its parts; facts come as events")

    def _free_name(self, kind: str) -> str:
        while (name := f"{kind}-{token_hex(4)}") in self._engines:
            pass
        return name

    def engine(self, name: str, client: Client = LOCAL) -> HostedEngine:
        """Return an engine that a client sees."""
        found = self._engines.get(name)
        if found is None or not _sees(client, found):
            raise NotFoundError("E820", f"there is no engine {name}", "GET /engines lists them")
        return found

    def engines(self, client: Client = LOCAL) -> Iterator[HostedEngine]:
        """Yield the engines that a client sees."""
        return (engine for engine in list(self._engines.values()) if _sees(client, engine))

    def own(self, name: str, client: Client = LOCAL) -> HostedEngine:
        """Return an engine that a client may change: its own, or any if it administrates."""
        found = self.engine(name, client)
        if found.owner != client.name and not client.may("admin"):
            hint = "only who made an engine changes it; anybody with the scope signal sends it events"
            raise ForbiddenError("E831", f"the engine {name} is not of {client.name}", hint)
        return found

    async def delete(self, name: str, client: Client = LOCAL) -> None:
        """Delete an engine."""
        engine = self.own(name, client)
        if self.journal is not None and not engine.spec.scratch:
            await self.journal.log.write(engine.unit, "delete", b"")
        if self._engines.get(name) is engine:
            self.drop(engine)

    def drop(self, engine: HostedEngine) -> None:
        del self._engines[engine.name]
        engine.end()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            self.drop_unused()

    def drop_unused(self) -> None:
        """Delete the scratch engines that nobody has used for a while."""
        oldest = self.clock.monotonic() - self.limits.scratch_seconds
        for engine in list(self._engines.values()):
            if engine.spec.scratch and engine.used < oldest and not engine.actor.requests:
                self.drop(engine)


def _sees(client: Client, engine: HostedEngine) -> bool:
    return not engine.spec.scratch or engine.owner == client.name or client.may("admin")
