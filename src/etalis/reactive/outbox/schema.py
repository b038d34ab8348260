"""The tables of an outbox, in SQL that SQLite and PostgreSQL read.

`etalis_outbox` is one row: who delivers, until when, and how far transactions and their ends are numbered. An effect
has the columns that effects have in files of a Spark job. Rows of effects that are over stay: by their keys they are
not delivered again when an engine makes them once more.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

FORMAT = 1

# open, failing and undoing wait for the deliverer; all others are ends
OutboxState: TypeAlias = Literal["open", "failing", "undoing", "done", "failed", "undone", "stuck"]
TO_DELIVER = "state IN ('open', 'failing', 'undoing')"

TABLES = {
    "etalis_outbox": (
        "one INTEGER PRIMARY KEY, format INTEGER NOT NULL, holder TEXT, until DOUBLE PRECISION NOT NULL,"
        " transactions BIGINT NOT NULL, changes BIGINT NOT NULL"
    ),
    "etalis_engines": "program TEXT PRIMARY KEY, engine BIGINT NOT NULL",
    "etalis_snapshots": (
        "program TEXT NOT NULL, number BIGINT NOT NULL, is_delta INTEGER NOT NULL, position TEXT NOT NULL,"
        " data BYTES NOT NULL, PRIMARY KEY (program, number)"
    ),
    "etalis_transactions": (
        "id TEXT PRIMARY KEY, number BIGINT NOT NULL, program TEXT NOT NULL, reaction TEXT NOT NULL,"
        " state TEXT NOT NULL, due DOUBLE PRECISION NOT NULL, change BIGINT NOT NULL, failed TEXT, after TEXT"
    ),
    "etalis_effects": (
        'key TEXT PRIMARY KEY, "transaction" TEXT NOT NULL, position INTEGER NOT NULL, reaction TEXT NOT NULL,'
        ' name TEXT NOT NULL, args TEXT NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL, state TEXT NOT NULL,'
        " tries INTEGER NOT NULL, undo_tries INTEGER NOT NULL, uncertain INTEGER NOT NULL, error TEXT NOT NULL"
    ),
}
INDEXES = {
    "etalis_transactions_waiting": f"etalis_transactions (number) WHERE {TO_DELIVER}",
    "etalis_transactions_changed": "etalis_transactions (program, change)",
    "etalis_effects_of": 'etalis_effects ("transaction", position)',
}
