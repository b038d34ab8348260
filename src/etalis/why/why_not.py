"""Why an event did not occur: the answer as data. Times are microseconds; None is no bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from etalis.data.values import Value
from etalis.language.syntax import EventPattern, Term
from etalis.why.justification import Derived, Justification, Occurred, datum
from etalis.why.printable import Printable
from etalis.why.repairing.data import Repair


@datum
class TimeBound:
    """A moment and whether it is excluded."""

    time: int
    open: bool


@datum
class TimeRange:
    """Where something would have counted."""

    after: TimeBound | None
    before: TimeBound | None


@datum
class NearestMiss:
    """An event that differs in one value from what is missing: `variable` (or the place) is `found`, not `wanted`."""

    event: Occurred
    variable: str
    wanted: Value
    found: Value


@datum
class AttemptPart:
    """A positive leaf of the rule in an attempt: present with its event, or missing. `text` is its pattern as bound."""

    text: str
    event: Occurred | None
    start: TimeRange | None = None
    end: TimeRange | None = None
    nearest: NearestMiss | None = None
    because: WhyNot | None = None  # of a missing part that rules derive
    note: str | None = None  # such as: needs itself
    count: int | None = None  # of a repetition or an aggregate: how many elements there are
    pattern: EventPattern | None = None  # of an event: the pattern with what is bound as constants


# causes


@datum
class MissingPart:
    """A part has not come in the time in which it would have counted."""

    part: AttemptPart


@datum
class OutOfOrder:
    """A relation that two parts do not have; by how much."""

    relation: str
    left: Occurred
    right: Occurred
    by: int


@datum
class TooLong:
    """A window that is too short."""

    allowed: int
    actual: int


@datum
class Refuted:
    """A condition without proof: its first conjunct that fails, with its values, or the error that it raised."""

    goal: Term
    failing: Term
    bindings: Mapping[str, Value]
    error: str | None = None


@datum
class KnownLater:
    """A condition that holds over the knowledge of today, by facts that were known only later."""

    goal: Term
    facts: tuple[tuple[Term, int], ...]


@datum
class WrongValue:
    """The values that an aggregate had instead (value, moment), nearest first; of a repetition the largest count."""

    wanted: str
    found: tuple[tuple[Value, int], ...]


@datum
class BlockedBy:
    """Events that an absence or `iso` saw, each with its justification where rules made it."""

    by: tuple[Occurred, ...]


@datum
class Withheld:
    """A policy withheld the pair.

    `kind` is consumed (by the match that took it), not_chosen (`by`: all that went before), replaced (by the newer)
    or merged (in the combined match). `part` is what was lost. A match that never became an event has its hull.
    """

    kind: str
    part: Occurred
    by: tuple[Occurred, ...]


@datum
class Affair:
    """The engine's own affairs.

    `kind` is not_there (a rule since or until), not_told (of a rule), not_reported, too_late, taken_back, shed or
    refused.
    """

    kind: str
    text: str
    event: Occurred | None = None


@datum
class StillPending:
    """A deadline, an alarm or the watermark has not passed."""

    until: int


Cause: TypeAlias = (
    MissingPart
    | OutOfOrder
    | TooLong
    | Refuted
    | KnownLater
    | WrongValue
    | BlockedBy
    | Withheld
    | Affair
    | StillPending
)


@datum
class Attempt:
    """One choice of events for the parts of a rule, and what is wrong with it."""

    parts: tuple[AttemptPart, ...]
    causes: tuple[Cause, ...]
    deficit: tuple[int, int, int]
    bindings: Mapping[str, Value] = field(default_factory=dict)


@datum
class RuleAnswer:
    """How far one rule got: its nearest attempts first, how many more there are, what concerns the rule itself."""

    rule: str
    text: str
    attempts: tuple[Attempt, ...]
    more: int = 0
    affairs: tuple[Affair, ...] = ()


@datum
class WhyNot(Printable):
    """The answer: it did occur, no rule makes it, or how far each rule got.

    `unknown` is said of an event that no rule makes; `affairs` concern the inputs it would have been made of.
    """

    question: str
    rules: tuple[RuleAnswer, ...] = ()
    occurred: Justification | None = None
    unknown: str | None = None
    affairs: tuple[Affair, ...] = ()
    complete: bool = True
    steps: int = 0
    events: tuple[Derived, ...] = ()
    repair: Repair | None = None  # where it was asked for
    dates: bool = False
