"""A batch of events on its way through an engine: pieces of rows, what they cause, and what was not taken.

Rows are those of `Engine.run` (tuples, events, dicts) in lists, or alone: `Pause` lets time pass, `Bad` is a row that
could not be read, a `NamedRow` is taken once. Law: whatever the pieces, the engine sees the rows in order, and each
match tells the index of the row that completed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import length_hint
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeAlias, assert_never

from etalis.errors import EtalisError
from etalis.formats import Bad, Pause, exact_seconds
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.service.engine_parts import EngineCounts, LetterSlot
from etalis.service.intake.parts import NamedRow, Part, as_parts
from etalis.service.kept import Kind
from etalis.service.matches import MatchEntry
from etalis.service.problems import DoorError, UnavailableError, UnprocessableError
from etalis.temporal.event import Event

PIECE = 1_000  # events that are processed before the next engine has its turn
MOST_TOLD = 1_000  # rows that were not taken, of which the reason is told
_PIECE_SECONDS = 0.01  # a piece ends early where its events take long

Found: TypeAlias = tuple[int | None, Event, bool]  # the index of an input, what was found, whether it is that input


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that was not taken: its index in the batch, and why."""

    index: int
    message: str


@dataclass(slots=True)
class Taken:
    """What became of a batch: rows taken, rows that came too late, rows that were rejected, and the matches.

    Of rows that were not taken the first are told; `more_rejected` counts the others.
    """

    taken: int = 0
    late: int = 0
    repeated: int = 0
    rejected: list[RejectedRow] = field(default_factory=list)
    more_rejected: int = 0
    late_rows: list[RejectedRow] = field(default_factory=list)
    matches: list[MatchEntry] = field(default_factory=list)


class _Piece(NamedTuple):
    """What a piece came to."""

    rows: int
    late: int
    repeated: int
    rejected: list[RejectedRow]
    found: list[Found]
    due: int | None


class TakingEngine(Protocol):
    """What a batch needs of an engine."""

    counts: EngineCounts
    followed: frozenset[Kind]

    @property
    def letters(self) -> LetterSlot: ...

    def run_now(self, rows: Iterator[Any]) -> Iterator[Event]: ...

    def advance_now(self, seconds: Any) -> tuple[Event, ...]: ...

    def stamped(self, rows: list[Any], moment: int) -> list[Any]: ...

    def received(self, row: Any) -> Event | None: ...

    def is_new(self, key: str) -> bool: ...

    def next_due(self) -> int | None: ...

    def deliver(self, found: list[Found], due: int | None) -> list[MatchEntry]: ...


