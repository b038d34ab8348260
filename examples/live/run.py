"""A live demo: a generator feeds an engine of the service with withdrawals, and the page shows what it finds.

python examples/live/run.py                   # in real time, until Ctrl-C; open the address that it prints
python examples/live/run.py --speed 60        # a minute of the story in a second
python examples/live/run.py --events 1000 --speed 0   # as fast as the service takes them, then end
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

PROGRAM = Path(__file__).parent.parent / "fraud" / "fraud.etalis"
CITIES = ("basel", "bern", "geneva", "lugano", "winterthur", "zurich")
CARDS = 40
GAP = 4.0  # seconds between withdrawals, on average
BATCH = 100  # rows of a request, where nobody waits for the time to pass


def generate(seed: int, start: datetime) -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Yield withdrawals of cards that stay in their cities, but for a few, some of which are confirmed."""
    draw = random.Random(seed)
    homes = {f"c{n}": draw.choice(CITIES) for n in range(1, CARDS + 1)}
    moment = start
    while True:
        moment += timedelta(seconds=round(draw.expovariate(1 / GAP), 3) + 0.001)
        card = draw.choice(list(homes))
        if draw.random() < 0.04:
            yield moment, {"event": "confirmed", "at": write_time(moment), "card": card}
            continue
        city = draw.choice(CITIES) if draw.random() < 0.15 else homes[card]
        row = {"card": card, "city": city, "amount": round(draw.lognormvariate(4, 0.8), 2)}
        yield moment, {"event": "withdrawal", "at": write_time(moment), **row}


def write_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def serve(port: int) -> Iterator[str]:
    """Start a service of its own and yield its address."""
    command = [sys.executable, "-m", "etalis", "serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"https?://[^\s;]+", process.stdout.readline())
        if found is None:
            raise SystemExit("the service did not start; pip install 'etalis[service]'")
        try:
            yield found[0]
        finally:
            process.terminate()


def make_engine(client: httpx.Client, name: str) -> None:
    """Make the engine anew; it keeps the reasons of an hour, so that the page can tell them."""
    client.delete(f"/engines/{name}")
    flags = {"etalis_justification": "on", "justification_horizon": 3600}
    made = {"name": name, "program": PROGRAM.read_text(encoding="utf-8"), "flags": flags}
    client.post("/engines", json=made).raise_for_status()


def feed(client: httpx.Client, name: str, *, events: int | None, speed: float, seed: int, start: datetime) -> int:
    """Send rows when their time has come, or in batches where none is waited for; return the number of matches."""
    stream = islice(generate(seed, start), events)
    began, found = time.monotonic(), 0
    while rows := list(islice(stream, 1 if speed else BATCH)):
        if speed:
            due = (rows[0][0] - start).total_seconds() / speed
            time.sleep(max(due - (time.monotonic() - began), 0))
        body = "".join(json.dumps(row) + "\n" for _, row in rows)
        headers = {"Content-Type": "application/x-ndjson"}
        answer = client.post(f"/engines/{name}/events", content=body, headers=headers).raise_for_status()
        for match in answer.json()["matches"]:
            found += 1
            if speed:
                print(json.dumps(match["match"]), flush=True)
    return found


def main() -> int:
    """Serve, feed, and say where to look."""
    parser = argparse.ArgumentParser(description="Feeds the service with withdrawals, and lets the page show them.")
    parser.add_argument("--port", type=int, default=8123, help="port of the service; 0 takes a free one")
    parser.add_argument("--url", help="a service that runs already, instead of one of its own")
    parser.add_argument("--name", default="withdrawals", help="name of the engine")
    parser.add_argument("--speed", type=float, default=1.0, help="times real time; 0: as fast as it goes")
    parser.add_argument("--events", type=int, help="end after so many events")
    parser.add_argument("--seed", type=int, default=7, help="which stream")
    parser.add_argument("--start", help="when the stream begins, ISO 8601; default: now")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the service goes, too
    start = datetime.now(UTC) if asked.start is None else datetime.fromisoformat(asked.start).astimezone(UTC)
    if asked.url is not None:
        return run(asked, asked.url, start)
    with serve(asked.port) as url:
        return run(asked, url, start)


def run(asked: argparse.Namespace, url: str, start: datetime) -> int:
    with httpx.Client(base_url=url, timeout=60) as client:
        make_engine(client, asked.name)
        print(f"open {url}/?engine={asked.name}", flush=True)
        try:
            found = feed(client, asked.name, events=asked.events, speed=asked.speed, seed=asked.seed, start=start)
        except KeyboardInterrupt:
            return 130
        print(f"{asked.events} events, {found} matches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
