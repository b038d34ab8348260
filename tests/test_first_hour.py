"""The pages of the first hour: links lead somewhere, programs have no warnings."""

from __future__ import annotations

import doctest
import re

import pytest

import etalis
from test_docs import FLAGS, ROOT

pytestmark = pytest.mark.docs

PAGES = ["README.md", "docs/tour.md", "docs/recipes.md", "docs/coming-from.md", "docs/data.md"]


def anchor(heading: str) -> str:
    """Return the fragment by which a heading is linked to."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        file, _, fragment = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), target
        if fragment:
            headings = re.findall(r"(?m)^#+ (.*)$", linked.read_text(encoding="utf-8"))
            assert fragment in map(anchor, headings), target


@pytest.mark.parametrize("page", PAGES)
def test_programs_have_no_warnings(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who types an example is not warned of it."""
    compile_, problems = etalis.compile, list[str]()

    def noting(text: str, **options: object) -> etalis.Program:
        program = compile_(text, **options)
        problems.extend(map(str, program.problems))
        return program

    monkeypatch.setattr(etalis, "compile", noting)
    doctest.testfile(str(ROOT / page), module_relative=False, optionflags=FLAGS)
    assert not problems, "\n".join(problems)


def test_readme_is_short_and_begins_with_the_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    assert [line.split()[:3] for line in lines[3:5]] == [["python3", "run.py", "demo"], ["python3", "run.py", "test"]]
    paragraph = "\n".join(lines).split("\n\n")[2]
    assert {"`unrestricted`", "`recent`"} <= set(re.findall(r"`\w+`", paragraph))
