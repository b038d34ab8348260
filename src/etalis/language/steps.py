"""Requests of goals to the run: steps that follow, in order, when the current input is complete (definition 18.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from etalis.data.values import Value
from etalis.language.syntax import Property, Rule


@dataclass(frozen=True, slots=True)
class Occur:
    """An event occurs, as an input: at the time reached, or when time reaches its end; `cause` is what raised it."""

    name: str
    args: tuple[Value, ...]
    start: int
    end: int
    cause: Any = field(default=None, compare=False, repr=False)  # a rope, where ropes are kept


@dataclass(frozen=True, slots=True)
class InsertRule:
    """A rule joins the others."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class DeleteRule:
    """The rules of a label, or those equal to a rule, leave."""

    rule: Rule | str


@dataclass(frozen=True, slots=True)
class Assign:
    """The rules of a label get a property, in place of the value that it had."""

    label: str
    property: Property


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The rules of a label lose a property; with a value, only if that is it."""

    label: str
    name: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Reset:
    """All that waits is dropped: instances, absences, alarms, events for later."""


@dataclass(frozen=True, slots=True)
class Spy:
    """Every event of a kind is written to the output from now on, or no more."""

    kind: tuple[str, int]
    on: bool


RuleStep: TypeAlias = InsertRule | DeleteRule | Assign | Withdraw | Reset
Step: TypeAlias = Occur | RuleStep | Spy


class ProgramHost(Protocol):
    """Who runs the program: knows the time that an event being processed has reached, and takes steps."""

    def reached(self) -> int | None: ...

    def follow(self, step: Step) -> None: ...
