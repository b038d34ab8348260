"""The events of a run as the parts of attempts: by kind, by value, by time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from etalis.data.values import Value, to_value
from etalis.language import syntax as s
from etalis.why.build import JustificationBuilder
from etalis.why.justification import Derived, Raised, Received

if TYPE_CHECKING:
    from etalis.runtime.core import Core
    from etalis.temporal.rope import Rope

Kind = tuple[str, int]


class PartEvent:
    """An event that may be a part; `number` is the input's, or the last one's that it came with; `rope` names it.

    One that `is_held` has come, and waits until its time is settled.
    """

    __slots__ = ("args", "end", "is_held", "name", "number", "rope", "start")

    def __init__(
        self, name: str, args: tuple[Value, ...], start: int, end: int, rope: Rope, number: int, is_held: bool = False
    ) -> None:
        self.name, self.args, self.start, self.end, self.rope, self.number = name, args, start, end, rope, number
        self.is_held = is_held


class EventShelf:
    """The instances of one kind in the order of their ends, and by the values of each attribute."""

    def __init__(self, found: list[PartEvent]) -> None:
        found.sort(key=lambda x: (x.end, x.start))
        self.all = found
        self.ends = [x.end for x in found]
        self._columns: dict[int, dict[Value, list[PartEvent]]] = {}

    def having(self, place: int, value: Value) -> list[PartEvent]:
        """Return the instances with a value in one place, by end."""
        if place not in self._columns:
            column: dict[Value, list[PartEvent]] = {}
            for x in self.all:
                column.setdefault(x.args[place], []).append(x)
            self._columns[place] = column
        return self._columns[place].get(value, [])

    def fitting(self, args: Sequence[s.Term], bound: dict[str, Value]) -> list[PartEvent]:
        """Return instances by end among which are all that match; by the most selective value that is bound."""
        best = self.all
        for place, term in enumerate(args):
            if isinstance(term, s.Const):
                value = term.value
            elif isinstance(term, s.Var) and term.name in bound:
                value = bound[term.name]
            else:
                continue
            found = self.having(place, value)
            best = found if len(found) < len(best) else best
        return best


class PartEvents:
    """All that was received, made and raised in a run."""

    def __init__(self, core: Core) -> None:
        assert core.record is not None
        self._record = core.record
        self._held = () if core.disorder is None or core.disorder.held is None else tuple(core.disorder.held)
        self._builder = JustificationBuilder(core)
        self._shelves: dict[Kind, EventShelf] = {}
        self._inputs: dict[Kind, list[PartEvent]] | None = None

    def of(self, kind: Kind) -> EventShelf:
        """Return the instances of a kind."""
        found = self._shelves.get(kind)
        if found is None:
            found = self._shelves[kind] = EventShelf([*self._received(kind), *self._made(kind), *self._raised(kind)])
        return found

    def _received(self, kind: Kind) -> list[PartEvent]:
        if self._inputs is None:
            self._inputs = {}
            for kept in self._record.source.items():
                x = PartEvent(kept.name, kept.args, kept.start, kept.end, kept.number, kept.number)
                self._inputs.setdefault((kept.name, len(kept.args)), []).append(x)
            for end, start, rank, _, name, *values in self._held:
                x = PartEvent(name, tuple(map(to_value, values)), start, end, rank, rank, is_held=True)
                self._inputs.setdefault((name, len(values)), []).append(x)
        return self._inputs.get(kind, [])

    def _made(self, kind: Kind) -> Iterator[PartEvent]:
        corrected = bool(self._record.corrected)
        for raw in self._record.made_of(kind):
            if corrected and self._record.taken_back(raw) is not None:
                continue
            yield PartEvent(kind[0], raw[3 : 3 + kind[1]], raw[1], raw[0], raw, 0)

    def _raised(self, kind: Kind) -> Iterator[PartEvent]:
        for number, raw in self._record.raised:
            if (raw[2].name, raw[2].arity) == kind:
                yield PartEvent(kind[0], raw[3 : 3 + kind[1]], raw[1], raw[0], raw, number)

    def between(self, kind: Kind, low: int | None, high: int, *, closed: tuple[bool, bool]) -> Iterator[PartEvent]:
        """Yield the instances of a kind that start after (or at) `low` and end before (or at) `high`."""
        shelf = self.of(kind)
        yield from inside(shelf.all, low, high, closed)

    def node(self, x: PartEvent) -> Received | Raised | Derived:
        """Return an instance as a node of an explanation."""
        if x.is_held:
            return Received(x.name, x.args, x.start, x.end, x.number)
        return self._builder.event(x.rope)


def inside(found: list[PartEvent], low: int | None, high: int, closed: tuple[bool, bool]) -> Iterator[PartEvent]:
    """Yield of instances by end those that start after (or at) `low` and end before (or at) `high`."""
    first = 0 if low is None else bisect_left(found, low, key=lambda x: x.end)
    find = bisect_right if closed[1] else bisect_left
    last = find(found, high, key=lambda x: x.end)
    for x in found[first:last]:
        if low is None or low < x.start or (closed[0] and low == x.start):
            yield x


def distinct(found: Iterable[PartEvent]) -> list[PartEvent]:
    """Return instances, each once, by time."""
    return sorted({id(x): x for x in found}.values(), key=lambda x: (x.end, x.start, x.number))
