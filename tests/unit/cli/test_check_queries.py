"""`etalis check` of queries: their problems, with a background too, and their standard form."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from etalis.cli import ExitCode, app

QUERY = "SELECT ?c { ?c price ?x } SEQ { ?c price ?y } FILTER (?y > ?x) WITHIN 10m\n"


def check(tmp_path: Path, text: str, *options: object, name: str = "query.rq") -> Result:
    path = tmp_path / name
    path.write_text(text)
    return CliRunner().invoke(app, ["check", str(path), *map(str, options)])


def test_problems_of_queries_have_code_place_and_hint(tmp_path: Path) -> None:
    result = check(tmp_path, QUERY)
    assert result.exit_code == ExitCode.PROGRAM
    assert "query.rq:1:16: error E131: the name `price` has no prefix" in result.stdout
    assert result.stdout.endswith("1 program: 2 errors, 0 warnings\n")


@pytest.mark.parametrize("name", ["query.rq", "query.epsparql", "QUERY.RQ"])
def test_the_standard_form_is_printed(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, QUERY, "--vocabulary", "http://x/", "--standard", name=name)
    assert (result.exit_code, result.stdout) == (
        ExitCode.OK,
        """\
PREFIX : <http://x/>
SELECT ?c
WHERE {
  { ?c :price ?x }
  SEQ { ?c :price ?y }
  WITHIN PT10M
  FILTER (?y > ?x)
}
1 program: 0 errors, 0 warnings
""",
    )


def test_a_background_is_given_as_rdf(tmp_path: Path) -> None:
    background = tmp_path / "onto.ttl"
    background.write_text("<http://x/a> <http://x/sector> <http://x/tech> .")
    text = "SELECT ?c { ?c <http://x/sector> ?s }"
    assert check(tmp_path, text).exit_code == ExitCode.OK
    result = check(tmp_path, text, "--background", background)
    assert result.exit_code == ExitCode.PROGRAM
    assert "error E251: the query has no time" in result.stdout


def test_the_dialect_of_the_original_is_an_option(tmp_path: Path) -> None:
    text = "SELECT ?p { acme hasStockPrice ?p } FILTER (write(?p) && ?p > 1)"
    assert check(tmp_path, text).exit_code == ExitCode.PROGRAM
    result = check(tmp_path, text, "--dialect", "etalis")
    assert result.exit_code == ExitCode.OK
    assert "warning W130: write is left out" in result.stdout
    assert check(tmp_path, text, "--dialect", "etalis", "--strict").exit_code == ExitCode.PROGRAM
