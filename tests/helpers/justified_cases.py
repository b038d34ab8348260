"""A case at level full: everything that it reports is justified, and the checker looks at each tree."""

from __future__ import annotations

from collections.abc import Iterable

from etalis.engine import Engine
from etalis.language.read.modules import load
from etalis.semantics import steps as semantics
from etalis.semantics.matches import RunNotes
from etalis.temporal.event import Event
from etalis.testing.backends import against_meaning, last_moment, typed_events
from etalis.why import justification as j
from helpers.cases import Case, Change
from helpers.justifications import checker_of

UNTOLD = "an action on a part of a pattern is not told with that part"
GONE = "the rule is not known any more"  # deleted before the snapshot


def noted(case: Case, policy: str | None) -> RunNotes:
    """Return what the meaning of a case notes."""
    program, notes = load(case.origin, read=case.read), RunNotes()
    changes = [(c.at, c.name, c.known, c.args) for c in case.steps if isinstance(c, Change)]
    semantics.run(
        program, typed_events(program, case), policy=policy, until=last_moment(case), changes=changes, notes=notes,
        **dict(case.options),
    )  # fmt: skip
    return notes


def can_be_checked(case: Case, engine: Engine) -> bool:
    """Tell whether the meaning tells a case, with the numbers of an engine that takes all events as they come."""
    told = against_meaning(case) is None and case.admits("semantics")
    taken = sum(isinstance(step, Event) for step in case.steps)
    return told and engine.core.disorder is None and engine.core.state.number == taken


def check_justifications(case: Case, policy: str | None, engine: Engine, found: Iterable[Event]) -> None:
    """Justify all that was reported; where the meaning tells it, compare numbers and let the checker look."""
    checks = can_be_checked(case, engine)
    notes = noted(case, policy) if checks else RunNotes()
    checker = checker_of(load(case.origin, read=case.read), notes, policy) if checks else None
    contributors = {made.event: tuple(sorted(made.contributors)) for made in notes.record if made.number is None}
    for event in found:
        told = engine.justify(event)
        gone = any(isinstance(node, j.Derived) and node.note == GONE for node in j.nodes(told.root))
        assert told.complete or UNTOLD in told.notes or gone, f"{event}: {told.notes}"
        if checker is not None and not gone:
            assert event.parts == contributors[event], f"{event} is made of {contributors[event]}, not {event.parts}"
            wrong = checker.check(told)
            assert wrong is None, f"{event}: {wrong.reason}\n{told}"
