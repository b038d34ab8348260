"""Repairs as text: one line, and below it what else they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from etalis.language.printer import print_term
from etalis.why.forms.wording import Wording
from etalis.why.justification import Occurred
from etalis.why.printable import form
from etalis.why.repairing.data import AddEvent, AddFact, InputChange, MoveEvent, RemoveEvent, Repair

_STATUS = {
    "proved": "proved smallest",
    "irreducible": "nothing can be left out",
    "found": "found, perhaps not smallest",
}
_SHOWN = 10


@form("Repair", "brief")
def write_brief_repair(found: Repair) -> str:
    """Write a repair in a few words."""
    return repair_line(found, Wording()).removeprefix("repair: ")


@form("Repair", "tree")
def write_repair_text(found: Repair, dates: bool = False, whole: bool = False) -> str:
    """Write a repair for a terminal: the changes, then the events that they make and take away."""
    wording = Wording(dates)
    lines = [repair_line(found, wording)]
    for word, events in (("gained", found.gained), ("lost", found.lost)):
        if events:
            lines.append(f"  {word}: {_listed(events, wording, whole)}")
    return "\n".join(lines)


def repair_line(found: Repair, wording: Wording) -> str:
    """Write the changes of a repair, and how sure it is."""
    changes = ", ".join(_change(change, wording) for change in found.changes)
    return f"repair: {changes} ({_STATUS[found.status]})"


def _listed(events: Sequence[Occurred], wording: Wording, whole: bool) -> str:
    shown = events if whole else events[:_SHOWN]
    further = len(events) - len(shown)
    return ", ".join(map(wording.event, shown)) + (f" and {further:,} more" if further else "")


def _change(change: InputChange, wording: Wording) -> str:
    match change:
        case AddEvent(start=start, end=end):
            return f"add {change.atom} {_when(start, end, wording)}"
        case RemoveEvent(event=event):
            return f"remove {event.atom} {_when(event.start, event.end, wording)}"
        case MoveEvent(event=event, start=start, end=end):
            was = (
                wording.moment(event.end) if event.start == event.end else wording.event(event).removeprefix(event.atom)
            )
            now = wording.moment(end) if start == end else f"[{wording.moment(start)}, {wording.moment(end)}]"
            return f"move {event.atom} from {was.strip()} to {now}"
        case AddFact(atom=atom, since=since):
            return f"add the fact {print_term(atom)} at {wording.moment(since)}"
        case _:
            assert_never(change)


def _when(start: int, end: int, wording: Wording) -> str:
    if start == end:
        return f"at {wording.moment(start)}"
    return f"on [{wording.moment(start)}, {wording.moment(end)}]"
