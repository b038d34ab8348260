"""Limits on the state of an engine: a warning at the soft one, at the hard one an error, or load shedding.

What is held is counted before an event is taken, but not before every one: once in `STEPS` of the limit, so that
counting costs each event the same few steps however much there is. Law: what is held exceeds the hard limit by no more
than what that many events add.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from operator import length_hint
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError, LimitError, Problem
from etalis.language.check.bounds import check_rule
from etalis.language.flags import Settings
from etalis.runtime.limits.expiry import queued, sweep
from etalis.runtime.limits.shedding import shed_oldest
from etalis.runtime.reporting.inspection import Waiting, count, inspect, labels_of_kind

if TYPE_CHECKING:
    from etalis.runtime.lateness.lateness import Disorder
    from etalis.runtime.lateness.watermark import DeadLetters
    from etalis.runtime.ruleset import RuleSet
    from etalis.temporal.event import Event

Take = Callable[..., "tuple[Event, ...]"]

STEPS = 16  # of the limit: how many events may pass between two counts
LESS = 8  # of the limit: how much is shed at once
_END = object()


@dataclass(frozen=True, slots=True)
class Limits:
    """How an engine stands to its limits.

    `instances` and `most` are what was held when it was counted last, and at most; `warned` says how often that rose
    to the soft limit. `shed` counts instances that were dropped, `refused` events that were not taken, both by the
    labels of the rules that go without them.
    """

    soft: int | None
    hard: int | None
    instances: int
    most: int
    warned: int
    shed: Mapping[str, int]
    refused: Mapping[str, int]


class Guard:
    """Counts what an engine holds, and says how many events may be taken before it is counted again."""

    def __init__(
        self, settings: Settings, rules: RuleSet, disorder: Disorder | None, report: Callable[[ConditionError], None],
        dead: DeadLetters,
    ) -> None:  # fmt: skip
        self.soft, self.hard, self.shedding = settings.soft_limit, settings.hard_limit, settings.shedding
        self.rules = rules
        self.disorder = disorder
        self.report = report
        self.dead = dead
        self.step = max(1, min(x for x in (self.soft, self.hard) if x is not None) // STEPS)
        self.left = 0
        self.instances = self.most = self.warned = 0
        self.is_warned = self.is_full = False
        self.waited = 0  # events refused and instances expired since the state was found full
        self.shed: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def limits(self) -> Limits:
        """Return how the engine stands to its limits."""
        return Limits(
            self.soft, self.hard, count(self.rules, self.disorder), self.most, self.warned, dict(self.shed),
            dict(self.refused),
        )  # fmt: skip

    def save(self) -> list[tuple[str, str, int]]:
        """Return what was counted, as rows."""
        found = [("most", "", self.most), ("warned", "", self.warned), ("is_warned", "", int(self.is_warned))]
        found += [("shed", label, number) for label, number in self.shed.items()]
        return [*found, *(("refused", label, number) for label, number in self.refused.items())]

    def load(self, rows: Iterable[tuple[str, str, int]]) -> None:
        """Go on from what was counted."""
        for what, label, number in rows:
            match what:
                case "shed":
                    self.shed[label] = number
                case "refused":
                    self.refused[label] = number
                case _:
                    setattr(self, what, number)

    def admits(self) -> bool:
        """Count, warn, shed; tell whether the next event may be taken."""
        if self.is_full and not self._may_have_room():
            return False
        self._count()
        if self.hard is not None and self.instances >= self.hard:
            self._let_go()
            if self.instances >= self.hard and self.shedding == "oldest":
                self._shed()
        self._warn()
        self.is_full = self.hard is not None and self.instances >= self.hard
        self.waited = 0
        if self.is_full and self.shedding != "newest":
            raise LimitError(self._explain("E321", f"hard_limit is {self.hard}"))
        self.left = 0 if self.is_full else self.step
        return not self.is_full

    def _count(self) -> None:
        self.instances = count(self.rules, self.disorder)
        self.most = max(self.most, self.instances)

    def _let_go(self) -> None:
        """Drop what only waits to be found useless."""
        sweep(self.rules, self.rules.state.now)
        if self.disorder is not None and self.disorder.revision is not None:
            self.disorder.revision.forget()
        self._count()

    def _may_have_room(self) -> bool:
        """Tell whether enough has happened to count again, while nothing is taken."""
        before = queued(self.rules)
        sweep(self.rules, self.rules.state.now)
        self.waited += 1 + before - queued(self.rules)
        return self.waited >= self.step

    def _warn(self) -> None:
        above = self.soft is not None and self.instances >= self.soft
        if above and not self.is_warned:
            self.warned += 1
            if self.warned == 1:
                self.report(ConditionError(self._explain("W320", f"soft_limit is {self.soft}")))
        self.is_warned = above

    def _shed(self) -> None:
        """Drop the oldest that waits, an eighth of the limit at once, so that it need not be looked for each time."""
        assert self.hard is not None
        wanted = self.instances - self.hard + max(1, self.hard // LESS)
        for labels, number in shed_oldest(self.rules, wanted):
            self.shed.update(dict.fromkeys(labels, number))
            wanted -= number
        for event in () if self.disorder is None else self.disorder.release_oldest(wanted):
            self.turn_away(*event)
        self.instances = count(self.rules, self.disorder)

    def turn_away(self, name: str, values: tuple[Any, ...], start: int, end: int) -> None:
        """Make a dead letter of an event for which there is no room."""
        self.refused.update(labels_of_kind(self.rules, (name, len(values))))
        reason = f"the engine holds {self.instances} instances, its hard limit is {self.hard}"
        self.dead.add(name, values, start, end, reason, "full")

    def _explain(self, code: str, limit: str) -> Problem:
        """Say what holds most, and what would bound it."""
        rows = inspect(self.rules, self.disorder)
        worst = max(rows, key=lambda row: row.instances)
        message = f"the engine holds {self.instances} instances, the {limit}; most of them, {worst.instances}, "
        return Problem(code, message + _where(worst), hint=self._remedy(worst))

    def _remedy(self, worst: Waiting) -> str:
        found = [check_rule(rule, self.rules.settings) for p, rule in self.rules.rules if p.head.label in worst.rules]
        unbounded = next((problem for problem in found if problem is not None), None)
        if unbounded is not None:
            return f"{unbounded.message}; {unbounded.hint}"
        if worst.part == "history":
            return "shorten revision_window (or ooo_window), or raise hard_limit"
        if worst.part == "held":
            return "move the watermark (`engine.advance`), shorten ooo_window, or raise hard_limit"
        return "let time pass (`engine.advance`), shorten the window, raise hard_limit, or set the flag shedding"


def guard_of(
    settings: Settings, rules: RuleSet, disorder: Disorder | None, report: Callable[[ConditionError], None],
    dead: DeadLetters,
) -> Guard | None:  # fmt: skip
    """Return what guards an engine's limits, if it has any."""
    limited = settings.soft_limit is not None or settings.hard_limit is not None
    return Guard(settings, rules, disorder, report, dead) if limited else None


