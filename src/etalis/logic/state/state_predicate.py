"""A state predicate: facts that are read as those of any predicate, and changed by actions alone.

Every change is noted on the trail of its store, so that it can be taken back. Tables, indexes of reachability and kept
answers are told of each change and of each that is taken back. Law: `relation` is there for those who look up atoms and
numbers directly, and None while a fact holds a compound term.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from etalis.logic.machine.machine import Frame, Machine
from etalis.logic.machine.predicate import Predicate, PredicateOwner
from etalis.logic.machine.resolution import index_key
from etalis.logic.state.state_relation import StateRelation, is_flat
from etalis.logic.terms.iso_errors import changed_state
from etalis.logic.terms.unify import Term, Trail, Variable, deref, undo, unify

Row = tuple[Term, ...]
Trailed = tuple["StatePredicate", int]  # a row that came, by its number; one that went, by its inverted number


class TrailOwner(Protocol):
    """What a state predicate asks of its store."""

    trail: list[Trailed]
    crowded: set[StatePredicate]


class StatePredicate(Predicate):
    """The facts of one name and arity; no two have the same first `key` arguments (0: no two are the same)."""

    fixed = True
    is_state = True
    __slots__ = ("alterations", "facts", "key", "store")

    def __init__(self, database: PredicateOwner, store: TrailOwner, name: str, arity: int, key: int) -> None:
        super().__init__(database, name, arity)
        self.defined = True
        self.special = False
        self.store = store
        self.key = key
        self.alterations = 0  # how often facts came or went
        self.facts = StateRelation(arity, key)
        self.relation = self.facts

    # changes

    def insert(self, row: Row) -> bool:
        """Make a fact true; False if there is another one with its key."""
        facts = self.facts
        flat = is_flat(row)
        key = facts.key_of(row) if flat else facts.row_key(row)
        number = facts.identity.get(key)
        if number is not None:
            return facts.has(number, row)
        self.store.trail.append((self, len(facts.rows)))
        if flat and not facts.others:
            facts.identity[key] = len(facts.rows)
            facts.rows.append(row)
            self.alterations += 1
            if self.watchers or self.database.tables.answers:
                self._note_row(row, known=True)
        else:
            facts.add(row)
            self._altered(row, known=True)
        return True

    def insert_at_once(self, row: Row) -> bool:
        """Make a fact of atoms and numbers true that is all of a transaction; False if there is one with its key.

        It is not taken back, so it leaves no trail.
        """
        facts = self.facts
        identity, key, rows = facts.identity, facts.key_of(row), facts.rows
        if key in identity or facts.others or self.watchers or self.database.tables.answers:
            trail = self.store.trail
            mark, is_true = len(trail), self.insert(row)
            del trail[mark:]
            return is_true
        identity[key] = len(rows)
        rows.append(row)
        self.alterations += 1
        return True

    def same_key(self, row: Row) -> Row:
        """Return the fact that has the key of a row."""
        number = self._number(row)
        assert number is not None
        return self.facts.rows[number]

    def delete(self, row: Row) -> None:
        """Make a fact false."""
        number = self._number(row)
        if number is not None and self.facts.has(number, row):
            self._drop(number)

    def delete_matching(self, args: Row) -> None:
        """Make all facts false that a pattern fits, each of its variables standing for anything."""
        trail = Trail()
        facts = self.facts
        for number in tuple(facts.find_rows(args)):
            if number not in facts.died:
                fits = all(unify(arg, value, trail) for arg, value in zip(args, facts.rows[number], strict=True))
                undo(trail, 0)
                if fits:
                    self._drop(number)

    def put(self, row: Row) -> None:
        """Make a fact true, as the last one, in the place of the one with its key."""
        facts = self.facts
        if not (facts.others or facts.compounds or self.watchers or self.database.tables.answers) and is_flat(row):
            self._put_flat(row)
            return
        number = self._number(row)
        if number is not None:
            self._drop(number)
        self.insert(row)

    def _put_flat(self, row: Row) -> None:
        """Put a fact of atoms and numbers among others, where nobody is to be told."""
        facts, trail = self.facts, self.store.trail
        identity, key = facts.identity, facts.key_of(row)
        number = identity.pop(key, None)
        if number is not None:
            facts.leave_behind(number)
            trail.append((self, ~number))
            if facts.is_crowded():
                self.store.crowded.add(self)
            self.alterations += 1
        trail.append((self, len(facts.rows)))
        identity[key] = len(facts.rows)
        facts.rows.append(row)
        self.alterations += 1

    def _number(self, row: Row) -> int | None:
        """Return the number of the fact that has the key of a row."""
        return self.facts.identity.get(self.facts.row_key(row))

    def _drop(self, number: int) -> None:
        row = self.facts.drop(number)
        self.store.trail.append((self, ~number))
        if self.facts.is_crowded():
            self.store.crowded.add(self)
        self._altered(row, known=False)

    def take_back(self, number: int) -> None:
        """Take back the last change that is not taken back."""
        if number < 0:
            self._altered(self.facts.restore(~number), known=True)
        else:
            self._altered(self.facts.take_last(), known=False)

    def _altered(self, row: Row, *, known: bool) -> None:
        """Tell those who keep conclusions from facts that one has come or gone."""
        self.alterations += 1
        self.relation = None if self.facts.compounds else self.facts
        if self.watchers or self.database.tables.answers:
            self._note_row(row, known=known)

    def compact(self) -> None:
        """Let the places of dead rows go."""
        if self.facts.is_crowded():
            self._begin(self.facts.compacted())

    def load(self, rows: list[Row]) -> None:
        """Put rows whose keys differ in the place of all."""
        self._begin(StateRelation.of(self.arity, self.key, rows))
        self.alterations += 1
        self.note_all()

    def _begin(self, facts: StateRelation) -> None:
        self.facts = facts
        self.relation = None if facts.compounds else facts

    # calls

    def enter(self, machine: Machine, args: Row, cont: Frame, filling: bool = False) -> Frame | None:  # noqa: ARG002
        """Call the predicate: its facts as they are now."""
        if machine.tabling is not None:
            machine.tabling.note_call(self, index_key(deref(args[0])) if args else None)
        numbers = self.facts.find_rows(args)
        return _try_rows(machine, (self.facts, numbers, 0, len(numbers), args), cont) if numbers else None

    def live(self) -> Iterator[tuple[Row, Term]]:
        """Return the arguments and the body of every fact."""
        died = self.facts.died
        return ((row, "true") for number, row in enumerate(self.facts.rows) if number not in died)

    def entries(self, args: Row) -> list[tuple[Any, Row, Term]]:
        """Return handle, arguments and body of every fact that may match."""
        facts = self.facts
        return [(n, facts.rows[n], "true") for n in facts.find_rows(args) if n not in facts.died]

    def erase(self, handle: Any) -> bool:  # noqa: ARG002
        """Refuse: goals do not change state."""
        raise changed_state(self.name, self.arity)

    def is_facts(self) -> bool:
        """Tell that the predicate is made of facts alone."""
        return True

    def is_inhabited(self) -> bool:
        """Tell whether there is a fact."""
        return len(self.facts) > 0


def _try_rows(machine: Machine, state: tuple[StateRelation, Sequence[int], int, int, Row], cont: Frame) -> Frame | None:
    """Unify the arguments with rows in turn."""
    facts, numbers, i, n, args = state
    rows, died, trail = facts.rows, facts.died, machine.trail
    mark = len(trail)
    while i < n:
        number = numbers[i]
        i += 1
        if number in died:
            continue
        for arg, value in zip(args, rows[number], strict=True):
            while arg.__class__ is Variable and arg.ref is not None:
                arg = arg.ref
            if arg.__class__ is Variable:
                arg.ref = value
                trail.append(arg)
            elif not unify(arg, value, trail) if value.__class__ is tuple and value else arg != value:
                undo(trail, mark)
                break
        else:
            if i < n:
                machine.choices.append((mark, (_try_rows, (facts, numbers, i, n, args), cont)))
            return cont
    return None
