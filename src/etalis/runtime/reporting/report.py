"""What a run came across that a person should know: events that no rule reads, rules that never fired, what was not
taken, conditions that failed. Nothing of it stops a run, unless that is strict.

Each finding is a problem with a code: W33x where it is told, E33x where it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from etalis.errors import EtalisError, EventError, Problem, Span
from etalis.language.check.spelling import is_lookalike
from etalis.runtime.lateness.watermark import CAUSES, DeadLetter
from etalis.runtime.reporting.never_fired import near_name, show

if TYPE_CHECKING:
    from etalis.runtime.reporting.failures import Failures
    from etalis.runtime.ruleset import RuleSet

SHOWN = 10
ERRORS = {"W330": "E330", "W331": "E331", "W332": "E332", "W333": "E333", "W334": "E334"}  # of a strict run
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Unread:
    """Events of a kind that no rule reads; `arity` is None where rows do not tell it."""

    name: str
    arity: int | None
    count: int
    nearest: str | None
    read: tuple[str, ...] = ()

    @property
    def looks_wrong(self) -> bool:
        """Whether the name is that of an event that rules read, or looks like it."""
        known = {kind.rpartition("/")[0] for kind in self.read}
        return any(self.name.casefold() == name.casefold() or is_lookalike(self.name, name) for name in known)

    @property
    def problem(self) -> Problem:
        """The finding in words."""
        kind = show((self.name, self.arity))
        if self.nearest is not None:
            hint = f"rules read {self.nearest}: is it meant?"
        else:
            hint = f"rules read {_listing(self.read)}" if self.read else "rules read no events"
        return Problem("W330", f"{kind} came {_times(self.count)}, and no rule reads it", hint=hint)


@dataclass(frozen=True, slots=True)
class Silent:
    """Rules that never fired for one reason: the part that never matched, why, and what to do."""

    rules: tuple[str, ...]
    part: str
    reason: str
    hint: str | None
    span: Span | None = None

    @property
    def problem(self) -> Problem:
        """The finding in words."""
        noun = "rule" if len(self.rules) == 1 else "rules"
        return Problem("W331", f"{noun} {_listing(self.rules)} never fired: {self.reason}", self.span, self.hint)


@dataclass(frozen=True, slots=True)
class RejectedEvents:
    """Events that were not taken: `cause` is late, ahead, full, unknown or unreadable; `first` is one of them."""

    cause: str
    count: int
    first: DeadLetter

    @property
    def problem(self) -> Problem:
        """The finding in words."""
        what, hint = CAUSES[self.cause]
        name = f"{self.first.name}: " if self.first.name else ""
        message = f"{_number(self.count, 'event')} {what}, the first: {name}{self.first.reason}"
        return Problem("W332", message, hint=hint)


@dataclass(frozen=True, slots=True)
class FailedGoals:
    """Conditions or actions that raised for one reason: the first of them, and how many there were."""

    first: Problem
    count: int

    @property
    def problem(self) -> Problem:
        """The finding in words."""
        hint = self.first.hint or "declare the types of attributes (`:- event(...)`), or test first, as in `number(X)`"
        return Problem("W333", f"{self.first.message}; {_times(self.count)} like this", self.first.span, hint)


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came across; true if there is anything to say, and its text says it in a line each."""

    unread: tuple[Unread, ...] = ()
    silent: tuple[Silent, ...] = ()
    refused: tuple[RejectedEvents, ...] = ()
    failed: tuple[FailedGoals, ...] = ()
    is_empty: bool = False  # whether nothing came at all

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The findings, as warnings."""
        others: tuple[FailedGoals | RejectedEvents, ...] = (*self.failed, *self.refused)
        found = [*_tell_unread(self.unread), *(each.problem for each in others)]
        if self.is_empty:
            hint = "check the source, and by which column or option rows name their event (event=, --event)"
            return (*found, Problem("W334", "no event came that a rule reads", hint=hint))
        return (*found, *(each.problem for each in self.silent))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The findings, as errors."""
        return tuple(replace(problem, code=ERRORS[problem.code]) for problem in self.problems)

    def __bool__(self) -> bool:
        return bool(self.problems)

    def __str__(self) -> str:
        return "\n".join(lines_of(self.problems))

    def suspicious(self, *, found: bool, errors: bool, letters: bool) -> Report:
        """Return what is worth a warning: where something was `found`, no rules, and events only if a name looks wrong.

        Failures and what was refused only where nobody else takes them.
        """
        unread = tuple(each for each in self.unread if not found or each.looks_wrong)
        silent = () if found else self.silent
        refused, failed = self.refused if letters else (), self.failed if errors else ()
        return Report(unread, silent, refused, failed, self.is_empty and not found)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "unread": [asdict(replace(each, read=())) for each in self.unread],
            "silent": [{"rules": s.rules, "part": s.part, "reason": s.reason, "hint": s.hint} for s in self.silent],
            "refused": [{"cause": r.cause, "count": r.count, "first": r.first.to_dict()} for r in self.refused],
            "failed": [{"message": f.first.message, "hint": f.first.hint, "count": f.count} for f in self.failed],
            "is_empty": self.is_empty,
        }


