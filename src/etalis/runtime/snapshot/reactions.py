"""Reactions in a snapshot: the facts that actions have changed, in their order, and the numbers of the present stamp.

A program that was edited meanwhile keeps the facts of the state predicates that it still has; new ones begin with what
its text says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from etalis.errors import SnapshotError
from etalis.logic.errors import LogicError
from etalis.logic.state.state_store import StateStore
from etalis.runtime.reactions.legal_state import refuse_illegal
from etalis.runtime.snapshot.sections import Book

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def save_reactions(core: Core, names: dict[int, str], book: Book) -> None:
    """Write down the state, and how many equal matches of the present stamp each reaction has had."""
    state: StateStore | None = core.rules.solver.database.state
    if state is not None:
        facts = list(state.facts())
        book.put_rows(("states",), [(name, arity, len(rows)) for (name, arity), rows in facts])
        for (name, arity), rows in facts:
            book.put_rows(("state", name, str(arity)), rows)
    rows = [
        (names[number], numbering.stamp, identity, count)
        for number, numbering in core.rules.heads.numberings.items()
        if numbering.stamp >= core.state.now
        for identity, count in numbering.counts.items()
    ]
    book.put_rows(("numberings",), rows)


def load_reactions(core: Core, names: dict[int, str], book: Book) -> list[str]:
    """Put back what was written, as far as it has a place here; return which facts have none."""
    numbers = {name: number for number, name in names.items()}
    for name, stamp, identity, count in book.rows(("numberings",)):
        numbering = core.rules.heads.numberings.get(numbers.get(name, -1))
        if numbering is not None:
            numbering.stamp = stamp
            numbering.counts[identity] = count
    unfit = _load_state(core.rules.solver.database.state, book)
    refuse_illegal(core.program.tree, core.rules.solver)
    return unfit


def _load_state(state: StateStore | None, book: Book) -> list[str]:
    facts = {} if state is None else dict(state.facts())
    unfit = []
    for name, arity, count in book.rows(("states",)):
        if (name, arity) in facts:
            rows = book.rows(("state", name, str(arity)))
            facts[name, arity] = rows if arity else [()] * count
        else:
            unfit.append(f"facts of {name}/{arity}")
    if state is not None:
        try:
            state.load(facts)
        except LogicError as error:
            raise SnapshotError(*error.problems) from None
    return unfit