class EventBatch:
    """The job that takes rows into an engine; its answer is a `Taken`."""

    def __init__(
        self, engine: TakingEngine, parts: Iterable[Part], answer: asyncio.Future[Taken], *, stamp: int | None,
        matches: bool,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.answer = answer
        self.wants_matches = matches
        self.result = Taken()
        self.stamp = stamp
        self._parts = iter(parts)
        self._index = 0  # of the next row
        self._late = self._repeated = 0
        self._rejected: list[RejectedRow] = []
        self._place: Callable[[], int] = lambda: 0  # the index of the row that the engine is at

    # in the worker's thread

    def step(self) -> tuple[_Piece, bool]:
        """Take the next rows."""
        self._late, self._repeated, self._rejected = 0, 0, []
        found: list[Found] = []
        before, more = self._index, True
        self.engine.letters.receive = self._refuse
        until = perf_counter() + _PIECE_SECONDS
        while self._index - before < PIECE and perf_counter() < until:
            try:
                part = next(self._parts, None)
                if part is None:
                    more = False
                    break
                self._take(part, found)
            except Exception as error:
                raise _CutShortError(self._piece(before, found), error) from error
        return self._piece(before, found), more

    def _piece(self, before: int, found: list[Found]) -> _Piece:
        return _Piece(self._index - before, self._late, self._repeated, self._rejected, found, self.engine.next_due())

    def _refuse(self, letter: DeadLetter) -> None:
        row = RejectedRow(self._place(), f"{letter.name}: {letter.reason}" if letter.name else letter.reason)
        if letter.cause == "late":
            self._late += 1
            if len(self.result.late_rows) < MOST_TOLD:
                self.result.late_rows.append(row)
        else:
            self._rejected.append(row)

    def _take(self, part: Part, found: list[Found]) -> None:
        match part:
            case list():
                self._run(part, found)
                return
            case NamedRow(key, row) if self.engine.is_new(key):
                for each in as_parts((row,)):
                    self._take(each, found)
                return
            case NamedRow():
                self._repeated += 1
            case Bad():
                self._rejected.append(RejectedRow(self._index, part.problem.message))
            case Pause():
                found.extend((self._index, event, False) for event in self.engine.advance_now(exact_seconds(part.to)))
            case _:
                assert_never(part)
        self._index += 1

    def _run(self, rows: list[Any], found: list[Found]) -> None:
        """Run rows that stand one behind the other through the engine."""
        if self.stamp is not None:
            rows = self.engine.stamped(rows, self.stamp)
        first, total = self._index, len(rows)
        if self.engine.followed:
            self._run_followed(rows, found)
            return
        source = iter(rows)  # of a list: it tells how many rows are left

        def place() -> int:
            return first + total - length_hint(source) - 1

        self._place = place
        try:
            for event in self.engine.run_now(source):
                found.append((place(), event, False))
        finally:
            self._index = place() + 1

    def _run_followed(self, rows: list[Any], found: list[Found]) -> None:
        """Run rows one by one, and note those of received kinds that someone follows."""
        for row in rows:
            at = self._index
            self._place = lambda at=at: at  # type: ignore[misc]
            refused = self._late + len(self._rejected)
            caused = list(self.engine.run_now(iter((row,))))
            if self._late + len(self._rejected) == refused:
                received = self.engine.received(row)
                if received is not None:
                    found.append((at, received, True))
            found.extend((at, event, False) for event in caused)
            self._index += 1

    # in the event loop

    def deliver(self, found: _Piece) -> None:
        """Count and number what a piece came to."""
        result = self.result
        taken = found.rows - found.late - found.repeated - len(found.rejected)
        result.taken += taken
        result.late += found.late
        result.repeated += found.repeated
        room = MOST_TOLD - len(result.rejected)
        result.rejected += found.rejected[:room]
        result.more_rejected += len(found.rejected[room:])
        entries = self.engine.deliver(found.found, found.due)
        if self.wants_matches:
            result.matches += [entry for entry in entries if not entry.received]
        counts = self.engine.counts
        counts.events += taken
        counts.late += found.late
        counts.repeated += found.repeated
        counts.rejected += len(found.rejected)

    def finish(self) -> None:
        """Answer what became of all rows."""
        if not self.answer.done():
            self.answer.set_result(self.result)

    def fail(self, error: BaseException) -> None:
        """Pass on an error, with how many rows were taken before it."""
        told: BaseException = error
        if isinstance(error, _CutShortError):
            self.deliver(error.piece)
            told = self._describe(error.error) if isinstance(error.error, EtalisError) else error.error
        if not self.answer.done():
            self.answer.set_exception(told)

    def _describe(self, error: EtalisError) -> EtalisError:
        """Return an error that tells how many rows were taken; that there is no room is one of its own."""
        first = error.problems[0]
        if first.code == "E321":
            told: DoorError = UnavailableError(first.code, first.message, first.hint or "", {"Retry-After": "1"})
        elif self.result.taken:
            told = UnprocessableError(first.code, first.message, first.hint or "")
        else:
            return error
        told.more["taken"] = self.result.taken
        return told


class _CutShortError(Exception):
    """A piece that ended in an error: what it came to before."""

    def __init__(self, piece: _Piece, error: Exception) -> None:
        super().__init__(str(error))
        self.piece = piece
        self.error = error
