"""Engine and deliverer of a bank in processes of their own, which are ended suddenly at moments that are drawn."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import etalis
from helpers import bank
from helpers.receivers import Table

SCRIPT = Path(bank.__file__)
PATIENCE = 120  # seconds without any progress


@dataclass
class Outcome:
    """What is left at the end: facts, and rows of receivers."""

    facts: list[list[Any]]
    unique: dict[str, list[Any]]
    plain: Counter[str]
    taken_back: set[str]
    ends: Counter[str]
    kills: Counter[str] = field(default_factory=Counter)


def undisturbed(folder: Path, count: int) -> Outcome:
    """Run engine and deliverer in turn, in this process."""
    folder.mkdir()
    address, now = f"sqlite:///{folder / 'box.db'}?synchronous=off", 0.0
    program, outbox = bank.bank(folder), etalis.Outbox(address)
    engine = program.engine(outbox=outbox)
    for _ in engine.run(bank.transfers(count)):
        pass
    engine.commit(count)
    while engine.transactions():
        outbox.deliver(program, once=True, clock=lambda at=now: at)  # type: ignore[misc]
        engine.commit(count)
        now += 10
    return look(outbox, folder, bank.facts(engine))


def look(outbox: etalis.Outbox, folder: Path, facts: list[list[Any]]) -> Outcome:
    """Read what receivers and the outbox hold."""
    unique, plain = Table(folder / "unique.db", unique=True), Table(folder / "plain.db", unique=False)
    taken_back = Table(folder / "taken_back.db", unique=True)
    store = outbox.connect()
    ends = Counter(state for (state,) in store.read("SELECT state FROM etalis_transactions"))
    store.close()
    keys = Counter(key for key, _ in plain.rows())
    return Outcome(facts, dict(unique.rows()), keys, {key for key, _ in taken_back.rows()}, ends)


class KillRun:
    """One stream of transfers, and how often it was disturbed."""

    def __init__(self, address: str, folder: Path, count: int, seed: int) -> None:
        folder.mkdir()
        self.address, self.folder, self.count = address, folder, count
        self.chance = random.Random(seed)
        self.pause = threading.Event()
        self.kills: Counter[str] = Counter()
        bank.bank(folder)  # makes the tables
        self.unique = Table(folder / "unique.db", unique=True)
        self.running = {what: self.start(what) for what in ("engine", "deliver")}

    def start(self, what: str) -> subprocess.Popen[bytes]:
        more = [str(self.count)] if what == "engine" else []
        paths = [
            str(Path(etalis.__file__).parents[1]),
            str(SCRIPT.parents[1]),
            *os.environ.get("PYTHONPATH", "").split(":"),
        ]
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(SCRIPT), what, self.address, str(self.folder), *more], stdout=log, stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )  # fmt: skip

    def run(self, kills: int) -> Outcome:
        """Kill one of the two at so many moments of the stream, and let it go on."""
        try:
            for moment in sorted(self.chance.sample(range(1, self.count), kills)):
                self.wait_for(moment)
                self.pause.wait(self.chance.uniform(0, 0.05))
                self.kill(self.chance.choice(("engine", "deliver")))
            self.wait_for(None)
        finally:
            for process in self.running.values():
                process.kill()
                process.wait()
        found = look(etalis.Outbox(self.address), self.folder, json.loads((self.folder / "facts.json").read_text()))
        found.kills = self.kills
        return found

    def kill(self, what: str) -> None:
        """End a process suddenly, and start it anew; the engine is not started when it was through."""
        process = self.running[what]
        if process.poll() is None:
            process.kill()
            process.wait()
            self.kills[what] += 1
            self.running[what] = self.start(what)

    def wait_for(self, moment: int | None) -> None:
        """Wait until so many effects were made, or until the engine is through."""
        last, waited = -1, 0.0
        while (self.running["engine"].poll() is None) if moment is None else (self.unique.count() < moment):
            made = self.unique.count()
            last, waited = made, 0.0 if made != last else waited + 0.005
            assert waited < PATIENCE, f"no progress:\n{self.told()}"
            assert self.running["deliver"].poll() is None, self.told()
            assert self.running["engine"].poll() in (None, 0), self.told()
            self.pause.wait(0.005)

    def told(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))


def check_kills(address: str, folder: Path, *, count: int, kills: int, seed: int) -> Outcome:
    """Run a stream with kills, and compare it with the same stream without."""
    wanted = undisturbed(folder / "undisturbed", count)
    found = KillRun(address, folder / "disturbed", count, seed).run(kills)
    assert found.facts == wanted.facts
    assert found.unique == wanted.unique
    assert found.plain.keys() == wanted.plain.keys()
    assert set(wanted.plain.values()) == {1}
    assert found.taken_back == wanted.taken_back
    assert found.ends == wanted.ends
    assert found.kills.total() == kills
    return found
