"""The same matches at every door: whatever tool made the table, and however it tells the time."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import etalis
from doors.sources import FILES, IN_MEMORY, TIMES, Way, expected, program, table
from etalis.cli import app
from etalis.temporal.interval import to_time

OPTIONS: dict[str, Any] = {"time": "ts", "event": "withdrawal"}


def of_table(found: pa.Table, way: Way) -> frozenset[tuple[Any, ...]]:
    rows = found.to_pylist()
    return frozenset((r["Card"], r["Total"], to_time(r["start"], way.unit), to_time(r["end"], way.unit)) for r in rows)


def of_events(events: Any) -> frozenset[tuple[Any, ...]]:
    return frozenset((*event.args, event.start_time, event.end_time) for event in events)


@cache
def compiled(text: str) -> etalis.Program:
    return etalis.compile(text, event_consumption_policy="unrestricted")


def engine_of(way: Way) -> etalis.Engine:
    return compiled(program(way)).engine()


def by_detect(source: Any, way: Way) -> frozenset[tuple[Any, ...]]:
    return of_table(compiled(program(way)).detect(source, unit=way.unit, **OPTIONS), way)


def by_engine_detect(source: Any, way: Way) -> frozenset[tuple[Any, ...]]:
    return of_table(engine_of(way).detect(source, unit=way.unit, **OPTIONS), way)


@pytest.mark.parametrize("tool", IN_MEMORY)
@pytest.mark.parametrize("time", TIMES)
def test_tables_in_memory(time: str, tool: str, tmp_path: Path) -> None:
    """Shows definition 22.1."""
    way = TIMES[time]
    assert by_detect(IN_MEMORY[tool](table(way), tmp_path), way) == expected(way)


@pytest.mark.parametrize("tool", {**IN_MEMORY, **FILES})
@pytest.mark.parametrize("time", list(TIMES)[::4])
def test_on_an_engine(time: str, tool: str, tmp_path: Path) -> None:
    """What reads a table does not know whose engine it is for, so some ways to tell the time are enough."""
    way = TIMES[time]
    assert by_engine_detect({**IN_MEMORY, **FILES}[tool](table(way), tmp_path), way) == expected(way)


@pytest.mark.parametrize("time", [name for name, way in TIMES.items() if way.unit == "s"])
def test_push_and_run(time: str) -> None:
    """Numbers given to an engine are seconds, so ways that count in other units have no door here."""
    way = TIMES[time]
    rows = table(way).to_pylist()
    engine = engine_of(way)
    pushed = [e for r in rows for e in engine.push("withdrawal", r["card"], r["city"], r["amount"], at=r["ts"])]
    assert of_events(pushed) == expected(way)
    dicts = [{"event": "withdrawal", "at": row.pop("ts"), **row} for row in map(dict, rows)]
    assert of_events(engine_of(way).run(dicts)) == expected(way)


@pytest.mark.parametrize("tool", FILES)
@pytest.mark.parametrize("time", TIMES)
def test_files(time: str, tool: str, tmp_path: Path) -> None:
    way = TIMES[time]
    path = FILES[tool](table(way), tmp_path)
    assert by_detect(path, way) == expected(way)
    rules = tmp_path / "rules.etalis"
    rules.write_text(program(way), encoding="utf-8")
    shared = [str(rules), path, "--policy", "unrestricted", "--time", "ts", "--event", "withdrawal", "--unit", way.unit]
    run = lines(["run", *shared, "--output", "json"])
    assert {(r["Card"], r["Total"], to_time(r["start"]), to_time(r["end"])) for r in run} == expected(way)
    detected = lines(["detect", *shared])
    moments = [(r["Card"], r["Total"], to_time(r["start"], way.unit), to_time(r["end"], way.unit)) for r in detected]
    assert set(moments) == expected(way)


def lines(arguments: list[str]) -> list[dict[str, Any]]:
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    return [json.loads(line) for line in found.stdout.splitlines()]
