"""Dead letters of a command: rows that cannot be read, and rejected events, with place and reason.

Each is written to a file as it comes, as a JSON object; the first ten of each sort are shown at the end, with how many
there were. A script should know of them: the exit code says so where no file keeps them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from etalis.cli.common import count
from etalis.errors import InputError, Problem
from etalis.formats import Bad, Item, Place, Row
from etalis.formats.row import show_bytes
from etalis.formats.written import SECONDS, TimeForm, moment_of
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.temporal.interval import to_microseconds
from etalis.temporal.json_values import to_text

SHOWN = 10
FIRST = 1_000  # rows of a file: if none of them can be read, the rest is not either
_LATE = "use --sort, or set the flags out_of_order and ooo_window; --dead-letters FILE keeps them"


class DeadLetterLog:
    """What was rejected: written down, counted, the first ones kept to be shown."""

    def __init__(
        self, path: Path | None = None, *, append: bool = False, most: int | None = None, is_endless: bool = False,
        times: TimeForm = SECONDS,
    ) -> None:  # fmt: skip
        self.times = times
        self.bad = self.refused = self.rows = 0
        self._bad: list[Problem] = []
        self._refused: list[str] = []
        self._most = most
        self._is_endless = is_endless
        self._current: Item | None = None
        self._file: IO[str] | None = None
        if path is not None:
            try:
                self._file = path.open("a" if append else "w", encoding="utf-8", buffering=1)
            except OSError as error:
                message = f"cannot write {path}: {error.strerror}"
                raise InputError(Problem("E401", message, hint="check its name")) from None

    def following(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, so that the place of one that is not taken is known."""
        for item in items:
            self._current = item
            self.rows += isinstance(item, Row)
            yield item

    def add_bad(self, bad: Bad) -> None:
        """Take a row that cannot be read, or a row that an engine refuses to take; stop if there are too many."""
        self.bad += 1
        self.rows -= isinstance(self._current, Row)
        if len(self._bad) < SHOWN:
            self._bad.append(bad.problem)
        self._write({**_place(bad.place), "code": bad.problem.code, "reason": bad.problem.message})
        if self._most is not None and self.bad > self._most:
            raise self._too_many(f"{count(self.bad, 'row')} cannot be read, {self._most} may", "see --max-bad")
        if not self.rows and self.bad == FIRST and not self._is_endless:
            hint = "check --format, and the events that the program declares"
            raise self._too_many(f"the first {FIRST:,} rows cannot be read", hint)

    def add(self, letter: DeadLetter) -> None:
        """Take an event that was not taken, while the current item is."""
        event = self._current.event if isinstance(self._current, Row) else None
        same = event is not None and (event.name, event.start, event.end) == (letter.name, letter.start, letter.end)
        self.add_at(self._current.place if same and self._current is not None else None, letter)

    def add_at(self, place: Place | None, letter: DeadLetter) -> None:
        """Take an event that was not taken, which stood at a place."""
        self.refused += 1
        if len(self._refused) < SHOWN:
            where = "" if place is None else f"{place.source}:{place.line}:1: "
            self._refused.append(f"{where}{letter.name} was rejected: {letter.reason}")
        self._write({**letter.to_dict(), **self._dates(letter), **({} if place is None else _place(place))})

    def _dates(self, letter: DeadLetter) -> dict[str, str]:
        """Return the times of a letter as dates, if times came as such."""
        if not self.times.dates or letter.start is None or letter.end is None:
            return {}
        start, end = to_microseconds(letter.start), to_microseconds(letter.end)
        return {"start": moment_of(start, self.times), "end": moment_of(end, self.times)}

    def _write(self, letter: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(to_text(letter) + "\n")

    def _too_many(self, message: str, hint: str) -> InputError:
        return InputError(Problem("E414", message, hint=hint))

    def report(self) -> bool:
        """Say on standard error what was not taken; tell whether a script should know."""
        kept, self._file = self._file, None
        if kept is not None:
            kept.close()
        nothing = bool(self.bad) and not self.rows
        if kept is None:
            for line in (*self._bad, *self._refused):
                print(line, file=sys.stderr)
        if self.bad and (kept is None or nothing):
            print(f"{count(self.bad, 'row')} cannot be read{', and no other' if nothing else ''}", file=sys.stderr)
        if self.refused and kept is None:
            print(f"{count(self.refused, 'event')} came too late, or cannot be used\n  hint: {_LATE}", file=sys.stderr)
        return nothing or (kept is None and bool(self.bad or self.refused))


def _place(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {"source": place.source, "line": place.line}
    return found if place.text is None else {**found, "text": show_bytes(place.text)}
