"""What corrections and lateness have to do with an answer: inputs as they were, events that were taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etalis.data.values import Struct, format_value
from etalis.runtime.record.input_log import KeptInput
from etalis.runtime.state import Raw, show_time

if TYPE_CHECKING:
    from etalis.runtime.core import Core


class Corrections:
    """Finds the inputs of one answer; `as_before` shows those that were corrected as they were, and notes it."""

    def __init__(self, core: Core, notes: dict[str, None], *, as_before: bool) -> None:
        self._record = core.record
        self._notes = notes
        self._as_before = as_before

    def find(self, number: int) -> KeptInput | None:
        """Return an input by its number, and note if it came late or was corrected."""
        record = self._record
        if record is None:
            return None
        now = record.source.find(number)
        kept = record.source.find_before(number) if self._as_before else now
        if kept is None:
            return None
        if self._as_before and kept != record.source.find_now(number):
            shown = format_value(Struct(kept.name, kept.args) if kept.args else kept.name)
            was = "taken back" if kept == now else "corrected"
            self._notes[f"input {number}, {shown} at {show_time(kept.end)}, was {was}"] = None
        reached = record.late.get(number)
        if reached is not None:
            at = f"it ended at {show_time(kept.end)}, and time had reached {show_time(reached)}"
            self._notes[f"input {number} came late: {at}"] = None
        return kept

    def tell(self, raw: Raw, note: str | None) -> str | None:
        """Return what is said of a derived event, and that a correction took it back, if one did."""
        back = None if self._record is None else self._record.taken_back(raw)
        if back is None:
            return note
        taken = f"taken back by {back.correction}" if back.correction else "taken back"
        return taken if note is None else f"{taken}; {note}"
