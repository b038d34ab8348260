"""Works side by side in one process: they take turns and keep what they find; the median processor time counts."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sized
from typing import Any

from ratio import WrongAnswerError
from rich.console import Console
from rich.text import Text
from run import judged, machine, new_table

Begin = Callable[[], Callable[[], Sized]]  # what is not timed: a new engine


def measure(works: Mapping[str, Begin], turns: int, *, same: bool = True) -> dict[str, float]:
    """Return the seconds of each work; all must find equally many matches where they are the same question."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    counts: dict[str, int] = {}
    for _ in range(turns):
        for name, begin in works.items():
            work = begin()
            gc.collect()
            started = time.process_time()
            found = work()
            seconds[name].append(time.process_time() - started)
            counts[name] = len(found)
    if same and len(set(counts.values())) > 1:
        raise WrongAnswerError(f"matches: {counts}")
    return {name: statistics.median(several) for name, several in seconds.items()}


class Report:
    """Tables with verdicts; says at the end how many figures are not what was asked for."""

    def __init__(self) -> None:
        self.console = Console(width=max(120, Console().width))
        self.missed = 0
        self.console.print(Text(f"{machine()}; {os.getloadavg()[0]:.1f} processes busy at the start", "dim"))

    def table(self, title: str, *columns: str) -> Any:
        return new_table(title, *columns)

    def at_most(self, ratio: float, asked: float | None) -> Text:
        """Return a ratio of times, with what was asked for."""
        if asked is None:
            return Text(f"{ratio:.2f}")
        self.missed += ratio > asked
        return judged(f"{ratio:.2f} ({asked:g})", ratio <= asked)

    def show(self, table: Any) -> None:
        self.console.print(table)

    def end(self) -> None:
        self.console.print(Text(f"in brackets: asked at most; {self.missed} not reached (!)", "dim"))


def run_report(main: Callable[[Report], None]) -> int:
    """Return the exit code of a script: 1 if an answer is wrong."""
    report = Report()
    try:
        main(report)
    except WrongAnswerError as error:
        report.console.print(Text(f"wrong answer: {error}", "bold red"))
        return 1
    report.end()
    return 0


def argument(place: int, usual: int) -> int:
    """Return a number of the command line."""
    return int(sys.argv[place]) if len(sys.argv) > place else usual
