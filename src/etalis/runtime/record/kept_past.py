"""What a run at level `full` keeps for explanations: inputs, made and raised events, changes of facts.

All of it is bounded by one horizon. Where corrections keep a history of inputs, that is looked at, and no second one is
kept. Law: nothing here takes part in a result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import Any, Protocol

from etalis.data.values import Value
from etalis.runtime.record.input_log import InputLog, KeptInput, Kind
from etalis.runtime.record.made_log import MadeLog
from etalis.runtime.state import Raw, State
from etalis.temporal.event import EventKind
from etalis.temporal.rope import Rope, count_slots


class InputSource(Protocol):
    """Where inputs are found again: in a log of their own, or in the history that corrections keep."""

    @property
    def begins(self) -> int: ...
    def find(self, number: int) -> KeptInput | None: ...
    def find_before(self, number: int) -> KeptInput | None: ...
    def find_now(self, number: int) -> KeptInput | None: ...
    def take_out(self, place: int) -> KeptInput | None: ...
    def items(self) -> Iterator[KeptInput]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A fact came (`known`) or went at a moment, by the event of a rope; None if the host changed it."""

    time: int
    known: bool
    by: Rope


@dataclass(frozen=True, slots=True, eq=False)
class TakenBack:
    """A derived event that a correction took away, and what that was: a correction of an input, or a late one."""

    raw: Raw
    correction: str


def identify(raw: Raw) -> tuple[Any, ...]:
    """Return what tells an event that rules made from others, whichever rule made it."""
    return raw[0], raw[1], raw[2].name, *raw[3 : 3 + raw[2].arity]


class KeptPast:
    """The parts of the past that are kept; `source` is where the inputs are."""

    def __init__(self, state: State, most: int, horizon: int | None) -> None:
        self.horizon = horizon
        self.state = state
        self.inputs = InputLog(most, horizon, self._trim)
        self.source: InputSource = self.inputs
        self.made: dict[Kind, dict[int, MadeLog]] = {}  # by the number of cells
        self.raised: list[tuple[int, Raw]] = []  # the input before it, and the event
        self.facts: dict[tuple[str, tuple[Any, ...]], list[Told]] = {}
        self.generations: list[tuple[int, int, int]] = []  # input, moment, generation of the knowledge before a change
        self.corrected: dict[tuple[Any, ...], TakenBack] = {}  # by what `identify` gives
        self.correction = ""
        self.late: dict[int, int] = {}  # by the number of an input that came late, the time that had been reached

    # what comes

    def take(self, number: int, name: str, args: tuple[Value, ...], start: int, end: int) -> None:
        """Keep an input, unless corrections keep it."""
        if self.source is self.inputs:
            self.inputs.add(number, name, args, start, end)

    def made_as(self, kind: EventKind) -> MadeLog:
        """Return where the events that a rule makes are kept; generated code adds to its cells."""
        return self._log_of(kind, 3 + kind.arity + count_slots(kind.shape))

    def _log_of(self, kind: EventKind, width: int) -> MadeLog:
        logs = self.made.setdefault((kind.name, kind.arity), {})
        if width not in logs:
            logs[width] = MadeLog(width)
        return logs[width]

    def add_made(self, raw: Raw) -> None:
        """Keep an event that rules made."""
        self._log_of(raw[2], len(raw)).add((raw,))

    def made_of(self, kind: Kind, wanted: Sequence[tuple[int, Any]] = ()) -> Iterator[Raw]:
        """Yield the events that rules made of a kind and that have some values in some cells, the latest first."""
        logs = self.made.get(kind, {}).values()
        return merge(*(made.latest(wanted) for made in logs), key=itemgetter(0), reverse=True)

    def all_made(self) -> Iterator[Raw]:
        """Yield the events that rules made, kind by kind, each in the order of its end."""
        for kind in self.made:
            yield from reversed(list(self.made_of(kind)))

    def _trim(self, limit: int) -> None:
        """Let go what ended before a moment."""
        for made in chain.from_iterable(logs.values() for logs in self.made.values()):
            made.trim(limit)
        if self.raised and self.raised[len(self.raised) // 2][1][0] < limit:
            self.raised = [item for item in self.raised if item[1][0] >= limit]
        self.corrected = {key: back for key, back in self.corrected.items() if back.raw[0] >= limit}
        gone = bisect_left(self.generations, limit, key=itemgetter(1))
        if 2 * gone > len(self.generations):
            del self.generations[:gone]

    def raise_event(self, raw: Raw) -> None:
        """Keep an event that a goal raised."""
        self.raised.append((self.state.number, raw))

    def tell(self, changes: tuple[tuple[str, bool], ...], raw: Raw, row: tuple[Any, ...]) -> None:
        """Keep that an event changed facts."""
        for name, known in changes:
            self._note(name, row, Told(self.state.now, known, raw[-1] if raw[2] is None else raw))

    def change(self, name: str, row: tuple[Any, ...], *, known: bool) -> None:
        """Keep that the host changed a fact."""
        self._note(name, row, Told(self.state.now, known, None))

    def _note(self, name: str, row: tuple[Any, ...], told: Told) -> None:
        self.facts.setdefault((name, row), []).append(told)

    def begin_change(self, generation: int) -> None:
        """Keep which knowledge there was before a change."""
        self.generations.append((self.state.number, self.state.now, generation))

    def begin_correction(self, place: int, number: int) -> None:
        """Keep an input, by its place in the history, that is about to be taken back or corrected."""
        self.source.take_out(place)
        self.correction = f"the correction of input {number}"

    def come_late(self, number: int, reached: int) -> None:
        """Keep that an input came after time had reached a later moment."""
        self.late[number] = reached
        self.correction = f"the late input {number}"

    def correct(self, was: list[Raw], made: list[Raw]) -> None:
        """Keep what a correction changed: events that it took away, and events that it made."""
        before, after = {identify(raw): raw for raw in was}, {identify(raw): raw for raw in made}
        for key, raw in before.items():
            if key not in after:
                self.corrected[key] = TakenBack(raw, self.correction)
        for key, raw in after.items():
            if key not in before:
                self.corrected.pop(key, None)
                self.add_made(raw)

    def taken_back(self, raw: Raw) -> TakenBack | None:
        """Return the correction that took an event away; None if it stands."""
        return self.corrected.get(identify(raw)) if self.corrected else None

    # what was

    def told(self, name: str, row: tuple[Any, ...], until: int) -> Told | None:
        """Return how a fact that is known at a moment became known; None if it came with the program."""
        found = self.facts.get((name, row), [])
        place = bisect_right(found, until, key=lambda told: told.time)
        return found[place - 1] if place and found[place - 1].known else None

    def changed_at(self, time: int) -> bool:
        """Tell whether facts changed at a moment."""
        place = bisect_right(self.generations, time, key=itemgetter(1))
        return place > 0 and self.generations[place - 1][1] == time

    def generations_at(self, number: int, time: int, present: int) -> list[int]:
        """Return the versions of the knowledge that a match may have seen which ends at a moment, earlier ones first.

        `number` is that of its last input. What changed after it, but at that moment, may have been seen or not.
        """
        changes = self.generations
        later = bisect_right(changes, time, key=itemgetter(1))
        first = later
        while first and changes[first - 1][1] == time and changes[first - 1][0] >= number:
            first -= 1
        found = [changes[place][2] for place in range(first, later)]
        found.append(changes[later][2] if later < len(changes) else present)
        return list(dict.fromkeys(found))
