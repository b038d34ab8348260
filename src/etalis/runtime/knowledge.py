"""Knowledge that the host adds to a program: functions and relations; and queries of an engine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from etalis.data.values import real
from etalis.errors import EventError, InputError, Problem, ProgramError
from etalis.language.check.checks import findings
from etalis.language.check.goals import indicator, strip_wrappers
from etalis.language.lower import load_clauses, new_database, to_logic
from etalis.language.read.parser import parse_term
from etalis.language.rules import knowledge_changes
from etalis.language.syntax import Clause, Rule, StateDeclaration, Tree
from etalis.logic.builtins.table import PROTECTED
from etalis.logic.errors import StepLimitError
from etalis.logic.knowledge.foreign import Function, install
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.fact_relation import FactRelation
from etalis.logic.machine.machine import Frame, Machine
from etalis.logic.solver import Solver
from etalis.logic.terms.unify import Term, deref, from_value, make_list
from etalis.runtime.state import show_time
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds

IS_STATE = "is state: only actions change it"


class Knowledge:
    """What a program's text says, and what the host adds to it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._around = Tree(tuple(item for item in tree.items if not isinstance(item, Rule)), tree.span)
        self._functions: dict[Key, Function] = {}
        self._facts: dict[Key, list[tuple[Term, ...]]] = {}
        self._types: dict[Key, tuple[str | None, ...]] = {}
        self._answered: tuple[frozenset[Key], frozenset[Problem]] = frozenset(), frozenset()
        self._relations: dict[Key, FactRelation] = {}  # of the facts, which engines share until they change them

    def __bool__(self) -> bool:
        return bool(self._functions or self._facts)

    @property
    def calls_host(self) -> bool:
        """Tell whether goals call functions of the host, which may look at the engine."""
        return bool(self._functions)

    @property
    def functions(self) -> Mapping[Key, Function]:
        """The functions that the host registered."""
        return self._functions

    @property
    def computed(self) -> frozenset[Key]:
        """The predicates that are no table of facts: clauses with a body or functions of the host define them."""
        clauses = [item for item in self._around.items if isinstance(item, Clause) and item.body is not None]
        return frozenset(self._functions) | {key for clause in clauses if (key := indicator(clause.head)) is not None}

    @property
    def facts(self) -> Mapping[Key, list[tuple[Term, ...]]]:
        """The facts that the host loaded."""
        return self._facts

    @property
    def types(self) -> Mapping[Key, tuple[str | None, ...]]:
        """The types that the tables of these facts had, where all of one relation agree."""
        return self._types

    @property
    def _state(self) -> frozenset[Key]:
        """The predicates of state."""
        declared = [item.predicates for item in self._around.items if isinstance(item, StateDeclaration)]
        return frozenset((name, arity) for predicates in declared for name, arity, _ in predicates)

    def copied(self) -> Knowledge:
        """Return the same, to which more can be added."""
        other = Knowledge(self._tree)
        other._functions = dict(self._functions)
        other._facts = {key: list(rows) for key, rows in self._facts.items()}
        other._types = dict(self._types)
        other._relations = dict(self._relations)
        return other

    def register(self, functions: Iterable[Function]) -> None:
        """Add functions; a predicate that has clauses cannot be a function too."""
        for function in functions:
            key = (function.name, function.arity)
            clauses = {indicator(strip_wrappers(c.head)) for c in self._around.items if isinstance(c, Clause)}
            if key in clauses or key in self._facts or (key[0], True) in knowledge_changes(self._around).get(key, ()):
                message = f"{key[0]}/{key[1]} cannot be registered: the program has facts or clauses for it"
                raise ProgramError(Problem("E231", message, hint="give the function another name, or its arity"))
            self._functions[key] = function

    def load(self, *relations: tuple[str, LoadedRows]) -> int:
        """Add facts behind those that there are, all or none; return how many the first relation has."""
        for name, rows in relations:
            key = (name, rows.arity)
            if key in PROTECTED or key in self._functions:
                raise unfit(key, rows, "is built in or registered")
            if key in self._state:
                raise unfit(key, rows, IS_STATE, "write its first facts into the program")
        for name, rows in relations:
            key = (name, rows.arity)
            known, types = self._types.get(key), rows.types or (None,) * rows.arity
            agreed = types if known is None else tuple(a if a == b else None for a, b in zip(known, types, strict=True))
            self._types[key] = agreed
            self._relations.pop(key, None)
            self._facts.setdefault(key, []).extend(rows.rows)
        return len(relations[0][1].rows)

    def database(self) -> Database:
        """Return all of it, for one engine."""
        database = new_database()
        for (name, arity), function in self._functions.items():
            install(database, name, arity, function.enter)
        load_clauses(self._around, database)
        for (name, arity), rows in self._facts.items():
            facts = self._relation((name, arity))
            if facts is None:
                database.add_rows(name, arity, rows)
            else:
                database.share_rows(name, facts)
        return database

    def _relation(self, key: Key) -> FactRelation | None:
        """Return facts as a relation; None where some are no rows of atoms and numbers."""
        if key not in self._relations:
            rows = self._facts[key]
            if any(x.__class__ is tuple and x for x in chain.from_iterable(rows)):
                return None
            self._relations[key] = facts = FactRelation(key[1])
            facts.rows = list(rows)
        return self._relations[key]

    def unanswered(self, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Return the problems that stay when what was added is known."""
        if not self:
            return problems
        known = frozenset((*self._functions, *self._facts))
        if self._answered[0] != known:
            self._answered = known, frozenset(findings(self._tree)).difference(findings(self._tree, known))
        return tuple(problem for problem in problems if problem not in self._answered[1])


def solutions(solver: Solver, goal: str, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the solutions of a goal, all or the first: the values of its named variables."""
    term = parse_term(goal, "<query>")
    try:
        found = list(islice(solver.solve(to_logic(term)), limit))
    except StepLimitError as error:
        raise error.at(term.span) from None
    return [{name: value for name, value in row.items() if not name.startswith("_")} for row in found]


def solutions_at(solver: Solver, goal: str, time: int, now: int, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the solutions of a goal over the knowledge as it was after a moment."""
    if time > now:
        message = f"the facts at {to_seconds(time)} are not known yet: time has reached {show_time(now)}"
        raise EventError(Problem("E311", message, hint="ask for a moment that has come"))
    with solver.as_of(time):
        return solutions(solver, goal, limit)


def unfit(key: Key, rows: LoadedRows, reason: str, hint: str = "load the facts under another name") -> InputError:
    """Return the refusal of rows for a predicate that cannot take them."""
    return InputError(Problem("E409", f"{rows.source} cannot be {key[0]}/{key[1]}, which {reason}", hint=hint))


def show_history(database: Database, history: list[Event]) -> None:
    """Make `stored_event(event(Atom, [Start, End]))` a predicate over the events kept so far."""

    def enter(machine: Machine, args: tuple[Term, ...], cont: Frame) -> Frame | None:
        known = history
        if machine.tabling is not None:
            machine.tabling.note_passing()
        if machine.view is not None:
            known = history[: bisect_right(history, machine.view.time, key=attrgetter("end_time"))]
        return machine.choose(args[0], _stored(known, _wanted(args[0])), cont)

    install(database, "stored_event", 1, enter)


def _stored(history: list[Event], wanted: Key | None) -> Iterator[Term]:
    for number in range(len(history)):  # those of this moment; more may come while the goal runs
        event = history[number]
        if wanted is None or wanted == (event.name, len(event.args)):
            atom = (event.name, *map(from_value, event.args)) if event.args else event.name
            times = [real(t) if isinstance(t, float) else t for t in (event.start, event.end)]
            yield ("event", atom, make_list(times))


def _wanted(pattern: Term) -> Key | None:
    """Return name and arity of the event that is asked for; None if any may match."""
    pattern = deref(pattern)
    if not (isinstance(pattern, tuple) and len(pattern) == 3):
        return None
    match deref(pattern[1]):
        case str() as name:
            return name, 0
        case (str() as name, *args):
            return name, len(args)
        case _:
            return None
