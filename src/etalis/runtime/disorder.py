"""Events that come late and events that are corrected, over an engine that takes them in order.

Both mean that history has changed. What is held until it is settled reaches the engine in order and is never taken
back. What was processed already is corrected: the events of its partition are run twice from where their history
begins, as they were and as they now are; the difference is reported, and the state that the second run comes to takes
the place of the partition's state. Law: after every step the engine stands as if it had been given the corrected
history in order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.logic.term import Struct, format_value
from etalis.runtime.code import Code
from etalis.runtime.course import Course
from etalis.runtime.history import TOGETHER, History, Part
from etalis.runtime.order import DeadLetters, Held, HeldRow, Stamp, Values, Watermark
from etalis.runtime.replay import Chain, Content, Replayer, Row, Shelves
from etalis.runtime.state import BEGINNING, NEVER, Raw, Tag
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import to_seconds

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet

Kind = tuple[str, int]


class Disorder:
    """Takes events in any order within the bounds, and corrections of them."""

    def __init__(
        self,
        course: Course,
        dead: DeadLetters,
        sources: Iterable[Hashable],
        again: Callable[..., RuleSet],
        report: Callable[[ConditionError], None],
    ) -> None:
        settings = course.program.settings
        self.course = course
        self.state = course.state
        self.rules = course.rules
        self.dead = dead
        self.revises = settings.revision
        self.horizon = settings.revision_window if settings.revision else BEGINNING
        self.watermark = None if settings.lateness is None else Watermark(settings.lateness, sources)
        self.held = Held() if settings.lateness is not None and settings.reporting == "on_watermark" else None
        self.held_ids: dict[Hashable, tuple[int, int, int]] = {}
        self.history: History | None = None
        if settings.corrects:
            kinds, places = self.rules.kinds_seen(), list(self.rules.memory)
            self.history = History(self.rules.partitioning(), kinds)
            self.replayer = Replayer(course.program, again, kinds, places)
            self.shelves = Shelves(self.rules, places)
            self._find_plain_parts()
            self.reported = {(k.name, k.arity): k.reported for k in self.rules.heads.kinds.values()}
        self.report = report
        self.arrives = self.watermark is not None and self.held is None  # on_arrival: deadlines wait for the watermark
        if self.arrives:
            course.settled = BEGINNING
        self.order = _by_arrival if self.watermark is None else _by_place
        self.ranked = 1
        self._settled = BEGINNING

    def is_quiet(self) -> bool:
        """Tell whether an event in order needs no more than to be remembered."""
        return self.history is not None and self.held is None and not self.rules.has_timers

    def holds_plainly(self) -> bool:
        """Tell whether an event needs no more than to be held, and to be processed when it is settled."""
        bounded = self.watermark is not None and self.watermark.bound < NEVER
        return self.held is not None and self.history is None and bounded and not self.rules.has_timers

    def log(self, code: Code, kind: Kind, parameters: list[str], time: str) -> None:
        """Write into generated code that an event in order is remembered."""
        assert self.history is not None
        self.history.write(code, kind, parameters, time, self.forget)

    def _find_plain_parts(self) -> None:
        """Note where the key of a partition alone tells whether it has any state."""
        assert self.history is not None
        for part in self.history.all_parts():
            keyed = part.positions is not None and self.rules.keys_are(part.positions)
            part.is_plain = keyed and not (self.rules.has_timers or self.rules.numbered)

    # events

    def take(self, name: str, values: Values, start: int, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Take one event, or one correction."""
        if name == "rev" and self.revises and len(values) == 1:
            self._take_back_term(values[0], start, end, stamp, out)
            return
        rank = self._next_rank()
        self.ranked = rank + 1
        if stamp is not None and stamp.rank is not None:
            rank = stamp.rank
        if self.watermark is None:
            if end < self.state.now or end <= self.state.floor:
                self._bury(name, values, start, end, max(self.state.now, self.state.floor))
            else:
                self._process(name, values, start, end, rank, stamp, out)
        elif end <= self.watermark.reached:
            self._bury(name, values, start, end, self.watermark.reached)
        else:
            reached = self.watermark.see(None if stamp is None else stamp.source, end)
            self._take_late(name, values, start, end, rank, stamp, out)
            self.settle(reached, out)
        if self.history is not None and self.history.next_place() < self.ranked:
            self.history.skip()

    def _take_late(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Take an event that may be late: hold it, process it, or put it where it belongs."""
        if self.held is not None:
            self.held.add((end, start, rank, (name, values, stamp)))
            if stamp is not None and stamp.id is not None:
                self.held_ids[stamp.id] = (end, start, rank)
        elif self._is_in_order(name, values, start, end, rank, stamp):
            self._process(name, values, start, end, rank, stamp, out)
        else:
            self._insert(name, values, start, end, rank, stamp, out)

    def _next_rank(self) -> int:
        """Return the rank of the next event; those that the generated way in has taken count, too."""
        if self.history is None or self.history.next_place() <= self.ranked:
            return self.ranked
        if self.arrives and self.watermark is not None:
            self.watermark.see(None, self.state.now)
        return self.history.next_place()

    def _bury(self, name: str, values: Values, start: int, end: int, reached: int) -> None:
        shown = "the end of the stream" if reached >= NEVER else to_seconds(reached)
        reason = f"it ends at {to_seconds(end)}, but the stream is settled up to {shown}"
        self.dead.add(name, values, start, end, reason)

    def _process(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Process an event in order, and remember it."""
        kind = (name, len(values))
        tag = None
        if self.history is not None:
            if kind in self.history.parts:
                self._remember(kind, (end, start, rank, *values), stamp)
            if self.rules.has_timers:
                tag = self.state.tag = self._tag_of(kind, values)
        self.course.process(kind, values, start, end, rank, out, tag)
        if self.history is not None and len(self.history.rows) >= self.history.trim_at:
            self.forget()

    def _remember(self, kind: Kind, row: Row, stamp: Stamp | None) -> None:
        assert self.history is not None
        self.history.add(kind, row, None if stamp is None else stamp.id)

    def _tag_of(self, kind: Kind, values: Values) -> Tag:
        """Return the tag of an event's partition; what time points set, too, where there are any, stays together."""
        assert self.history is not None
        part = self.history.parts.get(kind)
        if part is None:
            return self._tag(self.history.together, TOGETHER)
        return self._tag(part, part.key(kind, values))

    def _tag(self, part: Part, key: Any) -> Tag:
        tag = part.tags.get(key)
        if tag is None:
            tag = part.tags[key] = Tag(part, key)
        return tag

    def _is_in_order(self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None) -> bool:
        """Tell whether nothing of an event's partition that is behind it in order has been processed."""
        now = self.state.now
        if end != now:
            return end > now
        assert self.history is not None
        part = self.history.parts.get((name, len(values)))
        if part is None or (start == end and (stamp is None or stamp.rank is None)):
            return True
        chain = self.history.chain(part, part.key((name, len(values)), values), self.order)
        return not chain or bool(chain[-1][0][:3] <= (end, start, rank))

    # time

    def settle(self, until: int, out: list[Any]) -> None:
        """Say that nothing more will end at or before a moment."""
        self._pass_time_together()
        if self.held is not None:
            for row in self.held.release(until):
                self._take_released(row, out)
            self.course.advance(until, out)
        elif self.arrives:
            self._settle_deadlines(until, out)
        else:
            self.course.advance(until, out)

    def _take_released(self, row: HeldRow, out: list[Any]) -> None:
        end, start, rank, (name, values, stamp) = row
        if stamp is not None and stamp.id is not None:
            self.held_ids.pop(stamp.id, None)
        self._process(name, values, start, end, rank, stamp, out)

    def release(self, row: HeldRow) -> tuple[Event, ...]:
        """Take an event that was held and is settled; return what it causes."""
        out: list[Any] = []
        self._take_released(row, out)
        return tuple([Event(raw) for raw in out])

    def advance(self, until: int, out: list[Any]) -> None:
        """Move the watermark to a moment."""
        if self.watermark is not None:
            self.ranked = self._next_rank()
            self.watermark.reached = until = max(until, self.watermark.reached)
        self.settle(until, out)

    def _settle_deadlines(self, until: int, out: list[Any]) -> None:
        """Let deadlines pass, in every partition that has one, among the events that came after them."""
        state = self.state
        before = self._settled
        self._settled = max(before, until)
        assert self.history is not None
        if self.rules.next_tick() <= until:
            chain = self.history.chain(self.history.together, TOGETHER, self.order)
            self._redo(self.history.together, TOGETHER, chain, chain, before, out)
            self.rules.ticks = [tick for tick in self.rules.ticks if tick[0] > until]
        while state.due <= until and state.due < NEVER:
            tag = state.timers[0][5]
            if tag is None or not tag.alive:
                state.pop_timer()
            else:
                chain = self.history.chain(tag.part, tag.key, self.order)
                self._redo(tag.part, tag.key, chain, chain, before, out)

    # corrections

    def _insert(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Put a late event where it belongs."""
        assert self.history is not None
        kind = (name, len(values))
        part = self.history.parts.get(kind)
        if part is None:
            return
        key = part.key(kind, values)
        old = self.history.chain(part, key, self.order)
        row = (end, start, rank, *values)
        self._remember(kind, row, stamp)
        self.history.is_sorted = False
        new = sorted([*old, (row, self.history.number_of[kind])], key=self.order)
        self._redo(part, key, old, new, self._settled, out)

    def retract(self, place: int, out: list[Any], instead: tuple[Kind, Row, Stamp | None] | None = None) -> None:
        """Take back the event at a place of the history; `instead` comes in its stead, in the same step."""
        history = self.history
        assert history is not None
        row, number, _ = history.row(place)
        assert row is not None
        kind = history.kinds[number]
        part = history.parts[kind]
        key = part.key(kind, row[3:])
        old = history.chain(part, key, self.order)
        history.take_out(place)
        if instead is None:
            self._redo(part, key, old, [item for item in old if item[0] is not row], self._settled, out)
            return
        history.is_sorted = False
        found: list[Any] = []
        self._replace(part, key, old, instead, found)
        out.extend(_net(found))

    def _replace(
        self, part: Part, key: Any, old: Chain, instead: tuple[Kind, Row, Stamp | None], out: list[Any]
    ) -> None:
        assert self.history is not None
        kind, row, stamp = instead
        other = self.history.parts.get(kind)
        other_key = None if other is None else other.key(kind, row[3:])
        if other is None or other is not part or other_key != key:
            self._redo(part, key, old, self.history.chain(part, key, self.order), self._settled, out)
            if other is None:
                return
            old = self.history.chain(other, other_key, self.order)
        self._remember(kind, row, stamp)
        self._redo(other, other_key, old, self.history.chain(other, other_key, self.order), self._settled, out)

    def _redo(self, part: Part, key: Any, old: Chain, new: Chain, before: int, out: list[Any]) -> None:
        """Run a partition as it was and as it is; report what differs, and put the new state in place."""
        replayer, state = self.replayer, self.state
        base = part.bases.get(key)
        if part.is_plain and base is None:
            was, made = replayer.swap(key, old, new, self.shelves)
            self._tell(was, made, out)
            return
        if self.arrives:
            was, gone = replayer.run(base, old, before, state.now, before)
            made, content = replayer.run(base, new, self._settled, state.now, self._settled)
        else:
            was, gone = replayer.run(base, old, NEVER, state.now, state.floor)
            made, content = replayer.run(base, new, NEVER, state.now, state.floor)
        self.shelves.drop(gone)
        tag = part.tags.pop(key, None)
        if tag is not None:
            tag.alive = False
        state.tag = self._tag(part, key) if content.timers else None
        self.shelves.put(content)
        self._tell(was, made, out)

    def _tell(self, was: list[Raw], made: list[Raw], out: list[Any]) -> None:
        """Report what differs between two runs."""
        for error in self.replayer.new_errors():
            self.report(error)
        if was != made:
            self._correct_made(was, made)
            out.extend(self._difference(was, made))

    def _correct_made(self, was: list[Raw], made: list[Raw]) -> None:
        """Bring the events made at the present moment up to date: each is made once."""
        now = self.state.now
        live = self.rules.heads.made
        for raw in was:
            kind = raw[2]
            noted = live[kind.name, kind.arity]
            if raw[0] == now == noted.stamp:
                noted.discard((raw[1], *raw[3 : 3 + kind.arity]), kind.arity)
        for raw in made:
            kind = raw[2]
            if raw[0] == now:
                live[kind.name, kind.arity].note(raw, kind.arity)

    def _difference(self, was: list[Raw], made: list[Raw]) -> list[Event]:
        if not made or not was:
            one: type[Event] = Event if made else Retraction
            return [one(raw) for raw in made or was if self._is_reported(raw)]
        before = {raw[: 3 + raw[2].arity]: raw for raw in was if self._is_reported(raw)}
        after = {raw[: 3 + raw[2].arity]: raw for raw in made if self._is_reported(raw)}
        gone = [Retraction(raw) for key, raw in before.items() if key not in after]
        return [*gone, *(Event(raw) for key, raw in after.items() if key not in before)]

    def _is_reported(self, raw: Raw) -> bool:
        kind = raw[2]
        reported = self.reported[kind.name, kind.arity]
        return reported is True or (reported is not False and reported(*raw[3 : 3 + kind.arity]))

    # taking back

    def _take_back_term(self, what: Any, start: int, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Take back what `rev(..)` names: an id, or an atom, at its time or, if it did not occur then, before it."""
        self._reach(end, stamp, out)
        if not isinstance(what, Struct) and self.take_back_id(what, out):
            return
        name, values = (what.name, tuple(what.args)) if isinstance(what, Struct) else (str(what), ())
        if self.held is not None and self._take_back_held(name, values, start, end):
            return
        place = self._find(name, values, start, end, before=True)
        if place is None:
            self.dead.add("rev", (what,), start, end, f"no event {format_value(what)} within the horizon")
        else:
            self.retract(place, out)

    def _take_back_held(self, name: str, values: Values, start: int, end: int) -> bool:
        """Hold an event no more: the one at its time or, if it did not occur then, the latest before that."""
        assert self.held is not None
        held = [row[:2] for row in self.held if row[3][:2] == (name, values) and row[0] <= end]
        wanted = (end, start) if (end, start) in held else max(held, default=None)
        return self.held.remove(lambda r: r[:2] == wanted and r[3][:2] == (name, values)) is not None

    def _reach(self, end: int, stamp: Stamp | None, out: list[Any]) -> None:
        """Let time reach the moment of a correction, if that is later."""
        if self.watermark is not None:
            self.settle(self.watermark.see(None if stamp is None else stamp.source, end), out)
        elif end > self.state.now:
            self._pass_time_together()
            self.course.move_to(end, out)

    def _pass_time_together(self) -> None:
        """Let what time points set be told apart from what events set, where both are corrected."""
        if self.history is not None and self.rules.ticks:
            self.state.tag = self._tag(self.history.together, TOGETHER)

    def take_back(
        self, name: str, values: Values, start: int, end: int, out: list[Any],
        instead: tuple[str, Values, int, int] | None = None,
    ) -> bool:  # fmt: skip
        """Take back the latest event equal to this one; False, and a dead letter, if there is none."""
        if self.held is not None:
            row = self.held.remove(lambda r: r[:2] == (end, start) and r[3][:2] == (name, values))
            if row is not None:
                self._hold_again(row, instead)
                return True
        place = self._find(name, values, start, end, before=False)
        if place is None:
            self.dead.add(
                "rev", (Struct(name, values) if values else name,), start, end, "no such event within the horizon"
            )
            return False
        self._take_back_at(place, instead, out)
        return True

    def take_back_id(
        self, name: Hashable, out: list[Any], instead: tuple[str, Values, int, int] | None = None
    ) -> bool:  # fmt: skip
        """Take back the event of an id."""
        if self.held is not None and name in self.held_ids:
            wanted = self.held_ids.pop(name)
            row = self.held.remove(lambda r: r[:3] == wanted and r[3][2] is not None and r[3][2].id == name)
            assert row is not None
            self._hold_again(row, instead)
            return True
        place = None if self.history is None else self.history.ids.get(name)
        if place is None or self.history is None:
            return False
        row = self.history.row(place)[0]
        if row is None or row[0] < self._limit():
            return False
        self._take_back_at(place, instead, out)
        return True

    def _hold_again(self, row: Any, instead: tuple[str, Values, int, int] | None) -> None:
        assert self.held is not None
        if instead is not None:
            name, values, start, end = instead
            self.held.add((end, start, row[2], (name, values, row[3][2])))

    def _take_back_at(self, place: int, instead: tuple[str, Values, int, int] | None, out: list[Any]) -> None:
        assert self.history is not None
        row = self.history.row(place)[0]
        assert row is not None
        if instead is None:
            self.retract(place, out)
            return
        name, values, start, end = instead
        stamp = Stamp(None, id=self.history.name_of(place))
        if end < self._limit():
            self._bury(name, values, start, end, self._limit())
        elif end > self.state.now:
            found: list[Any] = []
            self.retract(place, found)
            self.take(name, values, start, end, stamp, found)
            out.extend(_net([Event(raw) if raw.__class__ is tuple else raw for raw in found]))
        else:
            self.retract(place, out, ((name, len(values)), (end, start, row[2], *values), stamp))

    def _find(self, name: str, values: Values, start: int, end: int, *, before: bool) -> int | None:
        if self.history is None:
            return None
        place = self.history.find((name, len(values)), values, start, end, before=before)
        row = None if place is None else self.history.row(place)[0]
        return place if row is not None and row[0] >= self._limit() else None

    def _limit(self) -> int:
        """Return the end before which nothing changes any more."""
        if self.horizon is None:
            return BEGINNING
        limit = self.state.now - self.horizon if self.revises else NEVER
        if self.arrives:
            assert self.watermark is not None
            limit = min(limit, self.watermark.reached + 1)
        return limit

    # the horizon

    def forget(self) -> None:
        """Let go what can change no more."""
        assert self.history is not None
        self.history.forget(self._limit(), self.order, self._is_idle, self._settle_rows)

    def _settle_rows(self, part: Part, key: Any, chain: Chain, until: int | None) -> Content | None:
        """Return the state that old rows leave behind, None if nothing; time passes up to a moment or the last row."""
        base = part.bases.get(key)
        if until is None:
            until = chain[-1][0][0] if chain else (BEGINNING if base is None else base.now)
        _, content = self.replayer.run(base, chain, self._settled if self.arrives else NEVER, until, BEGINNING)
        return None if content.is_empty() else content

    def _is_idle(self, part: Part, key: Any) -> bool:
        """Tell whether a partition is sure to have no state."""
        return part.is_plain and all(key not in table for table in self.shelves.tables)


def _by_place(item: tuple[Row, int]) -> Any:
    return item[0][:3]


def _by_arrival(item: tuple[Row, int]) -> Any:
    return item[0][0], item[0][2]


def _net(changes: list[Event]) -> list[Event]:
    """Leave out what one step both takes back and reports again."""
    come = {c for c in changes if c.sign > 0}
    both = come & {c.reported for c in changes if isinstance(c, Retraction)}
    return [c for c in changes if (c.reported if isinstance(c, Retraction) else c) not in both]
