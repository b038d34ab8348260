"""What an engine writes into its outbox, and what it hears from it.

Law: a commit is one transaction of the database. So effects are delivered of what is saved alone, and what is not saved
was not delivered: it comes again, with the same keys, and rows that are there already stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from etalis.errors import InputError, Problem
from etalis.reactive.effects.transaction import Transaction
from etalis.reactive.outbox.schema import TO_DELIVER
from etalis.reactive.outbox.store import OutboxStore, Row
from etalis.temporal.interval import to_time
from etalis.temporal.json_values import to_plain, to_text

_INSERT_TRANSACTION = (
    "INSERT INTO etalis_transactions (id, number, program, reaction, state, due, change, failed, after)"
    " VALUES (?, ?, ?, ?, 'open', 0, 0, NULL, ?) ON CONFLICT (id) DO NOTHING"
)
_INSERT_EFFECT = (
    'INSERT INTO etalis_effects (key, "transaction", position, reaction, name, args, start, "end", state, tries,'
    " undo_tries, uncertain, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'waiting', 0, 0, 0, '')"
    " ON CONFLICT (key) DO NOTHING"
)
_UNDO = "UPDATE etalis_transactions SET state = 'undoing', due = 0 WHERE id = ? AND state IN ('open', 'done')"
_BEHIND = "UPDATE etalis_transactions SET after = ? WHERE id = ? AND state = 'undoing'"
_TELL_AGAIN = (
    "UPDATE etalis_transactions SET change = (SELECT changes FROM etalis_outbox)"
    f" WHERE id = ? AND number < ? AND NOT ({TO_DELIVER})"
)
_PLACED = ("transaction", "position", "reaction")
_AT_ONCE = 500  # transactions in one query
_END = "UPDATE etalis_transactions SET state = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Saved:
    """A snapshot with the deltas after it, and the position that was committed with the last of them."""

    data: tuple[bytes, ...]
    position: Any


@dataclass(frozen=True, slots=True)
class News:
    """That a transaction has ended, and how; `change` numbers what happens in an outbox."""

    change: int
    id: str
    state: str
    failed: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes beside the snapshot."""

    made: Sequence[tuple[Transaction, str | None]] = ()  # with the transaction whose end it waits for
    undone: Sequence[str] = ()
    ended: Mapping[str, str] | None = None  # what engine and persons say of transactions: stuck, done, undone
    behind: Mapping[str, str] | None = None  # of those that are undone: after which other one


