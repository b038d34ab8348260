"""How many signals of SNOOP-R a service takes, over HTTP as clients send them: one XML document in each request.

    python bench/snoop.py            # without a data folder, with one, registrations, memory
    python bench/snoop.py --quick    # a tenth of it

The server is a process of its own; its CPU time is what counts, since clients share the machine with it. Answers are
checked: every result that must come has come.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONNECTIONS = 32
TYPES = 20
LANGUAGE = "http://shop.example/events"


def signal(kind: str, title: str) -> bytes:
    """Return a signal as a document."""
    return (
        f'<signal xmlns="urn:etalis:snoop-r:1" operator="{kind}" language="{LANGUAGE}">'
        f'<parameter name="title" value="{title}"/><parameter name="artist" value="U2"/></signal>'
    ).encode()


def expression(left: str, right: str, artist: str = "U2") -> str:
    """Return an expression as text: a pair by title."""
    parts = (f'shop:{each}(title: T, artist: "{artist}")' for each in (left, right))
    return f'shop = "{LANGUAGE}". SEQ({", ".join(parts)})'


class RawClient:
    """A connection that sends requests one by one: less work than a library, so that the server is measured."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def send(
        self, method: str, path: str, body: bytes = b"", media: str = "application/xml"
    ) -> tuple[int, bytes]:
        what = f"Content-Type: {media}\r\nContent-Length: {len(body)}"
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{what}\r\n\r\n"
        self.writer.write(head.encode() + body)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next((int(line[15:]) for line in lines if line.lower().startswith("content-length:")), 0)
        return int(lines[0].split()[1]), await self.reader.readexactly(length)


class ServerProcess:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    def cpu(self) -> float:
        """Return the seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the kilobytes that it holds."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1])


@contextmanager
def server(*options: str) -> Iterator[ServerProcess]:
    """Run a service."""
    command = [sys.executable, "-m", "etalis", "serve", "--port", "0", "--rate", "1e9", "--burst", "1e9", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r":(\d+);", said)
        assert found is not None, said
        yield ServerProcess(process, int(found[1]))
    finally:
        process.terminate()
        process.wait()


async def send_pairs(port: int, pairs: int, connections: int, first: int) -> None:
    """Send pairs of signals over so many connections, one request after the other on each."""

    async def one(number: int) -> None:
        client = RawClient(port)
        await client.open()
        for i in range(first + number, first + pairs, connections):
            for kind in ("cd", "dvd"):
                status, body = await client.send("POST", "/snoop/signals", signal(kind, f"t{i}"))
                assert status == 200, body
                assert b'"matched":1' in body, body
        client.writer.close()

    await asyncio.gather(*(one(number) for number in range(connections)))


async def measure_signals(running: ServerProcess, pairs: int, connections: int) -> None:
    """Print how many signals were taken per second, and per second of the server's CPU."""
    client = RawClient(running.port)
    await client.open()
    status, _ = await client.send("POST", "/snoop/expressions", expression("cd", "dvd").encode(), "text/plain")
    assert status == 201
    await send_pairs(running.port, pairs // 10, connections, 0)
    cpu, began = running.cpu(), time.perf_counter()
    await send_pairs(running.port, pairs, connections, pairs)
    cpu, wall = running.cpu() - cpu, time.perf_counter() - began
    _, body = await client.send("GET", "/snoop/expressions/1", b"", "application/json")
    assert f'"results":{pairs + pairs // 10}'.encode() in body, body
    rate = f"{2 * pairs / wall:8,.0f}/s, {2 * pairs / cpu:8,.0f} per second of CPU"
    print(f"  {connections:3} connections: {rate}, {cpu / (2 * pairs) * 1e6:.0f} us each")


async def measure_registrations(running: ServerProcess, number: int) -> None:
    """Print what registrations cost, and what is left when half of them and then all are gone."""
    client = RawClient(running.port)
    await client.open()

    async def register(count: int) -> list[float]:
        took = []
        for i in range(count):
            text = expression(f"k{i % TYPES}", f"k{(i + 7) % TYPES}", f"artist {i}")
            began = time.perf_counter()
            status, body = await client.send("POST", "/snoop/expressions", text.encode(), "text/plain")
            took.append(time.perf_counter() - began)
            assert status == 201, body
        return sorted(took)

    async def remove(numbers: range) -> None:
        for i in numbers:
            status, _ = await client.send("DELETE", f"/snoop/expressions/{i}")
            assert status == 204

    await register(50)
    await remove(range(1, 51))
    empty = running.memory()
    took = await register(number)
    full = running.memory()
    await remove(range(51, 51 + number, 2))
    half = running.memory()
    await register(number // 2)
    again = running.memory()
    p99 = took[int(len(took) * 0.99)] * 1e3
    print(f"  {number} registrations: {took[len(took) // 2] * 1e3:.2f} ms, p99 {p99:.2f} ms; {empty:,} kB before,")
    print(f"  {full:,} kB with them, {half:,} kB with half of them, {again:,} kB when as many came again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    pairs = 500 if parser.parse_args().quick else 5_000
    print("XML signals, nothing written")
    for connections in (1, 8, CONNECTIONS):
        with server() as running:
            asyncio.run(measure_signals(running, pairs, connections))
    print("XML signals, with a data folder")
    for connections in (1, CONNECTIONS):
        with tempfile.TemporaryDirectory() as folder, server("--data", folder) as running:
            asyncio.run(measure_signals(running, pairs if connections > 1 else pairs // 10, connections))
    print(f"expressions over {TYPES} types")
    with server() as running:
        asyncio.run(measure_registrations(running, 1_000 if pairs > 500 else 100))


if __name__ == "__main__":
    main()
