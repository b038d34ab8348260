"""Clauses written out where they are called: `near(A, B) :- border(A, B).` becomes the alternatives of a goal.

Law: the alternatives have the solutions of the call, in order, as long as the predicate has these clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from etalis.logic.machine.database import Database, Key
from etalis.logic.machine.predicate import Predicate
from etalis.logic.terms.unify import Term, Variable, copy, deref

_MOST_CLAUSES = 8
_MOST_GOALS = 24
_CONTROL = frozenset((",", ";", "->", "*->", "\\+", "not", "once", "ignore", "forall", "call"))


def unfold(database: Database, name: str, arity: int) -> Predicate | None:
    """Return a predicate whose clauses can stand in the place of its calls, None if it is none.

    It is the program's own, with few clauses, none of which comes back to the predicate; cuts stand between goals.
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
        if goals > _MOST_GOALS or any(key == above for above, _ in path):
            return None
        called = _clauses_of(database, key)
        if called is not None:
            path.append((key, _called_by(called)))
    return predicate


def alternatives(predicate: Predicate, args: tuple[Term, ...], is_free: Callable[[Term], bool]) -> list[Term]:
    """Return the goals, one of which a call with some arguments stands for; their variables are new.

    A clause with a cut is a condition for those behind it. What a head has at the place of a variable that `is_free`
    cannot fail, so that it may come behind the cut.
    """
    found: list[Term] = []
    for head, body in reversed(list(predicate.live())):
        _, goal, *mine = copy((":-", body, *head))
        first: list[Term] = []
        later: list[Term] = []
        for here, given in zip(mine, args, strict=True):
            if isinstance(deref(here), Variable) and here.ref is None:
                here.ref = given  # the copy is ours
            else:
                (later if is_free(given) and _is_atomic(here) else first).append(("=", here, given))
        goals = conjuncts(goal)
        if "!" not in goals:
            found = [conjunction([*first, *later, *goals]), *found]
        else:
            place = goals.index("!")
            test, then = conjunction([*first, *goals[:place]]), commit([*later, *goals[place + 1 :]])
            found = [(";", ("->", test, then), _either(found))]
    return found


def _is_atomic(term: Term) -> bool:
    return not isinstance(deref(term), Variable) and not (isinstance(deref(term), tuple) and deref(term))


def _either(goals: Sequence[Term]) -> Term:
    *before, last = goals or ("fail",)
    for goal in reversed(before):
        last = (";", goal, last)
    return last


def conjunction(goals: Sequence[Term]) -> Term:
    """Return goals as one."""
    *before, last = goals or ("true",)
    for goal in reversed(before):
        last = (",", goal, last)
    return last


def commit(goals: Sequence[Term]) -> Term:
    """Return goals as one, in which a cut commits to what it stands behind."""
    if "!" not in goals:
        return conjunction(goals)
    place = goals.index("!")
    return ("->", conjunction(goals[:place]), commit(goals[place + 1 :]))


def _clauses_of(database: Database, key: Key) -> Predicate | None:
    """Return a predicate of the program's own that is made of a few plain clauses."""
    if not database.overrides(*key):
        return None
    predicate = database.predicate(*key)
    if predicate.relation is not None or predicate.fixed or predicate.tabled:
        return None
    if predicate.find_closure() is not None or sum(1 for _ in predicate.live()) > _MOST_CLAUSES:
        return None
    return None if any(has_inner_cut(body) for _, body in predicate.live()) else predicate


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


def has_inner_cut(goal: Term) -> bool:
    """Tell whether a goal has a cut inside of its goals, not only between them."""
    return any(("!", 0) in calls(inner) for inner in conjuncts(goal) if inner != "!")


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
