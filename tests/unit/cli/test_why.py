"""`etalis why`: the derivation of an event as text, JSON, graph and picture; an event that is not there is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import app

PROGRAM = "fraud(Card, 2) <- (withdrawal(Card, A) seq withdrawal(Card, B)) within 600 where A < B.\n"
EVENTS = """{"event": "withdrawal", "card": "c1", "amount": 5, "at": 1}
{"event": "withdrawal", "card": "c1", "amount": 7, "at": 120}
{"event": "withdrawal", "card": "c1", "amount": 9, "at": 130}
"""
RULE = "fraud(Card, 2) <- withdrawal(Card, A) seq withdrawal(Card, B) within 600 where A < B."
AT_120 = f"""fraud(c1, 2) [1, 120]   by rule 1: {RULE}
├─ withdrawal(c1, 5) [1, 1]   input 1
├─ withdrawal(c1, 7) [120, 120]   input 2
├─ 119 s long, within 600
└─ where 5 < 7   built in
"""
QUESTION = "fraud(c1, _)"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "p.etalis").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    return str(tmp_path / "p.etalis"), str(tmp_path / "e.jsonl")


def ask(files: tuple[str, str], *more: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["why", *files, QUESTION, *more])
    return result.exit_code, result.output


def test_a_tree(files: tuple[str, str]) -> None:
    assert ask(files, "--at", "120") == (0, AT_120)
    assert ask(files, "--interval", "1", "120") == (0, AT_120)
    assert ask(files)[1].startswith("fraud(c1, 2) [120, 130]")
    assert "chosen under chronological" in ask(files, "--policy", "chronological")[1]


def test_json(files: tuple[str, str]) -> None:
    code, output = ask(files, "--at", "120", "--json")
    assert (code, json.loads(output)["nodes"][-1]["atom"]) == (0, "fraud(c1, 2)")


def test_the_text_and_the_graph_of_the_manual(files: tuple[str, str], tmp_path: Path) -> None:
    graph = tmp_path / "why.udg"
    code, output = ask(files, "--at", "120", "--manual", "--udg", str(graph))
    assert code == 0
    assert output.splitlines()[-2:] == ["-" * 20, "event(fraud(c1,2),[1,120])"]
    assert graph.read_text().startswith('[l("1",n("",[a("OBJECT","fraud(c1,2) [1,120]')


def test_pictures(files: tuple[str, str], tmp_path: Path) -> None:
    svg, page, graph = tmp_path / "why.svg", tmp_path / "why.html", tmp_path / "why.dot"
    options = ["--svg", str(svg), "--html", str(page), "--dot", str(graph)]
    assert ask(files, "--at", "120", *options) == (0, "")
    assert graph.read_text().startswith('digraph "why fraud(c1, 2)" {')
    assert svg.read_text().startswith("<svg")
    assert "withdrawal(c1, 5)" in svg.read_text()
    assert "<html" in page.read_text()
    code, output = ask(files, "--svg", str(tmp_path / "no" / "why.svg"))
    assert (code, "E401" in output) == (3, True)


def test_every_derivation(tmp_path: Path) -> None:
    (tmp_path / "p.etalis").write_text("c <- a seq b. c <- x seq b.")
    (tmp_path / "e.events").write_text("event(a, [1, 1]). event(x, [1, 1]). event(b, [2, 2]).")
    command = ["why", str(tmp_path / "p.etalis"), str(tmp_path / "e.events"), "c"]
    runner = CliRunner()
    assert [line[:22] for line in runner.invoke(app, [*command, "--all"]).stdout.split("\n\n")] == [
        "c [1, 2]   by rule 1: ", "c [1, 2]   by rule 2: ",
    ]  # fmt: skip
    assert len(runner.invoke(app, [*command, "--all", "--json"]).stdout.splitlines()) == 2
    assert len(runner.invoke(app, [*command, "--all", "--limit", "1", "--json"]).stdout.splitlines()) == 1
    assert "by rule 2" not in runner.invoke(app, command).stdout
    assert runner.invoke(app, [*command, "--all", "--udg", str(tmp_path / "x.udg")]).exit_code == 2


def test_times_are_dates_where_the_events_have_dates(files: tuple[str, str]) -> None:
    dated = EVENTS.replace('"at": 120', '"at": "2026-01-01T00:02:00Z"').replace(
        '"at": 1}', '"at": "2026-01-01T00:00Z"}'
    )
    Path(files[1]).write_text(dated.rsplit("\n", 2)[0] + "\n")
    code, output = ask(files, "--at", "2026-01-01T00:02:00Z")
    assert (code, "[2026-01-01T00:00:00Z, 2026-01-01T00:02:00Z]" in output) == (0, True)
    assert "[1767225600, 1767225720]" in ask(files, "--times", "seconds")[1]


def test_an_event_that_did_not_occur(files: tuple[str, str]) -> None:
    code, output = ask(files, "--at", "121")
    assert code == 3
    assert f"etalis why-not {files[0]} {files[1]} '{QUESTION}'" in output


def test_what_cannot_be_read(files: tuple[str, str]) -> None:
    code, output = ask(files, "--at", "noon")
    assert (code, "'noon' is not a time" in output) == (2, True)
    with Path(files[1]).open("a") as file:
        file.write('{"event": "withdrawal", "card": "c3"}\n')
    code, output = ask(files, "--at", "120")
    assert (code, output.startswith(AT_120), "1 rows were not taken" in output) == (3, True, True)
    Path(files[0]).write_text("fraud <- ")
    assert ask(files)[0] == 1


def test_events_that_were_rejected_are_told(files: tuple[str, str]) -> None:
    Path(files[1]).write_text("".join(f"{line}\n" for line in reversed(EVENTS.splitlines())))
    result = CliRunner().invoke(app, ["why", *files, QUESTION])
    assert result.exit_code == 3
    assert "2 events were rejected, the last: withdrawal: it ends at 1, but time has reached 130" in result.stderr
    assert "--sort" in result.stderr
    assert "by rule 1" in CliRunner().invoke(app, ["why", *files, QUESTION, "--sort"]).stdout
