"""How long `tail -f` to match takes: a row is added to a file, and the match that it completes is waited for.

Three ways in: standard input from a pipe, standard input from `tail -f`, and `--follow`. Times are those of this
process, from before the row is written to after the match was read. `python bench/tail.py [rows]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

ROWS = 100
PROGRAM = "pair(X) <- (a(X) seq b(X)) within 60."


@contextmanager
def running(folder: Path, way: str) -> Iterator[tuple[Callable[[str], None], Callable[[], str]]]:
    """Start `etalis run`; yield what adds a row, and what returns the next match."""
    program, events = folder / "p.etalis", folder / f"{way.replace(' ', '_')}.jsonl"
    program.write_text(PROGRAM)
    command = [sys.executable, "-c", "from etalis.cli import main; main()", "run", str(program)]
    with ExitStack() as stack:
        file = stack.enter_context(events.open("w", buffering=1))
        source: int | None = subprocess.PIPE
        if way == "tail -f":
            tail = stack.enter_context(subprocess.Popen(["tail", "-f", events], stdout=subprocess.PIPE))
            stack.callback(tail.kill)
            assert tail.stdout is not None
            source = tail.stdout.fileno()
        elif way == "--follow":
            command += ["--follow", str(events)]
            source = None
        run = stack.enter_context(subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, text=True))
        stack.callback(run.kill)
        to = run.stdin if way == "a pipe" else file
        assert run.stdout is not None

        def add(row: str) -> None:
            assert to is not None
            to.write(row)
            to.flush()

        yield add, run.stdout.readline


def measure(folder: Path, way: str, rows: int) -> list[float]:
    """Return the milliseconds from row to match; the first match, which waits for the start, is left out."""
    found = []
    with running(folder, way) as (add, next_match):
        for i in range(rows + 1):
            add(f'["a", {i}, {2 * i}]\n')
            started = time.perf_counter()
            add(f'["b", {i}, {2 * i + 1}]\n')
            assert next_match() == f"pair({i}) [{2 * i}, {2 * i + 1}]\n"
            found.append((time.perf_counter() - started) * 1_000)
    return found[1:]


def main() -> int:
    """Print a line per way in."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with tempfile.TemporaryDirectory() as folder:
        for way in ("a pipe", "tail -f", "--follow"):
            times = sorted(measure(Path(folder), way, rows))
            last = times[max(0, int(len(times) * 0.99) - 1)]
            print(f"{way:>8}: median {median(times):.2f} ms, p99 {last:.2f} ms, longest {times[-1]:.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
