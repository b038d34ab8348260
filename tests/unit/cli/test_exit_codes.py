"""How the command line ends, as a process: each exit code, quiet pipes, no traceback; completion and versions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import ExitCode, app

SOURCE = Path(etalis.__file__).parents[1]
FULL = Path("/dev/full")  # a disk that is full, on Linux
PROGRAM = """:- set_flag(max_derivations, 100).
n(X) <- a(X).
n(Y) <- n(X) where (X > 5, Y is X + 1).
h(Y) <- b(X) where Y is 1 / X.
"""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def call(*arguments: object, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "etalis", *map(str, arguments)]
    return subprocess.run(command, env=environment(**more), input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(PROGRAM)
    (tmp_path / "plain.etalis").write_text("n(X) <- a(X).")
    return path


@pytest.mark.parametrize(
    ("code", "rows", "told"),
    [
        (ExitCode.OK, '["a", 1, 0]', ""),
        (ExitCode.INPUT, "no row", "1 row cannot be read"),
        (ExitCode.LIMIT, '["a", 6, 0]', "E320"),
        (ExitCode.CONDITIONS, '["b", 0, 0]', "E501"),
    ],
)
def test_codes_of_a_run(code: ExitCode, rows: str, told: str, program: Path) -> None:
    done = call("run", program, stdin=rows + "\n")
    assert (done.returncode, told in done.stderr) == (code, True)
    assert "Traceback" not in done.stderr


def test_codes_of_a_program_and_of_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "broken.etalis").write_text("d(X) <- a.")
    assert call("check", tmp_path / "broken.etalis").returncode == ExitCode.PROGRAM
    for wrong, hint in (
        (["rnu"], "Did you mean 'run'?"),
        (["run", "--polcy", "x"], "--policy"),
        (["run"], "program"),
        (["p.etalis", "e.csv"], "Did you mean 'etalis run p.etalis e.csv'?"),
    ):
        done = call(*wrong)
        assert (done.returncode, hint in done.stderr) == (ExitCode.USAGE, True)
        assert "Traceback" not in done.stderr


def test_an_interrupted_run(program: Path) -> None:
    command = [sys.executable, "-m", "etalis", "run", str(program)]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('["a", 1, 0]\n')
        process.stdin.flush()
        assert process.stdout.readline() == "n(1) [0, 0]\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    "arguments", [["--help"], ["explain", "plain.etalis"], ["check", "plain.etalis"]], ids=" ".join
)
def test_a_reader_that_has_gone_is_no_error(arguments: list[str], program: Path) -> None:
    """Nothing is read of the pipe; what is written at the very end fails as well, and stays quiet."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "etalis", *arguments]
    try:
        done = subprocess.run(
            command, env=environment(), cwd=program.parent, stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    assert done.stderr == ""
    assert done.returncode == ExitCode.OK


if FULL.exists():

    @pytest.mark.parametrize("arguments", [["--version"], ["run", "p.etalis"], ["explain", "p.etalis"]], ids=" ".join)
    def test_a_full_disk_is_told(arguments: list[str], program: Path) -> None:
        command = [sys.executable, "-m", "etalis", *arguments]
        with FULL.open("w") as full:
            done = subprocess.run(
                command, env=environment(), cwd=program.parent, stdout=full, stderr=subprocess.PIPE,
                input='["a", 1, 0]\n', text=True, check=False,
            )  # fmt: skip
        assert done.returncode == ExitCode.INPUT
        assert "error E401: standard output: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr


FAULT = """
import etalis.cli, etalis.cli.check as c
def f(*_, **__): raise KeyError('what')
c.load = f
etalis.cli.main()
"""


def test_a_fault_is_told_in_a_line_and_traced_if_asked(program: Path) -> None:
    command = [sys.executable, "-c", FAULT, "explain", str(program)]
    plain = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert plain.returncode == ExitCode.FAULT
    assert plain.stderr.splitlines() == [
        "error E901: etalis itself failed: KeyError: 'what'",
        "  hint: no input should do that: please report it, with what ETALIS_TRACEBACK=1 adds",
    ]
    traced = subprocess.run(
        command, env=environment(ETALIS_TRACEBACK="1"), capture_output=True, text=True, check=False
    ).stderr
    assert "Traceback (most recent call last)" in traced
    assert traced.endswith(plain.stderr)


def test_version_and_help() -> None:
    assert call("--version").stdout == f"etalis {etalis.__version__}\n"
    shown = call("--help")
    assert shown.returncode == ExitCode.OK
    assert "Usage: etalis [OPTIONS] COMMAND" in shown.stdout
    assert "--install-completion" in shown.stdout
    assert "..." not in shown.stdout.partition("Commands:")[2]  # each fits its line
    assert call("help").stdout == call("-h").stdout == shown.stdout
    assert call("help", "explain").stdout == call("explain", "--help").stdout
    nothing = call()
    assert (nothing.returncode, "Usage: etalis" in nothing.stdout + nothing.stderr) == (ExitCode.USAGE, True)


@pytest.mark.parametrize(
    ("shell", "part"),
    [
        ("bash", "complete -o default -F _etalis_completion etalis"),
        ("zsh", "compdef _etalis_completion etalis"),
        ("fish", "complete --command etalis"),
    ],
)
def test_the_script_of_a_shell(shell: str, part: str) -> None:
    done = call(_ETALIS_COMPLETE=f"source_{shell}")
    assert (done.returncode, part in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("etalis de", ["detect", "declare"]),
        ("etalis run --pol", ["--policy"]),
        ("etalis run --policy snoop", ["snoop_recent"]),
        ("etalis pipeline dr", ["drain"]),
        ("etalis test --backend s", ["semantics", "spark"]),
    ],
)
def test_words_are_completed(words: str, completed: list[str]) -> None:
    run = CliRunner()
    position = str(len(words.split()) - 1)
    bash = run.invoke(app, env={"_ETALIS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position})
    assert bash.stdout.split() == completed
    typed = {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    fish = run.invoke(app, env={"_ETALIS_COMPLETE": "complete_fish", **typed})
    assert [line.partition("\t")[0] for line in fish.stdout.splitlines()] == completed
    zsh = run.invoke(app, env={"_ETALIS_COMPLETE": "complete_zsh", **typed})
    assert all(f'"{word}"' in zsh.stdout for word in completed)


def test_the_script_of_bash_completes(tmp_path: Path) -> None:
    """Bash itself runs the script, with an `etalis` on its path."""
    (tmp_path / "etalis").write_text(f'#!/bin/sh\nexec {sys.executable} -m etalis "$@"\n')
    (tmp_path / "etalis").chmod(0o755)
    script = call(_ETALIS_COMPLETE="source_bash").stdout
    asked = "COMP_WORDS=(etalis dec); COMP_CWORD=1; _etalis_completion etalis; echo ${COMPREPLY[@]}"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "--norc", "-c", f"{script}\n{asked}"]
    done = subprocess.run(command, env=environment(PATH=path), capture_output=True, text=True, check=True)
    assert done.stdout == "declare\n"


def test_completion_is_installed_for_the_shell_it_is_asked_from(tmp_path: Path) -> None:
    asked = f"{sys.executable} -m etalis --install-completion; true"  # the last word keeps bash from becoming Python
    command = ["bash", "--norc", "-c", asked]
    done = subprocess.run(command, env=environment(HOME=str(tmp_path)), capture_output=True, text=True, check=True)
    assert "bash completion installed" in done.stdout
    assert "complete -o default -F _etalis_completion etalis" in next(tmp_path.rglob("etalis.sh")).read_text()
