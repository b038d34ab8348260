"""Documents are executed: the examples of README, docs and docstrings, and the programs of `examples/`."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import etalis
from etalis.cli.knowledge import NOTHING, KnowledgeOptions
from etalis.formats import Reading, feed, read
from etalis.reactive.effects.rehearsal import nowhere
from etalis.testing import Case, check_case, find_cases

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ("bench", "examples", "tests", "tests/cases")
PAGES = [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / name / "README.md" for name in FOLDERS)]
LONGEST, LONGEST_ROW = 160, 300
LOGGERS = {"etalis.columns"}
EXTRA = ("etalis.spark", "etalis.pipeline.connectors.kafka_source", "etalis.reactive.outbox.postgres")  # not everywhere
MODULES = [m.name for m in pkgutil.walk_packages(etalis.__path__, "etalis.") if not m.name.startswith(EXTRA)]
EXAMPLES = {
    "cold_chain/cold_chain.etalis": "cold_chain/journey.csv",
    "deliveries/deliveries.etalis": "deliveries/day.events",
    "fraud/fraud.etalis": "fraud/withdrawals.csv",
    "orders/orders.etalis": "orders/day.jsonl",
    "sensors/sensors.etalis": "sensors/shift.csv",
    "stock/rises.etalis": "stock/ticks.csv",
    "supply/supply.etalis": "supply/orders.jsonl",
}
COLD_CHAIN = ROOT / "examples" / "cold_chain"
KNOWLEDGE = {
    "cold_chain/cold_chain.etalis": KnowledgeOptions(
        facts=[f"limit={COLD_CHAIN / 'limits.csv'}"],
        rdf=[COLD_CHAIN / "goods.ttl"],
        relation=["type=rdf:type", "partOf=partOf", "customsArea=CustomsArea"],
        entailment="rdfs",
        transitive=["partOf"],
    )
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document(path: Path) -> None:
    failed, _ = doctest.testfile(str(path), module_relative=False, optionflags=FLAGS)
    assert not failed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_can_be_read(path: Path) -> None:
    """Rows of tables cannot be broken, so they may be longer; code is as it is."""
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"))
    assert not [x for x in prose.splitlines() if len(x) > (LONGEST_ROW if x.startswith("|") else LONGEST)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_modules_exist(path: Path) -> None:
    """A file is named from the root, from the package, or from the page; a module by its dotted name."""
    page = path.read_text(encoding="utf-8")
    bases = (ROOT, ROOT / "src" / "etalis", path.parent)
    files = re.findall(r"(?<![\w*./-])[\w./-]+\.py\b", page)
    assert not [name for name in files if not any((base / name).is_file() for base in bases)]
    for name in set(re.findall(r"(?<![\w./-])etalis(?:\.[A-Za-z_]\w*)+", page)) - LOGGERS:
        pkgutil.resolve_name(name)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not failed


def test_tables_are_those_of_the_source() -> None:
    """What docs/generate.py would write is what stands there."""
    fill = runpy.run_path(str(ROOT / "docs" / "generate.py"))["fill"]
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    assert page.count("<!-- table:") == page.count("<!-- end -->") == 7
    assert fill(page) == page, "run python docs/generate.py"


def test_every_example_is_here() -> None:
    """Those of the flower shop are parts of one program (tests/test_flower_shop.py), card fraud runs on Spark."""
    programs = {path.relative_to(ROOT / "examples") for path in (ROOT / "examples").rglob("*.etalis")}
    others = ("flower_shop", "card_fraud")
    assert {str(path) for path in programs if path.parts[0] not in others} == set(EXAMPLES)


@pytest.mark.parametrize("case", find_cases(ROOT / "examples"), ids=lambda case: case.id)
def test_case_of_an_example(case: Case) -> None:
    check_case(case, ["engine", "semantics", "columns"])


@pytest.mark.parametrize(("program", "events"), EXAMPLES.items())
def test_example(program: str, events: str) -> None:
    """The matches of an example are those written down beside it."""
    folder = ROOT / "examples"
    compiled = etalis.compile((folder / program).read_text(encoding="utf-8"), name=program)
    KNOWLEDGE.get(program, NOTHING).add_to(compiled)
    assert not compiled.problems
    matches = feed(compiled.engine(effects=nowhere()), read(folder / events, Reading(schema=compiled.signatures)))
    expected = (folder / program).with_suffix(".expected").read_text(encoding="utf-8").splitlines()
    assert [str(match) for match in matches] == expected
