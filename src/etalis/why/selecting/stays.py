"""What is noted while a history runs again: when an instance came to an operator, when it left, and by whom."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from etalis.data.values import Value
from etalis.semantics.matches import Instance, Names, RecordedEvent
from etalis.semantics.operators import rank
from etalis.why.justification import Occurred
from etalis.why.why_not import Withheld


class InstanceKey(NamedTuple):
    """An instance by what it is: an event, or without name what lies on a hull, of these events if they are known."""

    name: str | None
    args: tuple[Value, ...]
    start: int
    end: int
    events: tuple[InstanceKey, ...] = ()


@dataclass(slots=True, eq=False)
class NotedMatch:
    """A match that an operator made: its hull, and the event it became, if it did."""

    start: int
    end: int
    event: Occurred | None = None

    def shown(self) -> Occurred:
        """Return the event, or the hull of a match that became none."""
        return Occurred(None, (), self.start, self.end) if self.event is None else self.event


@dataclass(slots=True, eq=False)
class Stay:
    """An instance at an operator, by its step; `kind` and `by` say why it was not there from `gone` on."""

    instance: Any
    side: int
    came: int
    view: Any
    gone: int | None = None
    kind: str = ""
    by: NotedMatch | Stay | None = None

    def is_there(self, step: int) -> bool:
        """Tell whether it waited when another came at a step."""
        return self.came < step and (self.gone is None or self.gone >= step)

    def leave(self, step: int, kind: str, by: NotedMatch | Stay | None) -> None:
        """Note that it waits no longer."""
        if self.gone is None:
            self.gone, self.kind, self.by = step, kind, by


@dataclass(slots=True)
class SelectionNotes:
    """What the operators of a run share: the step, what climbs to a head, what leaves once an event was offered."""

    record: list[RecordedEvent]
    seen: Callable[[], Any]  # the knowledge that conditions see now
    under: Callable[[Any], Any]  # lets conditions see knowledge of then
    step: int = 0
    climbing: NotedMatch | None = None
    leaving: list[tuple[StayingList, Stay, Stay]] = field(default_factory=list)

    def begin(self) -> int:
        """Begin the step of an instance that comes to an operator."""
        self.step += 1
        self.climbing = None
        return self.step

    def let_go(self) -> None:
        """Take out what was replaced by the event that has now been offered to all leaves."""
        for store, stay, by in self.leaving:
            stay.leave(self.step, "replaced", by)
            store.drop(stay)
        self.leaving = []

    def became(self, event: Occurred) -> None:
        """Note the event of the match that has reached its head."""
        if self.climbing is not None:
            self.climbing.event = event

    def event_of(self, number: int) -> InstanceKey:
        """Return an event that was processed."""
        event = self.record[number].event
        return InstanceKey(event.name, tuple(event.args), event.start_time, event.end_time)

    def events_of(self, x: Any) -> frozenset[InstanceKey]:
        """Return the events that an instance consists of."""
        return frozenset(map(self.event_of, x.parts))

    def shown(self, x: Any) -> Occurred:
        """Return an instance as an event, or as a hull."""
        single = getattr(x, "single", None)
        if single is None:
            return Occurred(None, (), x.start, x.end)
        return Occurred(*self.event_of(single)[:4])

    def is_meant(self, x: Any, asked: InstanceKey) -> bool:
        """Tell whether an instance is the one that is asked for.

        A run of a repetition is, whatever other runs took of its inner elements.
        """
        if (x.start, x.end) != (asked.start, asked.end):
            return False
        if asked.name is not None:
            return len(x.parts) == 1 and self.events_of(x) == {asked._replace(events=())}
        wanted = {event._replace(events=()) for event in asked.events}
        found = self.events_of(x)
        return not wanted or found == wanted or (getattr(x, "origin", None) is not None and found < wanted)

    def taken(self, stay: Stay) -> Withheld | None:
        """Return why an instance did not wait any more."""
        if stay.by is None:
            return None
        by = stay.by.shown() if isinstance(stay.by, NotedMatch) else self.shown(stay.by.instance)
        return Withheld(stay.kind, self.shown(stay.instance), (by,))


class StayingList:
    """The instances that wait on one side of an operator, in groups of equal values of its key, each by rank."""

    def __init__(self, key: Names) -> None:
        self._key = tuple(sorted(key))
        self._groups: dict[tuple[Value, ...], list[Stay]] = {}

    def key_of(self, x: Any) -> tuple[Value, ...]:
        """Return the values of the key."""
        return tuple([x.bindings[name] for name in self._key])

    def group(self, x: Any) -> list[Stay]:
        """Return what waits with the same values as an instance has, by rank and then arrival."""
        return self._groups.get(self.key_of(x), [])

    def put(self, stay: Stay) -> None:
        """Let an instance wait."""
        insort(self._groups.setdefault(self.key_of(stay.instance), []), stay, key=lambda other: rank(other.instance))

    def drop(self, stay: Stay) -> None:
        """Let an instance wait no longer."""
        group = self.group(stay.instance)
        group[:] = [other for other in group if other is not stay]

    def take_out(self, x: Any, step: int, by: NotedMatch) -> bool:
        """Let a match consume an instance; tell whether it waited."""
        stay = next((stay for stay in self.group(x) if stay.instance is x), None)
        if stay is None:
            return False
        stay.leave(step, "consumed", by)
        self.drop(stay)
        return True

    def __iter__(self) -> Iterator[Stay]:
        return (stay for group in self._groups.values() for stay in group)


def consume(store: StayingList, x: Any, step: int, by: NotedMatch) -> None:
    """Take an instance out of its store and, if it is a repetition's match, what it was counted after."""
    waiting: list[tuple[Any, Any]] = [(store, x)]
    while waiting:
        held_in, held = waiting.pop()
        if held_in.take_out(held, step, by):
            waiting.extend(held.holds)


def earlier_match(group: Iterable[Stay], x: Instance) -> Stay | None:
    """Return the earlier match of the same repetition with equal bindings that waits already (definition 13.16)."""
    if x.origin is None:
        return None
    alike = (y for y in group if y.instance.origin is x.origin and y.instance.bindings == x.bindings)
    return next(alike, None)


def keep_newest(store: StayingList, stay: Stay, notes: SelectionNotes) -> None:
    """Store an instance in place of older ones of its join key, unless a newer one is there (definition 12.12)."""
    alike = list(store.group(stay.instance))
    newer = [other for other in alike if rank(other.instance) > rank(stay.instance)]
    if newer:
        stay.leave(notes.step, "replaced", newer[-1])
        return
    notes.leaving += [(store, other, stay) for other in alike]
    store.put(stay)
