"""The live demo: what it feeds is the same every time, and the engine finds what the program finds in the process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

import etalis

FILE = Path(__file__).parents[2] / "examples" / "live" / "run.py"
START = "2026-03-02T09:00:00+00:00"
EVENTS = 400


@pytest.fixture(scope="module")
def live_demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("live_demo", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_demo_serves_feeds_and_ends(live_demo: ModuleType) -> None:
    command = [sys.executable, str(FILE), "--port", "0", "--events", str(EVENTS), "--speed", "0"]
    done = subprocess.run([*command, "--start", START], capture_output=True, text=True, timeout=60, check=True)
    opened, summary = done.stdout.splitlines()
    assert opened.startswith("open http://127.0.0.1:")
    assert opened.endswith("/?engine=withdrawals")
    rows = [row for _, row in islice(live_demo.generate(7, datetime.fromisoformat(START)), EVENTS)]
    declared = ":- event(confirmed(card: string)).\n"  # rows of a file bind by the names of variables, dicts do not
    program = etalis.compile(declared + live_demo.PROGRAM.read_text(encoding="utf-8"))
    found = list(program.engine().run(rows))
    assert len(found) > 10
    assert summary == f"{EVENTS} events, {len(found)} matches"


def test_a_stream_is_that_of_its_seed(live_demo: ModuleType) -> None:
    start = datetime(2026, 3, 2, tzinfo=UTC)
    one, again, other = (list(islice(live_demo.generate(seed, start), 50)) for seed in (1, 1, 2))
    assert one == again != other
    assert [moment for moment, _ in one] == sorted(moment for moment, _ in one)
