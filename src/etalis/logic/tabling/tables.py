"""Complete tables and their dependencies: a change of the knowledge drops the tables it can affect, and no others.

A table depends on calls, each of a predicate under an index key of its first argument (None: under all), and on other
tables. Law: a table in the store was computed from the clauses as they are now. Whoever adds or takes a clause says so
to `forget`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from etalis.logic.terms.unify import Term

Key: TypeAlias = tuple[Any, ...]
Answers: TypeAlias = list[tuple[Term, ...]]


@dataclass(slots=True)
class Needs:
    """What a table depends on; a passing one also on what may be otherwise in the next condition."""

    calls: set[tuple[Hashable, Any]] = field(default_factory=set)
    tables: set[Key] = field(default_factory=set)
    passing: bool = False


class TableStore:
    """Complete tables by variant."""

    __slots__ = ("_generation", "_needs", "_users", "answers", "size")

    def __init__(self) -> None:
        self.answers: dict[Key, Answers] = {}
        self.size = 0
        self._generation = 0
        self._needs: dict[Key, Needs] = {}
        self._users: dict[Any, dict[Any, set[Key]]] = {}  # by predicate and index key; by table and None

    def at(self, generation: int) -> TableStore:
        """Return the store for a generation of the database; what belongs to another one is let go."""
        if generation != self._generation:
            self.clear()
            self._generation = generation
        return self

    def clear(self) -> None:
        """Let all tables go."""
        self.answers.clear()
        self._needs.clear()
        self._users.clear()
        self.size = 0

    def keep(self, key: Key, answers: Answers, needs: Needs) -> None:
        """Keep the answers of a variant."""
        self._drop(key)
        self.answers[key] = answers
        self._needs[key] = needs
        self.size += _count(answers, needs)
        for predicate, argument in needs.calls:
            self._users.setdefault(predicate, {}).setdefault(argument, set()).add(key)
        for table in needs.tables:
            self._users.setdefault(table, {}).setdefault(None, set()).add(key)

    def forget(self, predicate: Hashable, key: Any) -> None:
        """Drop the tables that a change of a predicate's clauses under an index key (None: any) can affect."""
        users = self._users.get(predicate)
        if users is None:
            return
        groups = list(users.values()) if key is None else [users.get(key, ()), users.get(None, ())]
        doomed = [table for group in groups for table in group]
        seen = set(doomed)
        for table in doomed:
            for user in self._users.get(table, {}).get(None, ()):
                if user not in seen:
                    seen.add(user)
                    doomed.append(user)
        for table in doomed:
            self._drop(table)

    def _drop(self, key: Key) -> None:
        answers = self.answers.pop(key, None)
        if answers is None:
            return
        needs = self._needs.pop(key)
        self.size -= _count(answers, needs)
        for predicate, argument in needs.calls:
            self._leave(predicate, argument, key)
        for table in needs.tables:
            self._leave(table, None, key)

    def _leave(self, needed: Any, argument: Any, key: Key) -> None:
        users = self._users[needed]
        users[argument].discard(key)
        if not users[argument]:
            del users[argument]
            if not users:
                del self._users[needed]


def _count(answers: Answers, needs: Needs) -> int:
    return 1 + len(answers) + len(needs.calls) + len(needs.tables)
