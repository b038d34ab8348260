"""What is known of an action before it is executed: what it calls, whether it may come back, whether order matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etalis.logic.inline.knowledge.purity import called
from etalis.logic.machine.database import Database, Key
from etalis.logic.terms.unify import Term
from etalis.reactive.terms import ActionProgram, key_of, parts

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
    todo: list[Key] = []
    for part in _reached(program, action):
        if part[0] in ("choose", "possible"):
            return True
        if part[0] == "test":
            todo.extend(called(part[1]))
    seen: set[Key] = set()
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


def _reached(program: ActionProgram, action: Term) -> Iterator[Term]:
    """Yield all parts of an action, and of the actions it calls."""
    entered: set[Key] = set()
    todo = [action]
    while todo:
        for part in parts(todo.pop()):
            yield part
            key = key_of(part[1]) if part[0] == "call" else None
            if key is not None and key not in entered:
                entered.add(key)
                todo.extend(body for _, body in program.clauses[key])


def comes_back(program: ActionProgram, action: Term) -> bool:
    """Tell whether an action may come back to where it was: whether it enters a clause again from inside of it."""
    below = actions_below(program)
    mine = {key_of(part[1]) for part in parts(action) if part[0] == "call"}
    return any(key in below[key] for key in mine.union(*(below[key] for key in mine)))


def actions_below(program: ActionProgram) -> Mapping[Key, set[Key]]:
    """Return which actions each action calls, or what it calls does."""
    below = {
        key: {key_of(part[1]) for _, body in clauses for part in parts(body) if part[0] == "call"}
        for key, clauses in program.clauses.items()
    }
    grown = True
    while grown:
        grown = False
        for mine in below.values():
            more = mine.union(*(below[key] for key in mine))
            if len(more) > len(mine):
                mine |= more
                grown = True
    return below


def tests(action: Term) -> Iterator[Term]:
    """Yield the goals that an action asks itself."""
    return (part[1] for part in parts(action) if part[0] == "test")
