"""A service that is killed at any point goes on as if nothing had been: every signal once, every result once, numbered.

A client sends what it got no answer for again, with the same ids. By day three kills, at night fifty.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from etalis.service.store.log import ServiceLog

EXPRESSION = 'shop = "http://s". SEQ(shop:cd(t: T), shop:dvd(t: T))'
TEXT = {"content-type": "text/plain"}
PROGRAM = ":- event(a(x: int)). :- event(b(x: int)). c(X) <- a(X) seq b(X)."


@contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a service; it is killed at the end, if it still runs."""
    command = [sys.executable, "-m", "etalis", "serve", "--port", "0", "--data", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            found = re.search(r"at (http://127\.0\.0\.1:\d+);", said)
            assert found is not None, said
            yield running, found[1]
        finally:
            running.kill()


def signal(number: int) -> dict[str, object]:
    """Return a signal: left and right parts in turn."""
    name, title = ("cd", "dvd")[number % 2], f"t{number // 2}"
    return {"operator": name, "language": "http://s", "parameters": {"t": title}, "id": f"s{number}"}


class Sending:
    """A client that sends signals and events one after the other, and remembers what was answered."""

    def __init__(self) -> None:
        self.signals = 0  # answered
        self.events = 0

    def send(self, client: httpx.Client, until: int) -> None:
        """Send what comes next, until so many signals were answered."""
        while self.signals < until:
            answer = client.post("/snoop/signals", json=signal(self.signals)).json()
            assert answer["taken"] + answer["repeated"] == 1
            self.signals += 1
            if self.signals % 10 == 0:
                number = self.events
                row = {"event": "a" if number % 2 == 0 else "b", "x": number // 2, "at": number}
                key = {"idempotency-key": f"e{number}"}
                taken = client.post("/engines/e/events", json=row, headers=key).json()
                assert taken["taken"] == 1
                self.events += 1


def kill_and_go_on(folder: Path, kills: int, rng: random.Random) -> None:
    sending = Sending()
    each = 40
    for turn in range(kills + 1):
        with process(folder) as (running, url), httpx.Client(base_url=url, trust_env=False) as client:
            if turn == 0:
                assert client.post("/snoop/expressions", content=EXPRESSION, headers=TEXT).status_code == 201
                assert client.post("/engines", json={"name": "e", "program": PROGRAM}).status_code == 201
            if turn == kills:
                sending.send(client, each * (kills + 1) // 2 * 2)
                check(client, sending)
                return
            until = time.monotonic() + rng.uniform(0.02, 0.3)
            killer = subprocess.Popen(["sh", "-c", f"sleep {until - time.monotonic():.3f}; kill -9 {running.pid}"])
            try:
                sending.send(client, each * (turn + 1))
            except httpx.TransportError:
                pass
            finally:
                killer.wait()


def all_of(client: httpx.Client, path: str, name: str) -> list[dict[str, Any]]:
    """Return what is kept there, a thousand at a time."""
    found: list[dict[str, Any]] = []
    while several := client.get(path, params={"after": len(found)}).json()[name]:
        found += several
    return found


def check(client: httpx.Client, sending: Sending) -> None:
    found = all_of(client, "/snoop/expressions/1/results", "results")
    assert [each["number"] for each in found] == list(range(1, sending.signals // 2 + 1))
    assert [each["bindings"]["T"] for each in found] == [f"t{i}" for i in range(sending.signals // 2)]
    matches = all_of(client, "/engines/e/matches", "matches")
    assert [each["number"] for each in matches] == list(range(1, sending.events // 2 + 1))
    assert [each["match"]["X"] for each in matches] == list(range(sending.events // 2))


def test_nothing_is_lost_or_comes_twice_by_kills(tmp_path: Path) -> None:
    kill_and_go_on(tmp_path / "data", 3, random.Random(22))


@pytest.mark.nightly
def test_fifty_kills(tmp_path: Path) -> None:
    kill_and_go_on(tmp_path / "data", 50, random.Random(4))
    log = ServiceLog(tmp_path / "data")
    numbers = [entry.number for entry in log.entries()]
    assert numbers == sorted(set(numbers))
    log.close()
