"""How far a long run has come, told to whoever asks: rows so far, matches so far, on a terminal with the rate.

Nothing is shown where nobody watches, or before a run has lasted a moment.
"""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

Tell = Callable[[int, int], object]  # rows and matches so far

BATCH = 1 << 18  # rows that are taken at a time
_PATIENCE = 1.0  # seconds before anything is shown
_PAUSE = 0.2  # between two looks


@dataclass(frozen=True, slots=True)
class Pace:
    """How the rows of a table are taken: how many at a time, by how many threads, and who is told how far it is."""

    batch: int = BATCH
    threads: int = 2
    progress: bool | Tell = False


@contextmanager
def following(progress: bool | Tell) -> Iterator[Tell]:
    """Return what is told of progress: the function that was given, a line on the terminal (True), or nothing."""
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty():
        line = ProgressLine(sys.stderr, clock.monotonic)
        try:
            yield line.tell
        finally:
            line.end()
    else:
        yield lambda *_: None


class ProgressLine:
    """One line on a terminal, written over and over.

    >>> ProgressLine(sys.stderr, lambda: 2.0).describe(3_000_000, 12)
    '3,000,000 rows, 12 matches'
    """

    def __init__(self, out: TextIO, now: Callable[[], float]) -> None:
        self.out = out
        self.now = now
        self.began = self.shown = now()
        self.width = 0

    def tell(self, rows: int, matches: int) -> None:
        """Show how far it is, if it is time to."""
        now = self.now()
        if now - self.began < _PATIENCE or now - self.shown < _PAUSE:
            return
        self.shown = now
        text = self.describe(rows, matches)
        self.out.write("\r" + text.ljust(self.width))
        self.out.flush()
        self.width = len(text)

    def describe(self, rows: int, matches: int) -> str:
        """Return what the line says."""
        seconds = self.now() - self.began
        rate = f", {rows / seconds:,.0f} rows/s" if seconds > 0 else ""
        return f"{rows:,} rows, {matches:,} matches{rate}"

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()
