"""What is known of an action before it is executed: whether the order of facts matters, whether it may come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from etalis.logic.inline.purity import called
from etalis.logic.machine.database import Database, Key
from etalis.logic.tabling.components import number_components
from etalis.logic.terms.unify import Term, deref
from etalis.reactive.terms import ActionProgram, Clauses

_FIRST: frozenset[Key] = frozenset(
    (
        ("->", 2), ("once", 1), ("ignore", 1), ("!", 0), ("findall", 3), ("findall", 4), ("bagof", 3), ("setof", 3),
        ("aggregate_all", 3), ("aggregate_all", 4), ("", 0),
    )
)  # fmt: skip


def takes_first(database: Database, program: ActionProgram, action: Term) -> bool:
    """Tell whether an action, or what it calls, goes on with a first solution, or with solutions in their order.

    Otherwise states are compared as sets of facts: what has no execution from one has none from the other.
    """
    seen: set[Key] = set()
    todo: list[Key] = []
    for goal in _goals(program.clauses, action):
        if goal is None:
            return True
        todo.extend(called(goal))
    while todo:
        key = todo.pop()
        if key in _FIRST:
            return True
        if key not in seen and database.overrides(*key):
            seen.add(key)
            predicate = database.own(*key)
            if predicate.relation is None and not predicate.is_state:
                todo.extend(each for _, body in predicate.live() for each in called(body))
    return False


def _goals(actions: Mapping[Key, Clauses], action: Term) -> Iterator[Term | None]:
    """Yield the goals that an action may ask, None for a choice by a first solution."""
    entered: set[Key] = set()
    todo = [action]
    while todo:
        match todo.pop():
            case ("test", goal, _):
                yield goal
            case ("call", head, _):
                key = _key(head)
                if key not in entered:
                    entered.add(key)
                    todo.extend(body for _, body in actions[key])
            case ("choose" | "possible", *_):
                yield None
            case ("seq" | "par" | "or", left, right):
                todo += [left, right]
            case ("iso" | "impossible", inner, *_):
                todo.append(inner)


def comes_back(program: ActionProgram, action: Term) -> bool:
    """Tell whether an action may come back to where it was: whether it enters a clause again from inside of it."""
    after: dict[Key, set[Key]] = {}
    todo = list(_entered(action))
    while todo:
        key = todo.pop()
        if key not in after:
            after[key] = {inner for _, body in program.clauses[key] for inner in _entered(body)}
            todo.extend(after[key])
    number = number_components(after)
    sizes = Counter(number.values())
    return any(key in inner or sizes[number[key]] > 1 for key, inner in after.items())


def _entered(action: Term) -> Iterator[Key]:
    """Yield the actions that an action calls itself."""
    todo = [action]
    while todo:
        match todo.pop():
            case ("call", head, _):
                yield _key(head)
            case ("choose", test, left, right):
                todo += [test, left, right]
            case ("seq" | "par" | "or", left, right):
                todo += [left, right]
            case ("iso" | "possible" | "impossible", inner, *_):
                todo.append(inner)


def _key(head: Term) -> Key:
    head = deref(head)
    return (head, 0) if isinstance(head, str) else (head[0], len(head) - 1)