class ReportError(EtalisError):
    """A strict run that came across what its report says; `found` is what it found all the same."""

    def __init__(self, report: Report, found: Any = None) -> None:
        self.report = report
        self.found = found
        super().__init__(*report.errors)


def lines_of(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield problems in a line each, not too many.

    >>> print(*lines_of([Problem("W330", "logn/1 came once, and no rule reads it", hint="rules read login/1")]))
    warning W330: logn/1 came once, and no rule reads it (rules read login/1)
    """
    several = list(problems)
    for problem in several[:SHOWN]:
        kind = "error" if problem.is_error else "warning"
        hint = f" ({problem.hint})" if problem.hint else ""
        yield f"{kind} {problem.code}: {problem.message}{hint}"
    if len(several) > SHOWN:
        yield f"and {len(several) - SHOWN:,} more"


def failed_of(failures: Failures) -> tuple[FailedGoals, ...]:
    """Return the kinds of failures, each with its count."""
    return tuple(FailedGoals(first.problems[0], count) for first, count in failures.kinds.values())


def refuse_unread(rules: RuleSet, name: str, arity: int) -> None:
    """Refuse an event that no rule reads; corrections are read by the engine itself."""
    kind = name, arity
    if kind not in rules.processors and not (name == "rev" and rules.settings.revision):
        (found,) = read_nowhere({kind: 1}, rules)
        raise EventError(replace(found.problem, code="E330", message=f"no rule reads {show(kind)}"))


def read_nowhere(unread: Any, rules: RuleSet) -> Iterator[Unread]:
    """Yield the kinds of event that no rule reads, the most frequent first, each with the one that may be meant."""
    if not unread:
        return
    known = [kind for kind in rules.taken_kinds() if kind not in rules.spied]
    read = tuple(map(show, known))
    for (name, arity), count in sorted(unread.items(), key=_by_frequency):
        same = [kind for kind in known if kind[0] == name]
        near = near_name(name, [kind[0] for kind in known])
        meant = same or [kind for kind in known if kind[0] == near]
        yield Unread(name, arity, count, show(meant[0]) if meant else None, read)


def _by_frequency(item: tuple[tuple[str, int | None], int]) -> tuple[int, str, int]:
    (name, arity), count = item
    return -count, name, -1 if arity is None else arity


def _tell_unread(unread: tuple[Unread, ...]) -> Iterator[Problem]:
    """Yield a problem for each name that may be meant for another, and one for all others: they need not be wrong."""
    others = [each for each in unread if each.nearest is None]
    yield from (each.problem for each in unread if each.nearest is not None or len(others) == 1)
    if len(others) > 1:
        kinds = _listing([f"{show((each.name, each.arity))} {_times(each.count)}" for each in others])
        yield replace(others[0].problem, message=f"no rule reads {len(others)} kinds of events that came: {kinds}")


def _listing(several: Sequence[str]) -> str:
    return ", ".join(several[:_LISTED]) + (" ..." if len(several) > _LISTED else "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
