"""What a run on Spark came across: by jobs of its own, as errors of a strict run, at the end of a pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import ExitCode, app

pytestmark = pytest.mark.spark

PROGRAM = """:- event(login(card: string)).
:- event(pay(card: string, amount: int)).
two rule: fraud(C) <- login(C) seq pay(C, A) where 100 / A > 2.
never rule: lost(C) <- login(C) seq lose(C).
:- event(lose(card: string)).
"""
SCHEMA = "event string, card string, amount int, time bigint"
ROWS = [("login", "c1", 0, 1), ("logn", "c2", 0, 2), ("pay", "c1", 20, 3), ("login", "c3", 0, 4), ("pay", "c3", 0, 5)]


def test_a_report_counts_events_matches_and_errors(spark: Any) -> None:
    df = spark.createDataFrame(ROWS, SCHEMA)
    report = etalis.compile(PROGRAM).on(spark).report(df, policy="unrestricted")
    assert [(each.name, each.count, each.nearest) for each in report.unread] == [("logn", 1, "login/1")]
    assert [(each.rules, each.reason) for each in report.silent] == [(("never",), "no lose/1 came")]
    assert [each.count for each in report.failed] == [1]
    assert "division by zero" in str(report)


def test_a_strict_job_fails_at_what_no_rule_reads_and_at_conditions(spark: Any) -> None:
    program = etalis.compile(PROGRAM).on(spark)
    with pytest.raises(Exception, match="error E330: no rule reads logn; rules read login, pay"):
        program.detect(spark.createDataFrame(ROWS, SCHEMA), strict=True).collect()
    rest = [row for row in ROWS if row[0] != "logn"]
    with pytest.raises(Exception, match="E333: the condition"):
        program.detect(spark.createDataFrame(rest, SCHEMA), strict=True).collect()
    fine = program.detect(spark.createDataFrame(rest[:3], SCHEMA), strict=True).collect()
    assert [row["event"] for row in fine] == ["fraud"]
    with pytest.raises(etalis.OptionError, match="detect has no option strikt"):
        program.detect(spark.createDataFrame(rest, SCHEMA), strikt=True)


def test_a_pipeline_says_at_its_end_what_no_rule_read(spark: Any, tmp_path: Path) -> None:
    assert spark
    (tmp_path / "p.etalis").write_text(PROGRAM)
    names = SCHEMA.replace(" string", "").replace(" int", "").replace(" bigint", "").split(", ")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in ROWS]
    (tmp_path / "rows.json").write_text("\n".join(lines) + "\n")
    text = '[program]\nfiles = "p.etalis"\n[[source]]\nformat = "json"\npath = "rows.json"\n'
    text += f'schema = "{SCHEMA}"\nevent_column = "event"\ntime = "time"\n[[sink]]\nformat = "parquet"\npath = "out"\n'
    (tmp_path / "p.toml").write_text(text + 'mode = "append"\n')
    result = CliRunner().invoke(app, ["pipeline", "run", str(tmp_path / "p.toml"), "--quiet", "--strict"])
    assert result.exit_code == ExitCode.FINDINGS, result.stderr
    assert "error E330: logn came once, and no rule reads it (rules read login/1: is it meant?)" in result.stderr
    assert "error E331: rule never never fired: no lose/1 came" in result.stderr
    assert "1 match (two 1)" in result.stderr
    again = CliRunner().invoke(app, ["pipeline", "run", str(tmp_path / "p.toml"), "--quiet"])
    assert again.exit_code == ExitCode.OK
    assert "warning W330: logn came once" in again.stderr
