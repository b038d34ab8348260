"""The event engine of 004 in process: expressions are registered, instances signalled, results told.

It gives every signal its stamp. In time `clock` that is the clock, but always later than the stamp before; in time
`events` it is the signal's own, and with a `lateness` signals wait until no earlier one can come. A signal is matched
with what is registered when it arrives.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from etalis.errors import DocumentError, Problem
from etalis.snoop.detection.leaf import Discarded, ExpressionLeaf
from etalis.snoop.detection.leaf_index import LeafIndex
from etalis.snoop.detection.registration import LeafInstance, Registration
from etalis.snoop.detection.results import Notice
from etalis.snoop.detection.rules import MOST_WAITING
from etalis.snoop.expression import Expression, Path, name_path

Told: TypeAlias = tuple[Registration, Notice]
Time: TypeAlias = Literal["clock", "events"]


@dataclass(frozen=True, slots=True)
class SignalReception:
    """What became of a signal: how many leaves its instances fill, what was not taken and why, and what it caused.

    What waits for earlier signals is matched and causes nothing yet; `told` may have what others have caused.
    """

    matched: int = 0
    discarded: tuple[str, ...] = ()
    late: bool = False
    told: tuple[Told, ...] = ()


@dataclass(order=True, slots=True)
class _Held:
    stamp: int
    order: int
    fills: list[tuple[Registration, list[LeafInstance]]]


class Detector:
    """Registrations, the index of their leaves, and the time of signals, in microseconds."""

    def __init__(
        self, *, time: Time = "clock", lateness: int = 0, provided: Collection[str] = (),
        most_waiting: int = MOST_WAITING,
    ) -> None:  # fmt: skip
        self.time = time
        self.lateness = lateness
        self.provided = frozenset(provided)
        self.registrations: dict[int, Registration] = {}
        self.index = LeafIndex()
        self.last: int | None = None  # the latest stamp
        self.signals = 0
        self._most_waiting = most_waiting
        self._numbers = 0
        self._held: list[_Held] = []

    # expressions

    def register(self, expression: Expression, number: int | None = None) -> Registration:
        """Register an expression; an RegistrationError says all that is wrong with it, and nothing of it remains.

        What cannot be detected at all, since nobody knows the language of a part, has failed: `opening` says so.
        """
        wanted = self._numbers + 1 if number is None else number
        made = Registration(expression, wanted, provided=self.provided, most_waiting=self._most_waiting)
        if made.state == "active":
            self.add(made)
        self._numbers = max(self._numbers, wanted)
        return made

    def add(self, registration: Registration) -> None:
        """Take in a registration, new or restored."""
        self.registrations[registration.number] = registration
        self._numbers = max(self._numbers, registration.number)
        self.index.add(registration)

    def unregister(self, number: int) -> bool:
        """Remove a registration; tell whether there was one."""
        found = self.registrations.pop(number, None)
        if found is not None:
            self.index.remove(found)
        return found is not None

    # signals

    def signal(
        self, operator: str, language: str, parameters: Mapping[str, str], *, at: int | None = None,
        clock: int | None = None, echo: str | None = None,
    ) -> SignalReception:  # fmt: skip
        """Take an instance by its type; `at` is its own time, `clock` what the clock says, `echo` its `at` as text."""
        number = self._next()
        found = self.index.find(operator, language, parameters)
        given = None if self.time == "events" else echo
        fills = [(registration, [LeafInstance(number, filled, at=given)]) for registration, filled in found]
        matched = sum(len(filled) for _, filled in found)
        return self._take(fills, matched, (), at, clock)

    def signal_leaf(
        self, registration: Registration, path: Path, tuples: Iterable[Mapping[str, str]], *, at: int | None = None,
        clock: int | None = None, start: int | None = None, echo: str | None = None,
    ) -> SignalReception:  # fmt: skip
        """Take instances of a leaf that its provider tells, one for each tuple of bindings."""
        number, leaf = self._next(), registration.leaf(path)
        assert leaf is not None
        if registration.is_dead(path):
            return SignalReception(0, tuple(f"leaf {name_path(path)}: nothing more is expected" for _ in tuples))
        instances, discarded = bind_tuples(leaf, tuples, number, start, None if self.time == "events" else echo)
        fills = [(registration, instances)] if instances else []
        return self._take(fills, len(instances), discarded, at, clock)

    def end(self, registration: Registration, path: Path) -> list[Told]:
        """Take it that a leaf will have no more instances."""
        return self._settle([(registration, notice) for notice in registration.end(path)])

    def fail(self, registration: Registration, path: Path, code: str, text: str) -> list[Told]:
        """Take it that a leaf cannot be detected."""
        return self._settle([(registration, notice) for notice in registration.fail(path, code, text)])

    def advance(self, to: int) -> list[Told]:
        """Say that no earlier signal will come; return what that settles."""
        self.last = to if self.last is None else max(self.last, to)
        return self._release(self.last)

    def _next(self) -> str:
        self.signals += 1
        return str(self.signals)

    def _take(
        self, fills: list[tuple[Registration, list[LeafInstance]]], matched: int, discarded: tuple[str, ...],
        at: int | None, clock: int | None,
    ) -> SignalReception:  # fmt: skip
        if self.time == "clock":
            assert clock is not None, "what the clock says comes with every signal"
            stamp = clock if self.last is None else max(clock, self.last + 1)
        else:
            if at is None:
                hint = "signals are ordered by their own time here: give `at`"
                raise DocumentError(Problem("E877", "a signal without time", hint=hint))
            stamp = at
            if self.last is not None and stamp < self.last - self.lateness:
                return SignalReception(0, discarded, True)
        self.last = stamp if self.last is None else max(self.last, stamp)
        if fills:
            heapq.heappush(self._held, _Held(stamp, self.signals, fills))
            for registration, _ in fills:
                registration.changes += 1
        wait = self.lateness if self.time == "events" else 0
        return SignalReception(matched, discarded, False, tuple(self._release(self.last - wait)))

    def _release(self, watermark: int) -> list[Told]:
        """Offer what waits up to the watermark, in the order of stamps."""
        told: list[Told] = []
        while self._held and self._held[0].stamp <= watermark:
            held = heapq.heappop(self._held)
            for registration, instances in held.fills:
                if registration.number in self.registrations:
                    told += [(registration, notice) for notice in registration.signal(instances, held.stamp)]
        return self._settle(told)

    def _settle(self, told: list[Told]) -> list[Told]:
        """Remove registrations that can be detected no more."""
        for registration, _ in told:
            if registration.state != "active":
                self.unregister(registration.number)
        return told

    def held(self, number: int) -> list[tuple[int, int, list[LeafInstance]]]:
        """Return what is held for a registration until its time comes: stamp, order, instances."""
        return [
            (held.stamp, held.order, instances)
            for held in sorted(self._held)
            for registration, instances in held.fills
            if registration.number == number
        ]

    def hold(self, registration: Registration, held: Iterable[tuple[int, int, list[LeafInstance]]]) -> None:
        """Hold again what `held` has told."""
        for stamp, order, instances in held:
            heapq.heappush(self._held, _Held(stamp, order, [(registration, instances)]))


def bind_tuples(
    leaf: ExpressionLeaf,
    tuples: Iterable[Mapping[str, str]],
    number: str,
    start: int | None = None,
    at: str | None = None,
) -> tuple[list[LeafInstance], tuple[str, ...]]:
    """Return the instances that tuples of bindings are, and why others are none.

    The first has the number of the signal, the others `number.2`, `number.3`, ... .
    """
    instances, discarded = [], []
    for place, bindings in enumerate(tuples, 1):
        found = leaf.bind(bindings)
        if isinstance(found, Discarded):
            discarded.append(f"leaf {name_path(leaf.path)}: {found.reason}")
        else:
            own = number if place == 1 else f"{number}.{place}"
            instances.append(LeafInstance(own, {leaf.path: found}, start, at))
    return instances, tuple(discarded)
