"""The database: predicates as ordered clauses, indexed on their first argument, or as relations of plain facts.

A predicate whose clauses are all facts over atoms and numbers is a `Relation`; the first clause of another kind turns
it into a list of compiled clauses. A goal sees the predicate as it was when the goal was called (the logical view of
updates): clauses are appended, and erased ones carry the generation at which they died.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.logic.closure import Closure, Edge, Links, find_closure, ground_arguments
from etalis.logic.host import Reader
from etalis.logic.iso_errors import (
    instantiation_error,
    permission_error,
    refused_predicate,
    type_error,
    unknown_predicate,
)
from etalis.logic.machine import Code, Frame, Machine
from etalis.logic.refusals import REFUSALS
from etalis.logic.relation import FOREVER, Relation, RowHandle
from etalis.logic.tables import Store
from etalis.logic.tabling import call_tabled
from etalis.logic.unify import Term, Variable, copy, deref, is_ground, undo
from etalis.logic.versions import Versions

Key = tuple[str, int]
Match = Callable[[tuple[Term, ...], Any], list[Term] | None]
_COMPACT_AT = 16
_MANY = 1_000  # facts at once, from which on an index is rather filled anew than told of each


@dataclass(frozen=True, slots=True)
class Compiler:
    """What a database needs to run clauses: how to compile a clause and a goal, and what is built in."""

    clause: Callable[[Database, tuple[Term, ...], Term], tuple[Match, Code]]
    goal: Callable[[Database, Term], tuple[Code, list[Term]]]
    codes: Mapping[Key, Code]
    protected: frozenset[Key]


class Clause:
    """One clause: its terms, when it died, and how it runs (compiled at its first use)."""

    __slots__ = ("args", "body", "born", "code", "died", "match")

    def __init__(self, args: tuple[Term, ...], body: Term, born: int = 0) -> None:
        self.args = args
        self.body = body
        self.born = born
        self.died = FOREVER
        self.match: Match | None = None
        self.code: Code | None = None

    def key(self) -> Any:
        """Return what the first argument is indexed by; None for a variable."""
        return index_key(deref(self.args[0])) if self.args else None


def index_key(term: Term) -> Any:
    """Return the index key of a term: an atomic term itself, name and size of a compound, None if unbound."""
    if term.__class__ is tuple and term:
        return (term[0], len(term))
    return None if term.__class__ is Variable else term


class Predicate:
    """All clauses of one name and arity, in order; a fixed one has code of its own and takes none."""

    fixed = False
    __slots__ = (
        "_index", "_recognised", "_unkeyed", "arity", "clauses", "closure", "database", "dead", "defined", "name",
        "past", "relation", "special", "tabled", "watchers",
    )  # fmt: skip

    def __init__(self, database: Database, name: str, arity: int) -> None:
        self.database = database
        self.name = name
        self.arity = arity
        self.defined = False
        self.tabled = False
        self.special = True  # calls may be answered otherwise than by running clauses
        self.closure: Closure | None = None
        self.watchers: list[Links] = []
        self.relation: Relation | None = Relation(arity)
        self.clauses: list[Clause] = []
        self.dead = 0
        self._index: dict[Any, list[Clause]] | None = None
        self._unkeyed: list[Clause] = []
        self.past: deque[tuple[int, Predicate]] = deque()
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
        clause = Clause(args, body, self.database.generation)
        if first:
            self.clauses = [clause, *self.clauses]
            self._index = None
        else:
            self.clauses.append(clause)
            if self._index is not None:
                self._file(clause, self._index)
        self._note(clause, known=True)

    def add_row(self, relation: Relation, row: tuple[Term, ...]) -> None:
        """Add a fact over atoms and numbers."""
        relation.add(row)
        if self.watchers or self.database.tables.answers:
            self._note_row(row, known=True)

    def _note_row(self, row: tuple[Term, ...], *, known: bool) -> None:
        """Tell those who keep conclusions from facts that one has come or gone."""
        for links in self.watchers:
            links.change(self.name, row, known=known)
        self.database.tables.forget(self, index_key(row[0]) if row else None)

    def _note(self, clause: Clause, *, known: bool) -> None:
        """Tell those who keep conclusions from clauses that one has come or gone."""
        self._renew()
        if clause.body == "true" and all(map(is_ground, clause.args)):
            self._note_row(clause.args, known=known)
        else:
            self.note_all(clause.key())

    def note_all(self, key: Any = None) -> None:
        """Tell those who keep conclusions that more than a ground fact has changed, under one index key or none."""
        for links in self.watchers:
            links.reset()
        self.database.tables.forget(self, key)

    def _renew(self) -> None:
        """Look anew, at the next call, whether the predicate is a closure."""
        if self.closure is not None:
            self.closure.valid = False
        self.special, self._recognised, self.closure = True, False, None

    def _leave_relation(self, relation: Relation) -> None:
        """Turn the rows into clauses, because a clause of another kind comes."""
        self._keep_version()
        relation.moved = {i: Clause(row, "true") for i, row in enumerate(relation.rows) if i not in relation.died}
        self.clauses = list(relation.moved.values())
        self.relation = None

    def _file(self, clause: Clause, index: dict[Any, list[Clause]]) -> None:
        """Put a new last clause into the index; one with a variable comes after every key."""
        key = clause.key()
        if key is not None:
            index.setdefault(key, list(self._unkeyed)).append(clause)
            return
        self._unkeyed.append(clause)
        for clauses in index.values():
            clauses.append(clause)

    def _build_index(self) -> dict[Any, list[Clause]]:
        self._index, self._unkeyed = {}, []
        for clause in self.clauses:
            self._file(clause, self._index)
        return self._index

    def select(self, args: tuple[Term, ...]) -> list[Clause]:
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
            return machine.view.enter(machine, self, args, cont)
        if machine.tabling is not None:
            machine.tabling.note_call(self, index_key(deref(args[0])) if args else None)
        if self.relation is not None:
            if not self.relation.rows and not self.defined:
                return self._undefined(machine, args, cont)
            return _enter_rows(machine, self, self.relation, args, cont)
        clauses = self.select(args)
        return try_clauses(machine, (self.database, clauses, 0, len(clauses), self.database.generation, args), cont)

    def _enter_specially(self, machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        """Answer a call by reachability or from a table, where that can be done."""
        closure = self.find_closure()
        ground = None if closure is None else ground_arguments(args)
        if closure is not None and ground is not None:
            answer = closure.answer(machine, self, *ground)
            if answer is not None:
                return cont if answer else None
        if self.tabled:
            return call_tabled(machine, self.name, self._fill, args, cont)
        return self._fill(machine, args, cont)

    def find_closure(self) -> Closure | None:
        """Return what the predicate is a closure of, if it is one."""
        if not self._recognised:
            self._recognised, self.closure = True, find_closure(self)
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
        """Yield the arguments and the body of every clause."""
        return ((c.args, c.body) for c in self.clauses if c.died == FOREVER)

    def clear(self) -> None:
        """Begin anew as an empty relation."""
        self._keep_version()
        self.relation, self.clauses, self.dead, self._index = Relation(self.arity), [], 0, None
        self._renew()
        self.note_all()

    def note_birth(self, relation: Relation) -> None:
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
            database.versions.replaced(database.generation, self)

    def twin(self, database: Database) -> Predicate:
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
        self.database.begin_change()
        while isinstance(handle, RowHandle) and handle.relation.moved is not None:
            handle = handle.relation.moved.get(handle.number)
        if isinstance(handle, RowHandle):
            relation = handle.relation
            versions = self.database.versions
            gone = relation.erase(
                handle.number, self.database.generation, None if versions is None else versions.oldest
            )
            if gone and relation is self.relation:
                self._note_row(relation.rows[handle.number], known=False)
            if len(relation.died) > max(_COMPACT_AT, len(relation.rows) // 2):
                self._keep_version()
                self.relation = relation.compacted()
            return gone
        if not isinstance(handle, Clause) or handle.died != FOREVER:
            return False
        handle.died = self.database.generation
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


def try_clauses(machine: Machine, state: tuple[Any, ...], cont: Frame) -> Frame | None:
    """Try clauses in turn; the alternatives left wait as a choice while one runs."""
    database, clauses, i, n, generation, args = state
    choices, trail = machine.choices, machine.trail
    barrier, mark = len(choices), len(trail)
    while i < n:
        clause = clauses[i]
        i += 1
        if clause.died <= generation:
            continue
        match = clause.match
        if match is None:
            match = database.compile(clause)
        frame = match(args, trail)
        if frame is not None:
            frame[len(args)] = barrier
            if i == n:
                return clause.code(machine, frame, cont)  # type: ignore[no-any-return]
            choices.append((mark, (try_clauses, (database, clauses, i, n, generation, args), cont)))
            following = clause.code(machine, frame, cont)
            if following is not None:
                return following  # type: ignore[no-any-return]
            if len(choices) != barrier + 1:
                return None  # a cut took the other clauses away, or the body left alternatives of its own
            choices.pop()
        undo(trail, mark)
    return None


def bound_positions(args: tuple[Term, ...]) -> tuple[tuple[int, ...] | None, Any]:
    """Return which arguments are bound and the index key they make; None if one is compound, which no row holds."""
    positions: list[int] = []
    key: list[Term] = []
    for i, arg in enumerate(args):
        while arg.__class__ is Variable:
            if arg.ref is None:
                break
            arg = arg.ref
        else:
            if arg.__class__ is tuple and arg:
                return None, None
            positions.append(i)
            key.append(arg)
    return tuple(positions), key[0] if len(key) == 1 else tuple(key)


def _enter_rows(
    machine: Machine, predicate: Predicate, relation: Relation, args: tuple[Term, ...], cont: Frame
) -> Frame | None:
    positions, key = bound_positions(args)
    if positions is None:
        return None
    numbers = relation.find(positions, key)
    if len(positions) == len(args) and not relation.died:
        if not numbers:
            return None
        if len(numbers) == 1:
            return cont
    state = (relation, numbers, 0, len(numbers), predicate.database.generation, args)
    return try_rows(machine, state, cont)


def try_rows(machine: Machine, state: tuple[Any, ...], cont: Frame) -> Frame | None:
    """Unify the arguments with rows in turn."""
    relation, numbers, i, n, generation, args = state
    trail = machine.trail
    mark = len(trail)
    while i < n:
        number = numbers[i]
        i += 1
        if relation.died and not relation.live(number, generation):
            continue
        for arg, value in zip(args, relation.rows[number], strict=True):
            while arg.__class__ is Variable and arg.ref is not None:
                arg = arg.ref
            if arg.__class__ is Variable:
                arg.ref = value
                trail.append(arg)
            elif arg != value:
                undo(trail, mark)
                break
        else:
            if i < n:
                machine.choices.append((mark, (try_rows, (relation, numbers, i, n, generation, args), cont)))
            return cont
    return None


class Database:
    """Predicates by name and arity; what is not here is looked for in `base`, the library.

    `memory` holds the counters, flags and global values of goals, by kind and name; `reader` is how goals read a term
    from a text, lent by the language.
    """

    def __init__(self, compiler: Compiler, base: Database | None = None) -> None:
        self.generation = 0
        self.compiler = compiler
        self.base = base
        self.memory: dict[tuple[str, Term], Term] = {}
        self.reader: Reader | None = None
        self.tables = Store()
        self.versions: Versions | None = None
        self._links: dict[frozenset[Edge], Links] = {}
        self._predicates: dict[Key, Predicate] = {}

    def keep_versions(self, horizon: int, clock: Callable[[], int]) -> None:
        """Keep old versions for a time (0: none) before what the clock, which never goes back, shows."""
        self.versions = Versions(horizon, clock) if horizon > 0 else None

    def begin_change(self) -> None:
        """Begin a new generation: what was seen so far stays what it was."""
        if self.versions is not None:
            self.versions.begin(self.generation)
        self.generation += 1

    def compile(self, clause: Clause) -> Match:
        """Compile a clause at its first use."""
        match, clause.code = self.compiler.clause(self, clause.args, clause.body)
        clause.match = match
        return match

    def predicate(self, name: str, arity: int) -> Predicate:
        """Return the predicate to call: the program's own, else the library's, else a new undefined one."""
        own = self._predicates.get((name, arity))
        if own is not None and own.defined:
            return own
        if self.base is not None:
            shared = self.base._predicates.get((name, arity))
            if shared is not None:
                return shared
        return self.own(name, arity)

    def overrides(self, name: str, arity: int) -> bool:
        """Tell whether the program defines a predicate itself, perhaps in place of a built-in one."""
        own = self._predicates.get((name, arity))
        return own is not None and own.defined

    def calls(self, name: str, arity: int) -> bool:
        """Tell whether the program defines or calls a predicate of its own."""
        return (name, arity) in self._predicates

    def provides(self, name: str, arity: int) -> bool:
        """Tell whether a predicate is built in or of the library."""
        key = (name, arity)
        return key in self.compiler.codes or (self.base is not None and key in self.base._predicates)

    def code(self, name: str, arity: int) -> Code:
        """Return the code that a call runs: the program's own clauses, else what is built in, else the library's."""
        if not self.overrides(name, arity):
            code = self.compiler.codes.get((name, arity))
            if code is not None:
                return code
        return self.predicate(name, arity).enter

    def own(self, name: str, arity: int) -> Predicate:
        """Return the program's own predicate, made if it is not there."""
        key = (name, arity)
        predicate = self._predicates.get(key)
        if predicate is None:
            predicate = self._predicates[key] = Predicate(self, name, arity)
        return predicate

    def defined(self) -> list[Predicate]:
        """Return the program's own predicates."""
        return [p for (name, _), p in self._predicates.items() if p.defined and not name.startswith("$")]

    def known(self) -> list[Key]:
        """Return name and arity of all that can be called."""
        mine = [(predicate.name, predicate.arity) for predicate in self.defined()]
        return [*mine, *(self.base.known() if self.base is not None else ()), *self.compiler.codes]

    def declare(self, name: str, arity: int) -> None:
        """Define a predicate that may have no clauses (`dynamic`)."""
        if not self.own(name, arity).fixed:
            self.writable(name, arity).defined = True

    def table(self, name: str, arity: int) -> None:
        """Keep the answers of a predicate in tables (`table`)."""
        self.begin_change()
        predicate = self.writable(name, arity)
        predicate.tabled = predicate.special = True
        self.tables.clear()

    def links(self, edges: frozenset[Edge]) -> Links:
        """Return the index of reachability over the facts of some edges."""
        if edges not in self._links:
            self._links[edges] = Links(self, edges)
        return self._links[edges]

    def writable(self, name: str, arity: int, action: str = "modify") -> Predicate:
        """Return a predicate whose clauses may change; refuse the built-in ones."""
        own = None if (name, arity) in self.compiler.protected else self.own(name, arity)
        if own is None or own.fixed:
            raise permission_error(action, "static_procedure", ("/", name, arity))
        return own

    def add(self, clause: Term, *, first: bool = False) -> None:
        """Add a clause `head :- body` or a fact; its variables become its own."""
        head, body = split_clause(copy(clause))
        name, args = (head, ()) if isinstance(head, str) else (head[0], head[1:])
        predicate = self.writable(name, len(args))
        self.begin_change()
        predicate.add(args, body, first=first)

    def add_rows(self, name: str, arity: int, rows: Iterable[tuple[Term, ...]]) -> None:
        """Add many ground facts at once; those over atoms and numbers stay rows."""
        predicate = self.writable(name, arity)
        self.begin_change()
        predicate.defined = True
        if predicate.relation is not None:
            predicate.note_birth(predicate.relation)
        for number, row in enumerate(rows):
            if number == _MANY:
                predicate.note_all()
            if predicate.relation is None or any(x.__class__ is tuple and x for x in row):
                predicate.add(row, "true")
            else:
                predicate.add_row(predicate.relation, row)

    def replace_rows(self, name: str, arity: int, rows: Iterable[tuple[Term, ...]]) -> None:
        """Put facts in the place of those that a predicate has; goals that run already keep what they see."""
        predicate = self.writable(name, arity)
        if not predicate.is_facts():
            raise permission_error("modify", "rules", ("/", name, arity))
        self.begin_change()
        predicate.clear()
        self.add_rows(name, arity, rows)

    def is_replaceable(self, name: str, arity: int) -> bool:
        """Tell whether a predicate is the program's own and has nothing but facts."""
        own = self._predicates.get((name, arity))
        return (name, arity) not in self.compiler.protected and (own is None or (not own.fixed and own.is_facts()))

    def install(self, predicate: Predicate) -> None:
        """Take a predicate that brings its own code."""
        self._predicates[predicate.name, predicate.arity] = predicate
        self.tables.clear()

    def copied(self) -> Database:
        """Return a database of its own with the same clauses."""
        twin = Database(self.compiler, self.base)
        twin.memory.update(self.memory)
        twin.reader = self.reader
        for predicate in self._predicates.values():
            if predicate.defined or predicate.tabled:
                twin.install(predicate.twin(twin))
        return twin


def split_clause(clause: Term) -> tuple[Term, Term]:
    """Return head and body of a clause, checked: the head callable, the body made of callable goals."""
    clause = deref(clause)
    head, body = clause, "true"
    if clause.__class__ is tuple and len(clause) == 3 and clause[0] == ":-":
        head, body = deref(clause[1]), deref(clause[2])
    if isinstance(head, Variable):
        raise instantiation_error()
    if not is_callable(head):
        raise type_error("callable", head)
    check_body(body)
    return head, body


def is_callable(term: Term) -> bool:
    """Tell whether a dereferenced term is an atom or a compound term."""
    return isinstance(term, str) or (isinstance(term, tuple) and bool(term))


def check_body(body: Term) -> None:
    """Refuse a body with a goal that can never be called, such as a number."""
    todo = [body]
    while todo:
        goal = deref(todo.pop())
        if isinstance(goal, tuple) and len(goal) == 3 and goal[0] in (",", ";", "->", "*->"):
            todo.extend(goal[1:])
        elif not isinstance(goal, Variable) and not is_callable(goal):
            raise type_error("callable", body)
