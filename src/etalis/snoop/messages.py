"""The messages about expressions: register, signal, tell, unregister, in whatever notation they come.

A signal is of a type (operator, language, parameters) or of a leaf (`evaluation`, then its tuples of bindings). Times
are microseconds; what a sender wrote is kept beside them, to be echoed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from etalis.errors import DocumentError, EventError, Problem
from etalis.snoop.detection.results import Contribution
from etalis.snoop.expression import Expression
from etalis.snoop.limits import foreign_character
from etalis.snoop.values import Bound
from etalis.temporal.interval import EARLIEST, LATEST, to_iso
from etalis.temporal.time_input import to_instant

_SECONDS = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class RegisterMessage:
    """Asks for an expression to be detected; results go to `callback`, if there is one."""

    expression: Expression
    callback: str | None = None


@dataclass(frozen=True, slots=True)
class RegisteredMessage:
    """Says under which URI an expression is detected, and its leaves, by path."""

    evaluation: str
    leaves: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SignalMessage:
    """Says that something happened: of a type with parameters, or of a leaf with tuples of bindings."""

    operator: str | None = None
    language: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    evaluation: str | None = None
    tuples: tuple[Mapping[str, str], ...] = ()
    at: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class EndMessage:
    """Says that a leaf will have no more instances."""

    evaluation: str


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """Says that a leaf, an expression or a request has failed."""

    code: str
    text: str
    evaluation: str | None = None


@dataclass(frozen=True, slots=True)
class UnregisterMessage:
    """Asks for an expression to be detected no more."""

    evaluation: str


@dataclass(frozen=True, slots=True)
class ResultMessage:
    """Tells a result; `next` is None for the last one."""

    evaluation: str
    next: str | None
    number: int
    bindings: Mapping[str, Bound] | None = None
    start: int | None = None
    end: int | None = None
    events: Contribution | None = None


Message: TypeAlias = (
    RegisterMessage
    | RegisteredMessage
    | SignalMessage
    | EndMessage
    | FailureMessage
    | UnregisterMessage
    | ResultMessage
)
Part: TypeAlias = SignalMessage | EndMessage | FailureMessage  # of a `signals` document


def check_signal(signal: SignalMessage, where: str) -> list[Problem]:
    """Return what is wrong with a signal: it is of a type or of a leaf, and its time is one."""
    problems = []
    if signal.evaluation is None and not (signal.operator and signal.language):
        hint = "give operator and language, or the evaluation of a leaf with bindings"
        problems.append(Problem("E876", f"{where} says of what it is a signal neither by type nor by leaf", hint=hint))
    if signal.evaluation is not None and (signal.operator or signal.language or signal.parameters):
        hint = "a leaf's signal has an evaluation and bindings, nothing else"
        problems.append(Problem("E876", f"{where} is of a leaf and of a type at once", hint=hint))
    if signal.evaluation is None and signal.tuples:
        problems.append(Problem("E876", f"{where} has bindings, and no leaf", hint="give the evaluation of a leaf"))
    if any(map(foreign_character, _texts(signal))):
        hint = "leave it out: results can be written as XML"
        problems.append(Problem("E893", f"{where} has a character that XML cannot hold", hint=hint))
    if signal.at is not None:
        try:
            read_moment(signal.at)
        except DocumentError as error:
            problems += [Problem(p.code, f"{where}: {p.message}", p.span, p.hint) for p in error.problems]
    return problems


def _texts(signal: SignalMessage) -> Iterator[str]:
    yield from filter(None, (signal.operator, signal.language, signal.evaluation, signal.at, signal.id))
    for row in (signal.parameters, *signal.tuples):
        for name, value in row.items():
            yield from (name, value)


def read_moment(text: str) -> int:
    """Return a time in microseconds: seconds, or a date.

    >>> read_moment("2.5"), read_moment("1970-01-01T00:00:01Z")
    (2500000, 1000000)
    """
    if _SECONDS.fullmatch(text):
        time = int(Decimal(text) * 1_000_000)
        if EARLIEST <= time <= LATEST:
            return time
    try:
        return to_instant(text)
    except EventError:
        hint = "write seconds, or a date as in 2026-03-02T09:00:00Z"
        raise DocumentError(Problem("E877", f"{text} is no time", hint=hint)) from None


def write_moment(time: int) -> str:
    """Write a time in microseconds as a date.

    >>> write_moment(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return to_iso(time)
