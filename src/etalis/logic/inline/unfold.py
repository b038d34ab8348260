"""Clauses written out where they are called: `near(A, B) :- border(A, B).` becomes the alternatives of a goal.

Law: the alternatives have the solutions of the call, in order, as long as the predicate has these clauses.
"""

from __future__ import annotations

from collections.abc import Iterator

from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, copy, deref

_MOST_CLAUSES = 8
_MOST_GOALS = 24
_CONTROL = frozenset((",", ";", "->", "*->", "\\+", "not", "once", "ignore", "forall", "call"))


def unfold(database: Database, name: str, arity: int) -> Predicate | None:
    """Return a predicate whose clauses can stand in the place of its calls, None if it is none.

    It is the program's own, with few clauses, none of which has a cut or comes back to the predicate.
    """
    predicate = _clauses_of(database, (name, arity))
    if predicate is None:
        return None
    goals = 0
    path: list[tuple[Key, Iterator[Key]]] = [((name, arity), _called_by(predicate))]
    while path:
        key = next(path[-1][1], None)
        if key is None:
            path.pop()
            continue
        goals += 1
        if goals > _MOST_GOALS or key == ("!", 0) or any(key == above for above, _ in path):
            return None
        called = _clauses_of(database, key)
        if called is not None:
            path.append((key, _called_by(called)))
    return predicate


def alternatives(predicate: Predicate, args: tuple[Term, ...]) -> list[Term]:
    """Return for each clause the goal that a call with some arguments stands for; its variables are new."""
    found = []
    for head, body in list(predicate.live()):
        _, goal, *mine = copy((":-", body, *head))
        equal = []
        for here, given in zip(mine, args, strict=True):
            if isinstance(deref(here), Variable) and here.ref is None:
                here.ref = given  # the copy is ours
            else:
                equal.append(("=", here, given))
        for pair in reversed(equal):
            goal = (",", pair, goal)
        found.append(goal)
    return found


def _clauses_of(database: Database, key: Key) -> Predicate | None:
    """Return a predicate of the program's own that is made of a few plain clauses."""
    if not database.overrides(*key):
        return None
    predicate = database.predicate(*key)
    if predicate.relation is not None or predicate.fixed or predicate.tabled:
        return None
    if predicate.find_closure() is not None or sum(1 for _ in predicate.live()) > _MOST_CLAUSES:
        return None
    return predicate


def _called_by(predicate: Predicate) -> Iterator[Key]:
    for _, body in predicate.live():
        yield from calls(body)


def calls(goal: Term) -> Iterator[Key]:
    """Yield the predicates that a goal calls, through control constructs; `("", 0)` where it cannot be told."""
    todo = [goal]
    while todo:
        match deref(todo.pop()):
            case (str() as name, *args) if args:
                if name in _CONTROL:
                    todo.extend(args)
                yield name, len(args)
            case str() as name:
                yield name, 0
            case Variable():
                yield "", 0


def has_cut(goal: Term) -> bool:
    """Tell whether a goal has a cut of its own."""
    return ("!", 0) in calls(goal)


def conjuncts(goal: Term) -> list[Term]:
    """Return the goals of a conjunction from left to right."""
    found, todo = [], [goal]
    while todo:
        match deref(todo.pop()):
            case (",", first, second):
                todo += [second, first]
            case other:
                found.append(other)
    return found
