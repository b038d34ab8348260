"""Resolution of a call: with clauses in turn, or with the rows of a relation; the rest is a choice point.

A call sees clauses and rows as of the generation at which it began (the logical view of updates).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.logic.machine.fact_relation import FOREVER, FactRelation
from etalis.logic.machine.machine import Code, Frame, Machine
from etalis.logic.terms.unify import Term, Variable, deref, undo

Match = Callable[[tuple[Term, ...], Any], list[Term] | None]


class CompiledClause:
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
    positions, key, _ = _sort_out(args)
    return positions, key


def _sort_out(args: tuple[Term, ...]) -> tuple[tuple[int, ...] | None, Any, list[tuple[int, Variable]]]:
    """Return the positions that are bound, their index key, and the unbound variables with their positions."""
    positions: list[int] = []
    key: list[Term] = []
    free: list[tuple[int, Variable]] = []
    for i, arg in enumerate(args):
        while arg.__class__ is Variable:
            ref = arg.ref
            if ref is None:
                free.append((i, arg))
                break
            arg = ref
        else:
            if arg.__class__ is tuple and arg:
                return None, None, free
            positions.append(i)
            key.append(arg)
    return tuple(positions), key[0] if len(key) == 1 else tuple(key), free


def enter_rows(
    machine: Machine, relation: FactRelation, generation: int, args: tuple[Term, ...], cont: Frame
) -> Frame | None:
    """Call a relation."""
    positions, key, free = _sort_out(args)
    if positions is None:
        return None
    numbers = relation.find(positions, key)
    if not numbers:
        return None
    if len(numbers) == 1 and not relation.died:
        row, trail = relation.rows[numbers[0]], machine.trail
        for i, variable in free:
            if variable.ref is None:
                variable.ref = row[i]
                trail.append(variable)
            elif variable.ref != row[i]:  # the same variable at two places
                return None
        return cont
    state = (relation, numbers, 0, len(numbers), generation, args)
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
