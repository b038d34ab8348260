"""Which goals have one answer as long as the knowledge stands still: without effects, clock, host or counters.

All that a goal calls is followed through the clauses of the database. Only what is listed here is believed to be pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.logic.builtins.lists import LIST_CODES, LIST_TESTS
from etalis.logic.builtins.shape import SHAPE_TESTS
from etalis.logic.builtins.sparql import SPARQL_TESTS
from etalis.logic.builtins.terms import TERM_CODES, TERM_TESTS
from etalis.logic.builtins.text import TEXT_CODES, TEXT_TESTS
from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, deref

Clauses = tuple[tuple[Predicate, int], ...]  # predicates of clauses, and how often each had changed

_TABLES = (LIST_CODES, LIST_TESTS, SHAPE_TESTS, SPARQL_TESTS, TERM_CODES, TERM_TESTS, TEXT_CODES, TEXT_TESTS)
_PURE = frozenset(key for table in _TABLES for key in table) | {
    ("true", 0), ("fail", 0), ("false", 0), ("!", 0), ("otherwise", 0),
}  # fmt: skip
# Which arguments are goals, and how many arguments each is called with besides its own.
_GOALS: dict[Key, dict[int, int]] = {
    **{(name, 2): {0: 0, 1: 0} for name in (",", ";", "->", "*->", "forall")},
    **{(name, 1): {0: 0} for name in ("\\+", "not", "once", "ignore", "call", "prolog", "query", "db")},
    **{("call", arity): {0: arity - 1} for arity in range(2, 9)},
    **{(name, 3): {1: 0} for name in ("findall", "bagof", "setof", "aggregate_all")},
    ("^", 2): {1: 0},
    **{("maplist", arity): {0: arity - 1} for arity in range(2, 8)},
    **{("foldl", arity): {0: arity - 1} for arity in range(4, 8)},
    **{(name, 3): {0: 1} for name in ("include", "exclude")},
    ("partition", 4): {0: 1},
}
_MOST = 200


def pure_clauses(database: Database, goal: Term) -> Clauses | None:
    """Return the predicates of clauses that a goal may call, None if it may do what is not pure."""
    found: dict[Key, Predicate | None] = {}
    todo = list(called(goal))
    while todo:
        key = todo.pop()
        if key in found:
            continue
        if len(found) > _MOST:
            return None
        if not database.overrides(*key):
            if key in _GOALS or key in _PURE:
                found[key] = None
                continue
            if key in database.compiler.codes or not database.provides(*key):
                return None
        predicate = database.predicate(*key)
        if (predicate.fixed and not predicate.is_state) or not predicate.defined:
            return None
        found[key] = predicate
        if predicate.relation is None and not predicate.is_state:
            todo.extend(key for _, body in predicate.live() for key in called(body))
    return tuple((p, p.changes) for p in found.values() if p is not None)


def called(goal: Term) -> Iterator[Key]:
    """Yield what a goal calls, goals in arguments included; `("", 0)` where that cannot be told."""
    todo: list[tuple[Term, int]] = [(goal, 0)]
    while todo:
        term, more = todo.pop()
        match deref(term):
            case Variable():
                yield "", 0
            case str() as name:
                yield name, more
            case (str() as name, *args) if args:
                key = name, len(args) + more
                yield key
                todo.extend((args[i], extra) for i, extra in _GOALS.get(key, {}).items() if i < len(args))
            case _:
                yield "", 0
