"""One registered expression: instances in, results out, until it can be detected no more.

Time is microseconds; the caller sees to it that stamps never go back. What is detected depends on nothing but the
instances with their stamps, in their order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from etalis.errors import Problem, SnapshotError
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine, restore, start_engine
from etalis.snoop.check import checked
from etalis.snoop.detection.completion import can_complete
from etalis.snoop.detection.contributions import MatchReader
from etalis.snoop.detection.leaf import ExpressionLeaf, Values, leaves_of
from etalis.snoop.detection.results import ExpressionFailed, Notice, Result, Stamped
from etalis.snoop.detection.rules import EMPTY, FILLED, MOST_WAITING, translate
from etalis.snoop.detection.stores import count_waiting
from etalis.snoop.expression import Expression, Path, name_path, read_path
from etalis.snoop.markup.json_form import expression_of, to_json
from etalis.snoop.values import value_from_plain, value_to_plain
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds

_FORMAT = 1
_EXACT = 1 << 51  # microseconds that a float of seconds tells apart
_KEYS = {"format", "number", "expression", "provided", "state", "results", "dead", "taken", "notes"}


@dataclass(frozen=True, slots=True)
class LeafInstance:
    """One instance as a registration takes it: which leaves it fills, with the values of their outputs.

    These are leaves of one operator and language, or a single one that is fed by its id. `start` in microseconds, where
    it began before its stamp; `at` is the time its sender gave, if that is another.
    """

    number: str
    fills: Mapping[Path, Values]
    start: int | None = None
    at: str | None = None

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        fills = {name_path(path): [value_to_plain(v) for v in values] for path, values in self.fills.items()}
        return [self.number, fills, self.start, self.at]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> Self:
        """Return the instance of plain data."""
        number, fills, start, at = plain
        filled = {read_path(path): tuple(map(value_from_plain, values)) for path, values in fills.items()}
        return cls(number, filled, start, at)


@dataclass(frozen=True, slots=True)
class LeafState:
    """A leaf: whether its events can still come, and how many instances were taken and wait."""

    path: Path
    operator: str | None
    language: str | None
    state: str  # alive, ended or failed
    by_id: bool
    taken: int
    waiting: int


@dataclass(frozen=True, slots=True)
class RegistrationState:
    """A registration as `GET` shows it: its leaves, what waits at each part, what was shed."""

    state: str  # active, ended or failed
    results: int
    shed: int
    leaves: tuple[LeafState, ...]
    waiting: Mapping[Path, int] = field(default_factory=dict)


def _seconds(time: int) -> float | Fraction:
    """Return microseconds as seconds that the engine reads back as the same microseconds."""
    return to_seconds(time) if -_EXACT < time < _EXACT else Fraction(time, 1_000_000)


class Registration:
    """One registered expression and all that waits in it."""

    def __init__(
        self, expression: Expression, number: int, *, provided: Collection[str] = (), most_waiting: int = MOST_WAITING,
        engine: bytes | None = None,
    ) -> None:  # fmt: skip
        """Register an expression; a RegistrationError says all that is wrong with it.

        `provided` are the languages that have a provider; `engine` is the snapshot of one to go on from.
        """
        self.expression = checked(expression)
        self.number = number
        self.leaves: tuple[ExpressionLeaf, ...] = leaves_of(self.expression, provided)
        self.opening: tuple[Notice, ...] = ()  # what is told at once: the failure of foreign parts that nobody knows
        self.state = "active"
        self._provided = {leaf.expression.language or "" for leaf in self.leaves} & set(provided)
        self.results = 0
        self.changes = 0  # grows with every change
        self._translation = translate(self.expression, most_waiting=most_waiting)
        self._program = self._translation.program()
        self._reader = MatchReader(self.expression, self._translation)
        self._options = EngineOptions(parts=self._reader.cumulates)
        self._engine: RuntimeEngine | None = self._start(engine)  # None when all is over
        self._dead: dict[Path, str] = {}
        self._taken: dict[Path, int] = {leaf.path: 0 for leaf in self.leaves}
        self._by_path = {leaf.path: leaf for leaf in self.leaves}
        for leaf in self.leaves:
            if leaf.by_id and leaf.expression.language not in provided:
                text = f"nobody knows the language {leaf.expression.language}"
                self.opening += tuple(self.fail(leaf.path, "E896", text))

    def _start(self, data: bytes | None) -> RuntimeEngine | None:
        """Return a fresh engine, or the one of a snapshot, which is empty when all was over."""
        if data is None:
            return start_engine(self._program, self._options)
        return restore(lambda options: start_engine(self._program, options), [data], self._options) if data else None

    def leaf(self, path: Path) -> ExpressionLeaf | None:
        """Return the leaf at a path, None if there is none."""
        return self._by_path.get(path)

    def is_dead(self, path: Path) -> bool:
        """Tell whether a leaf has failed or ended."""
        return path in self._dead

    # what comes in

    def signal(self, instances: Sequence[LeafInstance], stamp: int) -> list[Notice]:
        """Take the instances of one signal, which all end at one stamp; return what they complete."""
        if self.state != "active":
            return []
        self.changes += 1
        found: list[Result] = []
        for instance in instances:
            found += self._results_of(self._offer(instance, stamp))
        if self._dead and not self._can_complete():
            return self._finish(found)
        return list(found)

    def end(self, path: Path) -> list[Notice]:
        """Take it that no more instances of a leaf will come."""
        return self._lose(path, "ended")

    def fail(self, path: Path, code: str, text: str) -> list[Notice]:
        """Take it that a leaf cannot be detected; return the failure of the whole if that is one."""
        return self._lose(path, "failed", code, text)

    def _offer(self, instance: LeafInstance, stamp: int) -> Sequence[Event]:
        """Push the instance as one event: the leaves that it fills are of one kind."""
        if self._engine is None or not instance.fills:
            return ()
        stamped = Stamped(instance.number, stamp if instance.start is None else instance.start, stamp, instance.at)
        fills = self._reader.without_repetition(instance.fills)
        kind = self._translation.leaves[next(iter(fills))].kind
        row: list[Any] = [stamped.write(), *[EMPTY] * (self._translation.widths[kind] - 1)]
        for path, values in fills.items():
            first = self._translation.leaves[path].first
            row[first : first + 1 + len(values)] = [FILLED, *values]
            self._taken[path] += 1
        self._reader.note(stamped, fills)
        at = _seconds(stamp) if instance.start is None else (_seconds(instance.start), _seconds(stamp))
        return self._engine.push(kind, *row, at=at)

    def _results_of(self, events: Sequence[Event]) -> list[Result]:
        results = []
        for bindings, start, end, occurrence in self._reader.read(events):
            self.results += 1
            results.append(Result(self.results, bindings, start, end, occurrence))
        return results

    # failure and end

    def _lose(self, path: Path, state: str, code: str = "", text: str = "") -> list[Notice]:
        if self.state != "active" or path in self._dead or path not in self._by_path:
            return []
        self._dead[path] = state
        self.changes += 1
        return [] if self._can_complete() else self._finish([], code, text)

    def _can_complete(self) -> bool:
        alive = {leaf.path for leaf in self.leaves if leaf.path not in self._dead}
        waiting = {path for path, count in self.waiting().items() if count}
        return can_complete(self.expression, (), alive, waiting)

    def _finish(self, found: list[Result], code: str = "", text: str = "") -> list[Notice]:
        """Tell that nothing more can come: a failure where a leaf failed, else a last result."""
        failed = [name_path(path) for path, state in self._dead.items() if state == "failed"]
        self._engine = None
        if failed:
            self.state = "failed"
            some = f"leaf {failed[0]} has failed" if len(failed) == 1 else f"leaves {', '.join(failed)} have failed"
            return [*found, ExpressionFailed(code or "E897", text or f"it cannot be detected any more: {some}")]
        self.state = "ended"
        if found:
            return [*found[:-1], found[-1].as_last()]
        self.results += 1
        return [Result(self.results, is_last=True)]

    # what there is to know

    def waiting(self) -> dict[Path, int]:
        """Return how many instances wait at each part of the expression."""
        if self._engine is None:
            return {}
        return count_waiting(self.expression, self._engine)

    def status(self) -> RegistrationState:
        """Return the state of every leaf, and what waits."""
        waiting = self.waiting()
        guard = None if self._engine is None else self._engine.core.guard
        shed = 0 if guard is None else sum(guard.limits().shed.values())
        found = tuple(
            LeafState(
                leaf.path, leaf.expression.operator, leaf.expression.language, self._dead.get(leaf.path, "alive"),
                leaf.by_id, self._taken[leaf.path], waiting.get(leaf.path, 0),
            )
            for leaf in self.leaves
        )  # fmt: skip
        return RegistrationState(self.state, self.results, shed, found, waiting)

    # as bytes

    def snapshot(self) -> bytes:
        """Return all that the registration knows, from which `restore` makes one that goes on from here."""
        state = {
            "format": _FORMAT,
            "number": self.number,
            "expression": to_json(self.expression),
            "provided": sorted(self._provided),
            "state": self.state,
            "results": self.results,
            "dead": {name_path(path): state for path, state in self._dead.items()},
            "taken": {name_path(path): count for path, count in self._taken.items()},
            "notes": self._reader.notes(),
        }
        engine = b"" if self._engine is None else self._engine.snapshot()
        return json.dumps(state, ensure_ascii=False).encode() + b"\n" + engine

    @classmethod
    def restore(cls, data: bytes, *, most_waiting: int = MOST_WAITING) -> Self:
        """Return a registration that goes on from a snapshot."""
        head, _, engine = data.partition(b"\n")
        try:
            state = json.loads(head)
        except ValueError:
            state = None
        if not isinstance(state, dict) or set(state) != _KEYS or state["format"] != _FORMAT:
            raise SnapshotError(Problem("E898", "these bytes are no snapshot of a registration", hint="take a new one"))
        made = cls(
            expression_of(state["expression"]), state["number"], provided=state["provided"], most_waiting=most_waiting,
            engine=engine,
        )  # fmt: skip
        made.opening = ()
        made.state, made.results = state["state"], state["results"]
        made._dead = {read_path(path): told for path, told in state["dead"].items()}
        made._taken = {read_path(path): count for path, count in state["taken"].items()}
        made._reader.take_notes(state["notes"])
        return made
