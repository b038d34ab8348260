"""Where a pattern holds among the events of a run: for absences, and for what is counted.

A single event is looked up; anything else is matched among the events that lie within the bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.traversal import postorder
from etalis.semantics.matches import match_all
from etalis.temporal.event import Event
from etalis.why.checking.occurrences import RunRecord, one
from etalis.why.checking.rule_text import TextPart, named
from etalis.why.search.instances import PartEvent, PartEvents, distinct, inside

if TYPE_CHECKING:
    from etalis.runtime.core import Core

EVER = 1 << 62


class Holding(NamedTuple):
    """A pattern that holds on an interval, with what it binds and its events."""

    start: int
    end: int
    bound: dict[str, Value]
    events: tuple[PartEvent, ...]


class Sightings:
    """Finds patterns among the events of one run."""

    def __init__(self, core: Core, instances: PartEvents) -> None:
        self._tree = core.program.tree
        self._instances = instances

    def find(
        self, part: TextPart, low: int | None, high: int, bound: dict[str, Value],
        closed: tuple[bool, bool] = (False, False),
    ) -> list[Holding]:  # fmt: skip
        """Return where a pattern holds within bounds and agrees with what is bound, by end."""
        core = part.core
        pattern = core.rule.head if isinstance(core, s.SubRule) else core
        is_bare = not part.partners and all(isinstance(m.pattern, s.Do) for m in part.modifiers)
        if isinstance(pattern, s.EventPattern) and is_bare:
            return self._events(pattern, low, high, bound, closed)
        return self._patterns(part, low, high, bound, closed)

    def _events(
        self, pattern: s.EventPattern, low: int | None, high: int, bound: dict[str, Value], closed: tuple[bool, bool]
    ) -> list[Holding]:
        shelf = self._instances.of((pattern.name, len(pattern.args)))
        names = named(pattern.args)
        found = []
        for x in inside(shelf.fitting(pattern.args, bound), low, high, closed):
            given = match_all(pattern.args, x.args, bound)
            if given is not None:
                found.append(Holding(x.start, x.end, {v: given[v] for v in names}, (x,)))
        return found

    def _patterns(
        self, part: TextPart, low: int | None, high: int, bound: dict[str, Value], closed: tuple[bool, bool]
    ) -> list[Holding]:
        events: list[PartEvent] = []
        for kind in kinds_below(part):
            events += self._instances.between(kind, low, high, closed=closed)
        events = distinct(events)
        record = RunRecord(self._tree, [(Event.make(x.name, x.args, x.start, x.end), None) for x in events])
        match = one(high, high, bound, frozenset(), (len(events), len(events)))
        seen = record.find(part, (low, high, "inside", not closed[0], not closed[1]), match)
        holding = [Holding(x.start, x.end, dict(x.bound), tuple(events[n] for n in sorted(x.events))) for x in seen]
        return sorted(holding, key=lambda x: (x.end, x.start))


def kinds_below(part: TextPart) -> set[tuple[str, int]]:
    """Return the kinds of events that a pattern names."""
    found = set()
    waiting = [part]
    while waiting:
        inner = waiting.pop()
        for node in postorder(inner.core):
            if isinstance(node, s.EventPattern):
                found.add((node.name, len(node.args)))
            elif isinstance(node, s.SubRule):
                found.add((node.rule.head.name, len(node.rule.head.args)))
        waiting += [*inner.below, *(m.absent for m in inner.modifiers if m.absent is not None)]
        waiting += () if inner.absent is None else (inner.absent,)
    return found
