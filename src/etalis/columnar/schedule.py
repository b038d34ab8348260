"""What happens between rows: time points, alarms, deadlines, missing partners, each with a slot of its own (`clock`).

A batch has slots for every moment at which something may fall due, after the rows that end then, and one for every
time point, before them. A moment has steps (definition 6.14): alarms, then absences, of these first those whose left
side ended last; an alarm that is due at once comes in the step after its cause. Law: all moments of a batch are known
before anything that depends on them is computed, since delays are constants, or told by rows alone, perhaps through
rules to which nothing happens by itself; one at which nothing falls due changes nothing. Rows without a partner are
found before anything that reads them is computed, and get their steps then (`Clock.with_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Protocol, TypeAlias

import numpy as np

from etalis.columnar.clock import DUE, END, Clock, FixedSteps, arrange, waiting_step
from etalis.columnar.data.batches import InputBatch, cut
from etalis.columnar.data.columns import Integers
from etalis.errors import EventError, Problem
from etalis.language.ground_terms import ground
from etalis.language.syntax import Alarm
from etalis.plan import algebra as p
from etalis.runtime.codegen.conditions import to_moment

Kind: TypeAlias = tuple[str, int]

MOST_ROWS = 1 << 20  # slots of a batch
MOST_DELAYS = 64
LONGEST = END >> 8  # of delays and time points: with rows' own times, sums stay before the end
_TOLD = 8  # slots for each row, where those without a partner are judged in steps of their own


class Timer(Protocol):
    """Something that falls due."""

    def due(self) -> Integers:
        """Return when what waits is due."""
        ...


def alarm_delay(alarm: Alarm) -> int | None:
    """Return the delay or the moment of an alarm in microseconds, None if that is no constant, or no good one."""
    value = ground(alarm.when)
    if value is None:
        return None
    try:
        moment = to_moment(value)
    except (TypeError, ValueError):
        return None
    return moment if alarm.kind == "at" or moment > 0 else None


def is_told(head: p.Head, heads: Sequence[p.Head]) -> bool:
    """Tell whether rows alone tell the time that a rule sets its alarm for: nothing that it reads happens by itself."""
    below = find_makers(p.read_kinds(head.body), heads)
    nodes = [node for each in (head, *below) for node in p.walk(each.body)]
    return all(each.alarm is None for each in below) and not any(isinstance(n, p.Tick) or p.falls_due(n) for n in nodes)


def find_makers(kinds: Collection[Kind], heads: Sequence[p.Head]) -> list[p.Head]:
    """Return the rules that make events of some kinds, and all that these need."""
    found: dict[int, p.Head] = {}
    wanted = list(kinds)
    for kind in wanted:
        makers = [h for h in heads if h.kind == kind and id(h) not in found]
        found.update({id(head): head for head in makers})
        wanted += [more for head in makers for more in p.read_kinds(head.body)]
    return list(found.values())


class Schedule:
    """When something may happen by itself, of all rules over columns."""

    def __init__(self, heads: Sequence[p.Head], timers: Sequence[Timer]) -> None:
        nodes = [node for head in heads for node in p.walk(head.body)]
        alarms = [head.alarm for head in heads if head.alarm is not None]
        self.timers = timers
        ticks = dict.fromkeys(node for node in nodes if isinstance(node, p.Tick))  # `any` makes several of one
        self.ticks = sorted(ticks, key=lambda tick: tick.time)
        self.waiting = list(self.ticks)
        waiting = sorted({waiting_step(node) for node in nodes if isinstance(node, p.Deadline)})
        delays = [(alarm.kind, alarm_delay(alarm)) for alarm in alarms]
        self.fixed = [moment for kind, moment in delays if kind == "at" and moment is not None]
        apart = 1 + sum(kind == "at" for kind, _ in delays)
        outer = sum(isinstance(node, p.Join) and p.falls_due(node) for node in nodes)
        self.layout = FixedSteps(apart if alarms else 0, apart, tuple(waiting), outer)
        self.judges = outer > 0  # whether it is found in a batch what has no partner
        self.steps = self.layout.steps
        self.sums = find_sums(heads)
        self.kinds = _feeding(heads)
        self.places = np.zeros(0, np.int64)  # of rows that nothing comes between
        self.reached = -END
        self.handed = 0  # how many rows of the last batch have been handed out
        causes = 2 + sum(delay is None for _, delay in delays)  # rows, moments that wait, moments that rows tell
        told = _TOLD + 2 * self.steps * len(self.sums) if self.judges else 0
        self.size = MOST_ROWS // (1 + causes * self.steps * len(self.sums) + told)  # of a piece

    def begin(self, now: int) -> None:
        """Go on from a moment that time has reached."""
        self.waiting = [tick for tick in self.ticks if tick.time > now]
        self.reached = now

    def mark(self) -> Callable[[], None]:
        """Return what goes back to where time stands now."""
        waiting, reached = list(self.waiting), self.reached

        def back() -> None:
            self.waiting, self.reached = list(waiting), reached

        return back

    def pieces(self, batch: InputBatch) -> Iterator[InputBatch]:
        """Yield a batch in pieces that have turns enough, rows without an event among them that only let time pass."""
        count = len(batch.end)
        self.handed = low = 0
        if count == 0:
            yield batch
        while low < count:
            high = min(low + self.size, count)
            due = self._due()
            if len(due) > self.size and due[self.size] < batch.end[high - 1]:
                high = int(np.searchsorted(batch.end, due[self.size]))
            if high > low:
                self.handed = high
                yield batch if high - low == count else cut(batch, low, high)
                low = high
            else:
                yield _moment(due[self.size])

    def rest(self, horizon: int = END) -> Iterator[InputBatch]:
        """Yield what lets time pass until one more piece has turns for all that is due before a horizon."""
        while len(due := self._due()) > self.size and due[self.size] < horizon:
            yield _moment(due[self.size])

    @property
    def may_fall_due(self) -> bool:
        """Whether something may happen by itself, when time passes."""
        return bool(self.steps or self.waiting or self.judges)

    def _due(self) -> Integers:
        return _distinct([timer.due() for timer in self.timers])

    def clock(self, batch: InputBatch, horizon: int, reached: int, told: Sequence[Integers] = ()) -> Clock:
        """Return the order of a batch: what falls due before a horizon, and time points up to what is reached.

        `told` are the moments that its events tell.
        """
        ends = batch.end
        ticks: list[p.Tick] = []
        while self.waiting and self.waiting[0].time <= reached:
            ticks.append(self.waiting.pop(0))
        times = np.array([tick.time for tick in ticks], np.int64)
        moments = self._moments(batch, [times, *told], horizon)
        self.reached = max(self.reached, horizon)
        if not ticks and not len(moments):
            if len(self.places) < len(ends):
                self.places = np.arange(len(ends))
            fixed = np.zeros((0, self.steps), np.int64)
            return Clock(horizon, ends, self.places[: len(ends)], {}, moments, fixed, self.layout)
        return _checked(arrange(horizon, ends, ticks, moments, self.layout))

    def with_steps(self, clock: Clock, keys: Integers) -> tuple[Clock, Integers, Integers]:
        """Return the order of a batch with the steps of rows without a partner, and with what these may set.

        With it come where each slot is now, and the slots of the new steps.
        """
        moments = clock.moments
        if self.steps:
            moments = _distinct([keys[DUE] + delay for delay in self.sums])
            moments = moments[moments < clock.horizon]
        found = clock.with_steps(keys, moments)
        _checked(found[0])
        return found

    def _moments(self, batch: InputBatch, more: Sequence[Integers], horizon: int) -> Integers:
        """Return when something may fall due, each moment once, in order."""
        if not self.steps:
            return np.zeros(0, np.int64)
        rows = [batch.end[r.rows] for kind, r in batch.events.items() if kind in self.kinds]
        fixed = np.array([moment for moment in self.fixed if moment >= self.reached], np.int64)
        causes = _distinct([*rows, self._due(), *more, fixed])
        found = _distinct([causes + delay for delay in self.sums])
        return found[found < horizon]


def _checked(clock: Clock) -> Clock:
    if clock.size > MOST_ROWS:
        hint = "take smaller batches, or push the events to an engine"
        raise EventError(Problem("E607", "too much falls due at different moments of one batch", hint=hint))
    return clock


def _moment(time: int) -> InputBatch:
    return InputBatch(np.array([time]), np.array([time]), {})


def _distinct(several: Sequence[Integers]) -> Integers:
    """Return several moments in order, each once; times mostly come in order, which a stable sort makes use of."""
    filled = [times for times in several if len(times)]
    if not filled:
        return np.zeros(0, np.int64)
    found = np.sort(np.concatenate(filled), kind="stable") if len(filled) > 1 else filled[0]
    rises = found[1:] > found[:-1]
    if rises.all():
        return found
    if len(filled) == 1 and (found[1:] < found[:-1]).any():
        found = np.sort(found, kind="stable")
        rises = found[1:] > found[:-1]
    return found[np.concatenate(([True], rises))]


def find_sums(heads: Sequence[p.Head]) -> list[int]:
    """Return how long after a row, time point or anything that waits something may fall due, at most `MOST_DELAYS`."""
    delays = {node.duration for head in heads for node in p.walk(head.body) if isinstance(node, p.Deadline)}
    delays |= {alarm_delay(h.alarm) or 0 for h in heads if h.alarm is not None and h.alarm.kind == "after"} - {0}
    deepest = max((depth for depth in depths(heads).values()), default=0)
    several: Iterable[tuple[int, ...]] = (
        some for count in range(deepest + 1) for some in combinations_with_replacement(sorted(delays), count)
    )
    found: dict[int, None] = {}
    for some in several:
        found[sum(some)] = None
        if len(found) > MOST_DELAYS:
            break
    return list(found)


def depths(heads: Sequence[p.Head]) -> dict[Kind, int]:
    """Return how many things may have to fall due, one after the other, before an event of each kind is made."""
    found: dict[Kind, int] = {}
    for _ in heads:
        before = dict(found)
        for head in heads:
            kind = head.kind
            depth = _depth(head.body, found) + (head.alarm is not None)
            found[kind] = max(depth, found.get(kind, 0))
        if found == before:
            break
    return found


def _depth(node: p.Node, known: Mapping[Kind, int]) -> int:
    if isinstance(node, p.Source):
        return known.get((node.name, len(node.args)), 0)
    below = max((_depth(part, known) for part in (*p.children(node), *p.negated(node))), default=0)
    return below + isinstance(node, p.Deadline)


def _feeding(heads: Sequence[p.Head]) -> set[Kind]:
    """Return the kinds of event that may set something, directly or through others."""
    wanted: set[Kind] = set()
    for head in heads:
        starts = [head.body] if head.alarm is not None else []
        starts += [node.left for node in p.walk(head.body) if isinstance(node, p.Deadline)]
        wanted |= {kind for start in starts for kind in p.read_kinds(start)}
    while True:
        more = {k for head in heads if head.kind in wanted for k in p.read_kinds(head.body)}
        if more <= wanted:
            return wanted
        wanted |= more
