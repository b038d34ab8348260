"""`etalis serve`: it says where it listens, ends cleanly, and refuses what cannot be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from etalis.cli import app

ROOT = Path(__file__).parents[2]
FRAUD = ROOT / "examples" / "fraud" / "fraud.etalis"


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


def test_it_serves_until_a_signal_and_ends_what_is_read() -> None:
    command = [sys.executable, "-m", "etalis", "serve", str(FRAUD), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("etalis serves 1 engine at http://127.0.0.1:")
        url = said.partition(" at ")[2].partition(";")[0]
        with httpx.Client(base_url=url, timeout=20) as client:
            assert client.get("/engines").json()["engines"][0]["url"] == f"{url}/engines/fraud"
            with client.stream("GET", "/engines/fraud/matches", headers={"Accept": "text/event-stream"}) as stream:
                process.send_signal(signal.SIGTERM)
                assert stream.read() == b""  # a whole answer, without matches
        told, wrong = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, told, wrong) == (0, "the service has ended\n", "")


def test_what_cannot_be_is_refused_before_anything_starts(tmp_path: Path) -> None:
    wrong, tokens = tmp_path / "wrong.etalis", tmp_path / "tokens"
    wrong.write_text("c(X, Y) <- a(X).")
    tokens.write_text("ann\n")
    (tmp_path / "more").mkdir()
    again = tmp_path / "more" / "fraud.etalis"
    again.write_text("c <- a.")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, code, told in (
            (["--port", port], 3, "E834"),
            (["--host", "0.0.0.0"], 3, "E835"),
            (["--tokens", tokens], 3, "E833"),
            (["--tokens", tmp_path / "none"], 3, "E401"),
            ([wrong], 1, "E204"),
            ([FRAUD, again], 2, "rename a file"),
            (["--cert", FRAUD], 2, "--key"),
        ):
            result = run(*arguments)
            assert (result.exit_code, told in result.output) == (code, True), (arguments, result.output)


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    serve = import_module("etalis.cli.service.serve")

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name="uvicorn")

    monkeypatch.setattr(serve, "import_module", missing)
    result = run()
    assert result.exit_code == 3
    assert (
        'E412: the service needs uvicorn, which is not installed\n  hint: pip install "etalis[service]"'
        in result.output
    )
