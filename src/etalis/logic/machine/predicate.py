"""A predicate: ordered clauses, indexed on their first argument, or a relation of plain facts.

A predicate whose clauses are all facts over atoms and numbers is a `FactRelation`; the first clause of another kind
turns it into a list of compiled clauses. Clauses are appended, and erased ones carry the generation at which they died.
Whoever keeps conclusions from clauses (tables, indexes of reachability) is told of every change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

from etalis.logic.builtins.refused import REFUSALS
from etalis.logic.knowledge.versions import Versions
from etalis.logic.machine.fact_relation import FOREVER, FactRelation, RowHandle
from etalis.logic.machine.machine import Frame, Machine
from etalis.logic.machine.resolution import CompiledClause, Match, bound_positions, enter_rows, index_key, try_clauses
from etalis.logic.tabling.tables import TableStore
from etalis.logic.tabling.tabling import call_tabled
from etalis.logic.terms.iso_errors import refused_predicate, unknown_predicate
from etalis.logic.terms.unify import Term, Variable, deref, is_ground

_COMPACT_AT = 16


class PredicateOwner(Protocol):
    """What a predicate asks of its database."""

    generation: int
    versions: Versions | None
    tables: TableStore

    def begin_change(self) -> None: ...
    def compile(self, clause: CompiledClause) -> Match: ...
    def find_closure(self, predicate: Predicate) -> Any: ...


class Watcher(Protocol):
    """An index of a predicate's facts, which follows every change."""

    def change(self, name: str, row: tuple[Term, ...], *, known: bool) -> None: ...
    def reset(self) -> None: ...


