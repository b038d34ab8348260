"""Repair: the smallest changes of the input that make the asked event occur, each verified by a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from etalis.language.flags import rule_settings
from etalis.language.syntax import EventPattern
from etalis.runtime.state import BEGINNING
from etalis.semantics.matches import match_all
from etalis.why.justification import Occurred
from etalis.why.justify import read_question
from etalis.why.repairing.candidates import CandidateFinder, change_key
from etalis.why.repairing.changed_run import ChangedRuns, Made
from etalis.why.repairing.data import InputChange, Repair
from etalis.why.repairing.grid import SingleChanges
from etalis.why.repairing.moments import Calendar
from etalis.why.repairing.values import ValueChooser
from etalis.why.search.ask import why_not
from etalis.why.why_not import StillPending, WhyNot

if TYPE_CHECKING:
    from etalis.runtime.core import Core

RUNS = 200
ATTEMPTS = 10  # of each rule, whose causes are looked at
Span = tuple[int, int]


def ask_repair(
    core: Core,
    question: str,
    *,
    at: int | None = None,
    between: Span | None = None,
    interval: Span | None = None,
    runs: int = RUNS,
    facts: bool = False,
    until: float = inf,
) -> Repair | None:
    """Ask why an event did not occur, and return the smallest change of the input by which it would have.

    After the moment `until` of `time.monotonic` nothing more is tried.
    """
    answer = why_not(core, question, at=at, between=between, interval=interval, limit=ATTEMPTS, until=until)
    ends = between or (at, at)
    return repair(core, question, answer, between=ends, interval=interval, limit=runs, facts=facts, until=until)


def repair(
    core: Core,
    question: str,
    answer: WhyNot,
    *,
    between: tuple[int | None, int | None] = (None, None),
    interval: Span | None = None,
    limit: int = RUNS,
    facts: bool = False,
    until: float = inf,
) -> Repair | None:
    """Return the smallest repair that was found; None if there is none, or nothing to repair.

    `between` are the first and the last moment at which the event may end, `interval` is where it must lie.
    """
    if answer.occurred is not None or not answer.rules or _is_pending(answer):
        return None
    if interval is not None:
        between = (interval[1], interval[1])
    return _Search(core, read_question(core, question), between, interval, limit, facts, until).find(answer)


def _is_pending(answer: WhyNot) -> bool:
    """Tell whether the nearest attempt waits for time to pass, which no change of the input mends."""
    attempts = [attempt for rule in answer.rules for attempt in rule.attempts]
    nearest = min(attempts, key=lambda attempt: attempt.deficit, default=None)
    return nearest is not None and any(isinstance(cause, StillPending) for cause in nearest.causes)


@dataclass(slots=True)
class _Search:
    core: Core
    pattern: EventPattern
    between: tuple[int | None, int | None]
    interval: Span | None
    limit: int
    facts: bool
    until: float
    runs: ChangedRuns = field(init=False)
    before: Counter[Made] = field(init=False)
    grid: SingleChanges = field(init=False)
    finder: CandidateFinder = field(init=False)
    tried: dict[frozenset[object], bool] = field(default_factory=dict)
    after: Counter[Made] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        runs = self.runs = ChangedRuns(self.core, self.pattern, self.until)
        self.before = runs.run() or Counter()
        runs.runs = 0
        first, last = self.between
        rules = {life.label: life.rule for life in runs.lives}
        stamps = {time for given in runs.inputs for time in (given.start, given.end)}
        values = ValueChooser(self.core, self.pattern, runs.inputs, rules.values(), runs.elsewhere)
        calendar = Calendar(stamps, first, last, None if runs.last == BEGINNING else runs.last)
        self.finder = CandidateFinder(self.core, calendar, values, runs.inputs, rules, self.facts)
        asked = [time for time in (first, last, *(self.interval or ())) if time is not None]
        asked += [] if runs.last == BEGINNING else [runs.last]
        settings = self.core.rules.settings
        windows = [rule_settings(settings, rule)[1] for rule in rules.values()] + [settings.garbage_window]
        self.grid = SingleChanges(
            runs.inputs, rules.values(), {*stamps, *asked}, values.grid_values(runs.inputs),
            [window for window in windows if window is not None],
        )  # fmt: skip

    def find(self, answer: WhyNot) -> Repair | None:
        """Try what might repair, smallest first, then all single changes of the grid."""
        for candidate in self.finder.candidates(answer):
            if self._left() <= 0:
                return None
            if self._works(candidate.changes):
                return self._judged(candidate.changes)
        for single in self.grid:
            if self._left() <= 0:
                return None
            if self._works((single,)):
                return self._told((single,), "proved")
        return None

    def _left(self) -> int:
        return 0 if self.runs.is_late() else self.limit - self.runs.runs

    def _works(self, changes: Sequence[InputChange]) -> bool:
        """Run a changed history; tell whether the asked event occurs in it."""
        key = change_key(changes)
        if key not in self.tried:
            after = self.runs.run(changes)
            self.tried[key] = after is not None and any(map(self._is_asked, after))
            if after is not None and self.tried[key]:
                self.after = after
        return self.tried[key]

    def _is_asked(self, made: Made) -> bool:
        name, args, start, end = made
        first, last = self.between
        if (name, len(args)) != (self.pattern.name, len(self.pattern.args)):
            return False
        if (first is not None and end < first) or (last is not None and end > last):
            return False
        if self.interval is not None and (start, end) != self.interval:
            return False
        return match_all(self.pattern.args, args, {}) is not None

    def _judged(self, changes: tuple[InputChange, ...]) -> Repair:
        """Return a repair with how sure it is that there is none smaller, or a smaller one that shows up."""
        after = self.after
        if len(changes) == 1:
            return self._told(changes, "proved")
        if len(changes) == 2 and len(self.grid) <= self._left() + len(self.tried):
            for single in self.grid:
                if change_key((single,)) not in self.tried and self._left() <= 0:
                    break
                if self._works((single,)):
                    return self._told((single,), "proved")
            else:
                self.after = after
                return self._told(changes, "proved")
        return self._reduced(changes, after)

    def _reduced(self, changes: tuple[InputChange, ...], after: Counter[Made]) -> Repair:
        """Leave out what can be left out."""
        place = 0
        while place < len(changes):
            rest = changes[:place] + changes[place + 1 :]
            if change_key(rest) not in self.tried and self._left() <= 0:
                self.after = after
                return self._told(changes, "found")
            if rest and self._works(rest):
                changes, after, place = rest, self.after, 0
            else:
                place += 1
        self.after = after
        return self._told(changes, "proved" if len(changes) == 1 else "irreducible")

    def _told(self, changes: tuple[InputChange, ...], status: str) -> Repair:
        gained, lost = (
            tuple(Occurred(*made) for made in sorted(found.elements(), key=lambda made: (made[3], made[2], made[0])))
            for found in (self.after - self.before, self.before - self.after)
        )
        return Repair(changes, status, gained, lost, self.runs.runs)
