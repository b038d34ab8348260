"""A derandomised stretch of the fuzz run over goals; `tests/fuzz_goals.py` runs as many as one likes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.property


def test_random_goals_end_in_answers_or_errors_of_prolog() -> None:
    fuzz = runpy.run_path(str(Path(__file__).parents[1] / "fuzz_goals.py"))
    ends, wrong, _ = fuzz["run"](500, 1, loud=False)
    assert not wrong
    assert {"yes", "no", "type_error", "instantiation_error"} <= set(ends)
