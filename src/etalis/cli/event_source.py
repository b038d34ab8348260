"""A stream of events as `etalis run` is given it: a file, standard input, or a file that grows.

Law: a stream that was stopped can be gone on with. What was read of a file is noted with the engine, and so in its
snapshot; what was read of standard input is processed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice

import typer

from etalis.cli.common import in_time_order
from etalis.data.files import find_files, reading_file
from etalis.engine import Engine
from etalis.errors import InputError, Problem
from etalis.formats import STANDARD_INPUT, Item, Reading, Row, format_of, in_order, parser_of, read
from etalis.formats.live import Followed, Reader, Stop, arrive, parse_input
from etalis.language.flags import UNBOUNDED, with_ahead
from etalis.program import Program
from etalis.temporal.interval import MICROSECONDS, to_time

HOUR = 3_600 * MICROSECONDS
NO_BOUND = -1
_WHOLE = ("events", "nquads", "trig")  # formats whose lines need those before them
_TAKEN, _FOLLOWED = "taken", "followed"  # notes of an engine: how far a file was read


@dataclass(slots=True)
class Stopping:
    """Whether a signal has asked a run to stop, and which."""

    stop: Stop
    by: signal.Signals | None = None

    def take(self, number: int, _: object) -> None:
        """Take a signal; a second one ends the run at once."""
        if self.by is not None:
            raise KeyboardInterrupt
        self.by = signal.Signals(number)
        self.stop.set()


@contextmanager
def stopping() -> Iterator[Stopping]:
    """Let SIGINT and SIGTERM ask a run to stop, instead of ending it."""
    asked = Stopping(Stop())
    is_main = threading.current_thread() is threading.main_thread()
    before = {s: signal.signal(s, asked.take) for s in (signal.SIGINT, signal.SIGTERM) if is_main}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        asked.stop.close()


def wall_clock() -> Callable[[], int]:
    """Return a clock in microseconds since 1970 that never goes back."""
    last = 0

    def now() -> int:
        nonlocal last
        last = max(last, time.time_ns() // 1_000)
        return last

    return now


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStream:
    """Where events come from, how they are read, and what time is: that of events, or also that of a clock."""

    address: str
    format: str | None
    reading: Reading
    now: Callable[[], int]
    sorts: bool = False
    follows: bool = False
    by_clock: bool = False
    ahead: float | None = None  # seconds, NO_BOUND for none, None if nothing is said

    @property
    def is_live(self) -> bool:
        """Whether rows are taken as they come."""
        return self.follows or (self.address == STANDARD_INPUT and not self.sorts)

    def check(self, program: Program) -> None:
        """Refuse what does not go together."""
        if self.reading.encoding is not None and (self.is_live or self.address == STANDARD_INPUT):
            raise typer.BadParameter("what is read while it is written is UTF-8 text", param_hint="--encoding")
        if self.follows and (self.sorts or self.address == STANDARD_INPUT):
            raise typer.BadParameter("a file is followed, and as it comes: not -, not --sort", param_hint="--follow")
        if self.by_clock and not self.is_live:
            raise typer.BadParameter("wall is for - and --follow, without --sort", param_hint="--clock")
        if self.by_clock and program.compiled.settings.lateness == UNBOUNDED:
            raise typer.BadParameter("wall needs the flag ooo_window where out_of_order is on", param_hint="--clock")
        if self.follows:
            file, *more = find_files(self.address, self.format)
            if more or file.compression or file.system is not None or file.format in _WHOLE:
                hint = "follow one file of lines: .jsonl, .csv or .tsv"
                raise InputError(Problem("E407", f"{self.address} cannot be followed", hint=hint))

    def items(self, engine: Engine, asked: Stopping) -> Iterator[Item]:
        """Yield rows in the order in which they are taken, until the end or until the run is to stop."""
        if self.is_live:
            return self._arrivals(engine, asked)
        return self._ordered(engine, asked)

    def _arrivals(self, engine: Engine, asked: Stopping) -> Iterator[Item]:
        """Yield rows as they come, and where time is that of a clock, what it reaches."""
        kind = format_of(self.address, self.format)
        name = "<stdin>" if self.address == STANDARD_INPUT else self.address
        parse = parser_of(kind, name, self.reading)
        followed = None
        if self.follows:
            known = dict(engine.notes.get(_FOLLOWED, ()))
            followed = Followed(name, asked.stop, known.get(name), header=kind in ("csv", "tsv"))
        opened = partial(parse_input, parse, asked.stop, name) if followed is None else partial(followed.items, parse)
        reader = Reader(lambda hand_over: reading_file(name, lambda: opened(hand_over)))
        try:
            lag = engine.program.compiled.settings.lateness or 0
            yield from arrive(reader, self.now if self.by_clock else None, partial(_due, engine), lag)
        finally:
            asked.stop.set()
            reader.drain()
        if followed is not None and followed.position is not None:
            engine.notes[_FOLLOWED] = ((name, followed.position),)

    def _ordered(self, engine: Engine, asked: Stopping) -> Iterator[Item]:
        """Yield the rows of a file in order of time, behind those that were taken before the run was stopped."""
        if self.address == STANDARD_INPUT:
            items: Iterable[Item] = self._arrivals(engine, asked)
        else:
            items = read(self.address, self.reading, format=self.format)
        ordered = in_time_order(items) if self.sorts else in_order(items)
        address, taken = engine.notes.pop(_TAKEN, (None, 0))
        taken = taken if address == self.address else 0
        for item in islice(ordered, taken, None):
            if asked.by is not None and self.address != STANDARD_INPUT:
                engine.notes[_TAKEN] = (self.address, taken)
                return
            yield item
            taken += 1

    def near(self, engine: Engine, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items without rows from the future; those of a stream that is not live are the engine's affair."""
        if not self.is_live:
            yield from items
            return
        bound = with_ahead(engine.program.compiled.settings, self.ahead).max_ahead
        numbered = engine.core.horizon_of(bound, None)
        stamped = engine.core.horizon_of(HOUR if bound is None and self.ahead is None else bound, self.now)
        for item in items:
            horizon = stamped if self.reading.seen.stamps else numbered
            if isinstance(item, Row) and horizon is not None:
                event = item.event
                if horizon.refuses(event.name, event.args, event.start_time, event.end_time):
                    continue
            yield item


def _due(engine: Engine) -> int | None:
    due = engine.due
    return None if due is None else to_time(due)
