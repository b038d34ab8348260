"""The checker of justifications over what the meaning of a program says occurred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.semantics import steps as semantics
from etalis.semantics.matches import RunNotes
from etalis.temporal.event import Event
from etalis.why.checking.occurrences import RunRecord
from etalis.why.justify_check import JustificationChecker

Change = tuple[int, str, bool, tuple[Value, ...]]


def recorded(
    tree: s.Tree,
    stream: Sequence[Event],
    policy: str | None = None,
    changes: Iterable[Change] = (),
    max_derivations: int | None = None,
    until: int | None = None,
) -> RunNotes:
    """Run the meaning of a program; return what occurred, and what contributed to it."""
    notes = RunNotes()
    semantics.run(
        tree, stream, policy=policy, changes=changes, max_derivations=max_derivations, until=until, notes=notes
    )
    return notes


def checker_of(tree: s.Tree, notes: RunNotes, policy: str | None = None) -> JustificationChecker:
    """Return the checker of justifications of a run."""
    events = [(given.event, given.number) for given in notes.record]
    record = RunRecord(tree, events, notes.solver, between=notes.changes)
    return JustificationChecker(record, policy, notes.rules)
