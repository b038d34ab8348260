"""Sources that are read while they are written: standard input, and files that grow.

A thread of its own reads and parses; items come to the engine in batches, a batch at the latest when there is nothing
more to read for now. Law: what was read is handed over, also when the reading is stopped; what was not is left where it
is. How one waits, and what time it is, comes from outside.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from etalis.errors import InputError
from etalis.formats.row import ARRIVAL, Bad, Item, Pause, Place, Row
from etalis.runtime.state import BEGINNING
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS

CHUNK = 1 << 16
BATCH = 1_000  # items at most
ROOM = 16  # batches that may wait to be taken
POLL = 0.02  # seconds between two looks at a file that does not grow

Parse = Callable[[Iterator[str]], Iterator[Item]]


class Stop:
    """Ends the reading; may be asked for in a signal handler."""

    def __init__(self) -> None:
        self.is_set = False
        self._event = threading.Event()
        self._out, self._in = os.pipe()

    def set(self) -> None:
        """Let whoever waits wait no more."""
        if not self.is_set:
            self.is_set = True
            self._event.set()
            os.write(self._in, b".")

    def wait(self, seconds: float) -> bool:
        """Wait until time is up; tell whether one should stop."""
        return self.is_set or self._event.wait(seconds)

    def wait_for(self, file: int) -> bool:
        """Wait until there is something to read; tell whether one should stop."""
        if not self.is_set and os.name == "posix":  # elsewhere only sockets can be waited for
            select.select([self._out, file], [], [])
        return self.is_set

    def close(self) -> None:
        """Give back what the system lent; nobody waits any more."""
        self.is_set = True
        os.close(self._in)
        os.close(self._out)


@dataclass(slots=True)
class Lines:
    """The lines of chunks of bytes as they come; `before_wait` is called whenever there is none left."""

    chunks: Iterator[bytes]
    before_wait: Callable[[], None]
    skip: int = 0  # bytes at the beginning that were read before: their lines come empty
    header: bool = False  # the first line comes in any case
    offset: int = 0  # behind the last whole line
    number: int = 0
    rest: bytes = b""  # of a line that is not whole

    def __iter__(self) -> Iterator[str]:
        while True:
            self.before_wait()
            chunk = next(self.chunks, None)
            if chunk is None:
                return
            *lines, self.rest = (self.rest + chunk).split(b"\n")
            if chunk == b"" and self.rest:  # the end: the last line needs no end of its own
                lines, self.rest = [self.rest], b""
            for line in lines:
                yield self._decode(line)

    def _decode(self, line: bytes) -> str:
        before = self.offset < self.skip and not (self.header and self.number == 0)
        self.offset += len(line) + 1
        self.number += 1
        if self.number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        return "\n" if before else line.decode(errors="surrogateescape") + "\n"


def read_standard_input(stop: Stop) -> Iterator[bytes]:
    """Yield what comes on standard input; an empty chunk is its end, none at all that reading was stopped."""
    try:
        file = sys.stdin.fileno()
    except (io.UnsupportedOperation, ValueError):  # no file of the system
        for line in getattr(sys.stdin, "buffer", sys.stdin):
            yield line if isinstance(line, bytes) else line.encode(errors="surrogateescape")
        yield b""
        return
    while not stop.wait_for(file):
        chunk = os.read(file, CHUNK)
        yield chunk
        if not chunk:
            return


def parse_input(parse: Parse, stop: Stop, source: str, before_wait: Callable[[], None]) -> Iterator[Item]:
    """Yield the items of standard input; a line that was not whole when reading was stopped is bad."""
    lines = Lines(read_standard_input(stop), before_wait)
    yield from _parsed(parse, lines, stop)
    if lines.rest:
        place = Place(source, lines.number + 1, lines.rest.decode(errors="surrogateescape"))
        hint = "send it again"
        yield Bad(place, place.refuse("E402", "the line was not complete when the run was stopped", hint).problems[0])


def _parsed(parse: Parse, lines: Lines, stop: Stop) -> Iterator[Item]:
    """Yield the items of lines; that there was none yet when reading was stopped is no error."""
    try:
        yield from parse(iter(lines))
    except InputError:
        if lines.number or not stop.is_set:
            raise


@dataclass(slots=True)
class Followed:
    """A file that grows, as `tail -F` reads it: when it is replaced or cut, the new one is read from its beginning.

    `position` is how far it was read: which file of this name, and how many bytes of it.
    """

    path: str
    stop: Stop
    position: tuple[int, int] | None = None
    header: bool = False

    def items(self, parse: Parse, before_wait: Callable[[], None]) -> Iterator[Item]:
        """Yield the items of the file, and of those that take its place."""
        while not self.stop.is_set:
            try:
                file = open(self.path, "rb", buffering=0)  # noqa: SIM115  it is closed below
            except FileNotFoundError:  # it was replaced, and so was that one
                self.stop.wait(POLL)
                continue
            with file:
                status = os.fstat(file.fileno())
                lines = Lines(self._chunks(file), before_wait, self._read_before(status), self.header)
                yield from _parsed(parse, lines, self.stop)
                self.position = (status.st_ino, lines.offset) if self.stop.is_set else None

    def _read_before(self, status: os.stat_result) -> int:
        """Return how many bytes of a file were read before."""
        node, offset = self.position or (0, 0)
        return offset if node == status.st_ino and offset <= status.st_size else 0

    def _chunks(self, file: Any) -> Iterator[bytes]:
        """Yield what there is and what is added, until the file is another one; the last chunk is then empty."""
        while True:
            chunk = file.read(CHUNK)
            if chunk:
                yield chunk
                continue
            if self._is_replaced(file):
                yield from iter(partial(file.read, CHUNK), b"")  # added before it was replaced
                yield b""
                return
            if self.stop.wait(POLL):
                return

    def _is_replaced(self, file: Any) -> bool:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:  # its successor is not there yet
            return False
        return found.st_ino != os.fstat(file.fileno()).st_ino or found.st_size < file.tell()


class Arrivals(Protocol):
    """Where items come from while one waits."""

    def wait(self, seconds: float | None) -> list[Item] | None:
        """Return what has come; nothing if time is up before, None at the end."""
        ...


class Reader:
    """Reads items in a thread of its own; `open_items` is given what hands over those read so far."""

    def __init__(self, open_items: Callable[[Callable[[], None]], Iterator[Item]]) -> None:
        self._open_items = open_items
        self._batches: SimpleQueue[list[Item] | BaseException | None] = SimpleQueue()
        self._room = threading.Semaphore(ROOM)
        self._batch: list[Item] = []
        self._is_over = False
        threading.Thread(target=self._read, name="etalis reader", daemon=True).start()

    def _read(self) -> None:
        end: BaseException | None = None
        try:
            for item in self._open_items(self._hand_over):
                self._batch.append(item)
                if len(self._batch) == BATCH:
                    self._hand_over()
        except BaseException as error:  # noqa: BLE001  it is raised where the items are taken
            end = error
        self._hand_over()
        self._batches.put(end)

    def _hand_over(self) -> None:
        if self._batch:
            self._room.acquire()
            self._batches.put(self._batch)
            self._batch = []

    def wait(self, seconds: float | None) -> list[Item] | None:
        """Return the next batch of items; nothing if time is up before, None at the end."""
        try:
            batch = None if self._is_over else self._batches.get(timeout=seconds)
        except Empty:
            return []
        if isinstance(batch, list):
            self._room.release()
            return batch
        self._is_over = True
        if batch is not None:
            raise batch
        return None

    def drain(self) -> None:
        """Let go what is left, after the reading was stopped."""
        with suppress(BaseException):
            while self.wait(None) is not None:
                pass


def arrive(
    arrivals: Arrivals, clock: Callable[[], int] | None, due: Callable[[], int | None], lag: int = 0
) -> Iterator[Item]:
    """Yield items as they come; where there is a clock, also pauses: up to what is due once the clock is past it.

    The clock must be past it by `lag`, since events may be that late. Rows without a time of their own get the clock's.
    """
    if clock is None:
        while (batch := arrivals.wait(None)) is not None:
            yield from batch
        return
    reached = BEGINNING  # what is due before it waits for something else than time
    while True:
        moment = due()
        left = None if moment is None or moment <= reached else moment + lag + 1 - clock()
        batch = arrivals.wait(None if left is None else max(0, left) / MICROSECONDS)
        if batch is None:
            return
        for item in batch:
            yield _stamped(item, clock)
        moment = due()
        if moment is not None and reached < moment < clock() - lag:
            reached = moment
            yield Pause(moment, Place("the clock", 0))


def _stamped(item: Item, clock: Callable[[], int]) -> Item:
    if isinstance(item, Row) and item.event.end_time == ARRIVAL:
        now = clock()
        return Row(Event.make(item.event.name, item.event.args, now, now), item.place)
    return item
