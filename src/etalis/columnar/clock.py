"""The order of a batch: where its rows, its time points and the steps of its moments stand.

A turn is a slot, a round of what happens there, and a place in the round. Slots belong to time points and rows, in
order of time, and behind the rows that end at a moment to its steps (definition 6.14): alarms, then what is judged, the
latest first by the moment since when it can be blocked. Steps of constant delays are known beforehand. Those of rows
without a partner are told when these are found; then everything behind them moves on (`with_steps`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.data.ascending import places
from etalis.columnar.data.columns import Integers
from etalis.plan import algebra as p
from etalis.runtime.deadlines.timers import STAGE

MOST_ROUNDS = 1 << 20
PLACE = 23
_ROUND = 20
_SLOT = PLACE + _ROUND
END = 1 << 62  # of the stream
DUE, SINCE, LEVEL, AGAIN, KEYS = range(5)  # of the key of a step: rows of an array, each ascending, and how many
_NO_STEPS = np.zeros((KEYS, 0), np.int64)


def first_turns(slots: Integers) -> Integers:
    """Return the turns at which something happens in slots: before anything that it causes."""
    return slots << _SLOT


def slot_of(turn: Integers) -> Integers:
    """Return the slots that turns belong to."""
    return turn >> _SLOT


def moved(turn: Integers, slots: Integers) -> Integers:
    """Return turns whose slots have moved: `slots` tells where each is now."""
    return first_turns(slots[slot_of(turn)]) | (turn & ((1 << _SLOT) - 1))


Waiting: TypeAlias = tuple[bool, int]  # of an absence: whether it looks back, and how long it takes


def waiting_step(node: p.Deadline) -> Waiting:
    """Return what tells the order of absences that are due together: those that look back are judged last."""
    return node.before is not None, node.duration


@dataclass(frozen=True, slots=True)
class FixedSteps:
    """The steps of a moment that are known beforehand: `alarms` first, then those of absences by `waiting_step`.

    Behind each step of an absence there is room for alarms that ring at once: `apart` steps with it. At most `most`
    steps of rows without a partner may follow on one that they come from, before it is repeated.
    """

    alarms: int = 0
    apart: int = 1
    waiting: tuple[Waiting, ...] = ()
    most: int = 0

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.alarms + self.apart * len(self.waiting)

    @property
    def absences(self) -> dict[Waiting, int]:
        """The first step of the absences of each kind."""
        return {each: self.alarms + i * self.apart for i, each in enumerate(self.waiting)}

    @property
    def width(self) -> int:
        """How many steps there may be before one is repeated."""
        return self.apart + self.most

    def keys(self, moments: Integers) -> Integers:
        """Return the keys of the steps of moments, in order."""
        delays = np.array([duration + looks_back * STAGE for looks_back, duration in self.waiting], np.int64)
        again = np.concatenate([np.arange(self.alarms), np.tile(np.arange(self.apart), len(self.waiting))])
        found = np.zeros((KEYS, len(moments), self.steps), np.int64)
        found[DUE] = moments[:, None]
        found[SINCE, :, : self.alarms] = -END
        found[SINCE, :, self.alarms :] = np.repeat(delays, self.apart) - moments[:, None]
        found[AGAIN] = again
        return found.reshape(KEYS, -1)

    def following(self, keys: Integers, cause: Integers) -> Integers:
        """Return the keys of steps that are set in others, of `cause`, and due at the same moment.

        What comes in order by its key has that one. What does not is judged at once: a step that is repeated, or one
        that nothing but its own end can block, and so goes before all else.
        """
        repeats, goes_on = cause[AGAIN] // self.width, cause[AGAIN] % self.width
        is_same = (keys[SINCE] == cause[SINCE]) & (keys[LEVEL] == cause[LEVEL])
        is_later = (keys[SINCE] > cause[SINCE]) | ((keys[SINCE] == cause[SINCE]) & (keys[LEVEL] > cause[LEVEL]))
        ahead = ~is_same & ~is_later
        assert (keys[SINCE][ahead] == -keys[DUE][ahead]).all(), "what is set in a step is judged after it, or at once"
        found: Integers = np.where(ahead, cause, keys)
        found[AGAIN] = np.where(is_same, (repeats + 1) * self.width, 0)
        found[AGAIN, ahead] = (repeats * self.width + np.maximum(goes_on + 1, self.apart))[ahead]
        return found


@dataclass(frozen=True, slots=True)
class Clock:
    """The order of a batch: the slots of its rows and time points. What is due before `horizon` falls due.

    `fixed` are the slots of the steps that are known beforehand, moment by moment; `told` the keys of the others, and
    `told_slots` theirs.
    """

    horizon: int
    ends: Integers
    rows: Integers
    ticks: Mapping[p.Tick, int]
    moments: Integers
    fixed: Integers
    layout: FixedSteps = field(default_factory=FixedSteps)
    told: Integers = field(default_factory=lambda: _NO_STEPS)
    told_slots: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def size(self) -> int:
        """How many slots there are, or a little more."""
        return len(self.rows) + len(self.ticks) + int(self.fixed.size) + len(self.told_slots)

    def turns(self, due: Integers, step: Any) -> Integers:
        """Return the turns at which something falls due, in a step of its moment that is known beforehand."""
        return first_turns(self.fixed[places(self.moments, due), step])

    def step_after(self, turn: Integers) -> Integers:
        """Return the step that comes after a turn at the same moment: the first one, if that is of a row."""
        slots = self.fixed.reshape(-1)
        if not len(slots):
            return np.zeros(len(turn), np.int64)
        mine = np.maximum(places(slots, slot_of(turn), after=True) - 1, 0)
        return np.where(slots[mine] == slot_of(turn), mine % self.layout.steps + 1, 0)

    def steps_at(self, keys: Integers, arrival: Integers) -> Integers:
        """Return the keys of the steps at which something is judged that arrived at some turns, -1: before the batch.

        It may have arrived in a step of that very moment.
        """
        known = np.concatenate([self.layout.keys(self.moments), self.told], axis=1)
        slots = np.concatenate([self.fixed.reshape(-1), self.told_slots])
        if not len(slots):
            return keys
        order = np.argsort(slots, kind="stable")
        place = order[np.minimum(np.searchsorted(slots[order], slot_of(arrival)), len(slots) - 1)]
        same = np.flatnonzero((slots[place] == slot_of(arrival)) & (known[DUE, place] == keys[DUE]))
        found = keys.copy()
        found[:, same] = self.layout.following(keys[:, same], known[:, place[same]])
        return found

    def with_steps(self, keys: Integers, moments: Integers) -> tuple[Clock, Integers, Integers]:
        """Return the order with more steps, and more moments; where each slot is now, and those of the new steps."""
        every = np.union1d(self.moments, moments)
        told, mine = _distinct(np.concatenate([self.told, keys], axis=1))
        clock = arrange(self.horizon, self.ends, tuple(self.ticks), every, self.layout, told)
        slots = np.zeros(self.size, np.int64)
        slots[self.rows] = clock.rows
        slots[list(self.ticks.values())] = list(clock.ticks.values())
        slots[self.fixed] = clock.fixed[places(every, self.moments)]
        now = clock.told_slots[mine]
        slots[self.told_slots] = now[: len(self.told_slots)]
        return clock, slots, now[len(self.told_slots) :]


def arrange(
    horizon: int,
    ends: Integers,
    ticks: Sequence[p.Tick],
    moments: Integers,
    layout: FixedSteps,
    told: Integers = _NO_STEPS,
) -> Clock:
    """Return the order of rows, time points, and the steps of moments, which come in order, with others beside."""
    times = np.array([tick.time for tick in ticks], np.int64)
    count = layout.steps
    if not ticks and not len(moments) and not told.shape[1]:
        return Clock(horizon, ends, np.arange(len(ends)), {}, moments, np.zeros((0, count), np.int64), layout)
    if told.shape[1]:
        keys, place = _distinct(np.concatenate([layout.keys(moments), told], axis=1))
        due = keys[DUE]
    else:
        due, place = np.repeat(moments, count), np.arange(count * len(moments))
    rows = np.arange(len(ends)) + places(times, ends, after=True) + places(due, ends)
    points = np.arange(len(ticks)) + places(ends, times) + places(due, times)
    before = places(ends, due, after=True) + places(times, due, after=True)
    slots = (before + np.arange(len(due)))[place]
    fixed, other = slots[: count * len(moments)], slots[count * len(moments) :]
    named = dict(zip(ticks, points.tolist(), strict=True))
    return Clock(horizon, ends, rows, named, moments, fixed.reshape(len(moments), count), layout, told, other)


def timeless(rows: int) -> Clock:
    """Return the order of rows alone."""
    none = np.zeros(0, np.int64)
    return arrange(-END, np.zeros(rows, np.int64), (), none, FixedSteps())


def _distinct(keys: Integers) -> tuple[Integers, Integers]:
    """Return the keys of steps in order, each once, and which of them each was."""
    order = np.lexsort(keys[::-1])
    some = keys[:, order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (some[:, 1:] != some[:, :-1]).any(axis=0)
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(is_new) - 1
    return some[:, is_new], place
