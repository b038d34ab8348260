"""Warnings of a program are heard: at compile, or when it first runs, where a predicate may still be given."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app

UNBOUNDED = "d(X) <- a(X) seq b(X)."
UNKNOWN = "d(X) <- a(X) where nearby(X)."
EVENTS = pa.table({"event": ["a"], "x": [1], "time": [1]})


def heard(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in caught]


def test_compile_warns_at_the_call_with_place_and_hint() -> None:
    with pytest.warns(etalis.ProgramWarning) as caught:
        etalis.compile(UNBOUNDED, name="rules")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "rules:1:1: warning W209" in str(caught[0].message)
    assert "hint: add `within" in str(caught[0].message)


def test_a_file_warns_too(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text(UNBOUNDED)
    with pytest.warns(etalis.ProgramWarning, match="W209") as caught:
        etalis.compile_file(path)
    assert caught[0].filename == __file__


def test_an_unknown_predicate_is_told_when_the_program_first_runs() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = etalis.compile(UNKNOWN)
        assert heard(caught) == []
        program.engine()
        program.engine()
        program.detect(EVENTS, time="time", event="event")
    unknown = [w for w in caught if issubclass(w.category, etalis.ProgramWarning)]
    assert len(unknown) == 1
    assert "W207" in heard(unknown)[0]
    assert unknown[0].filename == __file__


@pytest.mark.parametrize("give", ["register", "load", "detect", "compile"])
def test_a_predicate_that_is_given_in_time_is_not_told(give: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = etalis.compile(UNKNOWN, register={"nearby/1": lambda x: x > 0} if give == "compile" else {})
        if give == "register":
            program.register("nearby", lambda x: x > 0, 1)
        elif give == "load":
            program.load_facts("nearby", [(1,)])
        if give == "detect":
            program.detect(EVENTS, time="time", event="event", knowledge={"nearby": [(1,)]})
        else:
            program.engine()


def test_strict_refuses_with_all_warnings() -> None:
    with pytest.raises(etalis.ProgramError) as error:
        etalis.compile(UNBOUNDED + " e(X) <- c(X) seq d(X).", strict=True)
    assert [problem.code for problem in error.value.problems] == ["W209", "W209"]


def test_strict_refuses_an_unknown_predicate_every_time_it_would_run() -> None:
    program = etalis.compile(UNKNOWN, strict=True)
    for _ in range(2):
        with pytest.raises(etalis.ProgramError, match="W207"):
            program.engine()
    program.load_facts("nearby", [(1,)])
    program.engine()


@pytest.mark.parametrize("command", ["run", "detect", "explain", "compare"])
def test_commands_show_a_warning_once_and_as_it_is(command: str, tmp_path: Path) -> None:
    program, events = tmp_path / "p.etalis", tmp_path / "e.csv"
    program.write_text(UNKNOWN)
    events.write_text("time,event,x\n1,a,1\n")
    arguments = {"explain": [str(program)], "compare": [str(program), str(program), str(events)]}
    done = CliRunner().invoke(app, [command, *arguments.get(command, [str(program), str(events)])])
    assert done.stderr.count("warning W207") == (2 if command == "compare" else 1)
    assert "ProgramWarning" not in done.stderr
