"""The part of each column of a source: time, order and the event's name get names that no attribute has.

So sources with different columns can be detected together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from etalis.errors import Problem
from etalis.formats.roles import Roles, find_roles
from etalis.language.check.spelling import suggest
from etalis.pipeline.connectors.connector import UNKNOWN
from etalis.pipeline.parts import Pipeline
from etalis.pipeline.places import Path as Key
from etalis.tables.column_types import base_of, has_order

Columns: TypeAlias = Mapping[str, str]  # name -> type as Spark writes it, in order

AT, START, END, ORDER, EVENT = "_at", "_start", "_end", "_order", "_event"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the columns of a source are named for detection, in order; and the event of all its rows, if it is one."""

    names: tuple[tuple[str, str], ...]  # column, new name; attributes keep theirs
    event: str | None


@dataclass(frozen=True, slots=True)
class Arranger:
    """Gives columns their parts, and notes what does not fit, by the names that the file uses."""

    pipeline: Pipeline
    received: Sequence[str]  # the events that the program must be given

    def arrange(self, number: int, columns: Columns, problems: list[Problem]) -> Arrangement | None:
        """Return the parts of a source's columns; None if one is missing."""
        source, key = self.pipeline.sources[number], ("source", number)
        tag = source.event_column
        is_named = source.event is not None and tag is None
        roles = find_roles(columns, time=source.time, event=tag, order=source.order, is_named=is_named)
        missing = [*roles.missing, *([("event_column", tag)] if tag and roles.event is None else [])]
        for part, name in missing:
            hint = suggest(name, columns, f"the columns are {', '.join(columns)}")
            problems.append(self.pipeline.problem("E704", f"there is no column {name}", (*key, part), hint))
        if missing or not self._has_time(roles, columns, key, problems):
            return None
        event = (source.event or self._only_event(key, problems)) if roles.event is None else None
        if roles.event is None and event is None:
            return None
        times = roles.times
        ends = [(times[0], START), (times[-1], END)] if self.pipeline.has_intervals else [(times[0], AT)]
        parts = [*ends, *((name, part) for name, part in ((roles.order, ORDER), (roles.event, EVENT)) if name)]
        return Arrangement((*((name, name) for name in roles.free), *parts), event)

    def _only_event(self, key: Key, problems: list[Problem]) -> str | None:
        if len(self.received) == 1:
            return self.received[0]
        hint = (
            f'say event = "..." or event_column = "..."; the program is given {", ".join(self.received) or "nothing"}'
        )
        problems.append(self.pipeline.problem("E703", "nothing says which event the rows are", key, hint))
        return None

    def _has_time(self, roles: Roles, columns: Columns, key: Key, problems: list[Problem]) -> bool:
        if not roles.times:
            hint = f'say time = "..."; the columns are {", ".join(columns)}'
            problems.append(self.pipeline.problem("E703", "nothing says which column is the time", key, hint))
        wrong = [name for name in roles.times if not (has_order(columns[name]) or columns[name] == UNKNOWN)]
        for name in wrong[:1]:
            message = f"the column {name} of type {base_of(columns[name])} cannot be the time"
            hint = "convert it with select: to_timestamp(...) as ..., or give numbers"
            problems.append(self.pipeline.problem("E704", message, (*key, "time"), hint))
        return bool(roles.times) and not wrong
