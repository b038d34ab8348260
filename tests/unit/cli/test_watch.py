"""`etalis watch`: what waits at the end of a file or at a moment, as a table and as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import app

PROGRAM = "fraud(Card) <- (withdrawal(Card, A) seq withdrawal(Card, B)) within 600 where A < B.\n"
EVENTS = """{"event": "withdrawal", "card": "c1", "amount": 5, "at": 1}
{"event": "withdrawal", "card": "c2", "amount": 7, "at": 3}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "p.etalis").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    return str(tmp_path / "p.etalis"), str(tmp_path / "e.jsonl")


def test_rows_as_json(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["watch", *files, "--json", "--key", "Card=c2"])
    (row,) = map(json.loads, result.stdout.splitlines())
    assert (row["present"], row["awaited"], row["until"], row["parts"]) == (
        ["withdrawal(c2, 7)"], ["withdrawal(c2, B)"], 603, [2],
    )  # fmt: skip


def test_a_table(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["watch", *files], env={"COLUMNS": "160"})
    assert result.exit_code == 0
    assert "2 begun at 3" in result.stdout
    assert "withdrawal(c1, B)" in result.stdout


def test_what_waits_at_a_moment(files: tuple[str, str]) -> None:
    assert "1 begun at 2" in CliRunner().invoke(app, ["watch", *files, "--at", "2"]).stdout
    assert "0 begun at 700" in CliRunner().invoke(app, ["watch", *files, "--at", "700"]).stdout


def test_rows_that_cannot_be_taken_are_told(files: tuple[str, str]) -> None:
    with Path(files[1]).open("a") as file:
        file.write('{"event": "withdrawal", "card": "c3"}\n')
    result = CliRunner().invoke(app, ["watch", *files])
    assert (result.exit_code, "1 rows were not taken" in result.output) == (3, True)


def test_a_key_without_value(files: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["watch", *files, "--key", "Card"]).exit_code == 2


def test_a_narrow_terminal(files: tuple[str, str]) -> None:
    dates = '{"event": "withdrawal", "card": "c1", "amount": 5, "at": "2026-03-02T09:00:00Z"}\n'
    Path(files[1]).write_text(dates)
    lines = CliRunner().invoke(app, ["watch", *files], env={"COLUMNS": "80"}).stdout.splitlines()
    assert lines[0].rstrip() == "1 begun at 2026-03-02T09:00:00Z"
    assert "withdrawal(c1" in lines[4]
    assert "50 %" in lines[4]
    assert "█" not in lines[4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rule", "nix"), "E343: there is no rule 'nix'"),
        (("--key", "Card=("), "E108"),
        (("--at", "noon"), "'noon' is not a time"),
    ],
)
def test_wrong_calls(files: tuple[str, str], options: tuple[str, str], message: str) -> None:
    result = CliRunner().invoke(app, ["watch", *files, *options])
    assert result.exit_code == 2
    assert message in result.output
