"""The benchmarks run, on streams too short to measure anything, and check their answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


def bench(*arguments: str, script: str = "run.py") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCH / script, *arguments], capture_output=True, text=True, check=False)


def test_ratios() -> None:
    names = [f"W{number}" for number in range(1, 8)]
    done = bench(*names, "--events", "60", "--repetitions", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line[:2] in names and "done" not in line]
    assert rows == [["W1", "20"], ["W2", "30"], ["W3", "25"], ["W4", "20"], ["W5", "30"], ["W6", "330"], ["W7", "320"]]


def test_knowledge() -> None:
    done = bench("W8", "--events", "3000", "--links", "1000", "--facts", "1000", "--repetitions", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("static", "inserted", "deleted"))]
    assert rows == [["static", "100"], ["static", "1,000"], ["inserted", "1,000"], ["deleted", "1,000"]]


def test_startup() -> None:
    """The exit code is a matter of seconds, which are for an idle machine."""
    done = bench("1", "python", "import etalis", script="startup.py")
    assert done.returncode in (0, 1), done.stderr
    assert [line[:32].rstrip() for line in done.stdout.splitlines()] == ["python", "import etalis"]


def test_programs() -> None:
    """The programs that users write have the answers of their loops."""
    done = bench("--check", "--more", "--events", "500", "--ways", "push", "run", script="all.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the same by push, run") == 117


def test_forms_of_rows() -> None:
    """All forms find equally many matches; what each takes is for an idle machine."""
    done = bench("240", "1", script="entry_forms.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("lists per attribute") == 2


@pytest.mark.jit
def test_natural_conditions() -> None:
    done = bench("500", "1", script="rewrites.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "where link(I, J)" in done.stdout


def test_outer_forms() -> None:
    """What is found is what is meant; what it takes is for an idle machine."""
    done = bench("60", "1", script="outer.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(done.stdout.count(f"\n{form} ") == 4 for form in ("seq?", "?seq", "equals?", "?equals", "and?", "?and"))


def test_unknown_workload() -> None:
    done = bench("W99")
    assert done.returncode == 2
    assert "no workload W99" in done.stderr


@pytest.mark.jit
def test_all_contenders() -> None:
    ways = ["columns", "hand, Numba", "DuckDB", "Polars"]
    done = bench("W3", "--events", "60", "--turns", "1", "--source", "parquet", "--ways", *ways, script="all.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "W3, 59 events, 25 matches; from Parquet, 2 threads" in done.stdout
    assert [way for way in ways if f"\n{way} " in done.stdout] == ways


@pytest.mark.jit
def test_contenders_of_a_program() -> None:
    ways = ["columns", "run", "hand, Python", "DuckDB", "Polars"]
    options = ["--events", "2000", "--turns", "1", "--source", "memory", "--ways", *ways]
    done = bench("asof_join", *options, script="all.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asof_join, 2,000 events, 512 matches; from memory, 1 thread" in done.stdout
    assert [way for way in ways if f"\n{way} " in done.stdout] == ways


def test_streams_of_rdf() -> None:
    """All forms give the same events; what each takes is for an idle machine."""
    done = bench("--quads", "400", "--turns", "1", script="rdf_streams.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("to events") == 4
