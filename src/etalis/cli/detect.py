"""`etalis detect`: complex events in a table, over columns; with `--state` a run goes on where the last one ended."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from etalis.cli.common import (
    Encoding,
    EventName,
    Policy,
    ProgramFile,
    SkipBroken,
    TimeColumn,
    Unit,
    count,
    end_with,
    load,
    reporting,
)
from etalis.cli.dead_letters import DeadLetterLog
from etalis.cli.exit_codes import ExitCode
from etalis.cli.findings import Strict, show_failures, show_findings
from etalis.cli.knowledge import NOTHING, KnowledgeOptions, with_knowledge
from etalis.data.values import format_value, to_value
from etalis.engine import Engine
from etalis.errors import InputError, Problem
from etalis.program import Program
from etalis.runtime.reporting.report import Report
from etalis.temporal.json_values import to_text

Source = Annotated[
    str, typer.Argument(help="Table of events: a file, folder, pattern or address; - is standard input.")
]
End = Annotated[str | None, typer.Option(help="Column of the end, where --time names that of the start.")]
Select = Annotated[str | None, typer.Option(help="The one kind of complex event to report.")]
To = Annotated[Path | None, typer.Option(help="Store matches in this file instead of showing them.")]
State = Annotated[Path | None, typer.Option(help="Go on from the snapshot in this file, then put the next one there.")]
Contributors = Annotated[
    bool, typer.Option("--contributors", help="Tell the ids of the rows that each match is made of.")
]
Id = Annotated[str | None, typer.Option(help="Column that names the rows, for --contributors.")]
Late = Annotated[Path | None, typer.Option(help="Store events that came too late in this file, as JSON lines.")]


@with_knowledge
def detect(
    program: ProgramFile,
    events: Source,
    *,
    policy: Policy = None,
    event: EventName = None,
    time: TimeColumn = None,
    end: End = None,
    unit: Unit = "s",
    encoding: Encoding = None,
    select: Select = None,
    contributors: Contributors = False,
    id: Id = None,  # noqa: A002
    to: To = None,
    state: State = None,
    dead_letters: Late = None,
    skip_broken: SkipBroken = False,
    strict: Strict = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say which rules run over columns, and stop.")] = False,
    knowledge: KnowledgeOptions = NOTHING,
) -> None:
    """Find the complex events in a table, over columns; show them as JSON lines, or store them as a table."""
    with reporting():
        compiled = load(program, knowledge, encoding=encoding, skip_broken=skip_broken)
        columns: dict[str, Any] = {"time": time if time is None or end is None else (time, end)}
        columns |= {"event": event, "unit": unit, "encoding": encoding}
        if explain:
            print(compiled.explain(events, policy=policy, contributors=contributors, **columns))
            return
        letters = DeadLetterLog(dead_letters)
        watch = Watch()
        callbacks: dict[str, Any] = {"on_dead_letter": partial(letters.add_at, None)}
        columns |= {"select": select, "contributors": contributors, "id": id, "progress": True}
        started = clock.monotonic()
        if state is None:
            callbacks["on_report"] = watch.take
            show(compiled.detect(events, **columns, policy=policy, **callbacks), to, watch)
        else:
            engine = open_engine(compiled, state, policy, callbacks | {"parts": contributors})
            show(engine.detect(events, **columns), to, watch)
            watch.take(engine.report())
            put(state, engine.snapshot())
        if sys.stderr.isatty():
            print(f"{count(watch.matches, 'match')}, {clock.monotonic() - started:.2f} s", file=sys.stderr)
        refused, failed = letters.report(), show_failures(watch.report)
        findings = show_findings(watch.report, strict=strict, ended=state is None)
        end_with({ExitCode.INPUT: refused, ExitCode.CONDITIONS: failed, ExitCode.FINDINGS: findings})


@dataclass(slots=True)
class Watch:
    """What a run comes across."""

    report: Report = field(default_factory=Report)
    matches: int = 0

    def take(self, report: Report) -> None:
        """Take what the run came across."""
        self.report = report


def open_engine(program: Program, state: Path | None, policy: str | None, options: Mapping[str, Any]) -> Engine:
    """Return an engine that goes on from a snapshot, a fresh one where there is none yet."""
    if state is not None and not state.parent.is_dir():
        raise InputError(Problem("E401", f"cannot write {state}: no such folder", hint=f"make {state.parent} first"))
    if state is None or not state.exists():
        return program.engine(policy=policy, **options)
    if policy is not None:
        raise typer.BadParameter("the policy is that of the snapshot", param_hint="--policy")
    return program.restore(state.read_bytes(), **options)


def put(path: Path, data: bytes) -> None:
    """Store a snapshot, whole or not at all."""
    beside = path.with_name(path.name + ".new")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise InputError(Problem("E401", f"cannot write {path}: {error.strerror}", hint="check its name")) from None


def show(found: Any, to: Path | None, watch: Watch) -> None:
    """Store matches in a file, its ending tells the format, or print them."""
    watch.matches = found.num_rows
    if to is None:
        for line in lines_of(found):
            print(line)
        return
    write = WRITERS.get(to.suffix.lower())
    if write is None:
        raise InputError(Problem("E407", f"{to}: unknown format", hint=f"one of {', '.join(WRITERS)}"))
    try:
        write(found, to)
    except OSError as error:
        raise InputError(Problem("E401", f"cannot write {to}: {error.strerror}", hint="check its name")) from None


def lines_of(found: Any) -> Iterator[str]:
    """Yield rows as JSON objects."""
    for batch in found.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            yield to_text(row, _to_text)


def _to_text(value: Any) -> str:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def _write_parquet(found: Any, to: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(found, to)


def _write_arrow(found: Any, to: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(found, str(to))


def _write_csv(found: Any, to: Path) -> None:
    import pyarrow.csv

    columns = {f.name: _plain_column(found[f.name]) for f in found.schema}
    pyarrow.csv.write_csv(pyarrow.table(columns), to)


def _plain_column(column: Any) -> Any:
    """Return a column as one that CSV can hold: lists, structs and maps as program text."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if not pa.types.is_nested(column.type):
        return column
    cells = [None if cell is None else format_value(to_value(cell)) for cell in column.to_pylist()]
    return pa.array(cells, pa.string())


def _write_lines(found: Any, to: Path) -> None:
    with to.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines_of(found))


WRITERS: Mapping[str, Callable[[Any, Path], None]] = {
    ".parquet": _write_parquet, ".arrow": _write_arrow, ".feather": _write_arrow, ".csv": _write_csv,
    ".jsonl": _write_lines, ".ndjson": _write_lines,
}  # fmt: skip
