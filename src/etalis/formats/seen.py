"""What reading a source has shown: how it writes times, and which attributes hold several types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from etalis.data.values import Real, Value, format_atom

_NOUNS = {int: "integers", float: "floats", Real: "floats", str: "text", tuple: "lists"}


@dataclass(slots=True)
class Seen:
    """The types of undeclared attributes, by event and attribute, and whether times were stamps, numbers or both.

    `aside` counts the triples of default graphs that are no times: they are no events.
    """

    types: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    stamps: bool = False
    numbers: bool = False
    fractions: bool = False
    unread: Counter[tuple[str, int | None]] = field(default_factory=Counter)  # events that no rule reads
    aside: int = 0

    def note_time(self, moment: Any) -> None:
        """Note how a time was given."""
        if isinstance(moment, str):
            try:
                moment = float(moment)
            except ValueError:
                self.stamps = True
                return
        if isinstance(moment, date) or type(moment).__name__ == "datetime64":
            self.stamps = True
            return
        self.numbers = True
        if not isinstance(moment, int) and moment != int(moment):
            self.fractions = True

    def note_value(self, event: str, attribute: str, value: Value) -> None:
        """Note the type of an undeclared attribute; null is of every type."""
        if value != "null":
            self.types.setdefault((event, attribute), set()).add(_NOUNS.get(type(value), "terms"))

    def notes(self) -> Iterator[str]:
        """Say which attributes hold several types, and how to declare them; and which triples are no events."""
        for (event, attribute), nouns in self.types.items():
            if len(nouns) > 1:
                wanted = "float" if nouns == {"integers", "floats"} else "string" if "text" in nouns else "term"
                declaration = f":- event({format_atom(event)}(..., {format_atom(attribute)}: {wanted}, ...))."
                yield f"{event}: {attribute} holds {' and '.join(sorted(nouns))}; for one type: {declaration}"
        if self.aside:
            noun = (
                "1 triple of the default graph is"
                if self.aside == 1
                else f"{self.aside} triples of the default graph are"
            )
            yield f"{noun} no event: only graphs with a time are"
