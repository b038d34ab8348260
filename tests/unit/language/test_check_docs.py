"""docs/errors.md lists every code of whole programs in the source, and its examples give what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from etalis.language.check.checks import check
from etalis.language.flags import FLAGS, REFUSED
from etalis.language.read.imports import read_below
from etalis.language.read.parser import parse_collect

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| ([EW]2\d\d) \| (.*?) \| (?:`([^`]*)`|.*) \|$", re.MULTILINE)
TABLE = {code: example for code, _, example in ROW.findall((ROOT / "docs" / "errors.md").read_text())}


def codes_in(folder: Path) -> set[str]:
    return {code for path in folder.rglob("*.py") for code in re.findall(r'"([EW]2\d\d)"', path.read_text())}


def test_the_table_has_exactly_the_codes_of_the_source() -> None:
    assert set(TABLE) == codes_in(ROOT / "src" / "etalis")


@pytest.mark.parametrize("code", [code for code, example in TABLE.items() if example])
def test_the_example_gives_its_code(code: str) -> None:
    program, problems = parse_collect(TABLE[code], "example")
    assert problems == []
    assert code in {problem.code for problem in check(program, read=read_below(Path.cwd()))}


def test_every_code_has_a_test() -> None:
    tests = "".join(p.read_text() for p in (ROOT / "tests").rglob("*.case"))
    tests += "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    tests += "".join(p.read_text() for p in (ROOT / "tests" / "unit" / "epsparql").glob("*.py"))
    tests += "".join(p.read_text() for p in (ROOT / "tests" / "epsparql").rglob("*.toml"))
    assert {code for code in TABLE if code not in tests} == set()


def test_the_page_of_flags_lists_the_table() -> None:
    page = (ROOT / "docs" / "flags.md").read_text()
    for row in FLAGS.values():
        assert re.search(rf"^\| {row.name} \| .* \| `{row.default}` \| {re.escape(row.meaning)}", page, re.MULTILINE)
    for name, instead in REFUSED.items():
        assert f"| {name} | {instead} |" in page
    assert len(re.findall(r"^\| \w+ \|", page, re.MULTILINE)) == len(FLAGS) + len(REFUSED) + 2
