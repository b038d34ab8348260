"""The circuit breaker: a goal that reached its limits too often is switched off, with a warning.

A goal is known by its rule and its text, so that the count outlives a new compilation, a replay and a snapshot. Law: a
goal that is switched off answers as if it had reached its limit again, so that nothing changes but the time it takes
where it would have gone on to do so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from etalis.errors import ConditionError, EtalisError, Problem, Span
from etalis.language.printer import print_term
from etalis.language.syntax import Term
from etalis.logic.errors import LogicLimitError

Key = tuple[str, str, str]  # the rule, condition or action, the goal's text


@dataclass(frozen=True, slots=True)
class Broken:
    """A goal that is not asked any more: its rule, whether it is a condition or an action, its text, its failures."""

    rule: str
    what: str
    goal: str
    failures: int


class Breaker:
    """Counts how often each goal reached a limit; `off` are those that did so too often."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.failures: Counter[Key] = Counter()
        self.off: set[Key] = set()

    def key(self, rule: str, what: str, goal: Term) -> Key:
        """Return by what a goal is known; where nothing is counted, its text does not matter."""
        return rule, what, "" if self.most is None else print_term(goal)

    def note(self, key: Key, error: EtalisError, place: Span | None) -> ConditionError | None:
        """Count an error if it is a limit; return what to report if that switches the goal off."""
        if self.most is None or not isinstance(error, LogicLimitError):
            return None
        self.failures[key] += 1
        if self.failures[key] < self.most or key in self.off:
            return None
        self.off.add(key)
        rule, what, goal = key
        message = (
            f"rule {rule} is switched off: its {what} {goal} reached a limit {self.failures[key]} times, "
            "as many as max_rule_failures allows"
        )
        hint = f"mend the {what}, or raise the limit that it reached; engine.switch_on({rule!r}) enables it"
        return ConditionError(Problem("E512", message, place, hint))

    def broken(self) -> tuple[Broken, ...]:
        """Return what is switched off, in order."""
        return tuple(Broken(*key, self.failures[key]) for key in sorted(self.off))

    def switch_on(self, rule: str | None) -> int:
        """Ask the goals of a rule again, or of all; return how many were switched off."""
        found = {key for key in self.off if rule is None or key[0] == rule}
        self.off.difference_update(found)  # the set itself is known to those who ask
        for key in found:
            del self.failures[key]
        return len(found)

    def save(self) -> list[tuple[str, str, str, int]]:
        """Return what was counted, as rows."""
        return [(*key, count) for key, count in self.failures.items()]

    def load(self, rows: Iterable[tuple[str, str, str, int]]) -> None:
        """Go on from what was counted."""
        for *key, count in rows:
            known = (key[0], key[1], key[2])
            self.failures[known] = count
            if self.most is not None and count >= self.most:
                self.off.add(known)
