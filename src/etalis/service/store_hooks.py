"""What the service tells a store, if it has one: every change of an engine, in the order of its queue.

An entry is handed over when the work is put into the queue, and an answer goes out only when the entry is kept. Without
a store nothing is written.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A change: of which engine, what kind (create, delete, events, rules, ...), and what it takes to do it again."""

    engine: str
    kind: str
    data: dict[str, Any]


class EntryStore(Protocol):
    """Keeps entries."""

    def append(self, entry: StoreEntry) -> Awaitable[None]:
        """Take an entry now, in order; what is returned is done when it is kept."""
        ...
