"""Goals that act on the events of a run (003, section 5.2): `event/1` and `event/2`.

Such a goal does nothing at once: it hands a step to whoever runs the program, and steps follow, in the order they were
given, when the current input and all that it caused are complete (reading 51).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from etalis.errors import EtalisError
from etalis.language.attributes import Signature, convert
from etalis.logic.arguments import bound
from etalis.logic.clauses import Database, is_callable
from etalis.logic.errors import LogicError
from etalis.logic.foreign import install
from etalis.logic.iso_errors import domain_error, instantiation_error, show, type_error
from etalis.logic.machine import Frame, Machine
from etalis.logic.term import Value
from etalis.logic.time_builtins import seconds_since_1970
from etalis.logic.unify import Term, deref, split_list, to_value
from etalis.temporal.interval import to_seconds, to_time


@dataclass(frozen=True, slots=True)
class Occur:
    """An event occurs, as an input; at the time reached, or when time reaches its end."""

    name: str
    args: tuple[Value, ...]
    start: int
    end: int


Step: TypeAlias = Occur


class Host(Protocol):
    """Who runs the program: knows the time that an event being processed has reached, and takes steps."""

    def reached(self) -> int | None: ...

    def follow(self, step: Step) -> None: ...


def hidden_goal(step: Step) -> LogicError:
    """Return the error for a step that came out of a goal which nothing in the program's text announced."""
    text = f"{step.name} cannot be raised by a goal that the program's text does not show"
    return _refuse("raise", step.name, "E507", text, "write event/1 where it is called")


def install_goals(database: Database, host: Host, signatures: Mapping[str, Signature]) -> None:
    """Make the goals part of a database; a program's own predicate of such a name goes before them."""

    def occur(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        host.follow(_occurrence(machine, args, host.reached(), signatures))
        return cont

    for arity in (1, 2):
        if not database.overrides("event", arity):
            install(database, "event", arity, occur)


def _occurrence(
    machine: Machine, args: tuple[Term, ...], now: int | None, signatures: Mapping[str, Signature]
) -> Occur:
    """Read the arguments of `event(Atom)` or `event(Atom, [Start, End])`."""
    name, values = _atom(machine, bound(args[0]))
    if now is None or machine.view is not None:
        raise _refuse("raise", args[0], "E507", "an event can be raised only while another is processed", "push it")
    start, end = _interval(args[1]) if len(args) == 2 else (now, now)
    if end < now:
        text = f"{show(args[0])} ends at {to_seconds(end)}, but time has reached {to_seconds(now)}"
        raise _refuse("raise", args[0], "E310", text, "give a time that has not passed")
    try:
        return Occur(name, convert(name, signatures.get(name, ()), values), start, end)
    except EtalisError as error:
        first = error.problems[0]
        raise _refuse("raise", args[0], first.code, first.message, first.hint) from error


def _refuse(action: str, culprit: Term, code: str, text: str, hint: str | None) -> LogicError:
    return LogicError(("error", ("permission_error", action, "event", deref(culprit)), "goal"), code, text, hint)


def _atom(machine: Machine, term: Term) -> tuple[str, tuple[Value, ...]]:
    """Return name and attributes of an event that occurs: it has no variables."""
    if not is_callable(term):
        raise type_error("callable", term)
    if isinstance(term, str):
        return term, ()
    values = tuple(to_value(argument, machine.limits.size) for argument in term[1:])
    if None in values:
        raise instantiation_error()
    return term[0], values


def _interval(term: Term) -> tuple[int, int]:
    """Return the interval `[Start, End]` of numbers of seconds or datetimes, in microseconds."""
    items, tail = split_list(bound(term))
    if tail != () or len(items) != 2:
        raise type_error("interval", term)
    start, end = (_moment(bound(item)) for item in items)
    if start > end:
        raise domain_error("interval", term)
    return start, end


def _moment(term: Term) -> int:
    if isinstance(term, int | float | Fraction):
        try:
            return to_time(term)
        except (ValueError, OverflowError):
            raise domain_error("time", term) from None
    return to_time(seconds_since_1970(term))
