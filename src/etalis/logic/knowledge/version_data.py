"""Predicates with all the versions that are kept of them, as data: to write a database down and to read it again.

Every row and clause comes with the generations at which it was born and died. Generations are counted anew where they
are read: those up to `first`, of the program's own text, are older than any that can be asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.fact_relation import FOREVER, FactRelation
from etalis.logic.machine.predicate import Predicate
from etalis.logic.machine.resolution import CompiledClause
from etalis.logic.terms.unify import Term

Entry = tuple[int, int, tuple[Term, ...], Term]  # born, died, arguments, body


@dataclass(frozen=True, slots=True)
class PredicateVersion:
    """What a predicate was before a generation (FOREVER: what it is)."""

    until: int
    is_relation: bool
    entries: list[Entry]


def read_versions(predicate: Predicate) -> list[PredicateVersion]:
    """Return what a predicate was and is, the oldest first."""
    found = [(until, old) for until, old in predicate.past]
    return [PredicateVersion(until, p.relation is not None, _entries(p)) for until, p in (*found, (FOREVER, predicate))]


def has_changed(predicate: Predicate, first: int) -> bool:
    """Tell whether anything of a predicate has come or gone after a generation."""
    versions = read_versions(predicate)
    return len(versions) > 1 or any(born > first or died < FOREVER for born, died, *_ in versions[0].entries)


def _entries(predicate: Predicate) -> list[Entry]:
    relation = predicate.relation
    if relation is None:
        return [(c.born, c.died, c.args, c.body) for c in predicate.clauses]
    births = [0, *relation._births]
    return [
        (births[bisect_right(relation._counts, n)], relation.died.get(n, FOREVER), row, "true")
        for n, row in enumerate(relation.rows)
    ]


def write_versions(predicate: Predicate, versions: Iterable[PredicateVersion], shift: Callable[[int], int]) -> None:
    """Make a predicate what it was, with its past."""
    past = []
    for version in versions:
        one = predicate if version.until == FOREVER else Predicate(predicate.database, predicate.name, predicate.arity)
        entries = [(shift(b), d if d == FOREVER else shift(d), args, body) for b, d, args, body in version.entries]
        one.clear()
        one.relation = _relation(predicate.arity, entries) if version.is_relation else None
        one.clauses = [] if version.is_relation else [_clause(entry) for entry in entries]
        one.dead = sum(clause.died < FOREVER for clause in one.clauses)
        if one is not predicate:
            past.append((shift(version.until), one))
    predicate.past = deque(past)
    predicate.defined = True


def _relation(arity: int, entries: list[Entry]) -> FactRelation:
    relation = FactRelation(arity)
    for number, (born, died, row, _) in enumerate(entries):
        if born > (relation._births[-1] if relation._births else 0):
            relation._births.append(born)
            relation._counts.append(number)
        if died < FOREVER:
            relation.died[number] = died
        relation.rows.append(row)
    return relation


def _clause(entry: Entry) -> CompiledClause:
    born, died, args, body = entry
    clause = CompiledClause(args, body, born)
    clause.died = died
    return clause


def set_generations(
    database: Database, keys: Iterable[Key], generation: int, oldest: int, moments: Iterable[tuple[int, int]]
) -> None:
    """Say at which generation a database is, and which one each moment of the past saw last."""
    versions = database.versions
    assert versions is not None
    database.generation = generation
    versions.oldest = oldest
    versions._times[:], versions._before[:] = [], []
    for time, before in moments:
        versions._times.append(time)
        versions._before.append(before)
    pasts = [database.own(*key).past for key in keys]
    replaced = [(until, past) for past in pasts for until, _ in past]
    versions._replaced = deque(sorted(replaced, key=lambda item: item[0]))
