"""Facts that events change, over a batch: what is known at the turn of each match.

What a batch changes is noted before anything is asked: what comes in when its order is known, what rules make when they
have made it. A look-up finds the facts by a kernel (`FactHistory`); a goal that needs more is asked of knowledge of its
own, which follows the questions (`ReplayedFacts`). Law: at a turn all changes up to it have been made, and no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from etalis.columnar.clock import PLACE, moved
from etalis.columnar.data.ascending import places
from etalis.columnar.data.columns import Column, Integers, concat, from_values, key_rows
from etalis.columnar.kernels import changing_facts as k
from etalis.columnar.kernels.buffers import KeyIndex
from etalis.columnar.kernels.lists import Lists
from etalis.columnar.learning import Kind, Learning
from etalis.columnar.state.base import Undo
from etalis.language.syntax import Term
from etalis.logic.knowledge.facts import changing
from etalis.logic.machine.database import Database
from etalis.plan.lattice import type_of_values
from etalis.runtime.codegen.conditions import Conditions

if TYPE_CHECKING:
    from etalis.columnar.data.instances import Instances

Row: TypeAlias = tuple[Any, ...]
Change: TypeAlias = tuple[Kind, Row]  # an event that changes facts
_LONG_AGO = -(1 << 62)


@dataclass(frozen=True, slots=True)
class LearnedEvents:
    """Events of one kind in a batch that change facts: when, and their attributes."""

    kind: Kind
    turn: Integers
    start: Integers
    columns: Sequence[Column]

    def __len__(self) -> int:
        return len(self.turn)

    def rows(self) -> list[Row]:
        """Return the attributes, event by event."""
        return _rows(self.columns, len(self))


@dataclass(frozen=True, slots=True)
class KnownRows:
    """The facts of a predicate, so many, in the order in which they came to be known, as columns."""

    count: int
    columns: Sequence[Column]

    def rows(self) -> list[Row]:
        """Return the facts."""
        return _rows(self.columns, self.count)


def _rows(columns: Sequence[Column], count: int) -> list[Row]:
    return list(zip(*(column.values() for column in columns), strict=True)) or [()] * count


class ChangingFacts:
    """The facts that events change: what is known when a batch begins, and what it changes."""

    def __init__(self, learning: Learning, conditions: Conditions) -> None:
        self.learning = learning
        self.conditions = conditions
        self.known: dict[Kind, KnownRows] = {}
        self.begun: object = None  # stands for what is known when the batch begins
        self._learned: list[LearnedEvents] = []
        self._open: deque[Change] = deque()  # what the engine's own knowledge has not seen
        self._asked: list[ReplayedFacts] = []
        self._histories: dict[tuple[Kind, tuple[int, ...]], FactHistory] = {}
        self._changes: tuple[list[Change], Integers] | None = None
        self.load()

    @property
    def database(self) -> Database:
        """The engine's own knowledge."""
        return self.conditions.solver.database

    def load(self) -> None:
        """Begin with what the engine knows."""
        for key in self.learning.facts:
            rows = list(map(itemgetter(0), self.database.predicate(*key).live()))
            cells = list(zip(*rows, strict=True)) or [()] * key[1]
            columns = [from_values(values, type_of_values(values) or "string") for values in cells]
            self.known[key] = KnownRows(len(rows), columns)
        self._begin_anew()

    def begin(self) -> None:
        """Begin a batch, of which nothing is noted yet."""
        self._learned = []
        self._forget()

    def learn(self, kind: Kind, turn: Integers, start: Integers, columns: Sequence[Column]) -> None:
        """Note events that have come in or were made, if such change facts."""
        if kind in self.learning.changes and len(turn):
            self._learned.append(LearnedEvents(kind, turn, start, columns))
            self._forget()

    def _forget(self) -> None:
        self._changes = None
        self._histories.clear()

    def move(self, slots: Integers) -> None:
        """Follow slots that have moved."""
        self._learned = [replace(events, turn=moved(events.turn, slots)) for events in self._learned]
        self._forget()

    def settle(self, *, goes_on: bool) -> None:
        """Make the changes of a batch; the knowledge of an engine that goes on has them later (`commit`)."""
        if not self._learned:
            return
        followed = [replayed for replayed in self._asked if replayed.follow()]
        if goes_on:
            self._open += self.changes()[0]
        self.known = {key: self.history(key, ()).known_in_the_end() for key in self.known}
        self._begin_anew()
        for replayed in followed:
            replayed.begin()

    def commit(self) -> None:
        """Let the engine know what batches have changed."""
        make = {kind: changing(self.database, changes) for kind, changes in self.learning.changes.items()}
        while self._open:  # one that is interrupted is made again, which comes to the same
            kind, row = self._open[0]
            make[kind](row)
            self._open.popleft()

    def mark(self) -> Undo:
        """Return what goes back to what is known now, which the engine knows already."""
        known = self.known

        def back() -> None:
            self.known = known
            self._open.clear()
            self._begin_anew()

        return back

    def _begin_anew(self) -> None:
        self.begun = object()
        self._learned = []
        self._forget()

    def changes(self) -> tuple[list[Change], Integers]:
        """Return what changes in a batch, in order, and from which turns on."""
        if self._changes is None:
            rows = [e.rows() for e in self._learned]
            found = [(e.kind, row) for e, several in zip(self._learned, rows, strict=True) for row in several]
            order, turn = in_order(self._learned)
            self._changes = [found[i] for i in order.tolist()], turn
        return self._changes

    def parts(self, key: Kind) -> list[tuple[LearnedEvents, bool]]:
        """Return the events of a batch that change one predicate, and whether they bring facts or take them away."""
        name, arity = key
        return [
            (events, flag)
            for events in self._learned
            for fact, flag in self.learning.changes[events.kind]
            if (fact, events.kind[1]) == (name, arity)
        ]

    def history(self, key: Kind, places: tuple[int, ...]) -> FactHistory:
        """Return the facts of a predicate over a batch, by the values at some places."""
        if (key, places) not in self._histories:
            self._histories[key, places] = FactHistory(self.known[key], self.parts(key), places)
        return self._histories[key, places]

    def replayed(self, goal: Term) -> ReplayedFacts | None:
        """Return what a goal is asked of that asks for such facts; None if it asks for none."""
        asked = self.learning.asked(goal)
        if not asked:
            return None
        self._asked.append(found := ReplayedFacts(self, asked))
        return found


