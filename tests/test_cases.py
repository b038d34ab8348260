"""Every case under every treatment that takes it, against its one expectation."""

from __future__ import annotations

import pytest

from cases import Case, all_cases
from etalis.cases.outcomes import find_differences
from etalis.testing.backends import outcome_of
from treatments import TREATMENTS, Treatment

WARNED = {"semantics", "engine", "columns"}  # where the point of a case is a warning: what it finds is tried elsewhere
RUNS = [
    (case, row)
    for case in all_cases()
    for row in TREATMENTS.values()
    if row.takes(case) and case.admits(row.name) and (row.name in WARNED or not case.warnings)
]


@pytest.mark.parametrize(("case", "treatment"), RUNS, ids=[f"{case.id}::{row.name}" for case, row in RUNS])
def test_case(case: Case, treatment: Treatment) -> None:
    for policy in case.policies:
        outcome = outcome_of(treatment.run, case, policy)
        difference = find_differences(case, outcome)
        assert not difference, "\n".join([f"{case.place} under {policy or 'the default policy'}:", *difference])
