"""What might repair: changes that mend all causes of an attempt, each cause in the ways that its kind has.

Smallest first: by the number of changes, then the deficit of the attempt, then the distance moved; of equals the right
operand moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.semantics.matches import ground
from etalis.temporal.relation import relations
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.repairing.counted import CountedRepairs
from etalis.why.repairing.data import AddEvent, AddFact, InputChange, MoveEvent, RemoveEvent
from etalis.why.repairing.facts import missing_facts
from etalis.why.repairing.moments import Calendar, shifts
from etalis.why.repairing.values import Bindings, ValueChooser

if TYPE_CHECKING:
    from etalis.runtime.core import Core

_WAYS = 64  # combinations for one attempt and one choice of values
_DEPTH = 5
_ROOM = 8  # microseconds for what a derived part is made of


class Way(NamedTuple):
    """Changes that mend a cause, and how far they move events."""

    changes: tuple[InputChange, ...]
    moved: int = 0


class Room(NamedTuple):
    """How many moments an added event leaves to others, ahead of it and behind it."""

    ahead: int = 0
    behind: int = 0


class Candidate(NamedTuple):
    """Changes that mend an attempt."""

    changes: tuple[InputChange, ...]
    rank: tuple[int, tuple[int, int, int], int, int]


@dataclass(slots=True)
class CandidateFinder:
    """Finds what might repair."""

    core: Core
    calendar: Calendar
    values: ValueChooser
    inputs: Sequence[j.Received]
    rules: Mapping[str, s.Rule]
    facts: bool
    derived: frozenset[tuple[str, int]] = field(init=False)
    counted: CountedRepairs = field(init=False)

    def __post_init__(self) -> None:
        self.derived = frozenset((rule.head.name, len(rule.head.args)) for rule in self.rules.values())
        self.counted = CountedRepairs(self.calendar, self.values, self.inputs)

    def candidates(self, answer: w.WhyNot) -> list[Candidate]:
        """Return what might repair, smallest first, each once."""
        found: dict[frozenset[object], Candidate] = {}
        for place, (way, deficit) in enumerate(self._answer(answer, _DEPTH, Room())):
            candidate = Candidate(way.changes, (len(way.changes), deficit, way.moved, place))
            key = change_key(way.changes)
            if key not in found or candidate.rank < found[key].rank:
                found[key] = candidate
        return sorted(found.values(), key=lambda candidate: candidate.rank)

    def _answer(self, answer: w.WhyNot, depth: int, room: Room) -> Iterator[tuple[Way, tuple[int, int, int]]]:
        for told in answer.rules:
            rule = self.rules.get(told.rule)
            for attempt in told.attempts if rule is not None and not told.affairs else ():
                assert rule is not None
                for way in self._attempt(rule, attempt, depth, room):
                    yield way, attempt.deficit

    def _attempt(self, rule: s.Rule, attempt: w.Attempt, depth: int, room: Room) -> Iterator[Way]:
        """Yield the changes that mend all that is wrong with an attempt."""
        missing = [cause.part for cause in attempt.causes if isinstance(cause, w.MissingPart)]
        patterns = [part.pattern for part in missing if part.pattern is not None]
        rooms = _rooms(missing, room)
        for chosen in self.values.choices(rule, patterns, attempt.bindings):
            bound = {**attempt.bindings, **chosen}
            ways = []
            for cause in attempt.causes:
                found = list(self._ways(rule, attempt, cause, rooms, bound, depth))
                if not found:
                    break
                ways.append(found)
            else:
                yield from (way for several in islice(product(*ways), _WAYS) if (way := _together(several)) is not None)

    def _ways(
        self,
        rule: s.Rule,
        attempt: w.Attempt,
        cause: w.Cause,
        rooms: Mapping[int, Room],
        bound: Bindings,
        depth: int,
    ) -> Iterator[Way]:
        """Yield the changes that mend one cause; none where the cause is the answer."""
        match cause:
            case w.MissingPart(part=part):
                yield from self._add(rule, part, rooms[id(part)], bound, depth)
            case w.OutOfOrder():
                yield from self._reorder(attempt, cause)
            case w.TooLong(allowed=allowed, actual=actual):
                yield from self._shorten(attempt, actual, actual - allowed)
            case w.BlockedBy(by=by):
                yield from self._clear(attempt, by)
            case w.Withheld(kind="consumed" | "not_chosen" | "replaced" as kind, part=part, by=by):
                yield from self._clear(attempt, by)
                if kind == "consumed" and isinstance(part, j.Received):
                    time = self.calendar.after(part.end)
                    yield Way((AddEvent(part.name, part.args, time, time),))
            case w.WrongValue():
                yield from map(Way, self.counted.changes(rule, cause, bound))
            case w.KnownLater() | w.Refuted() if self.facts:
                ends = [part.event.end for part in attempt.parts if part.event is not None]
                facts = missing_facts(self.core, cause)
                if ends and facts:
                    yield Way(tuple(AddFact(fact, max(ends)) for fact in facts))
            case _:
                return

    def _add(self, rule: s.Rule, part: w.AttemptPart, room: Room, bound: Bindings, depth: int) -> Iterator[Way]:
        """Yield where a missing part might come; one that rules derive, how it might be made."""
        if part.because is not None:
            if depth:
                yield from (way for way, _ in self._answer(part.because, depth - 1, room))
            return
        spans = self.calendar.landings(part.start, part.end, *room)
        if part.pattern is None:
            yield from map(Way, self.counted.elements(rule, part, spans, bound))
        elif (part.pattern.name, len(part.pattern.args)) not in self.derived:
            args = tuple(_value(arg, bound) for arg in part.pattern.args)
            yield from (Way((AddEvent(part.pattern.name, args, *span),)) for span in spans)

    def _reorder(self, attempt: w.Attempt, cause: w.OutOfOrder) -> Iterator[Way]:
        """Yield the moves of either side by which a relation holds, the shorter first, of equals the right side."""
        row = relations(self.core.rules.settings.relations)[cause.relation]
        left, right = (cause.left.start, cause.left.end), (cause.right.start, cause.right.end)
        by_left, by_right = shifts(row, left, right)
        sides = [(by_right, cause.right), (by_left, cause.left)]
        moves = [(by, side) for by, side in sides if by is not None]
        for by, side in sorted(moves, key=lambda move: abs(move[0])):
            yield _moved(self._made_of(attempt, side), by)

    def _shorten(self, attempt: w.Attempt, actual: int, over: int) -> Iterator[Way]:
        """Yield the moves of the last or the first part by which a window is long enough."""
        present = [part.event for part in attempt.parts if part.event is not None]
        for last in reversed(present):
            for first in present:
                if last.end - first.start == actual and last is not first:
                    yield _moved(self._made_of(attempt, last), -over)
                    yield _moved(self._made_of(attempt, first), over)

    def _clear(self, attempt: w.Attempt, by: Sequence[j.Occurred]) -> Iterator[Way]:
        """Yield what to remove so that all that is in the way is gone: an input of each."""
        own = {
            leaf.number
            for part in attempt.parts
            if part.event is not None
            for leaf in self._made_of(attempt, part.event)
        }
        ways = []
        for event in by:
            leaves = self._inputs_of(event)
            ways.append([leaf for leaf in leaves if leaf.number not in own] or leaves)
        for several in islice(product(*ways), _WAYS):
            removed = {leaf.number: leaf for leaf in several}
            if removed:
                yield Way(tuple(RemoveEvent(leaf) for _, leaf in sorted(removed.items())))

    def _made_of(self, attempt: w.Attempt, event: j.Occurred) -> list[j.Received]:
        """Return the inputs of a part; of a match of a part, those of the attempt's parts inside it."""
        if isinstance(event, j.Received | j.Derived | j.Raised):
            return _leaves(event)
        inside = [part.event for part in attempt.parts if part.event is not None]
        inside = [one for one in inside if event.start <= one.start and one.end <= event.end]
        return [leaf for one in inside if isinstance(one, j.Received | j.Derived | j.Raised) for leaf in _leaves(one)]

    def _inputs_of(self, event: j.Occurred) -> list[j.Received]:
        """Return the inputs of what is in the way; of a match that never became an event, those at its ends."""
        if isinstance(event, j.Received | j.Derived | j.Raised):
            return _leaves(event)
        same = [
            x
            for x in self.inputs
            if (x.name, x.args, x.start, x.end) == (event.name, event.args, event.start, event.end)
        ]
        if same:
            return same
        inside = [given for given in self.inputs if event.start <= given.start and given.end <= event.end]
        return [given for given in inside if given.start == event.start or given.end == event.end]


