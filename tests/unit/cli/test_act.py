"""`etalis act` and `etalis run --effects`: what an action would do, and where effects go that nobody makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import app

PROGRAM = """:- state stock/2 key 1.
stock(rose, 2).
sell rule: on sold(I) do take(I) seq effect(send(I)).
action take(I) :- stock(I, N), N > 0, M is N - 1, set(stock(I, M)).
"""
EVENTS = "".join(json.dumps({"event": "sold", "item": "rose", "at": at}) + "\n" for at in (1, 2, 3))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "p.etalis").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    return str(tmp_path / "p.etalis"), str(tmp_path / "e.jsonl")


def test_the_path_and_the_state_behind_it(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["act", files[0], "take(rose) seq effect(send(rose))"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "  set(stock(rose,1))",
        "  effect(send(rose))",
        "state",
        "  stock(rose,1)",
    ]


def test_how_far_an_action_gets(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["act", files[0], "take(rose) seq take(rose) seq take(rose)", "--json"])
    assert result.exit_code == 5
    told = json.loads(result.stdout)
    assert (told["path"], told["why"]) == (["set(stock(rose,1))", "set(stock(rose,0))"], "no execution")
    assert told["state"] == ["stock(rose,2)"]


def test_an_action_that_the_program_cannot_have(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["act", files[0], "ins(account(ann))"])
    assert result.exit_code == 1
    assert "E271" in result.stderr


def test_effects_as_rows(files: tuple[str, str], tmp_path: Path) -> None:
    into = tmp_path / "effects.jsonl"
    result = CliRunner().invoke(app, ["run", *files, "--effects", str(into)])
    rows = [json.loads(line) for line in into.read_text().splitlines()]
    assert [(row["name"], row["args"], row["end"]) for row in rows] == [("send", ["rose"], 1), ("send", ["rose"], 2)]
    assert len({row["key"] for row in rows}) == 2
    assert "E515" in result.stderr


def test_effects_told(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["run", *files, "--effects", "dry"])
    assert "effect send(rose) [1, 1] of sell, key " in result.stderr


def test_effects_that_nobody_takes_are_refused_before_the_first_event(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["run", *files])
    assert "E802" in result.stderr
    assert "--effects" in result.stderr


def test_a_file_that_cannot_be_written(files: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["run", *files, "--effects", "/nowhere/effects.jsonl"])
    assert "E401" in result.stderr
