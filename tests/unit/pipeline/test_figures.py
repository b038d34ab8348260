"""What a run tells about itself: files, text for Prometheus, an address on loopback, `status`."""

from __future__ import annotations

import json
import os
import socket
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from etalis.cli import ExitCode, app
from etalis.errors import InputError
from etalis.pipeline.figures import (
    STATUS_FILE,
    Figures,
    MetricsServer,
    begin,
    read_figures,
    to_prometheus,
    write_figures,
    write_metrics,
)

FIGURES = Figures(
    'p "1".toml', "running", socket.gethostname(), os.getpid(), 100.0, 160.0, 7, 2_000, 250.5, 4.0,
    {"two": 3, "block": 1}, 2, 5, 3_500_000, 1_000.0, 940.0,
)  # fmt: skip
PIPELINE = """[program]
files = "p.etalis"
[[source]]
format = "rate"
[[sink]]
format = "console"
[run]
trigger = "1 second"
checkpoint = "state"
"""


def test_files_hold_figures(tmp_path: Path) -> None:
    write_figures(FIGURES, tmp_path / "a" / "s.json")
    assert read_figures(tmp_path / "a" / "s.json") == FIGURES
    assert read_figures(tmp_path / "none.json") is None
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["s.json"]
    (tmp_path / "a" / "s.json").write_text("[1]")
    with pytest.raises(InputError, match="E711"):
        read_figures(tmp_path / "a" / "s.json")


def test_a_run_goes_on_counting() -> None:
    again = begin("p.toml", 500.0, replace(FIGURES, state="failed", error="why"))
    assert (again.rows, again.matched, again.batch, again.started) == (2_000, 4, 7, 500.0)
    assert (again.state, again.error) == ("running", None)
    assert begin("p.toml", 500.0, None).rows == 0


def test_prometheus(tmp_path: Path) -> None:
    lines = to_prometheus(FIGURES).splitlines()
    label = 'pipeline="p \\"1\\".toml"'
    for line in (
        f"etalis_up{{{label}}} 1",
        f"etalis_rows_total{{{label}}} 2000",
        f"etalis_rows_per_second{{{label}}} 250.5",
        f"etalis_lag_seconds{{{label}}} 60",
        f'etalis_matches_total{{{label},rule="block"}} 1',
        "# TYPE etalis_matches_total counter",
    ):
        assert line in lines
    assert not any("etalis_lag" in line for line in to_prometheus(Figures("p")).splitlines())
    write_metrics(FIGURES, tmp_path / "m.prom")
    assert (tmp_path / "m.prom").read_text() == to_prometheus(FIGURES)


def test_server() -> None:
    server = MetricsServer(0, lambda: FIGURES)
    address = f"http://127.0.0.1:{server.port}"
    try:
        with urllib.request.urlopen(f"{address}/metrics", timeout=5) as answer:
            assert answer.read().decode() == to_prometheus(FIGURES)
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}/other", timeout=5)
        with pytest.raises(InputError, match="E712"):
            MetricsServer(server.port, lambda: FIGURES)
    finally:
        server.close()


@pytest.mark.parametrize(
    ("figures", "first", "code"),
    [
        (FIGURES, "running (process ", ExitCode.OK),
        (replace(FIGURES, pid=2**22 + 1), "lost (process 4194305 on ", ExitCode.INPUT),
        (replace(FIGURES, host="elsewhere"), "lost (process ", ExitCode.INPUT),
        (replace(FIGURES, state="finished"), "finished, last sign of life ", ExitCode.OK),
        (replace(FIGURES, state="failed", error="E710: no"), "failed, last sign of life ", ExitCode.INPUT),
    ],
)
def test_status(tmp_path: Path, figures: Figures, first: str, code: ExitCode) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PIPELINE)
    write_figures(figures, tmp_path / "state" / STATUS_FILE)
    result = CliRunner().invoke(app, ["pipeline", "status", str(path)])
    lines = result.stdout.splitlines()
    assert result.exit_code == code
    assert lines[0].startswith(first)
    assert ("error: E710: no" in lines) == (figures.error is not None)
    assert "last batch: 7, 4.0 s, 250 rows/s" in lines
    assert "rows: 2,000 accepted, 5 waiting, 2 dead letters" in lines
    assert lines[lines.index("matches: 4") + 1 :][:2] == ["  block: 1", "  two: 3"]
    assert lines[-1] == "watermark: 1970-01-01T00:15:40+00:00, latest row 1970-01-01T00:16:40+00:00, lag 60 s"
    told = json.loads(CliRunner().invoke(app, ["pipeline", "status", str(path), "--json"]).stdout)
    assert (told["state"], told["lag"], told["rows"]) == (first.split(" ")[0].rstrip(","), 60.0, 2_000)


def test_status_of_what_never_ran(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PIPELINE)
    result = CliRunner().invoke(app, ["pipeline", "status", str(path)])
    assert result.exit_code == ExitCode.INPUT
    assert "E711: nothing is known of a run of" in result.stderr
