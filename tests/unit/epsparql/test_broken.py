"""What a newcomer reads when a query is wrong, word by word: `broken_queries.txt`; and that nothing else happens.

A text there ends at its first finding; all begin with the same two prefixes, which are not shown.
`broken_originals.txt` has those in the dialect of the original, without prefixes.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect, read_unit
from etalis.errors import ProgramError
from helpers.random_queries import attempt, changed_query

PROLOGUE = "PREFIX : <http://x/> PREFIX ex: <http://e/>\n"
TABLE, ORIGINALS = (
    (Path(__file__).parent / f"broken_{name}.txt").read_text(encoding="utf-8").split("\n\n")
    for name in ("queries", "originals")
)
ROW = re.compile(r"(.*?)\n(query:[\s\S]*)")


def check_row(row: str, prologue: str, dialect: str | None) -> None:
    """Compare what a text of a table is told with what stands below it; every problem has a hint."""
    found = ROW.fullmatch(row.strip("\n"))
    assert found is not None
    text, expected = found.groups()
    with pytest.raises(ProgramError) as caught:
        read_unit(prologue + text, name="query", dialect=dialect)
    assert str(caught.value) == expected
    assert all(problem.hint for problem in caught.value.problems)


@pytest.mark.parametrize("row", TABLE)
def test_a_broken_query_is_told_what_is_wrong(row: str) -> None:
    check_row(row, PROLOGUE, None)


@pytest.mark.parametrize("row", ORIGINALS)
def test_a_broken_query_of_the_original_s_dialect_is_told_what_is_wrong(row: str) -> None:
    check_row(row, "", "etalis")


def test_the_table_has_a_row_for_every_code_of_queries() -> None:
    codes = set(re.findall(r"error (E\d+)", "\n".join(TABLE)))
    assert codes >= {
        f"E{number}" for number in (*range(130, 136), 101, 102, 104, 105, 107, 108, 115, 125, 126, 127, 128)
    }


def test_all_problems_of_a_text_are_found_at_once() -> None:
    text = """\
SELECT ?x { ?x :p ; exx:q noname ; :r ?z FILTER (strlenn(?z) > NOW()) BIND (1 AS ?z) } ORDER BY ?x ;
ASK { ?x } ;
DESCRIBE ?x ;
CONSTRUCT { ?x :p 1 } WHERE { ?x :p ?y FILTER (?y >) } LIMIT 3
"""
    _, problems = read_collect(PROLOGUE + text)
    places = [(p.code, *p.span.source.place(p.span.start)) for p in problems if p.span is not None]
    assert [(code, line) for code, line, _ in places] == [
        ("E108", 2), ("E131", 2), ("E131", 2), ("E132", 2), ("E130", 2), ("E135", 2), ("E130", 2),
        ("E108", 3), ("E130", 4), ("E108", 5), ("E130", 5),
    ]  # fmt: skip


def test_more_than_a_hundred_problems_are_not_shown() -> None:
    _, problems = read_collect(f"SELECT * {{ {'?x p ?y . ' * 150} }}")
    assert [problem.code for problem in problems] == ["E131"] * 100 + ["E119"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * " + "{" * 150 + "}" * 150,
        "SELECT * { FILTER (" + "(" * 150 + "1" + ")" * 150 + ") }",
        "SELECT * { FILTER (" + "!" * 5000 + "?x) }",
        "SELECT * { FILTER (" + "1 + " * 5000 + "1) }",
        "SELECT * { FILTER (" + "str(" * 5000 + "1) }",
        "SELECT * { ?x :p " + "[ :p " * 5000 + "1 }",
        "SELECT * { ?x :p " + "( " * 5000 + "1 }",
        "SELECT * { ?x " + "(" * 5000 + ":p" + ")" * 5000 + " 1 }",
        "SELECT * " + "{ SELECT * " * 5000,
    ],
)
def test_what_is_nested_too_deep_is_refused(text: str) -> None:
    assert "E112" in {problem.code for problem in read_collect(PROLOGUE + text)[1]}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER (" + "1 + " * 190 + "1) }",
        "SELECT * { ?x " + "/".join([":p"] * 5000) + " 1 }",
        "SELECT * { " + "?x :p ?y . " * 5000 + "}",
        "SELECT * { { ?x :p ?y } " + "SEQ { ?x :p ?y } " * 2000 + "}",
        "SELECT * " + "{" * 98 + " ?x :p ?y " + "}" * 98,
    ],
)
def test_what_is_long_and_flat_reads_and_prints(text: str) -> None:
    unit = read_unit(PROLOGUE + text)
    assert read_unit(print_unit(unit)) == unit


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_text_ends_in_a_tree_or_in_findings(seed: int) -> None:
    random = Random(seed)
    ends = {attempt(random, changed_query(random)) for _ in range(250)}
    assert ends == {"tree", "error"}
