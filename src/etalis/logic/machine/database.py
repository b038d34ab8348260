"""The database: predicates by name and arity over the library's, and how clauses come into it.

Every change begins a new generation: a goal sees the predicates as they were when it was called (the logical view of
updates).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.logic.host import Reader
from etalis.logic.knowledge.as_of import View
from etalis.logic.knowledge.versions import Versions, not_kept
from etalis.logic.machine.fact_relation import FactRelation
from etalis.logic.machine.machine import Code
from etalis.logic.machine.predicate import Predicate
from etalis.logic.machine.resolution import CompiledClause, Match
from etalis.logic.tabling.closure import Closure, FactEdge, Links, recognise
from etalis.logic.tabling.tables import TableStore
from etalis.logic.terms.iso_errors import changed_state, instantiation_error, permission_error, type_error
from etalis.logic.terms.unify import Term, Variable, copy, deref

Key = tuple[str, int]
_MANY = 1_000  # facts at once, from which on an index is rather filled anew than told of each


@dataclass(frozen=True, slots=True)
class GoalCompiler:
    """What a database needs to run clauses: how to compile a clause and a goal, and what is built in."""

    clause: Callable[[Database, tuple[Term, ...], Term], tuple[Match, Code]]
    goal: Callable[[Database, Term], tuple[Code, list[Term]]]
    codes: Mapping[Key, Code]
    protected: frozenset[Key]


class Database:
    """Predicates by name and arity; what is not here is looked for in `base`, the library.

    `unread` says how to read the predicates of a library that nobody has called yet. `memory` holds the counters, flags
    and global values of goals, by kind and name; `reader` is how goals read a term from a text, lent by the language.
    """

    def __init__(self, compiler: GoalCompiler, base: Database | None = None) -> None:
        self.generation = 0
        self.compiler = compiler
        self.base = base
        self.memory: dict[tuple[str, Term], Term] = {}
        self.reader: Reader | None = None
        self.tables = TableStore()
        self.state: Any = None  # a `StateStore`, or None
        self.versions: Versions | None = None
        self.noted: deque[Any] = deque()  # the calls of functions of the host that a goal has made already
        self.note_change: Callable[[int], None] | None = None  # is told the generation before every change
        self._links: dict[frozenset[FactEdge], Links] = {}
        self._predicates: dict[Key, Predicate] = {}
        self.unread: dict[Key, Callable[[], None]] = {}

    def keep_versions(self, horizon: int, clock: Callable[[], int]) -> None:
        """Keep old versions for a time (0: none) before what the clock, which never goes back, shows."""
        self.versions = Versions(horizon, clock) if horizon > 0 else None

    def as_of(self, time: int) -> View:
        """Return what there was at a moment within the horizon."""
        if self.versions is None:
            raise not_kept(time)
        return View(time, self.versions.generation(time, self.generation))

    def nearest(self, time: int) -> View:
        """Return what there was at a moment; before the horizon, the oldest that is kept."""
        return View(time, self.generation if self.versions is None else self.versions.nearest(time, self.generation))

    def begin_change(self) -> None:
        """Begin a new generation: what was seen so far stays what it was."""
        if self.versions is not None:
            self.versions.begin(self.generation)
        if self.note_change is not None:
            self.note_change(self.generation)
        self.generation += 1

    def compile(self, clause: CompiledClause) -> Match:
        """Compile a clause at its first use."""
        match, clause.code = self.compiler.clause(self, clause.args, clause.body)
        clause.match = match
        return match

    def predicate(self, name: str, arity: int) -> Predicate:
        """Return the predicate to call: the program's own, else the library's, else a new undefined one."""
        own = self._find((name, arity))
        if own is not None and own.defined:
            return own
        shared = None if self.base is None else self.base._find((name, arity))
        return shared or self.own(name, arity)

    def _find(self, key: Key) -> Predicate | None:
        """Return a predicate that is here, read if it was not yet."""
        read = self.unread.get(key)
        if read is not None:
            read()
        return self._predicates.get(key)

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
        return key in self.compiler.codes or (self.base is not None and self.base._has(key))

    def _has(self, key: Key) -> bool:
        return key in self._predicates or key in self.unread

    def _is_given(self, name: str, arity: int) -> bool:
        return self.provides(name, arity) and not self.overrides(name, arity)

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
        codes = [key for key in self.compiler.codes if not key[0].startswith("$")]
        return [*mine, *self.unread, *(self.base.known() if self.base is not None else ()), *codes]

    def declare(self, name: str, arity: int) -> None:
        """Define a predicate that may have no clauses (`dynamic`)."""
        own = self.own(name, arity)
        if own.is_state or not own.fixed:
            self.writable(name, arity).defined = True

    def table(self, name: str, arity: int) -> None:
        """Keep the answers of a predicate in tables (`table`)."""
        self.begin_change()
        predicate = self.writable(name, arity)
        predicate.tabled = predicate.special = True
        self.tables.clear()

    def links(self, edges: frozenset[FactEdge]) -> Links:
        """Return the index of reachability over the facts of some edges."""
        if edges not in self._links:
            self._links[edges] = Links(self.own, edges)
        return self._links[edges]

    def find_closure(self, predicate: Predicate) -> Closure | None:
        """Return what a predicate is a closure of, None if it is none."""
        form = recognise(predicate)
        if form is None or any(self._is_given(edge.name, edge.arity) for edge in form.edges):
            return None
        return Closure(self.links(form.edges), reflexive=form.reflexive)

    def writable(self, name: str, arity: int, action: str = "modify") -> Predicate:
        """Return a predicate whose clauses may change; refuse the built-in ones."""
        own = None if (name, arity) in self.compiler.protected else self.own(name, arity)
        if own is not None and own.is_state:
            raise changed_state(name, arity)
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

    def share_rows(self, name: str, facts: FactRelation) -> None:
        """Add the facts of a relation that never changes; they stay its own where there are none before."""
        predicate = self.writable(name, facts.arity)
        if self.versions is not None or predicate.relation is None or predicate.relation.rows or predicate.watchers:
            self.add_rows(name, facts.arity, facts.rows)
            return
        self.begin_change()
        predicate.defined = True
        predicate.relation = facts.shared()

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
            if (predicate.defined or predicate.tabled) and not predicate.is_state:
                twin.install(predicate.twin(twin))
        if self.state is not None:
            self.state.copy_to(twin)
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
