"""Every case under every treatment that takes it, against its one expectation.

By day the first three treatments meet every policy of a case, and each of the others meets one of them, which the
names of case and treatment draw: every case meets every treatment, and every treatment every policy, in hundreds of
cases. At night each meets all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

import pytest

from etalis.cases.outcomes import find_differences
from etalis.temporal.policy import POLICIES
from etalis.testing.backends import outcome_of
from helpers.cases import Case, all_cases
from helpers.treatments import TREATMENTS, Treatment

MAIN = {"semantics", "engine", "columns"}  # where the point of a case is a warning, they alone
CASES = all_cases()
MANY = [case for case in CASES if len(case.policies) > 1]
Choice = Callable[[Case, Treatment], Iterable[str | None]]


def by_day(case: Case, treatment: Treatment) -> tuple[str | None, ...]:
    if treatment.name in MAIN:
        return case.policies
    return (case.policies[crc32(f"{case.id}::{treatment.name}".encode()) % len(case.policies)],)


def at_night(case: Case, treatment: Treatment) -> list[str | None]:
    drawn = by_day(case, treatment)
    return [policy for policy in case.policies if policy not in drawn]


def is_taken(case: Case, treatment: Treatment) -> bool:
    is_main = treatment.name in MAIN
    return case.admits(treatment.name) and (is_main or not case.warnings) and treatment.takes(case)


def check(case: Case, choose: Choice) -> None:
    """Run a case under its treatments, one behind the other: they share what is compiled."""
    wrong: list[str] = []
    for treatment in (row for row in TREATMENTS.values() if is_taken(case, row)):
        for policy in choose(case, treatment):
            run = f"{case.place} by {treatment.name} under {policy or 'the default policy'}:"
            try:
                difference = find_differences(case, outcome_of(treatment.run, case, policy))
            except Exception as error:
                error.add_note(run)
                raise
            wrong += [run, *difference] if difference else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case(case: Case) -> None:
    check(case, by_day)


@pytest.mark.nightly
@pytest.mark.parametrize("case", MANY, ids=[case.id for case in MANY])
def test_case_under_every_policy(case: Case) -> None:
    check(case, at_night)


def test_every_treatment_meets_every_policy_by_day() -> None:
    met: dict[tuple[str, str], int] = {}
    for case in MANY:
        for treatment in TREATMENTS.values():
            for policy in by_day(case, treatment):
                met[treatment.name, str(policy)] = met.get((treatment.name, str(policy)), 0) + 1
    assert all(met.get((name, policy), 0) > 50 for name in TREATMENTS for policy in POLICIES)
