"""Changes of knowledge by the host: facts added, retracted, or replaced as a whole relation.

A change has a time. One that is due is made at once, a later one waits; it is made when time reaches it, before the
time points and inputs of its stamp. Law: while one waits, the state is held, so that no generated way in passes it by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from etalis.errors import ConditionError, EtalisError, EventError, Problem
from etalis.logic.errors import LogicError
from etalis.logic.knowledge.facts import forget, learn
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.machine.database import Database, Key
from etalis.runtime.knowledge import IS_STATE, unfit
from etalis.runtime.record.kept_past import KeptPast
from etalis.runtime.state import NEVER, State
from etalis.temporal.interval import to_seconds


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one relation, and the rows it happens with."""

    what: Literal["assert", "retract", "replace"]
    name: str
    rows: LoadedRows

    @property
    def key(self) -> Key:
        return self.name, self.rows.arity


class Changes:
    """The changes that wait, and how they are made; `next` is when the first one is due."""

    def __init__(
        self,
        state: State,
        database: Database,
        report: Callable[[ConditionError], object],
        record: KeptPast | None = None,
    ) -> None:
        self.next = NEVER
        self._state = state
        self._database = database
        self._report = report
        self._record = record
        self._waiting: list[tuple[int, int, Change]] = []
        self._count = 0

    def take(self, change: Change, time: int | None) -> None:
        """Make a change, now or at a time to come; refuse one that comes too late, or does not fit."""
        state = self._state
        if time is not None and time < state.now:
            message = f"{change.name} cannot change at {to_seconds(time)}: time has reached {to_seconds(state.now)}"
            raise EventError(Problem("E311", message, hint="give a time to come, or none for a change from now on"))
        self._refuse_unfit(change)
        if time is None or time == state.now:
            self._make(change)
            return
        self._count += 1
        heappush(self._waiting, (time, self._count, change))
        self.next = self._waiting[0][0]
        state.hold()

    def make_next(self) -> None:
        """Make all changes of the next stamp; what cannot be made any more is reported."""
        due = self.next
        while self._waiting and self._waiting[0][0] == due:
            change = heappop(self._waiting)[2]
            try:
                self._refuse_unfit(change)
                self._make(change)
            except EtalisError as error:
                self._report(ConditionError(*error.problems))
        self.next = self._waiting[0][0] if self._waiting else NEVER
        if not self._waiting:
            self._state.release()

    def _refuse_unfit(self, change: Change) -> None:
        database, key, rows = self._database, change.key, change.rows
        if not database.calls(*key):
            raise unfit(key, rows, "is not part of the program", "change a relation that the program has or calls")
        if database.state is not None and key in database.state.predicates:
            raise unfit(key, rows, IS_STATE)
        try:
            predicate = database.writable(*key)
        except LogicError:
            raise unfit(key, rows, "is built in or registered") from None
        if change.what == "replace" and not predicate.is_facts():
            raise unfit(key, rows, "has clauses other than facts")

    def _make(self, change: Change) -> None:
        database, (name, arity), rows = self._database, change.key, change.rows.rows
        if self._record is not None:
            for row in rows:
                self._record.change(name, row, known=change.what != "retract")
        match change.what:
            case "replace":
                database.replace_rows(name, arity, rows)
            case "assert":
                for row in rows:
                    learn(database, name, row)
            case "retract":
                for row in rows:
                    forget(database, name, row)