def in_order(several: Sequence[LearnedEvents]) -> tuple[Integers, Integers]:
    """Return the order in which events change facts, and the turns from which on they have, which ascend.

    Those of one round come by their starts and kinds.
    """
    none = np.zeros(0, np.int64)
    turn, start = (np.concatenate([none, *(getattr(e, name) for e in several)]) for name in ("turn", "start"))
    moment = turn >> PLACE
    ranks = {kind: rank for rank, kind in enumerate(sorted({(e.kind[1], e.kind[0]) for e in several}))}
    rank = np.repeat([ranks[e.kind[1], e.kind[0]] for e in several] or none, list(map(len, several)))
    order = np.lexsort((turn, rank, start, moment))
    return order, moment[order] << PLACE


class FactHistory:
    """The facts of one predicate over a batch, arranged by the values at some places."""

    def __init__(self, known: KnownRows, parts: Sequence[tuple[LearnedEvents, bool]], places: tuple[int, ...]) -> None:
        count, total = known.count, known.count + sum(len(events) for events, _ in parts)
        self.columns = [
            concat([column, *(events.columns[i] for events, _ in parts)]) for i, column in enumerate(known.columns)
        ]
        distinct = KeyIndex(key_rows([self.columns], [total])[0])
        order, turn = in_order([events for events, _ in parts])
        rows = np.concatenate([np.arange(count), order + count])
        flags = np.concatenate([np.ones(count, bool), *(np.full(len(events), flag) for events, flag in parts)])
        turn = np.concatenate([np.full(count, _LONG_AGO), turn])
        self.changes = k.FactChanges(turn, distinct.group[rows], flags[rows])
        self.first = distinct.first
        self.key = [self.columns[i].take(self.first) for i in places]
        self.groups = distinct

    def column(self, place: int) -> Column:
        """Return the values of facts at a place."""
        return self.columns[place].take(self.first)

    def known_in_the_end(self) -> KnownRows:
        """Return what is known in the end, in order."""
        known, since = np.zeros(len(self.first), bool), np.zeros(len(self.first), np.int64)
        k.settle(self.changes, known, since)
        rows = np.flatnonzero(known)
        rows = self.first[rows[np.argsort(since[rows], kind="stable")]]
        return KnownRows(len(rows), [column.take(rows).shrunk() for column in self.columns])

    def count(self, turn: Integers, asked: Sequence[Column]) -> tuple[Integers, Integers]:
        """Return how many facts with some values are known at some turns, which ascend, and the groups of these."""
        own, other = key_rows([self.key, asked], [len(self.first), len(turn)])
        self.groups = KeyIndex(own)
        group, counts = self.groups.find(other), np.empty(len(turn), np.int64)
        k.count_known(self.changes, turn, group, *self._nothing(), counts)
        return counts, group

    def find(self, turn: Integers, group: Integers, total: int) -> Integers:
        """Return these facts, question by question, in the order in which they came to be known."""
        found = np.empty(total, np.int64)
        k.list_known(self.changes, turn, group, *self._nothing(), found)
        return found

    def _nothing(self) -> tuple[k.KnownFacts, Lists]:
        """Return what is known before anything is."""
        facts, groups = len(self.first), len(self.groups.first)
        lists = Lists(np.full(2 * groups, -1), np.empty(facts, np.int64), np.empty(facts, np.int64))
        return k.KnownFacts(np.zeros(facts, bool), self.groups.group, np.zeros(groups, np.int64)), lists


