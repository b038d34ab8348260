"""Whether the order of facts can matter to an action: where it goes on with the first of several solutions.

Where it does not, states are compared as sets of facts: what has no execution from one has none from the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from etalis.logic.inline.purity import called
from etalis.logic.machine.database import Database, Key
from etalis.logic.terms.unify import Term, deref
from etalis.reactive.terms import ActionProgram, Clauses

_FIRST: frozenset[Key] = frozenset(
    (
        ("->", 2), ("once", 1), ("ignore", 1), ("!", 0), ("findall", 3), ("findall", 4), ("bagof", 3), ("setof", 3),
        ("aggregate_all", 3), ("aggregate_all", 4), ("", 0),
    )
)  # fmt: skip


def takes_first(database: Database, program: ActionProgram, action: Term) -> bool:
    """Tell whether an action, or what it calls, goes on with a first solution, or with solutions in their order."""
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
            todo.extend(each for _, body in database.own(*key).live() for each in called(body))
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
                head = deref(head)
                key = (head, 0) if isinstance(head, str) else (head[0], len(head) - 1)
                if key not in entered:
                    entered.add(key)
                    todo.extend(body for _, body in actions[key])
            case ("choose" | "possible", *_):
                yield None
            case ("seq" | "par" | "or", left, right):
                todo += [left, right]
            case ("iso" | "impossible", inner, *_):
                todo.append(inner)
