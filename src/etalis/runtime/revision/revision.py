"""Revision: a history that changes after it was processed, over an engine that processes events in order.

The events of the partition that is concerned are run twice from where their history begins, as they were and as they
now are; the difference is reported, and the state that the second run comes to takes the place of the partition's
state. Law: after every step the engine stands as if it had been given the corrected history in order.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from etalis.errors import ConditionError
from etalis.plan.keys import Kind, find_partitioning
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import Tag, Timer
from etalis.runtime.lateness.watermark import Stamp, Values, Watermark
from etalis.runtime.revision.changelog import Changelog, net
from etalis.runtime.revision.checkpoint import Checkpoint
from etalis.runtime.revision.history import BEHIND_DUE, FIRST, TOGETHER, History, RulePartitions
from etalis.runtime.revision.replay import EVERY, Chain, Replayer
from etalis.runtime.revision.row_log import Row
from etalis.runtime.revision.rule_epochs import Content, Shelves, Turn
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import BEGINNING, NEVER, Raw

if TYPE_CHECKING:
    from etalis.runtime.ruleset import Pair, RuleSet


T = TypeVar("T")

LEAST_EPOCHS = 8


class Following(Protocol):
    """What follows corrections: the reactions of an engine."""

    def part(self, was: list[Raw], made: list[Raw]) -> tuple[list[Raw], list[Raw]]:
        """Take what concerns it out of two runs."""
        ...

    def follow(self, out: list[Any]) -> None:
        """Do what the corrections of one input ask for."""
        ...

    def forget_before(self, limit: int) -> None:
        """Forget what changes no more."""
        ...


class Revision:
    """The history within the horizon, and how it is changed."""

    def __init__(
        self,
        run_loop: RunLoop,
        watermark: Watermark | None,
        again: Callable[..., RuleSet],
        report: Callable[[ConditionError], None],
    ) -> None:
        settings = run_loop.program.settings
        self.run_loop = run_loop
        self.state = run_loop.state
        self.rules = run_loop.rules
        self.report = report
        self.watermark = watermark
        self.revises = settings.revision
        self.horizon = settings.revision_window if settings.revision else BEGINNING
        self.order = _by_arrival if watermark is None else _by_place
        self.history = History(self.rules.partitioning(), self.rules.kinds_seen())
        self.replayer = Replayer(run_loop.program, again, self.rules, self.order)
        self.replayer.behind_due = lambda: self.history.ids.get(BEHIND_DUE, ())
        self.changelog = Changelog(self.rules)
        self.reactions: Following | None = None
        self._latest = BEGINNING  # the end of the last event in order
        self._fit()
        self.arrives = watermark is not None and settings.reporting == "on_arrival"  # deadlines wait for the watermark
        if self.arrives:
            run_loop.settled = BEGINNING
        self.settled = BEGINNING
        self._epochs_at = LEAST_EPOCHS  # how many make it worth while to look whether old ones can go

    def _fit(self) -> None:
        """Fit everything to the rules that hold; note where a partition's key alone tells whether it has any state."""
        self.shelves = Shelves(self.rules, self.replayer.epochs[-1].places)
        self.replayer.listen(self.history.kinds)
        for epoch in self.replayer.epochs:
            self.changelog.follow(epoch.rules)
        busy = self.rules.has_timers or self.rules.numbered or len(self.replayer.epochs) > 1
        for part in self.history.all_parts():
            part.is_plain = not busy and part.positions is not None and self.rules.keys_are(part.positions)

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
            self._latest = end
        if self.rules.has_timers:
            tag = self.state.tag = self._tag_of(kind, values)
        self.run_loop.process(kind, values, start, end, rank, out, tag)
        if self.history.is_long():
            self.forget()

    def remember_raised(self, kind: Kind, args: Values, start: int, end: int) -> None:
        """Remember an event that a reaction has raised, as one that came in."""
        if kind in self.history.parts:
            passed = max(self.run_loop.fallen, self.settled if self.arrives else self.state.floor)
            self.history.add(
                kind, (end, start, self.history.next_place(), *args), BEHIND_DUE if end <= passed else None
            )
            self.history.is_sorted = self.history.is_sorted and end >= self._latest  # the input behind it may be there

    def follow(self, out: list[Any]) -> None:
        """Let reactions follow what was corrected."""
        if self.reactions is not None:
            self.reactions.follow(out)

    def _remember(self, kind: Kind, row: Row, stamp: Stamp | None) -> None:
        self.history.add(kind, row, None if stamp is None else stamp.id)

    def _tag_of(self, kind: Kind, values: Values) -> Tag:
        """Return the tag of an event's partition; what time points set, too, where there are any, stays together."""
        part = self.history.parts.get(kind)
        if part is None:
            return self.tag(self.history.together, TOGETHER)
        return self.tag(part, part.key(kind, values))

    def tag(self, part: RulePartitions, key: Any) -> Tag:
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
        turn = self.replayer.epochs[-1].turn
        if turn is not None and (end, start, rank) <= turn.place:
            return False
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
        item = (row, history.number_of[kind])
        after, old = self._recall(part, key, item)
        self._remember(kind, row, stamp)
        history.is_sorted = False
        new = old.copy()
        insort(new, item, key=self.order)
        if self.rules.record is not None:
            self.rules.record.come_late(row[2], self.state.now)
        self._redo(part, key, after, old, new, self.settled, out)

    def retract(self, place: int, out: list[Any], instead: tuple[Kind, Row, Stamp | None] | None = None) -> None:
        """Take back the event at a place of the history; `instead` comes in its stead, in the same step."""
        history = self.history
        row, number, _ = history.row(place)
        assert row is not None
        kind = history.kinds[number]
        part = history.parts[kind]
        key = part.key(kind, row[3:])
        if self.rules.record is not None:
            self.rules.record.begin_correction(place, row[2])
        if instead is not None:
            found: list[Any] = []
            self._replace(place, (row, number), part, key, instead, found)
            out.extend(net(found))
            return
        after, old = self._recall(part, key, (row, number))
        history.take_out(place)
        # Ranks tell rows apart unless the host gave some.
        told = not history.rows.has_apart()
        new = [x for x in old if x[0][2] != place] if told else history.chain(part, key, self.order, after)
        self._redo(part, key, after, old, new, self.settled, out)

    def _replace(
        self, place: int, wrong: tuple[Row, int], part: RulePartitions, key: Any,
        instead: tuple[Kind, Row, Stamp | None], out: list[Any],
    ) -> None:  # fmt: skip
        history = self.history
        kind, row, stamp = instead
        other = history.parts.get(kind)
        other_key = None if other is None else other.key(kind, row[3:])
        right = None if other is None else (row, history.number_of[kind])
        together = right is not None and other is part and other_key == key
        after, old = self._recall(part, key, min(wrong, right, key=self.order) if right and together else wrong)
        history.take_out(place)
        history.is_sorted = False
        if not together:
            self._redo(part, key, after, old, history.chain(part, key, self.order, after), self.settled, out)
            if other is None:
                return
            part, key = other, other_key
            after, old = self._recall(part, key, right)
        self._remember(kind, row, stamp)
        self._redo(part, key, after, old, history.chain(part, key, self.order, after), self.settled, out)

    def settle_in_turn(self, until: int, out: list[Any]) -> None:
        """Let deadlines pass; where there are reactions, one moment after the other, since what they raise comes in."""
        if self.reactions is not None:
            while (due := self._next_due()) <= until and due < NEVER:
                self.settle_deadlines(due, out)
                self.reactions.follow(out)
        self.settle_deadlines(until, out)
        self.follow(out)

    def _next_due(self) -> int:
        """Return the next moment at which something is due."""
        timers = self.state.timers
        while (first := timers.first()) is not None and (first[5] is None or not first[5].alive):
            timers.pop()
        return min(self.rules.next_tick(), NEVER if first is None else first[0])

    def settle_deadlines(self, until: int, out: list[Any]) -> None:
        """Let deadlines pass, in every partition that has one, among the events that came after them."""
        state = self.state
        before = self.settled
        self.settled = max(before, until)
        if self.rules.next_tick() <= until:
            self._redo_unchanged(self.history.together, TOGETHER, before, out)
            self.rules.ticks = [tick for tick in self.rules.ticks if tick[0] > until]
        while (first := state.timers.first()) is not None and first[0] <= until:
            tag = first[5]
            if tag is None or not tag.alive:
                state.timers.pop()
            else:
                self._redo_unchanged(tag.part, tag.key, before, out)
        if state.now < until < NEVER:
            state.now = until

    def _redo_unchanged(self, part: RulePartitions, key: Any, before: int, out: list[Any]) -> None:
        after, chain = self._recall(part, key, None)
        self._redo(part, key, after, chain, chain, before, out)

    def _recall(
        self, part: RulePartitions, key: Any, changed: tuple[Row, int] | None
    ) -> tuple[Checkpoint | None, Chain]:
        """Return the rows of a partition from the last checkpoint before a change on, without one all."""
        after = None
        if part.checkpoints:
            after = part.checkpoints.before(key, None if changed is None else self.order(changed))
        return after, self.history.chain(part, key, self.order, after)

    def _redo(
        self,
        part: RulePartitions,
        key: Any,
        after: Checkpoint | None,
        old: Chain,
        new: Chain,
        before: int,
        out: list[Any],
    ) -> None:
        """Run a partition as it was and as it is; report what differs, and put the new state in place."""
        replayer, state = self.replayer, self.state
        base = part.bases.get(key) if after is None else after.content
        if part.is_plain and base is None and len(new) <= EVERY:
            if part.checkpoints:
                part.checkpoints.drop(key)
            was, made = replayer.swap(key, old, new, self.shelves)
            self._tell(was, made, out)
            return
        noted: list[tuple[int, Content]] = []
        if self.arrives:
            was, gone = replayer.run(base, old, before, state.now, before)
            made, content = replayer.run(base, new, self.settled, state.now, self.settled, noted)
        else:
            was, gone = replayer.run(base, old, NEVER, state.now, state.floor)
            made, content = replayer.run(base, new, NEVER, state.now, state.floor, noted)
        self.shelves.drop(gone)
        tag = part.tags.pop(key, None)
        if tag is not None:
            tag.alive = False
        state.tag = self.tag(part, key) if content.timers else None
        self.shelves.put(content)
        if noted or part.checkpoints:
            part.checkpoints.put(key, after, self._checkpoints(part, key, after, new, noted))
        self._tell(was, made, out)

    def _checkpoints(
        self, part: RulePartitions, key: Any, after: Checkpoint | None, chain: Chain, noted: list[tuple[int, Content]]
    ) -> list[Checkpoint]:
        """Return what is noted as checkpoints, each with the first place of all rows behind it."""
        if not noted:
            return []
        since = FIRST if after is None else after.since
        rows = takewhile(lambda row: row[0] >= since, self.history.walk(part.last[key]))
        behind = sorted((self.order((row, number)), place) for place, row, number in rows)
        least = [*accumulate((place for _, place in reversed(behind)), min, initial=self.history.next_place())][::-1]
        count = 0 if after is None else after.count
        found = []
        for stop, content in noted:
            order = self.order(chain[stop - 1])
            first = least[bisect_right(behind, order, key=itemgetter(0))]
            found.append(Checkpoint(order, count + stop, first, content))
        return found

    def _tell(self, was: list[Raw], made: list[Raw], out: list[Any]) -> None:
        if self.replayer.errors:
            for error in self.replayer.new_errors():
                self.report(error)
        if self.reactions is not None:
            was, made = self.reactions.part(was, made)
            self.rules.heads.number_like(self.replayer.epochs[-1].rules.heads)
        if self.rules.record is not None:
            self.rules.record.correct(was, made)
        self.changelog.write(was, made, out)

    # other rules

    def turn(self, change: Callable[[], T], *, empties: bool = False) -> T:
        """Change the rules from now on; what is corrected later runs under the rules of its time."""
        timers = list(self.state.timers)
        found = change()
        if self.state.now == BEGINNING:
            self.replayer.begin_anew(self.rules)
            self.history.set_parts({})
        else:
            self.replayer.add(self._place_turn(empties), self.rules)
        self._keep_timers(timers, empties)
        for part in self.history.all_parts():
            part.checkpoints.clear()
        self.state.tag = None  # what is set next belongs to what comes next
        self.regroup()
        if len(self.replayer.epochs) > self._epochs_at:
            self.forget()
            self._epochs_at = max(LEAST_EPOCHS, 2 * len(self.replayer.epochs))
        return found

    def restore_epochs(self, epochs: Sequence[tuple[int, Turn | None, Sequence[Pair]]]) -> None:
        """Take the epochs of a run that this one goes on from."""
        self.replayer.restore(epochs, self.rules)
        self.regroup()

    def _place_turn(self, empties: bool) -> Turn:
        """Return a change of rules after all that was processed so far."""
        now = self.state.now
        if (self.settled if self.arrives else self.state.floor) >= now:
            return Turn((now, NEVER), now, True, empties)
        latest = [self.order((row, number)) for _, row, number in self.history.items() if row[0] == now]
        return Turn(max(latest, default=(now,)), now, False, empties)

    def regroup(self) -> None:
        """Keep together what the rules of any epoch do not part."""
        rules = {planned.number: planned for e in self.replayer.epochs for planned, _ in e.rules.rules}
        partitioning = find_partitioning([planned.head for planned in rules.values()], self.rules.program.tree)
        if self.state.now > BEGINNING and self.limit() > BEGINNING and self.history.parts_anew(partitioning):
            self.history.settle_before(self.limit(), self.order, self._settle_rows)
        gone = self.history.regroup(partitioning, self.rules.kinds_seen())
        self._fit()
        if gone:
            self.state.timers.replace([(*timer[:5], self._joined(timer[5], gone)) for timer in self.state.timers])

    def _joined(self, tag: Tag | None, gone: list[RulePartitions]) -> Tag | None:
        if tag is None or tag.part not in gone or not tag.alive:
            return tag
        return self.tag(self.history.together, TOGETHER)

    def _keep_timers(self, before: list[Timer], empties: bool) -> None:
        """Keep the timers of rules that are there, and remember what was due under others but is not settled."""
        owners, turn = self.rules.timer_owners(), self.replayer.epochs[-1].turn
        kept: list[Timer] = []
        for timer in before:
            due, since, sequence, owner, _, tag = timer
            if not empties and owners.get(owner.place) is owner:
                kept.append(timer)
            elif self.arrives and turn is not None and due > self.settled and turn.cuts_off(due):
                kept.append((due, since, sequence, self.rules.pending, (), tag))
        self.state.timers.replace(kept)

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

    def find_id(self, name: Any) -> list[int]:
        """Return where the events of an id are that may still change."""
        found = [(place, self.history.row(place)[0]) for place in self.history.ids.get(name, ())]
        return [place for place, row in found if row is not None and row[0] >= self.limit()]

    def forget(self) -> None:
        """Let go what can change no more."""
        limit = self.limit()
        if self.reactions is not None:
            self.reactions.forget_before(limit)
        self.history.forget(limit, self.order, self._is_idle, self._settle_rows)
        if self.replayer.at(limit):
            self.history.settle_before(limit, self.order, self._settle_rows)
            self.replayer.drop_before(limit)
            self._fit()

    def _settle_rows(self, part: RulePartitions, key: Any, chain: Chain, until: int) -> Content | None:
        """Return the state that the rows before a moment leave behind, None if nothing.

        Where there are time points, it says at least which of them have been.
        """
        content = self.replayer.settle(part.bases.get(key), chain, self.settled if self.arrives else NEVER, until)
        timed = part is self.history.together and self.replayer.has_ticks
        return content if timed or not content.is_empty() else None

    def _is_idle(self, part: RulePartitions, key: Any) -> bool:
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
