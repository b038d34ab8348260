"""Rules that depend on what they make, over batches: the machine, its room, and answers to what it asks.

A component that is recursive runs here as a whole, event at a time inside, so that rounds and policies are exactly
those of the engine. What waits stays in `cells`, in lists by store and key (`waiting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from etalis.columnar.clock import PLACE
from etalis.columnar.derived_events import DerivedEvents, MadeBlock
from etalis.columnar.operators.base import Batch
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.encoding import TYPES, Texts
from etalis.columnar.recursion.lowering import Lowering
from etalis.columnar.recursion.machine import run
from etalis.columnar.recursion.rounds import note_all
from etalis.columnar.recursion.store import fill_table, list_rows, put_rows, sweep
from etalis.errors import LimitError
from etalis.plan import algebra as p
from etalis.plan.types import Typing
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.run_loop import too_many
from etalis.temporal.event import Event, EventKind, new_event

Kind: TypeAlias = tuple[str, int]
_FIRST = 1 << 10
_SPARE = 1 << 12
_LIKELY = 8  # instances that an event may leave behind, for which room is made beforehand


class Recursion:
    """A recursive component over batches."""

    def __init__(
        self, heads: Sequence[p.Head], numbers: Sequence[int], types: Typing, conditions: Conditions, limit: int
    ) -> None:
        self.heads = dict(zip(numbers, heads, strict=True))
        self.numbers = tuple(numbers)
        self.types = types
        self.limit = limit
        self.made = {head.kind for head in heads}
        kinds = self.made.union(*(p.read_kinds(head.body) for head in heads))
        self.kinds = sorted(kinds, key=lambda kind: (kind[1], kind[0]))
        self.texts = Texts()
        lowering = Lowering(types, self.kinds, self.texts)
        for number, head in self.heads.items():
            lowering.add_rule(head, number)
        self.questions = lowering.questions
        self.ask: dict[int, Callable[..., Any]] = {
            number: conditions.ask(q.goal, q.goal.outputs, q.rule) for number, q in self.questions.items()
        }
        self.conditions = conditions
        self.answers: dict[tuple[int, ...], Mapping[int, int] | None] = {}
        self.stores = lowering.stores
        self.store_numbers = lowering.numbers
        self.constants = len(self.texts.known)
        self.spare = _SPARE
        of_kinds = lowering.table_of_kinds()
        self.code = t.MachineCode(
            np.array(lowering.nodes),
            np.array(lowering.tests, np.int64).reshape(-1, t.TEST_FIELDS),
            np.array(lowering.heads, np.int64),
            of_kinds,
            np.array(lowering.tape, np.int64),
        )
        self.depth, self.width = lowering.depth, lowering.width
        self.forget()

    def forget(self) -> None:
        """Begin anew: nothing waits, and nothing was made."""
        most = self.code.kinds.shape[1] - 2
        keys = max([len(store.key) for store in self.stores.values()], default=0)
        self.reg = np.zeros(t.REGISTERS, np.int64)
        self.reg[[t.FREE_ROW, t.FREE_BUCKET]] = -1
        self.reg[t.ANSWER] = t.INEXACT
        self.reg[t.NOW] = -(1 << 62)
        self.flow = np.zeros((self.depth + 1, t.C_WORDS + self.width), np.int64)
        self.calc = np.zeros(max(t.CALC, self.width), np.int64)
        self.key = np.zeros(keys, np.int64)
        self.frames = np.zeros((self.depth + 1, t.FRAME_FIELDS), np.int64)
        self.cells = np.zeros((_FIRST, t.C_WORDS + self.width), np.int64)
        self.links = np.zeros((_FIRST, 2), np.int64)
        self.buckets = np.zeros((_FIRST, t.B_KEY + keys), np.int64)
        self.table = np.full(2 * _FIRST, -1)
        self.events = np.zeros((_FIRST, t.E_WORDS + most), np.int64)
        self.order = np.zeros(_FIRST, np.int64)
        self.seen = np.zeros((2 * _FIRST, 2), np.int64)
        self.ranks = np.zeros(0, np.int64)
        self.answers.clear()
        self.texts.keep(np.arange(self.constants))
        self.left = (0, self.constants)  # how many rows and texts were left when last looked at

    def process(self, batch: Batch) -> Iterator[MadeBlock]:
        """Yield what a batch causes, by kind."""
        self._begin(self._given(batch))
        first = int(self.reg[t.EVENTS])
        while (why := self._run()) != t.DONE:
            self._help(why)
        found = self._result(first)
        self._tidy()
        for kind, made in found.items():
            yield MadeBlock((kind,), made)

    def _given(self, batch: Batch) -> Any:
        """Return the events of a batch that rules read, in order, as rows of words."""
        parts = [(i, batch.events[kind]) for i, kind in enumerate(self.kinds) if kind in batch.events]
        total = sum(len(rows.turn) for _, rows in parts)
        found = np.zeros((total, self.events.shape[1]), np.int64)
        low = 0
        for number, rows in parts:
            high = low + len(rows.turn)
            found[low:high, t.E_KIND] = number
            found[low:high, t.E_START] = rows.start
            found[low:high, t.E_END] = rows.end
            found[low:high, t.E_TURN] = rows.turn
            for place, column in enumerate(rows.columns):
                if column.type in TYPES:  # what has no flat type, no rule asks for
                    found[low:high, t.E_WORDS + place] = self.texts.words(column)
            low = high
        return found[np.argsort(found[:, t.E_TURN], kind="stable")] if len(parts) > 1 else found

    def _begin(self, given: Any) -> None:
        """Put what is given before the events made at the latest stamp, and forget all others."""
        latest = self.latest()
        self.answers.clear()
        first, count = len(given), len(given) + len(latest)
        while len(self.cells) < self.reg[t.LIVE] + _LIKELY * first:
            self._help(t.MORE_ROWS)
        while len(self.events) <= count:
            self.events, self.order = _longer(self.events), _longer(self.order)
        self.events[:first] = given
        self.events[first:count] = latest
        self.order[:count] = np.arange(count)
        self.reg[[t.MODE, t.ROW, t.LAST_ROW, t.SINCE]] = t.NEXT, 0, first, first
        self.reg[[t.EVENTS, t.HIGH, t.AT]] = count, count, count - 1
        note_all(self.code.kinds, self.reg, self._rounds)

    def _run(self) -> int:
        return int(run(self.limit, PLACE, self.code, self._work, self._memory, self._rounds))

    @property
    def _work(self) -> t.Registers:
        return t.Registers(self.reg, self.flow, self.frames, self.calc, self.calc.view(np.float64), self.key)

    @property
    def _memory(self) -> t.Memory:
        return t.Memory(self.cells, self.links, self.buckets, self.table)

    @property
    def _rounds(self) -> t.Events:
        return t.Events(self.events, self.order, self.seen, self.ranks)

    def _help(self, why: int) -> None:
        """Give the machine what it wants."""
        match why:
            case t.MORE_ROWS:
                used = int(self.reg[t.ROWS])
                self.cells, self.links = _longer(self.cells, used), _longer(self.links, used)
            case t.MORE_BUCKETS:
                self.buckets = _longer(self.buckets)
                self.table = np.full(2 * len(self.buckets), -1)
                fill_table(self.buckets[: self.reg[t.BUCKETS]], self.table)
            case t.MORE_EVENTS:
                self.events, self.order = _longer(self.events), _longer(self.order)
            case t.MORE_SEEN:
                self.seen = np.zeros((2 * len(self.seen), 2), np.int64)
                note_all(self.code.kinds, self.reg, self._rounds)
            case t.WANTS_RANKS:
                self.ranks = self.texts.ranks()
            case t.ASKS:
                self._answer()
            case _:
                raise self._too_many()

    def _answer(self) -> None:
        """Give the answer to a condition that the machine cannot decide, and write down what it binds."""
        listed = self.code.nodes[self.reg[t.NODE], t.TESTS]
        number = int(self.code.tape[listed + 1 + self.reg[t.TEST]])
        goal, slots = self.questions[number].goal, self.questions[number].slots
        row = self.flow[self.reg[t.DEPTH]]
        given = row[[t.C_WORDS + slots[v] for v in goal.inputs]].tolist()
        times = row[: t.C_WORDS].tolist() if goal.kind == "check" else []
        asked = (number, *given, *times)
        found = self.answers[asked] if asked in self.answers else self._ask(number, given, times)
        self.reg[t.ANSWER] = t.FALSE if found is None else t.TRUE
        for slot, word in (found or {}).items():
            row[t.C_WORDS + slot] = word

    def _ask(self, number: int, given: Sequence[int], times: Sequence[int]) -> Mapping[int, int] | None:
        """Ask a condition, once for equal arguments in a batch unless it reports an error; return words by slot."""
        question = self.questions[number]
        goal, types = question.goal, question.types
        before = self.conditions.reports
        values = [self.texts.value(word, types[v]) for v, word in zip(goal.inputs, given, strict=True)]
        answer = self.ask[number](*values, *times)
        found = None
        if answer is not None:
            found = {}
            for name, value in zip(goal.outputs, answer, strict=True):
                if types[name] in TYPES:  # what has no flat type, nobody else asks for
                    word = self.texts.word(value, types[name])
                    assert word is not None
                    found[question.slots[name]] = word
        if self.conditions.reports == before:
            self.answers[number, *given, *times] = found
        return found

    def _too_many(self) -> LimitError:
        row = self.events[self.order[self.reg[t.HIGH] - 1]]
        kind = self.kinds[row[t.E_KIND]]
        words = zip(row[t.E_WORDS :].tolist(), self.types[kind], strict=False)
        args = [self.texts.value(word, type_) for word, type_ in words]
        made = EventKind(kind[0], kind[1], self.heads[int(row[t.E_RULE])].label)
        return too_many(self.limit, new_event(Event, (int(row[t.E_END]), int(row[t.E_START]), made, *args)))

    def _result(self, first: int) -> dict[Kind, DerivedEvents]:
        """Return the events that were made, by kind; their times stand in `events`, until the next batch is taken."""
        count = int(self.reg[t.EVENTS])
        order = self.order[first:count]
        is_sorted = bool((order == np.arange(first, count)).all())
        events = self.events[first:count] if is_sorted else self.events[order]
        found = {}
        for number, kind in enumerate(self.kinds):
            if kind in self.made:
                mine = events if len(self.made) == 1 else events[events[:, t.E_KIND] == number]
                columns = [
                    self.texts.column(mine[:, t.E_WORDS + place], type_) for place, type_ in enumerate(self.types[kind])
                ]
                turn, start, end, rule = (mine[:, i] for i in (t.E_TURN, t.E_START, t.E_END, t.E_RULE))
                found[kind] = DerivedEvents(turn, start, end, rule, columns)
        return found

    def _tidy(self) -> None:
        """Let go what has waited too long, and texts that nobody has, once twice as many are there as were left."""
        if self.reg[t.LIVE] > 2 * self.left[0] + self.spare:
            self.let_go(int(self.reg[t.NOW]))
            self.left = int(self.reg[t.LIVE]), self.left[1]
        if len(self.texts.known) > 2 * self.left[1] + self.spare:
            self._forget_texts()
            self.left = self.left[0], len(self.texts.known)

    def let_go(self, now: int) -> None:
        """Let go what can be of no use at a moment or later."""
        sweep(now, self.code, self.reg, self._memory)

    def waiting(self) -> dict[tuple[int, int], Any]:
        """Return what waits, by store and side: rows of start, end and what it holds, those of a key in order."""
        listed = np.empty((int(self.reg[t.LIVE]), 3), np.int64)
        list_rows(self.reg, self._memory, listed)
        found = {}
        for (number, side), store in self.stores.items():
            mine = listed[(self.buckets[listed[:, 1], t.B_STORE] == number) & (listed[:, 2] == side)]
            rows = self.cells[mine[:, 0], : t.C_WORDS + len(store.names)]
            if number < 0:  # what blocks has its latest start so far, and its key in the bucket
                rows[:, t.C_START] = self.cells[mine[:, 0], t.C_WORDS]
                rows[:, t.C_WORDS :] = self.buckets[mine[:, 1], t.B_KEY : t.B_KEY + len(store.key)]
            found[number, side] = rows
        return found

    def wait(self, rows: Mapping[tuple[int, int], Any]) -> None:
        """Let rows wait instead of those that do."""
        self.reg[[t.FREE_ROW, t.FREE_BUCKET]] = -1
        self.reg[[t.ROWS, t.BUCKETS, t.KEYS, t.LIVE]] = 0
        total = sum(map(len, rows.values()))
        self._make_room(total, total)
        self.table.fill(-1)
        for (store, side), mine in rows.items():
            put_rows(store, side, mine, self.code, self._work, self._memory)

    def latest(self) -> Any:
        """Return the events that were made at the latest stamp, as rows."""
        return self.events[self.order[self.reg[t.SINCE] : self.reg[t.EVENTS]]]

    def remember(self, now: int, latest: Any) -> None:
        """Let events be those made so far at a stamp, the latest."""
        count = len(latest)
        while len(self.events) <= count:
            self.events, self.order = _longer(self.events), _longer(self.order)
        while len(self.seen) <= 2 * count:
            self.seen = np.zeros((2 * len(self.seen), 2), np.int64)
        self.events[:count] = latest
        self.order[:count] = np.arange(count)
        self.reg[[t.NOW, t.SINCE, t.EVENTS]] = now, 0, count

    def mark(self) -> Callable[[], None]:
        """Return what goes back to what is kept now; since the machine changes it in place, it is copied."""
        kept = [t.FREE_ROW, t.ROWS, t.FREE_BUCKET, t.BUCKETS, t.KEYS, t.LIVE]
        reg, latest, texts = self.reg.copy(), self.latest(), list(self.texts.known)
        rows, keys = slice(reg[t.ROWS]), slice(reg[t.BUCKETS])
        cells, links, buckets = self.cells[rows].copy(), self.links[rows].copy(), self.buckets[keys].copy()

        def back() -> None:
            self.forget()
            self.texts.know(texts)
            self._make_room(len(cells), len(buckets))
            self.cells[rows], self.links[rows], self.buckets[keys] = cells, links, buckets
            self.reg[kept] = reg[kept]
            fill_table(buckets, self.table)
            self.remember(int(reg[t.NOW]), latest)

        return back

    def _make_room(self, rows: int, buckets: int) -> None:
        while len(self.cells) <= rows:
            self._help(t.MORE_ROWS)
        while len(self.buckets) <= buckets:
            self._help(t.MORE_BUCKETS)

    def _forget_texts(self) -> None:
        """Number texts anew: those of the program, and of what waits or was made at this stamp."""
        waiting = self.waiting()
        made = self.order[self.reg[t.SINCE] : self.reg[t.EVENTS]]
        latest = self.events[made]
        tables = [(rows, t.C_WORDS, self.stores[key].types) for key, rows in waiting.items()]
        for number, kind in enumerate(self.kinds):
            of_kind = np.flatnonzero(latest[:, t.E_KIND] == number)
            tables.append((latest[of_kind], t.E_WORDS, self.types[kind]))
        columns = [rows[:, first + i] for rows, first, types in tables for i, k in enumerate(types) if k == "string"]
        moved = self.texts.keep(np.unique(np.concatenate([np.arange(self.constants), *columns])))
        for column in columns:
            column[:] = moved[column]
        for number in range(len(self.kinds)):
            latest[latest[:, t.E_KIND] == number] = tables[len(waiting) + number][0]
        self.events[made] = latest
        self.wait(waiting)
        self.ranks = np.zeros(0, np.int64)


def _longer(array: Any, used: int | None = None) -> Any:
    """Return an array with room for four times as much; what is never used of it costs nothing."""
    found = np.empty((4 * len(array), *array.shape[1:]), np.int64)
    count = len(array) if used is None else used
    found[:count] = array[:count]
    return found
