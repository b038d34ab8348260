"""`etalis shell` as a command: its exit codes, its options, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import make_app
from etalis.cli.service.extras import needing
from etalis.cli.service.shell import shell
from etalis.errors import InputError

ROOT = Path(__file__).parents[3]
FRAUD = ROOT / "examples" / "fraud"


def console(*arguments: str | Path, typed: str = "") -> tuple[int, str, str]:
    """Run the console on what is typed; return exit code, standard output and standard error."""
    result = CliRunner().invoke(make_app(shell), [str(argument) for argument in arguments], input=typed)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_a_program_and_goals() -> None:
    goal = f"run('{FRAUD / 'withdrawals.csv'}'), halt"
    code, out, err = console(FRAUD / "fraud.etalis", "-g", goal, typed="this is not read")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "fraud(c1, weil, geneva, 535.5) [2026-03-02T09:03:00Z, 2026-03-02T09:10:00Z]"


@pytest.mark.parametrize(
    ("typed", "code"),
    [("X = 1.\n", 0), ("fail.\n", 0), ("c(X, Y) <- a(X).\n", 1), ("load(nowhere).\n", 3), ("event(a, noon).\n", 3),
     ("foo(1).\nc(X, Y) <- a(X).\n", 5), ("X = 1", 0)],
)  # fmt: skip
def test_exit_codes(typed: str, code: int) -> None:
    assert console(typed=typed)[0] == code


def test_a_program_with_errors_does_not_begin(tmp_path: Path) -> None:
    (tmp_path / "p.etalis").write_text("c(X, Y) <- a(X).\n")
    code, out, err = console(tmp_path / "p.etalis")
    assert (code, out) == (1, "")
    assert "p.etalis:1:6: error E204" in err


def test_a_remote_service_has_its_own_programs() -> None:
    code, _, err = console(FRAUD / "fraud.etalis", "--remote", "tcp://localhost:1")
    assert code == 2
    assert "the service has programs and policies of its own" in err


def test_what_is_not_installed_is_told_with_what_installs_it() -> None:
    with pytest.raises(InputError, match="this needs nowhere_at_all") as told, needing("shell"):
        import_module("nowhere_at_all")
    assert told.value.problems[0].hint == 'pip install "etalis[shell]"'


def test_ctrl_c_stops_a_goal_and_the_console_goes_on() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "etalis", "shell"], stdin=-1, stdout=-1, text=True, bufsize=1,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(
        "set_flag(max_steps, 1000000000). set_flag(max_goal_steps, 1000000000).\nwrite(begun), nl, repeat, fail.\n"
    )
    while process.stdout.readline() != "begun\n":
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate("X = 1.\nhalt.\n", timeout=60)
    assert out == "stopped\nX = 1\n"
    assert process.returncode == 0


def test_ctrl_c_ends_a_run_between_two_rows(tmp_path: Path) -> None:
    (tmp_path / "p.etalis").write_text("hit(X) <- a(X).\n")
    rows = "".join(f'["a", {i}, {i}]\n' for i in range(300_000))
    (tmp_path / "many.jsonl").write_text(rows)
    process = subprocess.Popen(
        [sys.executable, "-m", "etalis", "shell", tmp_path / "p.etalis"], stdin=-1, stdout=-1, text=True, bufsize=1,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"run('{tmp_path / 'many.jsonl'}').\n")
    assert process.stdout.readline() == "hit(0) [0, 0]\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate("rules.\nhalt.\n", timeout=60)
    lines = out.splitlines()
    assert lines[-2:] == ["stopped", "   1  hit(X) <- a(X)."]
    assert len(lines) < 300_000
    assert process.returncode == 0
