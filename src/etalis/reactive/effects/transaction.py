"""Transactions: one execution of a reaction, what it is called, and the state of its effects.

Law: names and keys follow from the cause and the effects alone, not from when or how often they are computed, and not
from the place of an effect in the path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from etalis.data.values import Struct, Value
from etalis.reactive.effects.keys import digest

Branch: TypeAlias = Literal["do", "else", "undo"]
# open: effects wait for their delivery; done: all were made; failed: one was not, and the others are compensated;
# undone: taken back; stuck: what is left to do, a person must do; waiting: done, and its action waits for an event
TransactionState: TypeAlias = Literal["open", "done", "failed", "undone", "stuck", "waiting"]
# begun: a try has begun, and nobody knows of its end; stands: made, and there is nothing that compensates it
EffectState: TypeAlias = Literal[
    "waiting", "begun", "made", "failed", "dropped", "compensating", "compensated", "stands", "stuck"
]


@dataclass(frozen=True, slots=True)
class Cause:
    """What a transaction is called: the reaction, its match, and which attempt it is."""

    program: str
    label: str
    number: int  # of the reaction among those of the label, from 1
    bindings: tuple[Value, ...]  # of the named variables of the pattern, by first occurrence
    interval: tuple[int, int]  # in microseconds
    match: int = 1  # among equal ones of its stamp
    branch: Branch = "do"
    attempt: int = 1

    @property
    def parts(self) -> tuple[Value, ...]:
        """What digests are made of, in the order that they depend on."""
        return (
            self.program, self.label, self.number, self.bindings, *self.interval, self.match, self.branch, self.attempt,
        )  # fmt: skip

    @property
    def id(self) -> str:
        return digest(*self.parts)


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One effect of a transaction, and what has become of it."""

    key: str
    name: str
    args: tuple[Value, ...]
    state: EffectState = "waiting"
    uncertain: bool = False  # whether a try ended so that nobody knows whether it was made
    error: str = ""

    @property
    def call(self) -> Value:
        """The effect as a term."""
        return Struct(self.name, self.args) if self.args else self.name

    @property
    def may_be_made(self) -> bool:
        """Whether it was made, or may have been."""
        return self.state in ("made", "begun") or self.uncertain


@dataclass(frozen=True, slots=True)
class Transaction:
    """One execution of a reaction, or of what undoes it."""

    cause: Cause
    rows: tuple[EffectRow, ...] = ()
    scope: tuple[tuple[str, Value], ...] = ()  # the variables of pattern, condition and action, for what undoes it
    path: tuple[str, ...] = ()  # its steps
    changed: bool = False  # whether it changed facts
    raised: tuple[Any, ...] = ()  # what the engine must know to take its events back
    state: TransactionState = "open"
    failed: str | None = None  # the key of the effect that failed for good

    @property
    def id(self) -> str:
        return self.cause.id

    @property
    def label(self) -> str:
        return self.cause.label

    @property
    def failed_row(self) -> EffectRow | None:
        """The effect that failed for good."""
        return next((row for row in self.rows if row.key == self.failed), None)

    def to_cells(self) -> tuple[Any, ...]:
        """Return it as plain data, for snapshots."""
        c = self.cause
        cause = (c.program, c.label, c.number, c.bindings, c.interval, c.match, c.branch, c.attempt)
        rows = tuple((r.key, r.name, r.args, r.state, r.uncertain, r.error) for r in self.rows)
        return cause, rows, self.scope, self.path, self.changed, self.raised, self.state, self.failed

    @staticmethod
    def from_cells(cells: Sequence[Any]) -> Transaction:
        """Return the transaction that `to_cells` has written."""
        cause, rows, *rest = cells
        return Transaction(Cause(*cause), tuple(EffectRow(*row) for row in rows), *rest)


def make_rows(cause: Cause, calls: Iterable[Value]) -> Iterator[EffectRow]:
    """Yield the effects of a path, in its order, with their keys; equal ones are numbered."""
    seen: Counter[Value] = Counter()
    parts = cause.parts
    for call in calls:
        seen[call] += 1
        name, args = (call.name, call.args) if isinstance(call, Struct) else (call, ())
        yield EffectRow(digest(*parts, name, args, seen[call]), name, args)


def make_transaction(cause: Cause, calls: Iterable[Value], **what: Any) -> Transaction:
    """Return the transaction of a cause and the effects of its path; one without effects is done."""
    rows = tuple(make_rows(cause, calls))
    return Transaction(cause, rows, **{"state": "open" if rows else "done", **what})


def give_up(transaction: Transaction) -> Transaction:
    """Return a transaction of which what waits will never be made."""
    rows = (replace(row, state="dropped") if row.state == "waiting" else row for row in transaction.rows)
    return replace(transaction, rows=tuple(rows))
