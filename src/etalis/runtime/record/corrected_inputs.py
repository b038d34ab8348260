"""The inputs of a run whose history may be corrected: the rows that corrections keep, and those they took away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from etalis.runtime.record.input_log import KeptInput
from etalis.runtime.revision.history import History
from etalis.runtime.revision.row_log import Row
from etalis.runtime.state import BEGINNING


class CorrectedInputs:
    """The inputs of a history by their numbers."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._gone: dict[int, KeptInput] = {}

    @property
    def begins(self) -> int:
        """The moment before which inputs may be gone."""
        rows = self._history.rows
        first = rows[rows.offset][0] if rows.offset > 1 and len(rows) else None
        return BEGINNING if first is None else int(first[0])

    def find(self, number: int) -> KeptInput | None:
        """Return an input by its number as it is now; one that was taken back as it was."""
        found = self.find_now(number)
        return self._gone.get(number) if found is None else found

    def find_before(self, number: int) -> KeptInput | None:
        """Return an input by its number as it was before it was corrected."""
        return self._gone[number] if number in self._gone else self.find_now(number)

    def find_now(self, number: int) -> KeptInput | None:
        """Return an input by its number as it is now; None if it was taken back."""
        history, rows = self._history, self._history.rows
        if rows.has_apart():  # the host gave ranks
            found = (kept for place, row, kind in history.items() if (kept := self._kept(row, kind)).number == number)
            return next(found, None)
        if not (rows.offset <= number < rows.next_place() or number in history.kept):
            return None
        row, kind, _ = history.row(number)
        return None if row is None else self._kept(row, kind)

    def _kept(self, row: Row, kind: int) -> KeptInput:
        return KeptInput(row[2], self._history.kinds[kind][0], row[3:], row[1], row[0])

    def items(self) -> Iterator[KeptInput]:
        """Yield the inputs that are kept, by arrival; not those that were taken back."""
        return (self._kept(row, kind) for _, row, kind in self._history.items())

    @property
    def gone(self) -> tuple[KeptInput, ...]:
        """The inputs that were taken back or corrected, as they were."""
        return tuple(self._gone.values())

    def load_gone(self, several: Iterable[tuple[Any, ...]]) -> None:
        """Take those of a snapshot."""
        self._gone.update((row[0], KeptInput(*row)) for row in several)

    def take_out(self, place: int) -> KeptInput | None:
        """Keep an input that is about to be taken back, and return it."""
        row, kind, _ = self._history.row(place)
        if row is None:
            return None
        kept = self._gone[row[2]] = self._kept(row, kind)
        return kept
