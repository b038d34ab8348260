"""Every case under every treatment that takes it, against its one expectation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from cases import Case, all_cases
from etalis.temporal.event import Event
from treatments import TREATMENTS, Outcome, Treatment, treat

RUNS = [(case, row) for case in all_cases() for row in TREATMENTS.values() if row.takes(case) and case.admits(row.name)]


@pytest.mark.parametrize(("case", "treatment"), RUNS, ids=[f"{case.id}::{row.name}" for case, row in RUNS])
def test_case(case: Case, treatment: Treatment) -> None:
    for policy in case.policies:
        outcome = treat(treatment, case, policy)
        difference = find_differences(case, outcome)
        assert not difference, "\n".join([f"{case.place} under {policy or 'the default policy'}:", *difference])


def find_differences(case: Case, outcome: Outcome) -> list[str]:
    """Say in lines how an outcome differs from what its case expects; none if it does not."""
    if case.errors or outcome.refused is not None:
        return _refusal(case, outcome)
    lines = _missing("error of a condition", case.reported, outcome.reported)
    lines += [f"unexpected error of a condition: {text}" for text in outcome.reported if not case.reported]
    lines += _missing("warning", case.warnings, outcome.warnings)
    if case.output is not None and case.output != outcome.output:
        lines.append(f"written: {outcome.output!r}")
    expected = case.expect or ()
    lines += [f"missing    {event}" for event in _surplus(expected, outcome.events)]
    lines += [f"unexpected {event}" for event in _surplus(outcome.events, expected)]
    if not lines and case.is_ordered and outcome.events != expected:
        lines.append(f"another order: {', '.join(map(repr, outcome.events))}")
    return lines


def _refusal(case: Case, outcome: Outcome) -> list[str]:
    if outcome.refused is None:
        return [f"not refused: {line}" for line in case.errors]
    if not case.errors:
        return [f"refused: {outcome.refused}"]
    problems = [problem for problem in outcome.refused.problems if problem.is_error]
    codes = Counter(problem.code for problem in problems), Counter(line.split()[0] for line in case.errors)
    lines = [] if codes[0] == codes[1] else [f"codes {dict(codes[0])} instead of {dict(codes[1])}"]
    return lines + _missing("error", case.errors, [str(problem) for problem in problems])


def _missing(kind: str, wanted: Iterable[str], found: Iterable[str]) -> list[str]:
    """Name each wanted line whose code and fragment no text has."""
    texts = list(found)
    return [f"no {kind} like {line!r} in {texts}" for line in wanted if not any(_is_like(line, text) for text in texts)]


def _is_like(line: str, text: str) -> bool:
    code, _, fragment = line.partition(" ")
    if code[:1] in "EW" and code[1:].isdigit():
        return code in text and fragment in text
    return line in text


def _surplus(events: Iterable[Event], others: Iterable[Event]) -> list[Event]:
    return list((Counter(events) - Counter(others)).elements())
