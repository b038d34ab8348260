"""No program that we ship gives a warning: those of examples/ and bench/, and all in README, docs and docstrings.

A program is a file `*.etalis`, or a text between quotes in Python or between fences in Markdown that can be read and
has an event rule. Texts of several files are taken one by one, so what another file defines is not known here.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from etalis.errors import Problem
from etalis.language.check.checks import check_text
from etalis.language.read.parser import parse_collect
from etalis.language.syntax import Rule

ROOT = Path(__file__).parents[3]
# Rules without a window are what the documents explain it with; facts and functions may come from the host.
ALLOWED = frozenset({"W207", "W209", "W214"})
ERRORS = "docs/errors.md"  # wrong on purpose


def shipped_programs() -> Iterator[tuple[str, str]]:
    """Yield the programs with the places they stand at."""
    for path in sorted((ROOT / "examples").rglob("*.etalis")):
        yield _name(path), path.read_text(encoding="utf-8")
    for folder in ("examples", "bench", "docs"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from _programs_in(_name(path), path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "src").rglob("*.py")):
        for place, source in _examples(_name(path), path.read_text(encoding="utf-8")):
            yield from _programs_in(place, source)
    for path in [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
    ]:
        text, name = path.read_text(encoding="utf-8"), _name(path)
        for place, source in _examples(name, text):
            yield from _programs_in(place, source)
        for found in re.finditer(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            if _is_program(found[1]):
                yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}", found[1]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _examples(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the Python of a document's examples."""
    if ">>> " not in text:
        return
    for example in doctest.DocTestParser().get_examples(text):
        yield f"{name}:{example.lineno + 1}", example.source


def _programs_in(place: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the programs between quotes in Python."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if (
            id(node) not in parts
            and isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _is_program(node.value)
        ):
            yield f"{place}+{node.lineno}", node.value


def _is_program(text: str) -> bool:
    if "<-" not in text or "{K}" in text:  # a template
        return False
    program, problems = parse_collect(text)
    return not problems and any(isinstance(item, Rule) for item in program.items)


@cache
def _warnings() -> dict[str, list[Problem]]:
    found = {place: check_text(text, place)[1] for place, text in shipped_programs() if not place.startswith(ERRORS)}
    return {place: several for place, several in found.items() if not any(p.is_error for p in several)}


def test_the_programs_are_found() -> None:
    places = " ".join(_warnings())
    for part in ("README.md", "docs/language.md", "docs/tour.md", "examples/fraud/fraud.etalis", "bench/"):
        assert part in places
    assert len(_warnings()) > 100


@pytest.mark.parametrize("folder", ["README.md", "docs", "examples", "bench", "src"])
def test_no_program_gives_a_warning(folder: str) -> None:
    found = [p for place, several in _warnings().items() if place.startswith(folder) for p in several]
    assert [str(problem) for problem in found if problem.code not in ALLOWED] == []
