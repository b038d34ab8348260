"""The deliverer's side of an outbox: who delivers, what is due, and the marks of what was done.

Marks wait for the next write, which comes before the next effect at the latest. Law: whoever marks holds the lease, so
of two deliverers that believe they are the one, only one changes the outbox.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from etalis.data.values import Value, to_value
from etalis.reactive.outbox.schema import TO_DELIVER
from etalis.reactive.outbox.store import OutboxStore, Row
from etalis.temporal.json_values import from_plain

_AFTER_ALL = (  # a transaction that waits for the end of another one
    "(after IS NULL OR NOT EXISTS (SELECT 1 FROM etalis_transactions AS earlier"
    f" WHERE earlier.id = etalis_transactions.after AND earlier.{TO_DELIVER}))"
)
_BEGIN = "state = ?, {tries} = {tries} + 1, uncertain = CASE WHEN state = 'begun' THEN 1 ELSE uncertain END"


class LeaseLost(Exception):  # noqa: N818
    """Another one delivers now."""


@dataclass(frozen=True, slots=True)
class DueTransaction:
    """A transaction that waits for the deliverer."""

    id: str
    state: str
    due: float
    failed: str | None


@dataclass(slots=True)
class DueEffect:
    """An effect of a transaction that waits."""

    key: str
    name: str
    args: tuple[Value, ...]
    state: str
    tries: int
    undo_tries: int
    uncertain: bool

    @property
    def may_be_made(self) -> bool:
        return self.state in ("made", "begun", "compensating") or (self.uncertain and self.state != "stuck")


class DeliveryQueue:
    """What waits in an outbox, for the one that holds its lease."""

    def __init__(self, store: OutboxStore, holder: str, lease: float) -> None:
        self._store = store
        self._holder = holder
        self._lease = lease
        self._marks: list[tuple[str, Row]] = []

    def acquire(self, now: float) -> bool:
        """Take the lease, if nobody has it, or has had it for too long."""
        with self._store.write():
            taken = self._store.execute(
                "UPDATE etalis_outbox SET holder = ?, until = ? WHERE holder IS NULL OR holder = ? OR until < ?",
                self._holder, now + self._lease, self._holder, now,
            )  # fmt: skip
        return taken > 0

    def free_at(self) -> float:
        """Return when the lease ends that somebody holds."""
        ((until,),) = self._store.read("SELECT until FROM etalis_outbox")
        return float(until)

    def release(self) -> None:
        """Give the lease back."""
        with self._store.write():
            self._store.execute("UPDATE etalis_outbox SET holder = NULL, until = 0 WHERE holder = ?", self._holder)

    def due(self, now: float, limit: int, *, in_order: bool) -> list[DueTransaction]:
        """Return the first transactions whose time has come; in order, none overtakes one that waits."""
        select = f"SELECT id, state, due, failed FROM etalis_transactions WHERE {TO_DELIVER}"
        if in_order:
            rows = self._store.read(f"{select} AND {_AFTER_ALL} ORDER BY number LIMIT 1")
            first = [DueTransaction(*row) for row in rows]
            return [each for each in first if each.due <= now]
        rows = self._store.read(f"{select} AND due <= ? AND {_AFTER_ALL} ORDER BY number LIMIT ?", now, limit)
        return [DueTransaction(*row) for row in rows]

    def next_due(self, *, in_order: bool) -> float | None:
        """Return when the next transaction is due, if one waits."""
        if in_order:
            sql = f"SELECT due FROM etalis_transactions WHERE {TO_DELIVER} AND {_AFTER_ALL} ORDER BY number LIMIT 1"
        else:
            sql = f"SELECT min(due) FROM etalis_transactions WHERE {TO_DELIVER} AND {_AFTER_ALL}"
        rows = self._store.read(sql)
        return None if not rows or rows[0][0] is None else float(rows[0][0])

    def effects(self, transaction: str) -> list[DueEffect]:
        """Return the effects of a transaction in the order of its path."""
        rows = self._store.read(
            "SELECT key, name, args, state, tries, undo_tries, uncertain FROM etalis_effects"
            ' WHERE "transaction" = ? ORDER BY position',
            transaction,
        )
        return [
            DueEffect(key, name, _values(args), state, tries, undo_tries, bool(uncertain))
            for key, name, args, state, tries, undo_tries, uncertain in rows
        ]

    def begin(self, now: float, transaction: str, effect: DueEffect) -> bool:
        """Note that an effect is tried now; tell whether its transaction still wants that."""
        return self._begin(now, transaction, effect, "begun", "tries", "state = 'open'")

    def begin_compensation(self, now: float, transaction: str, effect: DueEffect) -> bool:
        """Note that an effect is compensated now."""
        return self._begin(now, transaction, effect, "compensating", "undo_tries", "state IN ('failing', 'undoing')")

    def _begin(self, now: float, transaction: str, effect: DueEffect, state: str, tries: str, wanted: str) -> bool:
        sql = (
            f"UPDATE etalis_effects SET {_BEGIN.format(tries=tries)} WHERE key = ?"
            f" AND EXISTS (SELECT 1 FROM etalis_transactions WHERE id = ? AND {wanted})"
        )
        with self._store.write():
            self._renew(now)
            begun = self._store.execute(sql, state, effect.key, transaction) > 0
        self._marks.clear()
        return begun

    def mark(self, effect: DueEffect, state: str, *, uncertain: bool = False, error: str | None = None) -> None:
        """Note what a try came to, and why where there is something to say."""
        effect.state, effect.uncertain = state, uncertain
        sql = "UPDATE etalis_effects SET state = ?, uncertain = ?, error = coalesce(?, error) WHERE key = ?"
        self._marks.append((sql, (state, int(uncertain), error, effect.key)))

    def drop(self, transaction: str) -> None:
        """Let go what was never tried, or surely not done."""
        sql = (
            "UPDATE etalis_effects SET state = 'dropped'"
            " WHERE \"transaction\" = ? AND state = 'waiting' AND uncertain = 0"
        )
        self._marks.append((sql, (transaction,)))

    def postpone(self, transaction: str, due: float) -> None:
        """Let a transaction wait."""
        self._marks.append(("UPDATE etalis_transactions SET due = ? WHERE id = ?", (due, transaction)))

    def fail(self, transaction: str, key: str) -> None:
        """Note that an effect has failed for good: what was made before it is to be compensated."""
        sql = "UPDATE etalis_transactions SET state = 'failing', due = 0, failed = ? WHERE id = ? AND state = 'open'"
        self._marks.append((sql, (key, transaction)))

    def end(self, transaction: str, state: str) -> None:
        """Note the end of a transaction, unless it was changed meanwhile: one that is made may have to be undone."""
        wanted = "state = 'open'" if state == "done" else TO_DELIVER
        self._marks.append(("UPDATE etalis_outbox SET changes = changes + 1", ()))
        sql = (
            "UPDATE etalis_transactions SET state = ?, change = (SELECT changes FROM etalis_outbox)"
            f" WHERE id = ? AND {wanted}"
        )
        self._marks.append((sql, (state, transaction)))

    def flush(self, now: float) -> None:
        """Write the marks that wait."""
        if self._marks:
            with self._store.write():
                self._renew(now)
            self._marks.clear()

    def _renew(self, now: float) -> None:
        """Prolong the lease, and write the marks."""
        until = now + self._lease
        if not self._store.execute("UPDATE etalis_outbox SET until = ? WHERE holder = ?", until, self._holder):
            self._marks.clear()
            raise LeaseLost
        for sql, values in self._marks:
            self._store.execute(sql, *values)


def _values(text: str) -> tuple[Any, ...]:
    given: Sequence[Any] = json.loads(text)
    return tuple(to_value(from_plain(x)) for x in given)