def _rooms(missing: Sequence[w.AttemptPart], room: Room) -> dict[int, Room]:
    """Return the room of each missing part: they follow each other, those that are derived with what they are of."""
    wide = len(missing) > 1 and any(part.because is not None or part.pattern is None for part in missing)
    step, last = _ROOM if wide else 1, len(missing) - 1
    return {
        id(part): Room(room.ahead + place * step, room.behind + (last - place) * step)
        for place, part in enumerate(missing)
    }


def _leaves(event: j.Received | j.Derived | j.Raised) -> list[j.Received]:
    """Return the inputs that an event is made of."""
    through = (j.Derived, j.Raised, j.Tested, j.PairOf, j.ChosenBranch, j.RepeatedRun, j.PutTogether, j.FoldedValue)
    walked = (*through, j.Awaited, j.Rung)
    found = [node for node in j.nodes(event, lambda node: isinstance(node, walked)) if isinstance(node, j.Received)]
    return list({leaf.number: leaf for leaf in found}.values())


def _moved(leaves: Iterable[j.Received], by: int) -> Way:
    changes = tuple(MoveEvent(leaf, leaf.start + by, leaf.end + by) for leaf in leaves)
    return Way(changes, abs(by) * len(changes))


def _together(several: Iterable[Way]) -> Way | None:
    """Return changes at once; None where they change an input twice, or none."""
    changes: dict[object, InputChange] = {}
    inputs: set[int] = set()
    moved = 0
    for way in several:
        moved += way.moved
        for change in way.changes:
            key = key_of(change)
            if key in changes:
                continue
            if isinstance(change, RemoveEvent | MoveEvent):
                if change.event.number in inputs:
                    return None
                inputs.add(change.event.number)
            changes[key] = change
    return Way(tuple(changes.values()), moved) if changes else None


def _value(term: s.Term, bound: Bindings) -> Value:
    return ground(term, dict(bound))


def key_of(change: InputChange) -> object:
    """Return what tells a change from others."""
    match change:
        case AddEvent(name=name, args=args, start=start, end=end):
            return "add", name, args, start, end
        case RemoveEvent(event=event):
            return "remove", event.number
        case MoveEvent(event=event, start=start, end=end):
            return "move", event.number, start, end
        case AddFact(atom=atom, since=since):
            return "fact", atom, since


def change_key(changes: Iterable[InputChange]) -> frozenset[object]:
    """Return what tells a set of changes from others."""
    return frozenset(map(key_of, changes))
