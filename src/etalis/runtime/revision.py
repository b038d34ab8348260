"""A history that changes after it was processed, over an engine that takes events in order.

The events of the partition that is concerned are run twice from where their history begins, as they were and as they
now are; the difference is reported, and the state that the second run comes to takes the place of the partition's
state. Law: after every step the engine stands as if it had been given the corrected history in order.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.plan.keys import Kind
from etalis.runtime.changelog import Changelog, net
from etalis.runtime.code import Code
from etalis.runtime.course import Course
from etalis.runtime.history import TOGETHER, History, Part
from etalis.runtime.order import Stamp, Values, Watermark
from etalis.runtime.replay import Chain, Content, Replayer, Shelves
from etalis.runtime.row_log import Row
from etalis.runtime.state import BEGINNING, NEVER, Raw, Tag

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet


class Revision:
    """The history within the horizon, and how it is changed."""

    def __init__(
        self,
        course: Course,
        watermark: Watermark | None,
        again: Callable[..., RuleSet],
        report: Callable[[ConditionError], None],
    ) -> None:
        settings = course.program.settings
        self.course = course
        self.state = course.state
        self.rules = course.rules
        self.report = report
        self.watermark = watermark
        self.revises = settings.revision
        self.horizon = settings.revision_window if settings.revision else BEGINNING
        kinds, places = self.rules.kinds_seen(), list(self.rules.memory)
        self.history = History(self.rules.partitioning(), kinds)
        self.replayer = Replayer(course.program, again, kinds, places)
        self.shelves = Shelves(self.rules, places)
        self.changelog = Changelog(self.rules, self.replayer.rules)
        self._find_plain_parts()
        self.arrives = watermark is not None and settings.reporting == "on_arrival"  # deadlines wait for the watermark
        if self.arrives:
            course.settled = BEGINNING
        self.order = _by_arrival if watermark is None else _by_place
        self.settled = BEGINNING

    def _find_plain_parts(self) -> None:
        """Note where the key of a partition alone tells whether it has any state."""
        for part in self.history.all_parts():
            keyed = part.positions is not None and self.rules.keys_are(part.positions)
            part.is_plain = keyed and not (self.rules.has_timers or self.rules.numbered)

    def log(self, code: Code, kind: Kind, parameters: list[str], time: str) -> None:
        """Write into generated code that an event in order is remembered."""
        self.history.write(code, kind, parameters, time, self.forget)

    # events in order

    def process(
        self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None, out: list[Any]
    ) -> None:
        """Process an event in order, and remember it."""
        kind = (name, len(values))
        tag = None
        if kind in self.history.parts:
            self._remember(kind, (end, start, rank, *values), stamp)
        if self.rules.has_timers:
            tag = self.state.tag = self._tag_of(kind, values)
        self.course.process(kind, values, start, end, rank, out, tag)
        if self.history.is_long():
            self.forget()

    def _remember(self, kind: Kind, row: Row, stamp: Stamp | None) -> None:
        self.history.add(kind, row, None if stamp is None else stamp.id)

    def _tag_of(self, kind: Kind, values: Values) -> Tag:
        """Return the tag of an event's partition; what time points set, too, where there are any, stays together."""
        part = self.history.parts.get(kind)
        if part is None:
            return self.tag(self.history.together, TOGETHER)
        return self.tag(part, part.key(kind, values))

    def tag(self, part: Part, key: Any) -> Tag:
        """Return the tag of a partition."""
        tag = part.tags.get(key)
        if tag is None:
            tag = part.tags[key] = Tag(part, key)
        return tag

    def pass_time_together(self) -> None:
        """Let what time points set be told apart from what events set, where both are corrected."""
        if self.rules.ticks:
            self.state.tag = self.tag(self.history.together, TOGETHER)

    def is_in_order(self, name: str, values: Values, start: int, end: int, rank: int, stamp: Stamp | None) -> bool:
        """Tell whether nothing of an event's partition that is behind it in order has been processed."""
        now = self.state.now
        if end != now:
            return end > now
        part = self.history.parts.get((name, len(values)))
        if part is None or (start == end and (stamp is None or stamp.rank is None)):
            return True
        chain = self.history.chain(part, part.key((name, len(values)), values), self.order)
        return not chain or bool(chain[-1][0][:3] <= (end, start, rank))

    # changes

    def insert(self, kind: Kind, row: Row, stamp: Stamp | None, out: list[Any]) -> None:
        """Put a late event where it belongs."""
        history = self.history
        part = history.parts.get(kind)
        if part is None:
            return
        key = part.key(kind, row[3:])
        old = history.chain(part, key, self.order)
        self._remember(kind, row, stamp)
        history.is_sorted = False
        new = old.copy()
        insort(new, (row, history.number_of[kind]), key=self.order)
        self._redo(part, key, old, new, self.settled, out)

    def retract(self, place: int, out: list[Any], instead: tuple[Kind, Row, Stamp | None] | None = None) -> None:
        """Take back the event at a place of the history; `instead` comes in its stead, in the same step."""
        history = self.history
        row, number, _ = history.row(place)
        assert row is not None
        kind = history.kinds[number]
        part = history.parts[kind]
        key = part.key(kind, row[3:])
        old = history.chain(part, key, self.order)
        history.take_out(place)
        if instead is None:
            # Ranks tell rows apart unless the host gave some.
            told = not history.rows.has_apart()
            new = [item for item in old if item[0][2] != place] if told else history.chain(part, key, self.order)
            self._redo(part, key, old, new, self.settled, out)
            return
        history.is_sorted = False
        found: list[Any] = []
        self._replace(part, key, old, instead, found)
        out.extend(net(found))

    def _replace(
        self, part: Part, key: Any, old: Chain, instead: tuple[Kind, Row, Stamp | None], out: list[Any]
    ) -> None:
        kind, row, stamp = instead
        other = self.history.parts.get(kind)
        other_key = None if other is None else other.key(kind, row[3:])
        if other is None or other is not part or other_key != key:
            self._redo(part, key, old, self.history.chain(part, key, self.order), self.settled, out)
            if other is None:
                return
            old = self.history.chain(other, other_key, self.order)
        self._remember(kind, row, stamp)
        self._redo(other, other_key, old, self.history.chain(other, other_key, self.order), self.settled, out)

    def settle_deadlines(self, until: int, out: list[Any]) -> None:
        """Let deadlines pass, in every partition that has one, among the events that came after them."""
        state = self.state
        before = self.settled
        self.settled = max(before, until)
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
            made, content = replayer.run(base, new, self.settled, state.now, self.settled)
        else:
            was, gone = replayer.run(base, old, NEVER, state.now, state.floor)
            made, content = replayer.run(base, new, NEVER, state.now, state.floor)
        self.shelves.drop(gone)
        tag = part.tags.pop(key, None)
        if tag is not None:
            tag.alive = False
        state.tag = self.tag(part, key) if content.timers else None
        self.shelves.put(content)
        self._tell(was, made, out)

    def _tell(self, was: list[Raw], made: list[Raw], out: list[Any]) -> None:
        if self.replayer.errors:
            for error in self.replayer.new_errors():
                self.report(error)
        self.changelog.write(was, made, out)

    # the horizon

    def limit(self) -> int:
        """Return the end before which nothing changes any more."""
        if self.horizon is None:
            return BEGINNING
        limit = self.state.now - self.horizon if self.revises else NEVER
        if self.arrives:
            assert self.watermark is not None
            limit = min(limit, self.watermark.reached + 1)
        return limit

    def find(self, name: str, values: Values, start: int, end: int, *, before: bool) -> int | None:
        """Return where an event is that may still change: the latest of its time or, if there is none, before it."""
        kind = (name, len(values))
        return self.history.find(kind, values, start, end, before=before, since=self.limit())

    def find_id(self, name: Any) -> int | None:
        """Return where the event of an id is, if it may still change."""
        place = self.history.ids.get(name)
        row = None if place is None else self.history.row(place)[0]
        return place if row is not None and row[0] >= self.limit() else None

    def forget(self) -> None:
        """Let go what can change no more."""
        self.history.forget(self.limit(), self.order, self._is_idle, self._settle_rows, self.shelves.has_none_of)

    def _settle_rows(self, part: Part, key: Any, chain: Chain, until: int | None) -> Content | None:
        """Return the state that old rows leave behind, None if nothing; time passes up to a moment or the last row."""
        base = part.bases.get(key)
        if until is None:
            until = chain[-1][0][0] if chain else (BEGINNING if base is None else base.now)
        _, content = self.replayer.run(base, chain, self.settled if self.arrives else NEVER, until, BEGINNING)
        return None if content.is_empty() else content

    def _is_idle(self, part: Part, key: Any) -> bool:
        """Tell whether a partition is sure to have no state."""
        if part.is_plain:
            for table in self.shelves.tables:
                if key in table:
                    return False
        return part.is_plain


def _by_place(item: tuple[Row, int]) -> Any:
    return item[0][:3]


def _by_arrival(item: tuple[Row, int]) -> Any:
    return item[0][0], item[0][2]
