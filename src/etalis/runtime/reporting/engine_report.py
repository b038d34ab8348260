"""The report of an engine: what its rules, its dead letters and its failures tell about the run so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from etalis.errors import Span
from etalis.language.reactive.constraints import tells_violation
from etalis.runtime.core import Core
from etalis.runtime.lateness.watermark import atom_of
from etalis.runtime.reactions.committing import UNDELIVERED
from etalis.runtime.reporting.never_fired import Around, SilenceSearch, Why
from etalis.runtime.reporting.report import RejectedEvents, Report, ReportError, Silent, failed_of, read_nowhere
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.state import BEGINNING, NEVER


def make_report(core: Core, *, silence: bool = True) -> Report:
    """Put together what an engine has come across so far; where nobody asks for `silence`, without silent rules."""
    rules, evidence = core.rules, core.evidence
    unread = tuple(read_nowhere(evidence.unread, rules))
    held = () if core.disorder is None or core.disorder.held is None else core.disorder.held
    waiting = {(name, len(values)) for name, values in map(atom_of, held)}
    around = Around(
        unread=[(each.name, each.arity) for each in unread],
        held=waiting,
        refused={letter.name for letter in core.dead_letters.letters},
        raised={kind[0] for kind in core.failures.kinds if isinstance(kind, tuple)},  # labels of rules
        closed=core.state.floor >= NEVER,
    )
    silent = tuple(_silent(rules, SilenceSearch(rules, around))) if silence else ()
    refused = tuple(RejectedEvents(cause, count, first) for cause, (first, count) in core.dead_letters.causes.items())
    failed = failed_of(core.failures)
    nothing = core.state.now == BEGINNING and not (refused or unread or waiting)
    return Report(unread, () if nothing else silent, refused, failed, nothing and bool(silent))


def refuse_silence(core: Core, found: Any) -> None:
    """Refuse the end of a run in which rules never fired."""
    report = make_report(core)
    if report.silent or report.is_empty:
        raise ReportError(Report(silent=report.silent, is_empty=report.is_empty), found)


def _silent(rules: RuleSet, search: SilenceSearch) -> Iterator[Silent]:
    """Yield the rules that never fired; those that wait for the same come together.

    That a constraint holds, and that no effect was refused, is as it should be; so rules that listen to it are silent.
    """
    hoped = {planned.head.kind for planned, rule in rules.rules if tells_violation(rule)} | {(UNDELIVERED, 2)}
    by_reason: dict[Why, list[tuple[str, Span | None]]] = {}
    for planned, rule in rules.rules:
        why = None if tells_violation(rule) else search.why(planned)
        if why is not None and why.missing not in hoped:
            by_reason.setdefault(why, []).append((planned.head.label, rule.span))
    for why, several in by_reason.items():
        labels = tuple(dict.fromkeys(label for label, _ in several))
        yield Silent(labels, why.part, why.reason, why.hint, several[0][1])
