"""`etalis pipeline check | run | drain | status`: pipelines on Spark from a TOML file (docs/pipeline.md)."""

from __future__ import annotations

import json
import sys
import time as clock
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from etalis.cli.common import count, end_with, reporting
from etalis.cli.exit_codes import ExitCode
from etalis.cli.findings import Strict, show_findings
from etalis.errors import InputError, Problem
from etalis.runtime.reporting.counted_report import report_counts

if TYPE_CHECKING:
    from etalis.pipeline import Checked
    from etalis.pipeline.figures import Figures

# Pipelines bring Arrow along, which the other commands need not wait for: they are imported where they are used.

app = typer.Typer(help="Run programs on Spark from a file.", no_args_is_help=True, rich_markup_mode=None)

PipelineFile = Annotated[Path, typer.Argument(help="TOML file of a pipeline.", exists=True, dir_okay=False)]
CAUSES = {
    "late": "too late",
    "ahead": "too far ahead",
    "event": "no event",
    "time": "no time",
    "value": "a wrong value",
}
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object.")]


@app.command()
def check(pipeline: PipelineFile) -> None:
    """Report every problem of a pipeline and its program; needs no Java."""
    with reporting():
        checked = _check(pipeline)
        for question in checked.open_questions:
            print(f"note: {question}")
        parts = [(len(checked.pipeline.sources), "source"), (len(checked.program.rules), "rule")]
        parts += [(len(checked.pipeline.sinks), "sink"), (len(checked.warnings), "warning")]
        print(f"{pipeline}: {', '.join(count(number, noun) for number, noun in parts)}")


@app.command()
def run(
    pipeline: PipelineFile,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    strict: Strict = False,
) -> None:
    """Run a pipeline: once, or until it is interrupted."""
    from etalis.pipeline import run_pipeline

    with reporting():
        checked = _check(pipeline)
        with _Display(quiet) as display:
            figures = run_pipeline(checked, show=display.show)
        print(describe(figures), file=sys.stderr)
        if figures.state == "stopped" and not checked.pipeline.run.is_stream:
            raise typer.Exit(ExitCode.INTERRUPTED)
        report = report_counts(checked.program, figures.matches, figures.events, figures.unread)
        end_with({ExitCode.FINDINGS: show_findings(report, strict=strict)})


@app.command()
def drain(
    pipeline: PipelineFile,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """End a stream that is stopped: take the rows that are there, then report all that is owed."""
    from etalis.pipeline import drain_pipeline

    with reporting():
        checked = _check(pipeline)
        with _Display(quiet) as display:
            figures = drain_pipeline(checked, show=display.show)
        print(describe(figures), file=sys.stderr)


@app.command()
def status(pipeline: PipelineFile, *, as_json: AsJson = False) -> None:
    """Tell how a pipeline is doing, by what its last run has written down."""
    from etalis.pipeline import read_pipeline, status_path
    from etalis.pipeline.figures import read_figures

    with reporting():
        path = status_path(read_pipeline(pipeline))
        figures = None if path is None else read_figures(path)
        if figures is None:
            hint = "run it first; a pipeline that runs once keeps figures if [metrics] names a file"
            raise InputError(Problem("E711", f"nothing is known of a run of {pipeline}", hint=hint))
        now = clock.time()
        lost = figures.is_running and not figures.is_alive(now)
        state = "lost" if lost else figures.state
        if as_json:
            print(json.dumps({**asdict(figures), "state": state, "lag": figures.lag}))
        else:
            for line in _status_lines(figures, state, now):
                print(line)
        if state in ("lost", "failed"):
            raise typer.Exit(ExitCode.INPUT)


def _check(path: Path) -> Checked:
    from etalis.pipeline import check_pipeline

    checked = check_pipeline(path)
    for problem in checked.warnings:
        print(problem, file=sys.stderr)
    return checked


def describe(figures: Figures) -> str:
    """Return figures as one line."""
    parts = [] if figures.batch is None else [f"batch {figures.batch}"]
    parts += [count(figures.rows, "row"), count(figures.matched, "match")]
    if figures.matches:
        parts[-1] += f" ({', '.join(f'{rule} {number:,}' for rule, number in sorted(figures.matches.items()))})"
    if figures.late:
        parts.append(count(figures.late, "dead letter"))
    if figures.is_running and figures.batch is not None:
        parts += [f"{figures.rows_per_second:,.0f} rows/s", f"lag {_seconds(figures.lag)}"]
        parts.append(f"state {_size(figures.state_bytes)}")
    return f"{figures.state}: {', '.join(parts)}"


def _status_lines(figures: Figures, state: str, now: float) -> Iterator[str]:
    """Yield what `status` prints."""
    where = f"process {figures.pid} on {figures.host}" if state in ("running", "lost") else ""
    seen = f"last sign of life {now - figures.updated:,.0f} s ago"
    yield f"{state}{' (' + where + ')' if where else ''}, {seen}"
    if figures.error is not None:
        yield f"error: {figures.error}"
    if figures.batch is not None:
        yield f"last batch: {figures.batch}, {figures.batch_seconds:.1f} s, {figures.rows_per_second:,.0f} rows/s"
    yield f"rows: {figures.rows:,} accepted, {figures.held:,} waiting, {figures.late:,} dead letters"
    for cause, number in sorted(figures.causes.items()):
        yield f"  {CAUSES.get(cause, cause)}: {number:,}"
    yield f"matches: {figures.matched:,}"
    for rule, number in sorted(figures.matches.items()):
        yield f"  {rule}: {number:,}"
    if figures.batch is not None:
        yield f"state: {_size(figures.state_bytes)}"
        settled, latest = _moment(figures.watermark), _moment(figures.latest)
        yield f"watermark: {settled}, latest row {latest}, lag {_seconds(figures.lag)}"


def _moment(seconds: float | None) -> str:
    if seconds is None:
        return "none yet"
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:,.0f} s"


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:,.0f} s"


def _size(size: int) -> str:
    """Write a size in bytes.

    >>> _size(512), _size(3_500_000)
    ('512 B', '3.5 MB')
    """
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"


class _Display:
    """Shows figures on standard error: a table that changes in a terminal, a line per batch elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._batch: int | None = None
        console = Console(stderr=True)
        self._live = Live(console=console, transient=True) if console.is_terminal and not quiet else None

    def __enter__(self) -> _Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, figures: Figures) -> None:
        """Take new figures."""
        if self._live is not None:
            self._live.update(_draw(figures))
        elif not self._quiet and figures.batch != self._batch:
            self._batch = figures.batch
            print(describe(figures), file=sys.stderr, flush=True)


def _draw(figures: Figures) -> Table:
    table = Table("", "", box=None, pad_edge=False, show_header=False)
    for line in _status_lines(figures, figures.state, figures.updated):
        name, _, value = line.partition(": ")
        table.add_row(name, value)
    return table
