"""Rules that depend on what they make, over batches: the machine, its room, and answers to what it asks.

A component that is recursive runs here as a whole, event at a time inside, so that rounds and policies are exactly
those of the engine. What waits stays in `cells`, in lists by store and key (`waiting`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar import machine as m
from etalis.columnar.execute import Made
from etalis.columnar.lowering import Lowering
from etalis.columnar.moments import PLACE
from etalis.columnar.operators import Batch
from etalis.columnar.qualify import made_kind, read_kinds
from etalis.columnar.words import TYPES, Texts
from etalis.errors import LimitError
from etalis.plan import algebra as p
from etalis.plan.types import Types
from etalis.runtime.conditions import Conditions
from etalis.runtime.course import too_many
from etalis.temporal.event import Event
from etalis.temporal.event import Kind as EventKind

Kind: TypeAlias = tuple[str, int]
_FIRST = 1 << 10


class Recursion:
    """A recursive component over batches."""

    def __init__(
        self, heads: Sequence[p.Head], numbers: Sequence[int], types: Types, conditions: Conditions, limit: int
    ) -> None:
        self.heads = dict(zip(numbers, heads, strict=True))
        self.numbers = tuple(numbers)
        self.types = types
        self.limit = limit
        self.made = {made_kind(head) for head in heads}
        kinds = self.made.union(*(read_kinds(head.body) for head in heads))
        self.kinds = sorted(kinds, key=lambda kind: (kind[1], kind[0]))
        self.texts = Texts()
        lowering = Lowering(types, self.kinds, self.texts)
        for number, head in self.heads.items():
            lowering.add_rule(head, number)
        self.questions = lowering.questions
        self.ask: dict[int, Callable[..., Any]] = {
            number: conditions.prepare(q.goal, q.goal.outputs, q.rule) for number, q in self.questions.items()
        }
        self.stores = lowering.stores
        of_kinds = lowering.table_of_kinds()
        self.plan = (
            np.array(lowering.nodes),
            np.array(lowering.tests, np.int64).reshape(-1, m.TEST_FIELDS),
            np.array(lowering.heads, np.int64),
            of_kinds,
            np.array(lowering.tape, np.int64),
        )
        most = of_kinds.shape[1] - 2
        keys = max([len(store.key) for store in self.stores.values()], default=0)
        self.reg = np.zeros(m.REGISTERS, np.int64)
        self.reg[[m.FREE_ROW, m.FREE_BUCKET]] = -1
        self.reg[m.ANSWER] = m.INEXACT
        self.current = np.zeros(m.E_WORDS + most, np.int64)
        self.flow = np.zeros((lowering.depth + 1, m.C_WORDS + lowering.width), np.int64)
        self.calc = np.zeros(max(m.CALC, lowering.width), np.int64)
        self.key = np.zeros(keys, np.int64)
        self.frames = np.zeros((lowering.depth + 1, m.FRAME_FIELDS), np.int64)
        self.cells = np.zeros((_FIRST, m.C_WORDS + lowering.width), np.int64)
        self.links = np.zeros((_FIRST, 2), np.int64)
        self.buckets = np.zeros((_FIRST, m.B_KEY + keys), np.int64)
        self.table = np.full(2 * _FIRST, -1)
        self.events = np.zeros((_FIRST, m.E_WORDS + most), np.int64)
        self.order = np.zeros(_FIRST, np.int64)
        self.seen = np.zeros((2 * _FIRST, 2), np.int64)
        self.ranks = np.zeros(0, np.int64)
        self.reg[m.NOW] = -(1 << 62)

    def take(self, batch: Batch) -> dict[Kind, Made]:
        """Return what a batch causes, by kind."""
        given = self._given(batch)
        old = self._begin()
        while (why := self._run(given)) != m.DONE:
            self._help(why)
        return self._result(old)

    def _given(self, batch: Batch) -> Any:
        """Return the events of a batch that rules read, in order, as rows of words; a turn is a row of the batch."""
        parts = [(i, batch.events[kind]) for i, kind in enumerate(self.kinds) if kind in batch.events]
        total = sum(len(rows.turn) for _, rows in parts)
        found = np.zeros((total, self.events.shape[1]), np.int64)
        low = 0
        for number, rows in parts:
            high = low + len(rows.turn)
            found[low:high, m.E_KIND] = number
            found[low:high, m.E_START] = rows.start
            found[low:high, m.E_END] = rows.end
            found[low:high, m.E_TURN] = rows.turn
            for place, column in enumerate(rows.columns):
                if column.type in TYPES:  # what has no flat type, no rule asks for
                    found[low:high, m.E_WORDS + place] = self.texts.words(column)
            low = high
        return found[np.argsort(found[:, m.E_TURN], kind="stable")] if len(parts) > 1 else found

    def _begin(self) -> int:
        """Forget the events of earlier batches but those of the latest stamp; return how many these are."""
        count = int(self.reg[m.EVENTS])
        order = self.order[:count]
        latest = self.events[order[self.events[order, m.E_END] == self.reg[m.NOW]]]
        self.events[: len(latest)] = latest
        self.order[: len(latest)] = np.arange(len(latest))
        self.reg[[m.MODE, m.DEPTH, m.ROUND, m.ROW]] = m.NEXT, 0, 0, -1
        self.reg[[m.EVENTS, m.HIGH, m.AT]] = len(latest), len(latest), len(latest) - 1
        self._note()
        return len(latest)

    def _note(self) -> None:
        """Note the events of this stamp anew."""
        self.reg[m.EPOCH] += 1
        self.reg[m.SEEN] = 0
        count = int(self.reg[m.EVENTS])
        first = count
        while first > 0 and self.events[first - 1, m.E_END] == self.reg[m.NOW]:
            first -= 1
        m.note_all(first, self.plan[3], self.reg, self.events, self.seen)

    def _run(self, given: Any) -> int:
        return int(
            m.run(
                self.limit, PLACE, *self.plan, given, self.reg, self.current, self.flow, self.calc,
                self.calc.view(np.float64), self.key, self.frames, self.cells, self.links, self.buckets, self.table,
                self.events, self.order, self.seen, self.ranks,
            )
        )  # fmt: skip

    def _help(self, why: int) -> None:
        """Give the machine what it wants."""
        match why:
            case m.MORE_ROWS:
                self.cells, self.links = _longer(self.cells), _longer(self.links)
            case m.MORE_BUCKETS:
                self.buckets = _longer(self.buckets)
                self.table = np.full(2 * len(self.buckets), -1)
                m.spread(self.buckets[: self.reg[m.BUCKETS]], self.table)
            case m.MORE_EVENTS:
                self.events, self.order = _longer(self.events), _longer(self.order)
            case m.MORE_SEEN:
                self.seen = np.zeros((2 * len(self.seen), 2), np.int64)
                self._note()
            case m.WANTS_RANKS:
                self.ranks = self.texts.ranks()
            case m.ASKS:
                self._answer()
            case _:
                raise self._too_many()

    def _answer(self) -> None:
        """Ask a condition that the machine cannot decide, and write down what it binds."""
        plan = self.plan
        listed = plan[0][self.reg[m.NODE], m.TESTS]
        number = int(plan[4][listed + 1 + self.reg[m.TEST]])
        question = self.questions[number]
        row = self.flow[self.reg[m.DEPTH]]
        goal, slots, types = question.goal, question.slots, question.types
        given = [self.texts.value(int(row[m.C_WORDS + slots[v]]), types[v]) for v in goal.inputs]
        times = [int(row[m.C_START]), int(row[m.C_END])] if goal.kind == "check" else []
        answer = self.ask[number](*given, *times)
        self.reg[m.ANSWER] = m.FALSE if answer is None else m.TRUE
        for name, value in zip(goal.outputs, answer or (), strict=False):
            if types[name] in TYPES:  # what has no flat type, nobody else asks for
                word = self.texts.word(value, types[name])
                assert word is not None
                row[m.C_WORDS + slots[name]] = word

    def _too_many(self) -> LimitError:
        row = self.events[self.order[self.reg[m.HIGH] - 1]]
        kind = self.kinds[row[m.E_KIND]]
        words = zip(row[m.E_WORDS :].tolist(), self.types[kind], strict=False)
        args = [self.texts.value(word, t) for word, t in words]
        made = EventKind(kind[0], kind[1], self.heads[int(row[m.E_RULE])].label)
        return too_many(self.limit, Event((int(row[m.E_END]), int(row[m.E_START]), made, *args)))

    def _result(self, old: int) -> dict[Kind, Made]:
        """Return the events that were made, by kind."""
        events = self.events[self.order[old : int(self.reg[m.EVENTS])]]
        found = {}
        for number, kind in enumerate(self.kinds):
            if kind in self.made:
                mine = events if len(self.made) == 1 else events[events[:, m.E_KIND] == number]
                columns = [self.texts.column(mine[:, m.E_WORDS + place], t) for place, t in enumerate(self.types[kind])]
                turn, start, end, rule = (mine[:, i].copy() for i in (m.E_TURN, m.E_START, m.E_END, m.E_RULE))
                found[kind] = Made(turn, start, end, rule, columns)
        return found


def _longer(array: Any) -> Any:
    """Return an array with room for as much again."""
    return np.concatenate([array, np.zeros_like(array)])
