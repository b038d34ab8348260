"""Actions run by their meaning and by the search, from the same first state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from etalis.data.values import Struct, Value, format_value
from etalis.language.lower import load_clauses
from etalis.language.read.parser import parse
from etalis.language.syntax import Reaction, Tree
from etalis.logic.solver import Solver
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import to_value
from etalis.reactive.execution import Execution, Failed, Label, SearchLimits
from etalis.reactive.meaning import FactSets, Meaning
from etalis.reactive.search import Search
from etalis.reactive.terms import ActionProgram, Names


@dataclass(frozen=True, slots=True)
class ActionRun:
    """What comes of an action, as texts, and the facts after it, in order."""

    path: tuple[str, ...]
    failed: str | None
    why: str | None
    error: str | None
    bindings: Mapping[str, Value]
    state: tuple[str, ...]


def read(program: str, action: str) -> tuple[Tree, Solver, ActionProgram, Reaction]:
    """Return a program, a database of its own with its first state, and the action as that of a reaction."""
    tree = parse(f"{program}\non unheard do {action}.")
    reaction = tree.items[-1]
    assert isinstance(reaction, Reaction)
    return tree, Solver(load_clauses(tree)), ActionProgram.of(tree), reaction


def by_meaning(
    program: str, action: str, limits: SearchLimits | None = None, refused: frozenset[Label] = frozenset(),
    given: Mapping[str, Value] = MappingProxyType({}),
) -> ActionRun:  # fmt: skip
    """Run an action by its meaning."""
    _, solver, actions, reaction = read(program, action)
    names: Names = {}
    term = actions.action(reaction.action, names)
    found, state = Meaning(solver, actions, limits).execute(term, names, facts(solver), given, refused)
    return _as_run(found, state)


def by_search(
    program: str, action: str, limits: SearchLimits | None = None, refused: frozenset[Label] = frozenset(),
    given: Mapping[str, Value] = MappingProxyType({}),
) -> ActionRun:  # fmt: skip
    """Run an action by the search."""
    _, solver, actions, reaction = read(program, action)
    found = Search(solver, actions, limits).prepare(reaction.action, tuple(given))(tuple(given.values()), refused)
    if isinstance(found, Failed):
        assert not solver.database.state.trail
    return _as_run(found, facts(solver))


def all_executions(
    program: str, action: str, limits: SearchLimits | None = None
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield path and last state of every execution, nothing that was tried being remembered."""
    _, solver, actions, reaction = read(program, action)
    names: Names = {}
    term = actions.action(reaction.action, names)
    for labels, state in Meaning(solver, actions, limits).executions(term, names, facts(solver)):
        yield tuple(map(str, labels)), _texts(state)


def is_legal(program: str) -> bool:
    """Tell whether the first state of a program is legal."""
    _, solver, actions, _ = read(program, "skip")
    return Search(solver, actions).illegal() is None


def facts(solver: Solver) -> FactSets:
    return {key: tuple(rows) for key, rows in StateStore.of(solver.database).facts()}


def _as_run(found: Execution | Failed, state: FactSets) -> ActionRun:
    if isinstance(found, Execution):
        bindings = {name: value for name, value in sorted(found.bindings.items()) if not name.startswith("_#")}
        return ActionRun(tuple(map(str, found.labels)), None, None, None, bindings, _texts(state))
    error = None if found.error is None else str(found.error)
    return ActionRun(tuple(map(str, found.reached)), found.failed, found.why, error, {}, _texts(state))


def _texts(state: FactSets) -> tuple[str, ...]:
    found = []
    for (name, _), rows in state.items():
        for row in rows:
            found.append(format_value(Struct(name, [to_value(x) for x in row]) if row else name))
    return tuple(found)
