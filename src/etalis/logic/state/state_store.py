"""All state of one database: what actions change, take back, and commit.

Changes are noted on a trail. `take_back` undoes those since a mark, the latest first, so that every fact is again in
its place; `commit` says that those so far stay. Law: after `take_back` the facts and their order are those of the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from etalis.logic.machine.database import Database, Key
from etalis.logic.state.state_predicate import Row, StatePredicate, Trailed
from etalis.logic.state.state_relation import is_same
from etalis.logic.terms.iso_errors import clashing_facts, instantiation_error, no_state
from etalis.logic.terms.unify import Term, copy, is_ground


class StateStore:
    """The state predicates of a database, by name and arity."""

    __slots__ = ("crowded", "database", "predicates", "trail")

    def __init__(self, database: Database) -> None:
        self.database = database
        self.predicates: dict[Key, StatePredicate] = {}
        self.trail: list[Trailed] = []
        self.crowded: set[StatePredicate] = set()
        database.state = self

    @staticmethod
    def of(database: Database) -> StateStore:
        """Return the state of a database, of no predicates if it had none."""
        found: StateStore = database.state or StateStore(database)
        return found

    def declare(self, name: str, arity: int, key: int | None = None) -> StatePredicate:
        """Make a predicate one of state; its first `key` arguments determine the others."""
        predicate = StatePredicate(self.database, self, name, arity, key or 0)
        self.predicates[name, arity] = predicate
        self.database.install(predicate)
        return predicate

    def predicate(self, name: str, arity: int) -> StatePredicate:
        """Return a state predicate; refuse what is none."""
        found = self.predicates.get((name, arity))
        if found is None:
            raise no_state(name, arity)
        return found

    def insert(self, name: str, row: Row) -> bool:
        """Make a fact true; False if there is another one with its key."""
        return self.predicate(name, len(row)).insert(row)

    def delete(self, name: str, row: Row) -> None:
        """Make all facts false that a row fits, whose variables stand for anything."""
        self.predicate(name, len(row)).delete_matching(row)

    def put(self, name: str, row: Row) -> None:
        """Make a fact true, as the last one, in the place of the one with its key."""
        self.predicate(name, len(row)).put(row)

    def begin_with(self, clause: Term) -> bool:
        """Take a fact of the first state; False if the clause is none."""
        name, *row = clause if clause.__class__ is tuple and clause else (clause,)
        predicate = self.predicates.get((name, len(row)))
        if predicate is None:
            return False
        if not is_ground(clause):
            raise instantiation_error()
        if not predicate.insert(tuple(map(copy, row))):
            raise clashing_facts(name, predicate.same_key(tuple(row)), tuple(row), predicate.key)
        return True

    def mark(self) -> int:
        """Return a mark to go back to."""
        return len(self.trail)

    def take_back(self, mark: int) -> None:
        """Take back all changes since a mark."""
        trail = self.trail
        while len(trail) > mark:
            predicate, number = trail.pop()
            predicate.take_back(number)

    def commit(self) -> None:
        """Let all changes stay; marks so far are void."""
        self.trail.clear()
        if self.crowded:
            for predicate in self.crowded:
                predicate.compact()
            self.crowded.clear()

    def copy_to(self, database: Database) -> StateStore:
        """Return a store of the same facts for another database."""
        other = StateStore(database)
        for (name, arity), predicate in self.predicates.items():
            other.declare(name, arity, predicate.key)
        other.load(dict(self.facts()))
        return other

    def facts(self) -> Iterator[tuple[Key, list[Row]]]:
        """Yield the facts of each predicate, in order."""
        for key, predicate in self.predicates.items():
            yield key, [row for row, _ in predicate.live()]

    def load(self, facts: Mapping[Key, Iterable[Row]]) -> None:
        """Put facts in the place of all there are; predicates that are not named have none."""
        self.trail.clear()
        self.crowded.clear()
        for key in facts:
            self.predicate(*key)
        for key, predicate in self.predicates.items():
            predicate.load(_distinct(predicate, facts.get(key, ())))


def _distinct(predicate: StatePredicate, rows: Iterable[Row]) -> list[Row]:
    """Return rows, each once; refuse two with one key."""
    key_of = predicate.facts.row_key
    found: dict[object, Row] = {}
    for row in rows:
        known = found.setdefault(key_of(row), row)
        if known is not row and not is_same(known, row):
            raise clashing_facts(predicate.name, known, row, predicate.key)
    return list(found.values())
