"""Verdicts on golden traces: one matches, differs as docs/compatibility.md lists, is a later issue's, or unexplained.

Two answers match if the same events come in the same steps; inside a step the order is free, since the original fires
depth first and we by rounds. Law: what we answer differently is listed with its reason, and nothing else is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from etalis.temporal.event import Event
from helpers.golden_traces import Outcome, Trace

LISTING = Path(__file__).parents[2] / "docs" / "compatibility.md"


class Verdict(Enum):
    """What becomes of a trace; the last two must not be."""

    MATCHES = "match"
    LISTED = "differ with a listed reason"
    LATER = "belong to a later issue"
    UNEXPLAINED = "differ unexplained"
    STALE = "are listed but should not be"


@dataclass(frozen=True, slots=True)
class Listing:
    """The tables: reasons and what decides them; traces with their reasons; traces of later issues.

    `model` lists the traces whose recorded declarative meaning is not ours, with the reasons.
    """

    reasons: Mapping[str, str]
    differing: Mapping[str, tuple[str, ...]]
    later: Mapping[str, str]
    model: Mapping[str, tuple[str, ...]]


def read_listing(path: Path = LISTING) -> Listing:
    """Read the tables of the document, each known by its first two columns."""
    text = path.read_text(encoding="utf-8")
    return Listing(
        reasons=dict(_rows(text, "reason", "what decides")),
        differing={case: tuple(cell.split(", ")) for case, cell in _rows(text, "case", "reason")},
        later=dict(_rows(text, "case", "issue")),
        model={case: tuple(cell.split(", ")) for case, cell in _rows(text, "case, declaratively", "reason")},
    )


def _rows(text: str, *columns: str) -> Iterator[tuple[str, str]]:
    """Yield the first two cells of each row of the tables with these columns; a case named twice is refused."""
    inside = False
    seen: set[str] = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[:2] == list(columns):
            inside = True
        elif inside and not set(cells[0]) <= set("-:"):
            if cells[0] in seen:
                raise ValueError(f"{cells[0]} is listed twice")
            seen.add(cells[0])
            yield cells[0], cells[1]


def judge(trace: Trace, outcome: Outcome, listing: Listing) -> Verdict:
    """Say what becomes of a trace."""
    differs = bool(differences(trace, outcome))
    match trace.id in listing.differing, trace.id in listing.later:
        case False, False:
            return Verdict.UNEXPLAINED if differs else Verdict.MATCHES
        case True, False:
            return Verdict.LISTED if differs else Verdict.STALE
        case False, True:
            return Verdict.LATER if outcome.is_later else Verdict.STALE
        case _:
            return Verdict.STALE


def differences(trace: Trace, outcome: Outcome) -> list[str]:
    """Say in lines how we answer differently from the original; none if we do not."""
    if outcome.refused is not None:
        return [f"refused here: {str(outcome.refused).splitlines()[0]}"]
    ours, theirs = Counter(outcome.fired), Counter(trace.derived)
    lines = [f"only the original: {_show(*pair, count)}" for pair, count in (theirs - ours).items()]
    return lines + [f"only here:         {_show(*pair, count)}" for pair, count in (ours - theirs).items()]


def _show(step: int | None, event: Event, count: int) -> str:
    times = f", {count} times" if count > 1 else ""
    return f"{event}{times}" if step is None else f"step {step}: {event}{times}"