class Predicate:
    """All clauses of one name and arity, in order; a fixed one takes none: it has code, or facts of state."""

    fixed = False
    is_state = False
    __slots__ = (
        "_index", "_recognised", "_unkeyed", "arity", "changes", "clauses", "closure", "database", "dead", "defined",
        "name", "past", "relation", "special", "tabled", "watchers",
    )  # fmt: skip

    def __init__(self, database: PredicateOwner, name: str, arity: int, *, has_clauses: bool = True) -> None:
        self.database = database
        self.name = name
        self.arity = arity
        self.defined = False
        self.tabled = False
        self.special = True  # calls may be answered otherwise than by running clauses
        self.closure: Any = None  # a `Closure`, or None
        self.watchers: list[Watcher] = []
        self.relation = FactRelation(arity) if has_clauses else None
        self.clauses: list[CompiledClause] = []
        self.dead = 0
        self._index: dict[Any, list[CompiledClause]] | None = None
        self._unkeyed: list[CompiledClause] = []
        self.past: deque[tuple[int, Predicate]] = deque()
        self.changes = 0  # of clauses that are more than rows of facts
        self._recognised = False

    def add(self, args: tuple[Term, ...], body: Term, *, first: bool = False) -> None:
        """Add a clause at the end or at the beginning."""
        self.defined = True
        if self.relation is not None:
            if not first and body == "true" and all(_is_atomic(a) for a in args):
                self.note_birth(self.relation)
                self.add_row(self.relation, tuple(map(deref, args)))
                return
            self._leave_relation(self.relation)
        self.changes += 1
        clause = CompiledClause(args, body, self.database.generation)
        if first:
            self.clauses = [clause, *self.clauses]
            self._index = None
        else:
            self.clauses.append(clause)
            if self._index is not None:
                self._file(clause, self._index)
        self._note(clause, known=True)

    def begin_row(self, relation: FactRelation) -> None:
        """Begin a change that adds rows."""
        self.database.begin_change()
        self.defined = True
        self.note_birth(relation)

    def add_row(self, relation: FactRelation, row: tuple[Term, ...]) -> None:
        """Add a fact over atoms and numbers."""
        relation.add(row)
        if self.watchers or self.database.tables.answers:  # as `_is_followed` says
            self._note_row(row, known=True)

    def erase_row(self, relation: FactRelation, number: int) -> bool:
        """Take a fact of a relation that has not been moved away; False if it is gone already."""
        database = self.database
        database.begin_change()
        versions = database.versions
        gone = relation.erase(number, database.generation, None if versions is None else versions.oldest)
        if relation is not self.relation:
            return gone
        if gone and (self.watchers or database.tables.answers):
            self._note_row(relation.rows[number], known=False)
        dead = len(relation.died)
        if dead > _COMPACT_AT and dead > len(relation.rows) // 2:
            self._keep_version()
            self.relation = relation.compacted()
        return gone

    def _is_followed(self) -> bool:
        """Tell whether somebody may keep conclusions."""
        return bool(self.watchers or self.database.tables.answers)

    def _note_row(self, row: tuple[Term, ...], *, known: bool) -> None:
        """Tell those who keep conclusions from facts that one has come or gone."""
        for index in self.watchers:
            index.change(self.name, row, known=known)
        self.database.tables.forget(self, index_key(row[0]) if row else None)

    def _note(self, clause: CompiledClause, *, known: bool) -> None:
        """Tell those who keep conclusions from clauses that one has come or gone."""
        self._renew()
        if not self._is_followed():
            return
        if clause.body == "true" and all(map(is_ground, clause.args)):
            self._note_row(clause.args, known=known)
        else:
            self.note_all(clause.key())

    def note_all(self, key: Any = None) -> None:
        """Tell those who keep conclusions that more than a ground fact has changed, under one index key or none."""
        for index in self.watchers:
            index.reset()
        self.database.tables.forget(self, key)

    def _renew(self) -> None:
        """Look anew, at the next call, whether the predicate is a closure."""
        if self.closure is not None:
            self.closure.valid = False
        self.special, self._recognised, self.closure = True, False, None

    def _leave_relation(self, relation: FactRelation) -> None:
        """Turn the rows into clauses, because a clause of another kind comes."""
        self._keep_version()
        live = ((i, row) for i, row in enumerate(relation.rows) if i not in relation.died)
        relation.moved = {i: CompiledClause(row, "true") for i, row in live}
        self.clauses = list(relation.moved.values())
        self.relation = None

    def _file(self, clause: CompiledClause, index: dict[Any, list[CompiledClause]]) -> None:
        """Put a new last clause into the index; one with a variable comes after every key."""
        key = clause.key()
        if key is not None:
            index.setdefault(key, list(self._unkeyed)).append(clause)
            return
        self._unkeyed.append(clause)
        for clauses in index.values():
            clauses.append(clause)

    def _build_index(self) -> dict[Any, list[CompiledClause]]:
        self._index, self._unkeyed = {}, []
        for clause in self.clauses:
            self._file(clause, self._index)
        return self._index

    def select(self, args: tuple[Term, ...]) -> list[CompiledClause]:
        """Return the clauses whose first argument may match."""
        if not args or len(self.clauses) < 2:
            return self.clauses
        key = index_key(deref(args[0]))
        if key is None:
            return self.clauses
        index = self._index
        if index is None:
            index = self._build_index()
        return index.get(key, self._unkeyed)

    def enter(self, machine: Machine, args: tuple[Term, ...], cont: Frame, filling: bool = False) -> Frame | None:
        """Call the predicate; its clauses themselves if a table is being filled."""
        if self.special and not filling:
            return self._enter_specially(machine, args, cont)
        if machine.view is not None and self.defined and self.database.versions is not None:
            return machine.view.enter(machine, self, args, cont)  # type: ignore[no-any-return]
        if machine.tabling is not None:
            machine.tabling.note_call(self, index_key(deref(args[0])) if args else None)
        if self.relation is not None:
            if not self.relation.rows and not self.defined:
                return self._undefined(machine, args, cont)
            return enter_rows(machine, self.relation, self.database.generation, args, cont)
        clauses = self.select(args)
        if len(clauses) == 1 and clauses[0].died == FOREVER:
            clause = clauses[0]
            frame = (clause.match or self.database.compile(clause))(args, machine.trail)
            if frame is None:
                return None
            frame[self.arity] = len(machine.choices)
            return clause.code(machine, frame, cont)  # type: ignore[misc]
        return try_clauses(machine, (self.database, clauses, 0, len(clauses), self.database.generation, args), cont)

    def _enter_specially(self, machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        """Answer a call by reachability or from a table, where that can be done."""
        closure = self.find_closure()
        answer = None if closure is None else closure.answer(machine, self, args)
        if answer is not None:
            return cont if answer else None
        if self.tabled:
            return call_tabled(machine, self.name, self._fill, args, cont)
        return self._fill(machine, args, cont)

    def find_closure(self) -> Any:
        """Return what the predicate is a closure of, if it is one."""
        if not self._recognised:
            self._recognised, self.closure = True, self.database.find_closure(self)
            self.special = self.tabled or self.closure is not None
        return self.closure

    def _fill(self, machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        return self.enter(machine, args, cont, filling=True)

    def _undefined(self, machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        value = (machine.extra or {}).get((self.name, self.arity))
        if value is not None:
            return machine.choose(args[0], (value,), cont)
        reason = REFUSALS.get((self.name, self.arity))
        if reason is not None:
            raise refused_predicate(self.name, self.arity, reason)
        raise unknown_predicate(self.name, self.arity, machine.database.known())

    def is_facts(self) -> bool:
        """Tell whether the predicate is made of facts alone, which others may replace."""
        return self.relation is not None or all(c.body == "true" for c in self.clauses if c.died == FOREVER)

    def is_inhabited(self) -> bool:
        """Tell whether there is a clause, or code in place of clauses."""
        if self.relation is not None:
            return len(self.relation) > 0
        return self.fixed or any(c.died == FOREVER for c in self.clauses)

    def is_ground_facts(self) -> bool:
        """Tell whether the predicate is made of facts without variables alone."""
        return all(body == "true" and all(map(is_ground, args)) for args, body in self.live())

    def live(self) -> Iterator[tuple[tuple[Term, ...], Term]]:
        """Return the arguments and the body of every clause."""
        if self.relation is not None:
            died = self.relation.died
            return ((row, "true") for number, row in enumerate(self.relation.rows) if number not in died)
        return ((c.args, c.body) for c in self.clauses if c.died == FOREVER)

    def clear(self) -> None:
        """Begin anew as an empty relation."""
        self._keep_version()
        self.changes += 1
        self.relation, self.clauses, self.dead, self._index = FactRelation(self.arity), [], 0, None
        self._renew()
        self.note_all()

    def note_birth(self, relation: FactRelation) -> None:
        """Note that rows come, where old versions are kept."""
        versions = self.database.versions
        if versions is not None:
            relation.note_birth(self.database.generation, versions.oldest)

    def _keep_version(self) -> None:
        """Keep what is about to be replaced as a whole, for views of the generations before this one."""
        database = self.database
        if database.versions is not None:
            old = Predicate(database, self.name, self.arity)
            old.relation, old.clauses, old._index, old._unkeyed = (
                self.relation,
                self.clauses,
                self._index,
                self._unkeyed,
            )
            self.past.append((database.generation, old))
            database.versions.replaced(database.generation, self.past)

    def twin(self, database: PredicateOwner) -> Predicate:
        """Return the same predicate for another database."""
        fresh = Predicate(database, self.name, self.arity)
        fresh.defined, fresh.tabled = self.defined, self.tabled
        for _, args, body in self.entries(tuple(Variable() for _ in range(self.arity))):
            fresh.add(args, body)
        return fresh

    def entries(self, args: tuple[Term, ...]) -> list[tuple[Any, tuple[Term, ...], Term]]:
        """Return (handle, head arguments, body) of every live clause that may match, for clause/2 and retract/1."""
        if self.relation is None:
            return [(c, c.args, c.body) for c in self.select(args) if c.died == FOREVER]
        positions, key = bound_positions(args)
        if positions is None:
            return []
        relation, rows, died = self.relation, self.relation.rows, self.relation.died
        return [(RowHandle(relation, i), rows[i], "true") for i in relation.find(positions, key) if i not in died]

    def erase(self, handle: Any) -> bool:
        """Take a clause away by its handle; False if it is gone already."""
        while isinstance(handle, RowHandle) and handle.relation.moved is not None:
            handle = handle.relation.moved.get(handle.number)
        if isinstance(handle, RowHandle):
            return self.erase_row(handle.relation, handle.number)
        self.database.begin_change()
        if not isinstance(handle, CompiledClause) or handle.died != FOREVER:
            return False
        handle.died = self.database.generation
        self.changes += 1
        self.dead += 1
        if self.dead > max(_COMPACT_AT, len(self.clauses) // 2):
            self._keep_version()
            self.clauses = [c for c in self.clauses if c.died == FOREVER]
            self.dead, self._index = 0, None
        if self.relation is None:
            self._note(handle, known=False)
        return True


def _is_atomic(term: Term) -> bool:
    term = deref(term)
    return term.__class__ is not Variable and not (term.__class__ is tuple and term)
