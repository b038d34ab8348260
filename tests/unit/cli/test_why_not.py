"""`etalis why-not`: how far rules got, as text, JSON, graph and picture; an event that did occur is told as such."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import app

MISSING = """c did not occur.  Rule 1: c <- a seq b.
  a [1, 1]  input 1                 present
  b         after 1                 missing: no event b has come
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "p.etalis").write_text("c <- a seq b.\n")
    (tmp_path / "e.jsonl").write_text('{"event": "a", "at": 1}\n')
    return str(tmp_path / "p.etalis"), str(tmp_path / "e.jsonl")


def ask(files: tuple[str, str], question: str, *more: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["why-not", *files, question, *more])
    return result.exit_code, result.stdout


def test_the_example_of_the_manual(files: tuple[str, str]) -> None:
    assert ask(files, "c") == (0, MISSING)


def test_forms(files: tuple[str, str], tmp_path: Path) -> None:
    code, output = ask(files, "c", "--json")
    assert (code, json.loads(output)["nodes"][-1]["question"]) == (0, "c")
    assert ask(files, "c", "--manual")[1].startswith("failed forall rules(")
    stored = [tmp_path / name for name in ("n.svg", "n.html", "n.udg")]
    options = [part for path in stored for part in (f"--{path.suffix[1:]}", str(path))]
    assert ask(files, "c", *options) == (0, "")
    assert [path.read_text()[:4] for path in stored][::2] == ["<svg", '[l("']


def test_an_event_that_did_occur(files: tuple[str, str]) -> None:
    with Path(files[1]).open("a") as file:
        file.write('{"event": "b", "at": 2}\n')
    code, output = ask(files, "c")
    assert (code, output.splitlines()[:2]) == (0, ["c did occur.", "c [1, 2]   by rule 1: c <- a seq b."])
    for asked in (["--at", "3"], ["--between", "3", "5"], ["--interval", "2", "3"]):
        code, output = ask(files, "c", *asked)
        assert (code, output.startswith("c did not occur.")) == (0, True)


def test_an_event_that_no_rule_makes(files: tuple[str, str]) -> None:
    code, output = ask(files, "cc")
    assert (code, "no rule makes cc/0" in output) == (0, True)


def test_further_attempts_are_counted(files: tuple[str, str]) -> None:
    Path(files[1]).write_text("".join(f'{{"event": "a", "at": {time}}}\n' for time in range(5)))
    assert "further attempt" in ask(files, "c")[1].splitlines()[-1]
    assert "(--all)" in ask(files, "c")[1]
    assert "(--all)" not in ask(files, "c", "--all")[1]
    assert "attempt 2:" in ask(files, "c", "--all")[1]


def test_repair(files: tuple[str, str]) -> None:
    code, output = ask(files, "c", "--repair")
    assert (code, output.splitlines()[-1]) == (0, "  repair: add b at 1.000001 (proved smallest)")
    assert "repair" not in ask(files, "c")[1]


def test_a_program_that_is_broken(files: tuple[str, str]) -> None:
    Path(files[0]).write_text("c <- ")
    assert ask(files, "c")[0] == 1


@pytest.mark.parametrize(
    ("question", "options", "message"),
    [
        ("c(", (), "E108"),
        ("c seq b", (), "E113: a question is one event"),
        ("c", ("--between", "5", "1"), "ends before it starts"),
        ("c", ("--at", "5", "--between", "1", "5"), "E343: at and between are given"),
    ],
)
def test_wrong_questions_are_wrong_calls(
    files: tuple[str, str], question: str, options: tuple[str, ...], message: str
) -> None:
    for command in ("why", "why-not")[bool(options) :]:
        result = CliRunner().invoke(app, [command, *files, question, *options])
        assert result.exit_code == 2
        assert message in result.output


def test_that_no_repair_was_found_is_told(files: tuple[str, str]) -> None:
    Path(files[0]).write_text("c(X) <- a(X) where (X > 1, X < 1).\n")
    Path(files[1]).write_text('{"event": "a", "args": [1], "at": 1}\n')
    result = CliRunner().invoke(app, ["why-not", *files, "c(_)", "--repair"])
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "no repair was found")