class CommitLog:
    """The part of an outbox that belongs to one program."""

    def __init__(self, connect: Callable[[], OutboxStore], address: str, program: str) -> None:
        self._connect = connect
        self._connection: OutboxStore | None = None
        self._address = address
        self._program = program
        self._engine = 0

    @property
    def _store(self) -> OutboxStore:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def claim(self) -> None:
        """Be the one that commits from now on: an engine that did so before is refused."""
        with self._store.write():
            self._store.execute(
                "INSERT INTO etalis_engines (program, engine) VALUES (?, 1)"
                " ON CONFLICT (program) DO UPDATE SET engine = etalis_engines.engine + 1",
                self._program,
            )
            self._engine = self._last_engine()

    def close(self) -> None:
        """Give the connection back; what is asked afterwards takes another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def is_empty(self) -> bool:
        """Tell whether nothing has been committed."""
        return not self._store.read("SELECT 1 FROM etalis_snapshots WHERE program = ? LIMIT 1", self._program)

    def saved(self) -> Saved | None:
        """Return what was committed last, if anything was."""
        rows = self._store.read(
            "SELECT is_delta, position, data FROM etalis_snapshots WHERE program = ? ORDER BY number", self._program
        )
        wholes = [place for place, (is_delta, _, _) in enumerate(rows) if not is_delta]
        if not wholes:
            return None
        return Saved(tuple(bytes(data) for _, _, data in rows[wholes[-1] :]), json.loads(rows[-1][1]))

    def news(self, heard: int) -> list[News]:
        """Return which transactions have ended since the last time, in the order in which they did."""
        rows = self._store.read(
            "SELECT change, id, state, failed FROM etalis_transactions"
            f" WHERE program = ? AND change > ? AND NOT ({TO_DELIVER}) ORDER BY change, number",
            self._program,
            heard,
        )
        return [News(*row) for row in rows]

    def with_states(self, transactions: Sequence[Transaction]) -> tuple[Transaction, ...]:
        """Return transactions with what has become of their effects."""
        found: dict[str, Row] = {}
        for first in range(0, len(transactions), _AT_ONCE):
            ids = [t.id for t in transactions[first : first + _AT_ONCE]]
            sql = 'SELECT key, state, uncertain, error FROM etalis_effects WHERE "transaction" IN '
            rows = self._store.read(f"{sql}({', '.join('?' * len(ids))})", *ids)
            found.update((key, (state, bool(uncertain), error)) for key, state, uncertain, error in rows)
        return tuple(_with_states(t, found) for t in transactions)

    def commit(self, what: Commit, data: bytes, *, is_delta: bool, position: Any) -> None:
        """Write state, position and effects; a whole snapshot takes the place of all before it."""
        text = _position_text(position)
        with self._store.write():
            if self._last_engine() != self._engine:
                message = f"another engine of {self._program} has taken over the outbox {self._address}"
                raise InputError(Problem("E806", message, hint="one engine at a time commits to an outbox"))
            made = [t for t, _ in what.made]
            self.add([(t.id, t.label, after) for t, after in what.made], [row for t in made for row in _effect_rows(t)])
            self._store.execute_many(_UNDO, [(each,) for each in what.undone])
            self._store.execute_many(_BEHIND, [(before, each) for each, before in (what.behind or {}).items()])
            self._store.execute_many(_END, [(state, each) for each, state in (what.ended or {}).items()])
            self._save(data, is_delta, text)

    def _last_engine(self) -> int:
        ((engine,),) = self._store.read("SELECT engine FROM etalis_engines WHERE program = ?", self._program)
        return int(engine)

    def add(self, transactions: Sequence[Row], effects: list[Row]) -> None:
        """Insert transactions (id, reaction, the one they wait for) and effects; those that are there stay as they are.

        Of transactions that are over the end is told once more.
        """
        if not transactions:
            return
        store, count = self._store, len(transactions)
        store.execute("UPDATE etalis_outbox SET transactions = transactions + ?", count)
        ((last,),) = store.read("SELECT transactions FROM etalis_outbox")
        first = last - count + 1
        rows = [(each, first + n, self._program, label, after) for n, (each, label, after) in enumerate(transactions)]
        if store.execute_many(_INSERT_TRANSACTION, rows) < count:
            store.execute("UPDATE etalis_outbox SET changes = changes + 1")
            store.execute_many(_TELL_AGAIN, [(each, first) for each, _, _ in transactions])
        store.execute_many(_INSERT_EFFECT, effects)

    def add_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Insert effects that are rows of a recording or of a Spark job, in their order."""
        transactions: dict[str, Row] = {}
        effects = []
        for row in rows:
            transactions.setdefault(row["transaction"], (row["transaction"], row["reaction"], None))
            start, end = to_time(row["start"]), to_time(row["end"])
            args = row["args"]  # in files of Spark it is text already
            args = args if isinstance(args, str) else to_text(list(args))
            effects.append((row["key"], *(row[name] for name in _PLACED), row["name"], args, start, end))
        with self._store.write():
            self.add(tuple(transactions.values()), effects)

    def _save(self, data: bytes, is_delta: bool, position: str) -> None:
        store, program = self._store, self._program
        ((number,),) = store.read("SELECT coalesce(max(number), 0) FROM etalis_snapshots WHERE program = ?", program)
        if not is_delta:
            store.execute("DELETE FROM etalis_snapshots WHERE program = ?", program)
        insert = "INSERT INTO etalis_snapshots (program, number, is_delta, position, data) VALUES (?, ?, ?, ?, ?)"
        store.execute(insert, program, number + 1, int(is_delta), position, data)


def _with_states(transaction: Transaction, found: Mapping[str, Row]) -> Transaction:
    rows = []
    for row in transaction.rows:
        state, uncertain, error = found.get(row.key, (row.state, row.uncertain, row.error))
        rows.append(replace(row, state=state, uncertain=uncertain, error=error))
    return replace(transaction, rows=tuple(rows))


def _effect_rows(transaction: Transaction) -> list[Row]:
    start, end = transaction.cause.interval
    return [
        (row.key, transaction.id, place, transaction.label, row.name, to_text(to_plain(row.args)), start, end)
        for place, row in enumerate(transaction.rows)
    ]


def _position_text(position: Any) -> str:
    try:
        text = json.dumps(position)
        same = json.loads(text) == position
    except (TypeError, ValueError):
        same = False
    if not same:
        hint = "give numbers, texts, lists and dictionaries with texts as keys"
        raise InputError(Problem("E807", f"a position that JSON does not hold: {position!r}", hint=hint))
    return text
