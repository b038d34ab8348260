"""Every case with an engine that is put down and taken up again before every step, from deltas of deltas."""

from __future__ import annotations

import pytest

from etalis.cases.outcomes import find_differences
from helpers.cases import Case, all_cases
from helpers.treatments import TREATMENTS, restored_everywhere
from test_cases import is_taken

pytestmark = pytest.mark.nightly

CASES = [case for case in all_cases() if is_taken(case, TREATMENTS["restored"])]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_case_restored_before_every_step(case: Case) -> None:
    """Shows definition 22.2."""
    for policy in case.policies:
        difference = find_differences(case, restored_everywhere(case, policy))
        assert not difference, "\n".join([f"{case.place} under {policy or 'the default policy'}:", *difference])
