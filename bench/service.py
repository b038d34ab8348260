"""What the service costs: `python bench/service.py [--events N] [--minutes M]`, over loopback, answers checked.

JSON lines in batches of 1,000, counts only, against `engine.run` on the same rows, by processor time and by the clock.
Single signals over one and 32 connections. How long from a signal to its match in a stream, at 500 signals a second.
What a client that floods another engine adds to that. And 200 clients on one engine for some minutes: each sends pairs
of its own, and every pair must come back as one match, numbered without a gap.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

from ratio import WrongAnswerError  # noqa: E402 - the package may not be installed
from rich.console import Console  # noqa: E402
from run import machine, new_table  # noqa: E402

import etalis  # noqa: E402

FRAUD = r"""
:- event(withdrawal(card: string, city: string, amount: float)).
fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within 10 min
                      where (CityA \= CityB, A + B > 900, Total is A + B).
"""
COPY = ":- event(a(x: int)). c(X) <- a(X)."
PAIRS = ":- event(a(who: int, n: int)). :- event(b(who: int, n: int)). c(W, N) <- (a(W, N) seq b(W, N)) within 3600."
BATCH, CONNECTIONS, CLIENTS, RATE = 1_000, 32, 200, 500
RATIO_ASKED, LATENCY_ASKED, ADDED_ASKED = 0.3, 20.0, 20.0
LINES = "application/x-ndjson"
TICKS = os.sysconf("SC_CLK_TCK")


class Connection:
    """A connection over HTTP/1.1 that is kept, with no more than this takes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @staticmethod
    async def open(port: int) -> Connection:
        return Connection(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def send(self, method: str, path: str, body: bytes = b"", media: str = "application/json") -> bytes:
        """Send a request, and return the body of the answer."""
        fields = f"Host: 127.0.0.1\r\nContent-Type: {media}\r\nContent-Length: {len(body)}"
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode() + body)
        told = await self.reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", told)
        content = await self.reader.readexactly(int(found[1])) if found else b""
        if not told.startswith(b"HTTP/1.1 2"):
            raise WrongAnswerError(f"{method} {path}: {content.decode()}")
        return content

    async def make(self, name: str, program: str, moments: str = "events") -> None:
        """Make an engine."""
        await self.send("POST", "/engines", json.dumps({"program": program, "name": name, "time": moments}).encode())

    async def signal(self, name: str, row: object) -> None:
        """Send one event."""
        await self.send("POST", f"/engines/{name}/events?matches=no", json.dumps(row).encode(), LINES)

    async def follow(self, path: str) -> None:
        """Begin to read a stream."""
        fields = "Host: 127.0.0.1\r\nAccept: text/event-stream"
        self.writer.write(f"GET {path} HTTP/1.1\r\n{fields}\r\n\r\n".encode())
        await self.reader.readuntil(b"\r\n\r\n")

    async def next_match(self) -> dict[str, object]:
        """Return the next match of a stream."""
        while True:
            line = await self.reader.readline()
            if line.startswith(b'data: {"number"'):
                return dict(json.loads(line[6:]))
            if not line or line.startswith(b"event: gap"):
                raise WrongAnswerError("the stream ended")

    def close(self) -> None:
        self.writer.close()


@dataclass(slots=True)
class Measured:
    """What was measured: what, how much, what was asked for."""

    rows: list[tuple[str, str, str]] = field(default_factory=list)
    missed: int = 0

    def add(self, what: str, value: float, shown: str, asked: str = "", *, good: bool = True) -> None:
        self.missed += not good
        self.rows.append((what, shown.format(value) + ("" if good else " !"), asked))


def check(found: object, wanted: object, what: str) -> None:
    if found != wanted:
        raise WrongAnswerError(f"{what}: {found}, not {wanted}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="in batches")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement of times")
    parser.add_argument("--minutes", type=float, default=0.25, help="of the 200 clients")
    options = parser.parse_args()
    with serving() as (port, pid):
        measured = asyncio.run(measure(port, pid, options.events, options.seconds, options.minutes))
    table = new_table("the service over loopback", "Measured", "value", "asked")
    for row in measured.rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(machine())
    return 1 if measured.missed else 0


