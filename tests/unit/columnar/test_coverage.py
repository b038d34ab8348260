"""How much of the language runs over columns: no operator loses its kernels unnoticed."""

from __future__ import annotations

from collections import Counter

import pytest

from etalis.columnar.data.events import find_types
from etalis.columnar.run import choose
from etalis.testing.backends import compiled, typed_events
from helpers.cases import all_cases
from helpers.treatments import TREATMENTS

pytestmark = pytest.mark.fast

AT_A_TIME = ("negation/conditions/", "reactive/")  # which have no kernels
SHARE = 0.9  # of all cases, each under its policies; raise it with what is covered


def test_most_cases_run_over_columns() -> None:
    row = TREATMENTS["columns"]
    found: Counter[bool] = Counter()
    reasons: Counter[str] = Counter()
    for case in all_cases():
        if row.takes(case) and case.admits(row.name) and not case.id.startswith(AT_A_TIME):
            program = compiled(case)
            types = find_types(typed_events(program.compiled.tree, case))
            for policy in case.policies:
                choice = choose(program.compiled, types, policy, program.compiled.knowledge.database())
                found[not choice.at_a_time] += 1
                reasons.update({reason.split(": ", 1)[-1] for reason in choice.reasons})
    share = found[True] / found.total()
    listed = "\n".join(f"{count:5d} {reason}" for reason, count in reasons.most_common())
    assert share >= SHARE, f"{share:.1%} of {found.total()}; the others because\n{listed}"
