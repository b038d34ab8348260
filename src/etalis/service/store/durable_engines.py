"""The engines of a service in its log: restored, replayed, and their snapshots."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Protocol

from etalis.errors import EtalisError
from etalis.language.read.imports import Reader
from etalis.service.engine_parts import EngineSpec, MadeEngine
from etalis.service.hosted_engine import HostedEngine
from etalis.service.matches import MatchEntry
from etalis.service.store.log import Entry, KeptResult, KeptUnit, ServiceLog
from etalis.service.store.marks import Frozen
from etalis.service.store.plain_data import read_data, write_data
from etalis.temporal.event import Event

_PREFIX = "engine:"


class DurableHome(Protocol):
    """The service, as its engines' log sees it."""

    def make_engine(self, spec: EngineSpec, read: Reader, snapshot: bytes | None = None) -> MadeEngine:
        """Make an engine, new or of a snapshot."""

    def host(self, spec: EngineSpec, owner: str, made: MadeEngine) -> HostedEngine:
        """Return an engine with its queue."""

    def put(self, hosted: HostedEngine) -> None:
        """Take an engine in."""

    def drop(self, engine: HostedEngine) -> None:
        """Let an engine go."""

    def exchange(self, old: HostedEngine, spec: EngineSpec) -> HostedEngine:
        """Put an engine of another program in the place of one."""

    def durable(self) -> dict[str, HostedEngine]:
        """Return the engines that are kept, by name."""

    def reader_of(self, name: str) -> Reader:
        """Return what finds the imports of a program."""


class DurableEngines:
    """What the log asks of the engines."""

    name = "engines"

    def __init__(self, home: DurableHome) -> None:
        self._home = home
        self._restored: dict[str, int] = {}  # by unit: the entry that its snapshot has last
        self._kept: dict[str, int] = {}  # by unit: the entry of the last snapshot

    def owns(self, actor: str) -> bool:
        """Tell whether an entry or a unit is of an engine."""
        return actor.startswith(_PREFIX)

    # at the start

    def restore(self, units: Iterable[KeptUnit], state: bytes | None, log: ServiceLog) -> None:
        """Take what was kept; engines share nothing."""
        assert state is None
        for unit in units:
            head, _, snapshot = unit.body.partition(b"\n")
            told = json.loads(head)
            hosted = self._make(told["spec"], told["owner"], snapshot)
            hosted.thaw(told)
            hosted.matches.keep(_match(row) for row in log.results(unit.name))
            hosted.matches.last = told["last"]
            hosted.entry = self._restored[unit.name] = self._kept[unit.name] = unit.number

    def _make(self, spec: dict[str, Any], owner: str, snapshot: bytes | None) -> HostedEngine:
        given = EngineSpec(**spec)
        made = self._home.make_engine(given, self._home.reader_of(given.name or ""), snapshot)
        hosted = self._home.host(given, owner, made)
        self._home.put(hosted)
        return hosted

    def replay(self, entry: Entry) -> Any:
        """Do what an entry says, if the engine's snapshot does not have it."""
        if entry.number <= self._restored.get(entry.actor, 0):
            return None
        name = entry.actor.removeprefix(_PREFIX)
        if entry.kind == "create":
            data = read_data(entry.body)
            hosted = self._make(data["spec"] | {"name": name}, data["owner"], None)
            hosted.entry = entry.number
            return None
        engine = self._home.durable().get(name)
        if engine is None:
            return None
        if entry.kind == "delete":
            self._home.drop(engine)
            return None
        data = read_data(entry.body)
        if entry.kind == "program":
            self._home.exchange(engine, EngineSpec(**data["spec"])).entry = entry.number
            return None
        job, answer = engine.job_again(entry.kind, data)
        answer.add_done_callback(asyncio.Future.exception)  # what was refused then is refused again
        more = True
        try:
            while more:
                found, more = job.step()
                job.deliver(found)
            job.finish()
        except EtalisError as error:
            job.fail(error)
        engine.entry = entry.number
        done = answer.done() and answer.exception() is None
        return (answer.result(), data["wanted"]) if done and entry.kind == "events" else None

    def replayed(self) -> None:
        """Let engines wait for what is due by the clock."""
        for engine in self._home.durable().values():
            engine.look_at_clock()

    # at work

    def units(self) -> list[str]:
        """Return the engines that there are."""
        return [engine.unit for engine in self._home.durable().values()]

    def changed(self) -> list[str]:
        """Return the engines that have changed."""
        return [e.unit for e in self._home.durable().values() if e.entry != self._kept.get(e.unit)]

    async def freeze(self, unit: str) -> Frozen | None:
        """Take the snapshot of an engine in the turn of its queue."""
        engine = self._home.durable().get(unit.removeprefix(_PREFIX))
        if engine is None:
            return None
        number = engine.entry
        told, snapshot = await engine.freeze()
        spec = asdict(engine.spec) | {"name": engine.name}
        head = json.dumps({"spec": spec, "owner": engine.owner, **told}).encode()
        results = [_result(each) for each in engine.matches.kept() if each.number <= told["last"]]
        return Frozen(number, head + b"\n" + snapshot, results, engine.matches.first)

    def kept(self, unit: str, frozen: Frozen) -> None:
        """Note what is on the disk."""
        self._kept[unit] = frozen.number

    async def share(self) -> bytes | None:
        """Return nothing: engines share nothing."""
        return None


def _result(entry: MatchEntry) -> KeptResult:
    body = write_data({"by": entry.by, "event": entry.event, "rule": entry.event.rule, "received": entry.received})
    return KeptResult(entry.number, entry.kept_since, body)


def _match(kept: KeptResult) -> MatchEntry:
    data = read_data(kept.body)
    event: Event = data["event"]
    event.kind.rule = data["rule"]
    return MatchEntry(kept.number, data["by"], event, data["received"], kept.at)
