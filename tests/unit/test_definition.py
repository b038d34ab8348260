"""docs/definition.md is numbered, cited and shown: each paragraph by a case, or by a test where it says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from helpers.cases import all_cases

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "definition.md"
PARAGRAPH = re.compile(r"^\*\*(\d+\.\d+)\*\* (?:\*\((\w+)\)\* )?\S", re.MULTILINE)
LIST = r"\d+\.\d+(?:(?:,|,? and| to)\s\d+\.\d+)*"
CITATION = re.compile(rf"\b[Dd]efinition\s({LIST})")
SECTIONS = re.compile(r"\b[Dd]efinition\ssections?\s(\d+(?:(?:,|,? and| to)\s\d+)*)")
PAPER = re.compile(r"\b(00\d), (?:section|chapter|rule|Fig\.|\d)")
LEFT_ALONE = ("coming_from", "errors", "manual", "mistakes")  # other pages, the manual and docs/errors.md speak there
SCANNED = ("src", "tests", "docs", "bench", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")


def paragraphs() -> dict[str, str]:
    """Return the mark of each paragraph by its number, in order; no mark: a case must show it."""
    return dict(PARAGRAPH.findall(PAGE.read_text(encoding="utf-8")))


def numbers(text: str) -> set[str]:
    """Return the paragraphs that a text cites; of a section, its first one."""
    of_sections = {f"{number}.1" for cited in SECTIONS.findall(text) for number in re.findall(r"\d+", cited)}
    return of_sections | {number for cited in CITATION.findall(text) for number in re.findall(r"\d+\.\d+", cited)}


def files(*suffixes: str) -> Iterator[Path]:
    for start in (ROOT / name for name in SCANNED):
        found = start.rglob("*") if start.is_dir() else [start]
        yield from (file for file in found if file.suffix in suffixes and file.is_file())


def cited_by_tests() -> set[str]:
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__))
    return {number for text in texts for number in numbers(text)}


def test_paragraphs_are_numbered_without_gaps() -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = [tuple(map(int, number.split("."))) for number, _ in PARAGRAPH.findall(text)]
    sections = [int(number) for number in re.findall(r"(?m)^## (\d+)\. ", text)]
    assert sections == list(range(1, len(sections) + 1))
    last = {section: max(place for s, place in found if s == section) for section in sections}
    assert found == [(section, place) for section in sections for place in range(1, last[section] + 1)]
    assert len(re.findall(r"(?m)^\*\*\d", text)) == len(found)
    assert set(paragraphs().values()) <= {"", "word", "test"}
    assert [line for line in text.split("\n") if len(line) > 160] == []


def test_every_citation_names_a_paragraph() -> None:
    known = set(paragraphs())
    cited = {file: numbers(file.read_text(encoding="utf-8")) for file in files(".py", ".md", ".case", ".etalis")}
    assert sum(map(bool, cited.values())) > 100
    assert {str(file): found - known for file, found in cited.items() if found - known} == {}


def test_every_paragraph_is_shown_by_a_case() -> None:
    shown = {number for case in all_cases() for number in numbers(case.settings.get("cites", ""))}
    marks = paragraphs()
    assert [number for number, mark in marks.items() if not mark and number not in shown] == []
    assert [number for number, mark in marks.items() if mark == "word" and number in shown] == []
    by_tests = cited_by_tests()
    assert [number for number, mark in marks.items() if mark == "test" and number not in by_tests] == []


def test_cases_cite() -> None:
    """What a case cites is a list of paragraphs; cases of the meaning cite one at least."""
    whole = re.compile(rf"definition {LIST}")
    cited = {case.place: case.settings.get("cites") for case in all_cases()}
    assert [place for place, text in cited.items() if text is not None and not whole.fullmatch(text)] == []
    needed = [case for case in all_cases() if case.id.split("/")[0] not in LEFT_ALONE]
    assert len(needed) > 1000
    assert [case.place for case in needed if "cites" not in case.settings] == []


def test_papers_are_those_of_the_list() -> None:
    listed = set(re.findall(r"(?m)^\| (00\d) \|", (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")))
    named = {number for file in files(".py", ".md") for number in PAPER.findall(file.read_text(encoding="utf-8"))}
    assert listed >= named >= {"000", "003"}


def test_nothing_outside_is_cited() -> None:
    """The definition is here: no page of another place, and no section of the reference, decides."""
    outside = re.compile(r"shared/(?:language|seeds)|language\.md,? sections? \d|\blanguage page\b")
    names = [file for file in files(".py", ".md", ".case") if file not in (Path(__file__), ROOT / "CHANGELOG.md")]
    found = {str(file): outside.findall(file.read_text(encoding="utf-8")) for file in names}
    assert {file: texts for file, texts in found.items() if texts} == {}


def test_the_operators_are_those_of_the_reference() -> None:
    """The table of definition 1.9 is the one that docs/generate.py writes into language.md."""
    row = re.compile(r"(?m)^\| \d+ \| `.*$")
    assert row.findall(PAGE.read_text(encoding="utf-8"))
    assert row.findall(PAGE.read_text(encoding="utf-8")) == row.findall((ROOT / "docs" / "language.md").read_text())
