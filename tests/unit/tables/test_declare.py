"""`etalis declare`: what it prints fits the table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app
from etalis.errors import InputError
from etalis.tables.declare import declarations_of


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(
        "ts,card,My col,n,ok,day,mixed\n2026-01-01,007,x,1,true,2026-01-01T00:00:00Z,1\n2026-01-02,7,y,1.5,,,a\n"
    )
    found = CliRunner().invoke(app, ["declare", str(path), "--event", "w"])
    assert found.exit_code == 0, found.output
    assert (
        found.stdout == ":- event(w(card: string, 'My col': string, n: float, ok: bool, day: time, mixed: string)).\n"
    )
    assert etalis.compile(found.stdout + "d <- w('My col': x).").detect(path, event="w").num_rows == 1


def test_tables_and_several_events() -> None:
    frame = pd.DataFrame({"event": ["a", "b"], "at": [1, 2], "x": [1.5, None], "when": [None, dt.datetime(2026, 1, 1)]})
    assert list(declarations_of(frame)) == [":- event(a(x: float)).", ":- event(b(when: time))."]
    nested = pa.table({"at": [1], "tags": [["x"]], "n": pa.array([1], pa.uint8())})
    assert list(declarations_of(nested, event="e")) == [":- event(e(tags: term, n: int))."]
    with pytest.raises(InputError, match="no column names the event"):
        list(declarations_of(nested))
