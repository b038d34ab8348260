"""`etalis detect`: tables in, matches out, and runs that go on."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from etalis.cli import ExitCode, app
from etalis.tables.progress import ProgressLine

pytestmark = pytest.mark.fast

PROGRAM = """
:- event(a(x: int)).
:- event(b(x: int)).
pair(X, Y) <- a(X) seq b(Y).
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(PROGRAM)
    return path


def table(tmp_path: Path, name: str, *rows: tuple[str, int, int]) -> Path:
    path = tmp_path / name
    event, at, x = zip(*rows, strict=True)
    pyarrow.parquet.write_table(pa.table({"event": event, "at": at, "x": x}), path)
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["detect", *(str(argument) for argument in arguments)])


def columns(*values: object) -> dict[str, object]:
    return dict(zip(("event", "X", "Y", "start", "end", "rule"), values, strict=True))


def test_matches_are_json_lines(program: Path, tmp_path: Path) -> None:
    result = call(program, table(tmp_path, "e.parquet", ("a", 1, 5), ("b", 2, 6)), "--time", "at", "--event", "event")
    assert result.exit_code == ExitCode.OK, result.output
    assert json.loads(result.stdout) == columns("pair", 5, 6, 1, 2, "1")


READ: dict[str, Any] = {
    "parquet": pyarrow.parquet.read_table, "arrow": pyarrow.feather.read_table, "csv": pyarrow.csv.read_csv,
    "jsonl": lambda path: pa.Table.from_pylist([json.loads(line) for line in Path(path).read_text().splitlines()]),
}  # fmt: skip


@pytest.mark.parametrize("form", READ)
def test_matches_are_stored(form: str, program: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out.{form}"
    call(program, table(tmp_path, "e.parquet", ("a", 1, 5), ("b", 2, 6)), "--time", "at", "--to", out)
    assert [{**row, "rule": str(row["rule"])} for row in READ[form](str(out)).to_pylist()] == [
        columns("pair", 5, 6, 1, 2, "1")
    ]


def test_a_run_goes_on_where_the_last_one_ended(program: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = call(program, table(tmp_path, "1.parquet", ("a", 1, 5)), "--time", "at", "--state", state)
    assert (first.exit_code, first.stdout) == (ExitCode.OK, "")
    after = call(program, table(tmp_path, "2.parquet", ("b", 2, 6)), "--time", "at", "--state", state)
    assert json.loads(after.stdout) == columns("pair", 5, 6, 1, 2, "1")
    again = call(program, table(tmp_path, "3.parquet", ("b", 1, 6)), "--time", "at", "--state", state)
    assert again.exit_code == ExitCode.INPUT
    assert "b was rejected" in again.stderr
    named = call(program, table(tmp_path, "3.parquet", ("b", 9, 6)), "--state", state, "--policy", "recent")
    assert named.exit_code == ExitCode.USAGE
    assert not list(tmp_path.glob("*.new"))


def test_late_rows_are_stored(program: Path, tmp_path: Path) -> None:
    program.write_text(":- set_flag(out_of_order, on). :- set_flag(ooo_window, 2)." + PROGRAM)
    rows = table(tmp_path, "e.parquet", ("a", 5, 1), ("b", 6, 2), ("a", 4, 3), ("a", 1, 4))
    letters = tmp_path / "late.jsonl"
    result = call(program, rows, "--time", "at", "--dead-letters", letters, "--policy", "unrestricted")
    assert [json.loads(line)["X"] for line in result.stdout.splitlines()] == [3, 1]
    assert json.loads(letters.read_text())["args"] == [4]


def test_explain_says_what_runs_over_columns(program: Path, tmp_path: Path) -> None:
    rows = table(tmp_path, "e.parquet", ("a", 5, 1))
    assert call(program, rows, "--time", "at", "--explain").stdout == "over columns: rule 1\n"


@pytest.mark.parametrize(("out", "code"), [("out.txt", "E407"), ("no/where.csv", "E401")])
def test_what_cannot_be_stored_is_refused(out: str, code: str, program: Path, tmp_path: Path) -> None:
    result = call(program, table(tmp_path, "e.parquet", ("a", 5, 1)), "--time", "at", "--to", tmp_path / out)
    assert result.exit_code == ExitCode.INPUT
    assert code in result.stderr


def test_progress_is_shown_when_it_takes_long() -> None:
    times = iter([0.0, 0.5, 2.0, 2.0, 2.1, 3.0, 4.0])
    out = io.StringIO()
    line = ProgressLine(out, lambda: next(times))
    for rows in (10, 2000, 3000, 6000):
        line.tell(rows, 7)
    line.end()
    shown = [text.strip() for text in out.getvalue().split("\r") if text.strip()]
    assert shown == ["2,000 rows, 7 matches, 1,000 rows/s", "6,000 rows, 7 matches, 1,500 rows/s"]


def test_nested_matches_are_program_text_in_csv(tmp_path: Path) -> None:
    (tmp_path / "one.etalis").write_text(":- event(a(x: term, y: term)). d(X, Y) <- a(X, Y).")
    rows = {"at": [1, 2], "x": [["it's", "k"], None], "y": [{"p": 1, "q": [2]}, {"p": 3, "q": None}]}
    pyarrow.parquet.write_table(pa.table(rows), tmp_path / "rows.parquet")
    found = tmp_path / "found.csv"
    assert call(tmp_path / "one.etalis", tmp_path / "rows.parquet", "--to", found).exit_code == ExitCode.OK
    cells = pyarrow.csv.read_csv(found).select(["X", "Y"]).to_pylist()
    assert cells[0] == {"X": r"['it\'s',k]", "Y": "[-(p,1),-(q,[2])]"}
    assert cells[1]["Y"] == "[-(p,3),-(q,null)]"


def test_it_says_what_no_rule_read_and_which_rules_never_fired(program: Path, tmp_path: Path) -> None:
    path = table(tmp_path, "e.parquet", ("A", 1, 5), ("b", 2, 6))
    result = call(program, path)
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert found(result) == [
        "warning W330: A came once, and no rule reads it (rules read a/1: is it meant?)",
        "warning W331: rule 1 never fired: no a/1 came (A came: is it the same?)",
    ]
    strict = call(program, path, "--strict")
    assert strict.exit_code == ExitCode.FINDINGS
    assert found(strict)[0].startswith("error E330: A came once")
    going_on = call(program, path, "--state", tmp_path / "state")
    assert found(going_on) == found(result)[:1]


def found(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith(("warning W33", "error E33"))]