def _where(row: Waiting) -> str:
    if not row.rules:
        return f"are {row.part} ({row.operator})"
    side = f"on the {row.part} of" if row.part in ("left", "right") else f"{row.part} at"
    return f"wait {side} {row.operator} in rule {', '.join(row.rules)}"


def guarded_push(guard: Guard, push: Take, refuse: Take) -> Take:
    """Return `push` that takes an event only where the limits admit it."""

    def take(name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        if guard.left <= 0 and not guard.admits():
            return refuse(name, *args, at=at, **named)
        guard.left -= 1
        return push(name, *args, at=at, **named)

    return take


def guarded_run(
    guard: Guard, run: Callable[[Iterable[Any]], Iterator[Event]], refuse: Callable[[Any], tuple[Event, ...]]
) -> Callable[[Iterable[Any]], Iterator[Event]]:
    """Return `run` that reads a row only where the limits admit it, or refuses it; an error loses no row."""

    def take(rows: Iterable[Any]) -> Iterator[Event]:
        source = iter(rows)
        while length_hint(source, 1):  # a list says when it ends, so that a limit reached there is no error yet
            admitted = guard.left > 0 or guard.admits()
            first = next(source, _END)
            if first is _END:
                return
            if not admitted:
                yield from refuse(first)
                continue
            several, guard.left = guard.left, 0
            yield from run(chain((first,), islice(source, max(several - 1, 0))))  # who made the row may have come, too

    return take
