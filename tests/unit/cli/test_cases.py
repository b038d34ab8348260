"""`etalis test`: what it runs, what it shows, how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from etalis.cli import ExitCode, app
from etalis.testing.backends import BACKENDS, Backend

CASE = """% pair: of a and b
policy: unrestricted
program:
pair(X, Y) <- (a(X) seq b(Y)) within 60.
events:
0 a(1); 5 b(2)
expect:
0..5 pair(1, {0})
---
% open
close: no
program:
d(X) <- a(X) seq b(X).
events:
0 a(1); 1 a(1); 2 b(1)
expect:
1..2 d(1)
"""


@pytest.fixture(autouse=True)
def compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the command, which is a process of its own elsewhere, from turning the compiler off for all tests."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "some.case").write_text(CASE.format(2))
    return tmp_path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["test", *map(str, arguments)])


def summary(result: Result) -> str:
    """Return the last line, without its time."""
    return result.stdout.splitlines()[-1].rpartition("; ")[0]


def test_all_backends_of_this_process(folder: Path) -> None:
    result = call(folder)
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "")
    assert summary(result) == "2 cases: 2 passed, 0 failed (engine 2, semantics 1, columns 1"
    assert call(folder / "some.case").exit_code == ExitCode.OK


def test_the_current_folder_is_the_default(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert summary(call()).startswith("2 cases: 2 passed")


def test_one_difference_is_shown_once(folder: Path) -> None:
    (folder / "bad.case").write_text(CASE.format(3))
    result = call(folder)
    assert result.exit_code == ExitCode.PROGRAM
    assert result.stdout.splitlines()[:-1] == [
        f"{folder}/bad.case:1: bad/pair on engine, semantics, columns under unrestricted",
        "  missing     0..5 pair(1, 3)",
        "    nearest   0..5 pair(1, 2): attribute 2 is 2",
        "  unexpected  0..5 pair(1, 2)",
    ]
    assert summary(result).startswith("4 cases: 3 passed, 1 failed")


def test_a_backend_is_chosen(folder: Path) -> None:
    assert summary(call(folder, "--backend", "engine")) == "2 cases: 2 passed, 0 failed (engine 2"
    chosen = call(folder, "--backend", "columns", "--backend", "semantics", "-v")
    assert summary(chosen) == "2 cases: 1 passed, 0 failed, 1 left out (columns 1, semantics 1"
    assert f"{folder}/some.case:10: some/open was left out\n  not on columns: a table has" in chosen.stdout
    assert call(folder, "--backend", "flink").exit_code == ExitCode.USAGE


def test_a_policy_for_cases_that_name_none(folder: Path) -> None:
    result = call(folder, "--policy", "chronological")
    assert "some/open on engine under chronological\n  missing     1..2 d(1)\n" in result.stdout
    assert summary(result).startswith("2 cases: 1 passed, 1 failed")


def test_cases_are_chosen_by_name(folder: Path) -> None:
    assert summary(call(folder, "--only", "pair")).startswith("1 case: 1 passed")
    result = call(folder, "--only", "none")
    assert (result.exit_code, "error E413: no case was run" in result.stderr) == (ExitCode.INPUT, True)


def test_a_file_that_cannot_be_read_does_not_hide_the_others(folder: Path) -> None:
    (folder / "broken.case").write_text("% broken\npolicy: recnt\nprogram:\nexpect:\n")
    result = call(folder)
    assert result.exit_code == ExitCode.INPUT
    assert result.stderr.splitlines() == [
        f"{folder}/broken.case:2:1: error E413: unknown policy 'recnt'",
        "    2 | policy: recnt",
        "        ^^^^^^^^^^^^^",
        "  hint: did you mean recent?",
        "1 file cannot be read",
    ]
    assert summary(result).startswith("2 cases: 2 passed")


def test_paths_without_cases(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.case"):
        result = call(path)
        assert (result.exit_code, result.stdout) == (ExitCode.INPUT, "")
        assert str(path) in result.stderr


def test_a_program_that_is_refused_shows_its_problems(folder: Path) -> None:
    (folder / "some.case").write_text("% refused\nprogram:\nd(X) <- a.\nevents:\n1 a\nexpect:\n1 d(1)\n")
    result = call(folder, "--backend", "engine")
    assert result.exit_code == ExitCode.PROGRAM
    assert "  refused: <program>:1:3: error E204" in result.stdout


def test_what_is_not_installed_is_left_out_unless_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = BACKENDS["columns"]
    missing = Backend("columns", columns.run, columns.refusal, "no_such_package")
    monkeypatch.setitem(BACKENDS, "columns", missing)  # type: ignore[arg-type]
    assert summary(call(folder)) == "2 cases: 2 passed, 0 failed (engine 2, semantics 1"
    result = call(folder, "--backend", "columns")
    assert result.exit_code == ExitCode.INPUT
    assert "columns needs no_such_package, which is not installed" in result.stderr
    assert "etalis[columnar]" in result.stderr
