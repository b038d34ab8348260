"""The example of a city's sensors finds what is written down beside it, and its stream is what its generator makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import etalis

CITY = Path(__file__).parents[2] / "examples" / "city"

pytestmark = pytest.mark.docs


def test_matches_are_those_written_down() -> None:
    program = etalis.compile_sparql((CITY / "traffic.rq").read_text(encoding="utf-8"), background=CITY / "city.ttl")
    assert not program.problems
    engine = program.engine()
    matches = [*engine.run(CITY / "stream.trig"), *engine.close()]
    assert [str(match) for match in matches] == (CITY / "traffic.expected").read_text(encoding="utf-8").splitlines()


def test_the_stream_is_what_the_generator_makes() -> None:
    made = subprocess.run([sys.executable, CITY / "city.py"], capture_output=True, text=True, check=True).stdout
    assert made == (CITY / "stream.trig").read_text(encoding="utf-8")