class ReplayedFacts:
    """What goals are asked of that need more than a look-up: knowledge of their own, brought to the turn of each match.

    Where questions come by their turns, each change is made once.
    """

    def __init__(self, facts: ChangingFacts, asked: frozenset[Kind]) -> None:
        self.facts = facts
        self.asked = asked
        self.kinds = facts.learning.changing(asked)
        self._begun: object = None  # the batch whose changes are made here, up to a number
        self._made = 0
        self._of: list[Change] | None = None  # the changes of a batch, of which those that matter here are kept
        self._own: tuple[list[Change], Integers] = [], np.zeros(0, np.int64)

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions over this knowledge, which is made when something is first asked."""
        return self.facts.conditions.over(self.facts.database.copied())

    @cached_property
    def _make(self) -> Mapping[Kind, Callable[[Row], None]]:
        database, learning = self.conditions.solver.database, self.facts.learning
        return {kind: changing(database, learning.changes[kind]) for kind in self.kinds}

    def asking(self, prepare: Callable[[Conditions], Callable[..., Any]]) -> Callable[..., Any]:
        """Return a function that asks what was known after so many changes as its last argument tells."""
        ask = prepare(self.conditions)

        def ask_at_turn(*values: Any) -> Any:
            if values[-1] != self._made or self._begun is not self.facts.begun:
                self._reach(values[-1])
            return ask(*values[:-1])

        return ask_at_turn

    def versions(self, rows: Instances) -> Column:
        """Return how many changes of the batch each match sees."""
        return Column("int", places(self._changes()[1], rows.turn, after=True))

    def follow(self) -> bool:
        """Make all changes of a batch, if some of its batch or of the one before were made; tell whether so."""
        if self._begun is not self.facts.begun:
            return False
        self._reach(len(self._changes()[0]))
        return True

    def begin(self) -> None:
        """Begin a batch with what is known here."""
        self._begun, self._made = self.facts.begun, 0

    def _changes(self) -> tuple[list[Change], Integers]:
        """Return the changes of a batch that matter here."""
        every, turns = self.facts.changes()
        if self._of is not every:
            mine = [i for i, (kind, _) in enumerate(every) if kind in self.kinds]
            self._of, self._own = every, ([every[i] for i in mine], turns[mine])
        return self._own

    def _reach(self, count: int) -> None:
        """Make so many changes; where more were made, begin again with what was known when the batch began."""
        if self._begun is not self.facts.begun or count < self._made:
            for key in self.asked:
                self.conditions.solver.database.replace_rows(*key, self.facts.known[key].rows())
            self.begin()
        for kind, row in self._changes()[0][self._made : count]:
            self._make[kind](row)
        self._made = count