@contextmanager
def serving() -> Iterator[tuple[int, int]]:
    """Run a server on one core, and stay on the others; yield its port and process."""
    command = [sys.executable, "-m", "etalis", "serve", "--port", "0", "--max-engines", "1000"]
    unlimited = ["--rate", "1000000", "--burst", "1000000"]
    environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src")}
    cores = sorted(os.sched_getaffinity(0))
    server = subprocess.Popen([*command, *unlimited], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if len(cores) > 1:
            for task in os.listdir(f"/proc/{server.pid}/task"):
                os.sched_setaffinity(int(task), cores[:1])
            os.sched_setaffinity(0, cores[1:])
        yield int(line.split(";")[0].rpartition(":")[2]), server.pid
    finally:
        server.terminate()
        check(server.wait(20), 0, "the exit code of the server")


def used(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def measure(port: int, pid: int, events: int, seconds: float, minutes: float) -> Measured:
    measured = Measured()
    await measure_batches(measured, port, pid, events)
    for connections in (1, CONNECTIONS):
        await measure_signals(measured, port, pid, connections, seconds)
    alone = await measure_latency(measured, port, seconds)
    await measure_flood(measured, port, seconds, alone)
    await measure_clients(measured, port, minutes)
    return measured


async def measure_batches(measured: Measured, port: int, pid: int, events: int) -> None:
    """JSON lines in batches against `engine.run` on the same rows."""
    chance = Random(1)
    cities = ("bern", "rome", "oslo")
    rows = [
        ("withdrawal", f"c{chance.randrange(2_000)}", chance.choice(cities), float(chance.randrange(500)), i)
        for i in range(events)
    ]
    names = ("event", "card", "city", "amount", "at")
    texts = [json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows]
    bodies = ["".join(texts[i : i + BATCH]).encode() for i in range(0, events, BATCH)]
    program = etalis.compile(FRAUD)
    alone, wanted = [], 0
    for _ in range(3):
        engine = program.engine()
        started = time.process_time()
        wanted = len(deque(engine.run(rows)))
        alone.append(time.process_time() - started)
    connection = await Connection.open(port)
    by_clock, by_processor = [], []
    for turn in range(3):
        await connection.make(f"batches{turn}", FRAUD)
        before, started, taken = used(pid), time.perf_counter(), 0
        for body in bodies:
            answer = await connection.send("POST", f"/engines/batches{turn}/events?matches=no", body, LINES)
            taken += json.loads(answer)["taken"]
        by_clock.append(time.perf_counter() - started)
        by_processor.append(used(pid) - before)
        check(taken, events, "events taken")
        found = json.loads(await connection.send("GET", f"/engines/batches{turn}"))
        check(found["matches"], wanted, "matches")
    connection.close()
    ratio = min(alone) / min(by_processor)
    measured.add("batches: engine.run / server, processor time", ratio, "{:.2f}", "0.3", good=ratio >= RATIO_ASKED)
    measured.add("batches: engine.run / server, by the clock", min(alone) / min(by_clock), "{:.2f}")
    measured.add("batches: events per second", events / min(by_clock), "{:,.0f}")


async def measure_signals(measured: Measured, port: int, pid: int, connections: int, seconds: float) -> None:
    """Signals one by one, each after the answer to the one before on its connection."""
    name = f"signals{connections}"
    several = [await Connection.open(port) for _ in range(connections)]
    await several[0].make(name, COPY)
    until, sent = time.perf_counter() + seconds, 0

    async def send(connection: Connection) -> None:
        nonlocal sent
        while time.perf_counter() < until:
            number, sent = sent, sent + 1
            await connection.signal(name, {"event": "a", "x": number, "at": 0})

    before, started = used(pid), time.perf_counter()
    await asyncio.gather(*(send(connection) for connection in several))
    spent = time.perf_counter() - started
    found = json.loads(await several[0].send("GET", f"/engines/{name}"))
    check(found["matches"], sent, "matches of single signals")
    measured.add(f"signals per second, {connections} connections", sent / spent, "{:,.0f}")
    measured.add(f"processor ms per signal, {connections} connections", 1000 * (used(pid) - before) / sent, "{:.3f}")
    for connection in several:
        connection.close()


async def time_matches(port: int, name: str, seconds: float) -> list[float]:
    """Return the milliseconds from each signal to its match in a stream, at 500 signals a second."""
    sender, reader = await Connection.open(port), await Connection.open(port)
    await sender.make(name, COPY)
    await reader.follow(f"/engines/{name}/matches?after=0")
    count = int(seconds * RATE)
    sent: list[float] = []
    took: list[float] = []

    async def read() -> None:
        for number in range(1, count + 1):
            match = await reader.next_match()
            took.append(1000 * (time.perf_counter() - sent[number - 1]))
            check(match["number"], number, "the number of a match")

    reading = asyncio.create_task(read())
    started = time.perf_counter()
    for number in range(count):
        pause = started + number / RATE - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        sent.append(time.perf_counter())
        await sender.signal(name, {"event": "a", "x": number, "at": number})
    await reading
    sender.close()
    reader.close()
    return sorted(took)


def p99(times: list[float]) -> float:
    return times[int(len(times) * 0.99)]


async def measure_latency(measured: Measured, port: int, seconds: float) -> float:
    found = await time_matches(port, "latency", seconds)
    worst = p99(found)
    measured.add("signal to stream at 500/s: median ms", median(found), "{:.1f}")
    measured.add("signal to stream at 500/s: p99 ms", worst, "{:.1f}", "< 20", good=worst < LATENCY_ASKED)
    return worst


async def measure_flood(measured: Measured, port: int, seconds: float, alone: float) -> None:
    """The same while another client sends batches to an engine of its own, as fast as it can."""
    flooder = await Connection.open(port)
    await flooder.make("flooded", FRAUD)
    row = '{"event": "withdrawal", "card": "c%d", "city": "bern", "amount": 7.5, "at": %d}\n'
    floods, running = 0, True

    async def flood() -> None:
        nonlocal floods
        while running:
            body = "".join([row % (i % 500, floods * BATCH + i) for i in range(BATCH)]).encode()
            await flooder.send("POST", "/engines/flooded/events?matches=no", body, LINES)
            floods += 1

    task = asyncio.create_task(flood())
    found = await time_matches(port, "beside", seconds)
    running = False
    await task
    flooder.close()
    added = p99(found) - alone
    measured.add("a flood adds to the p99: ms", added, "{:.1f}", "<= 20", good=added <= ADDED_ASKED)
    measured.add("events per second of the flood", floods * BATCH / seconds, "{:,.0f}")


async def measure_clients(measured: Measured, port: int, minutes: float) -> None:
    """200 clients send pairs of their own to one engine, a reader of its stream sees a match for each."""
    several = [await Connection.open(port) for _ in range(CLIENTS)]
    await several[0].make("clients", PAIRS, "clock")
    reader = await Connection.open(port)
    await reader.follow("/engines/clients/matches?after=0")
    until, sent = time.perf_counter() + 60 * minutes, [0] * CLIENTS
    seen: dict[tuple[object, object], int] = {}
    last = 0

    async def send(who: int) -> None:
        while time.perf_counter() < until:
            for name in ("a", "b"):
                await several[who].signal("clients", {"event": name, "who": who, "n": sent[who]})
            sent[who] += 1

    async def read() -> None:
        nonlocal last
        while True:
            match = await reader.next_match()
            last += 1
            check(match["number"], last, "the number of a match")
            flat = dict(match["match"])  # type: ignore[call-overload]
            key = flat["W"], flat["N"]
            seen[key] = seen.get(key, 0) + 1

    reading = asyncio.create_task(read())
    await asyncio.gather(*(send(who) for who in range(CLIENTS)))
    while last < sum(sent) and not reading.done():
        await asyncio.sleep(0.01)
    reading.cancel()
    check(sorted(seen), sorted((who, n) for who in range(CLIENTS) for n in range(sent[who])), "matches of clients")
    check(set(seen.values()), {1}, "how often each match came")
    measured.add(f"200 clients for {minutes:g} minutes: matches, none lost", sum(sent), "{:,.0f}")
    for connection in (*several, reader):
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
