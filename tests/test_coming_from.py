"""Every row of docs/coming-from.md is a case that tests/test_cases.py runs, and every such case is a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.cases import CASES, all_cases
from test_first_hour import anchor

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "coming-from.md").read_text(encoding="utf-8")
RECIPES = (DOCS / "recipes.md").read_text(encoding="utf-8")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Return section, what is wanted, our cell and the policy of every row of the tables in two notations."""
    for section in PAGE.split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        for line in text.splitlines():
            cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) == 4 and cells[0] not in ("wanted", "---"):
                yield heading, cells[0], cells[2], cells[3]


def test_every_row_is_a_case_and_every_case_a_row() -> None:
    written = {
        (f"coming_from/{heading.lower().replace(' ', '_')}/" + re.sub(r"\W+", "-", wanted), ours, policy)
        for heading, wanted, ours, policy in rows()
        if ours.startswith("`")
    }
    cases = [case for case in all_cases() if case.id.startswith("coming_from/")]
    assert written == {(case.id, f"`{case.program.strip()}`", f"`{case.policies[0]}`") for case in cases}
    assert all(len(case.policies) == 1 for case in cases)
    assert len({path.stem for path in (CASES / "coming_from").iterdir()}) == 6


def test_other_cells_lead_to_recipes() -> None:
    """What takes more than a line is a recipe, which tests/test_recipes.py runs."""
    others = [ours for _, _, ours, _ in rows() if not ours.startswith("`")]
    recipes = {f"(recipes.md#{anchor(line[3:])})" for line in RECIPES.splitlines() if line.startswith("## ")}
    assert others
    assert {re.sub(r"\[.*\]", "", cell) for cell in others} <= recipes
