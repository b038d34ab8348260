"""Actions that are changes in sequence, with values that are all given: done at once, without a search.

Where a change is no step, what was done is taken back, and the search says so. Law: what comes of an action is what the
search finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from etalis.data.values import Real, Value
from etalis.logic.errors import LogicError
from etalis.logic.state.state_store import StateStore
from etalis.logic.terms.unify import Term, Variable, deref, from_value, is_ground, to_value, variables
from etalis.reactive.execution import Execution, Failed, Label, SearchLimits
from etalis.reactive.labels import label_of, seconds
from etalis.reactive.legality import Legality
from etalis.reactive.terms import Names

Prepared = Callable[..., Execution | Failed]
_Cells = tuple[Term, ...]  # values of inputs, then constants
_Change = tuple[Callable[[Any], Any], Callable[[_Cells], Any]]  # what is done with a row, and the row of some cells
_PLAIN = frozenset((str, int, float, Real))


class _CrookedError(Exception):
    """An action is more than changes in sequence."""


def straight_line(
    store: StateStore, action: Term, inputs: Mapping[str, Variable], names: Names, limits: SearchLimits,
    legality: Legality | None, search: Prepared,
) -> Prepared | None:  # fmt: skip
    """Return the function that `search` is, for an action without choices; None for another one."""
    constants: list[Term] = []
    places = {variable: place for place, variable in enumerate(inputs.values())}
    try:
        parts = list(_parts(action))
        labels = [part for part in parts if part[0] not in ("entered", "skip")]
        found = [_read(store, leaf, places, constants) for leaf in labels]
    except (_CrookedError, LogicError):
        return None
    if len(parts) >= min(limits.max_path, limits.max_tries):
        return None
    changes = [change for change in found if change is not None]
    doing = _doing(store, changes, legality)
    kept = tuple(constants)

    def run(values: Sequence[Value], refused: frozenset[Label] = frozenset()) -> Execution | Failed:
        if _PLAIN.issuperset(map(type, values)):
            cells = (*values, *kept)
        elif None in values:
            return search(values, refused)
        else:
            cells = (*map(from_value, values), *kept)
        mark = len(store.trail)
        if refused or not doing(cells):
            store.take_back(mark)
            return search(values, refused)
        return Execution.told_later(lambda: _told(labels, inputs, names, cells))

    return run


def _parts(action: Term) -> Iterator[Term]:
    """Yield the parts of an action in sequence, and the clauses that are entered."""
    todo = [action]
    while todo:
        match todo.pop():
            case ("seq", a, b):
                todo += [b, a]
            case ("entered", _, a):
                yield ("entered",)
                todo.append(a)
            case "skip":
                yield ("skip",)
            case ("ins" | "del" | "set" | "raise" | "effect", *_) as leaf:
                yield leaf
            case _:
                raise _CrookedError


def _read(store: StateStore, leaf: Term, places: Mapping[Variable, int], constants: list[Term]) -> _Change | None:
    """Return the change that a leaf makes, None if it makes none; raise what says that it cannot be done so."""
    kind, term, *more = leaf
    loose = more if kind == "del" else ()
    if any(variable not in places and variable not in loose for variable in variables(term)):
        raise _CrookedError
    if kind in ("raise", "effect"):
        for delay in more:
            seconds(delay)
        return None
    name, *args = term if term.__class__ is tuple else (term,)
    predicate = store.predicate(name, len(args))
    cells = []
    for arg in map(deref, args):
        if arg in places if isinstance(arg, Variable) else False:
            cells.append(places[arg])
        elif arg in loose if isinstance(arg, Variable) else is_ground(arg):
            cells.append(len(places) + len(constants))
            constants.append(arg)
        else:
            raise _CrookedError
    deleting = predicate.delete_matching if loose else predicate.delete
    return {"ins": predicate.insert, "set": predicate.put, "del": deleting}[kind], _row(cells)


def _row(places: Sequence[int]) -> Callable[[_Cells], Any]:
    """Return the function that makes a row of cells."""
    if not places:
        return lambda _: ()
    if len(places) == 1:
        (only,) = places
        return lambda cells: (cells[only],)
    return itemgetter(*places)


def _doing(store: StateStore, changes: Sequence[_Change], legality: Legality | None) -> Callable[[_Cells], bool]:
    """Return the function that makes changes, False as soon as one is no step."""

    def do(cells: _Cells) -> bool:
        for change, row in changes:  # noqa: SIM110 - a generator would take as long as the change
            if change(row(cells)) is False:
                return False
        return True

    def do_legally(cells: _Cells) -> bool:
        assert legality is not None
        trail = store.trail
        for change, row in changes:
            mark = len(trail)
            try:
                if change(row(cells)) is False or (len(trail) > mark and legality.broken(trail[mark:]) is not None):
                    return False
            except LogicError:
                return False  # the search reports it
        return True

    return do if legality is None else do_legally


def _told(
    leaves: Sequence[Term], inputs: Mapping[str, Variable], names: Names, cells: _Cells
) -> tuple[tuple[Label, ...], Mapping[str, Value]]:
    """Return the labels of some steps and the values of variables, for the values of the inputs."""
    try:
        for variable, value in zip(inputs.values(), cells, strict=False):
            variable.ref = value
        found = {name: to_value(variable) for name, variable in names.items() if name in inputs}
        return tuple(map(label_of, leaves)), found
    finally:
        for variable in inputs.values():
            variable.ref = None
