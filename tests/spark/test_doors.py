"""The same matches on Spark, batch, stream and pipeline, as at every other door; see `tests/doors`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import etalis
from doors.sources import TIMES, Way, expected, program, table
from etalis.cli import app
from etalis.pipeline import check_pipeline, run_pipeline
from etalis.temporal.interval import to_time

pytestmark = pytest.mark.spark

NANOSECONDS = "spark.sql.legacy.parquet.nanosAsLong"  # Spark has no time stamps of nanoseconds
TOOLS: Mapping[str, Callable[[pa.Table, str], object]] = {
    "PyArrow": lambda rows, path: pq.write_table(rows, path),
    "pandas": lambda rows, path: rows.to_pandas().to_parquet(path),
    "Polars": lambda rows, path: pl.from_arrow(rows).write_parquet(path),
}


def compiled(way: Way) -> etalis.Program:
    return etalis.compile(program(way), event_consumption_policy="unrestricted")


@pytest.mark.parametrize("tool", TOOLS)
def test_batches(spark: Any, tool: str, tmp_path: Path) -> None:
    for number, (name, way) in enumerate(TIMES.items()):
        path = str(tmp_path / f"{number}.parquet")
        TOOLS[tool](table(way), path)
        df, unit = read(spark, path, way)
        found = compiled(way).on(spark).detect(df, time="ts", event="withdrawal", unit=unit)
        assert micros(found, unit) == expected(way), name


def read(spark: Any, path: str, way: Way) -> tuple[Any, str]:
    """Read a file of Parquet; stamps of nanoseconds as numbers of them."""
    spark.conf.set(NANOSECONDS, "true")
    df = spark.read.parquet(path)
    stamps = pq.read_schema(path).field("ts").type
    nanoseconds = pa.types.is_timestamp(stamps) and stamps.unit == "ns"
    return df, "ns" if nanoseconds else way.unit


def micros(df: Any, unit: str) -> set[tuple[Any, ...]]:
    """Collect matches with times in microseconds, which Arrow hands over as they are."""
    rows = df.toArrow().to_pylist()
    return {(r["Card"], r["Total"], to_time(r["start"], unit), to_time(r["end"], unit)) for r in rows}


@pytest.mark.parametrize(
    "name", ["stamps in us", "stamps in us, Zurich", "milliseconds", "text with an offset", "dates"]
)
def test_streams(spark: Any, name: str, tmp_path: Path) -> None:
    way = TIMES[name]
    source = tmp_path / "in"
    source.mkdir()
    pq.write_table(table(way), source / "1.parquet")
    schema = spark.read.parquet(str(source)).schema
    folder = {name: str(tmp_path / name) for name in ("state", "check", "out")}
    for close in (False, True):
        df = spark.readStream.schema(schema).parquet(str(source))
        found = (
            compiled(way)
            .on(spark)
            .detect(
                df,
                time="ts",
                event="withdrawal",
                unit=way.unit,
                state=folder["state"],
                checkpoint=folder["check"],
                close=close,
            )
        )
        written = found.writeStream.format("parquet").option("checkpointLocation", folder["check"])
        written.trigger(availableNow=True).start(folder["out"]).awaitTermination()
    assert micros(spark.read.parquet(folder["out"]), way.unit) == expected(way)


PIPELINE = """
[program]
files = "rules.etalis"
policy = "unrestricted"
[[source]]
event = "withdrawal"
format = "parquet"
path = "in"
time = "ts"
[[sink]]
format = "parquet"
path = "out"
[run]
unit = "{unit}"
"""


@pytest.mark.parametrize("name", ["stamps in us", "milliseconds", "text with Z", "dates"])
def test_pipelines(spark: Any, name: str, tmp_path: Path) -> None:
    way = TIMES[name]
    (tmp_path / "in").mkdir()
    pq.write_table(table(way), tmp_path / "in" / "1.parquet")
    (tmp_path / "rules.etalis").write_text(program(way), encoding="utf-8")
    (tmp_path / "p.toml").write_text(PIPELINE.format(unit=way.unit), encoding="utf-8")
    run_pipeline(check_pipeline(tmp_path / "p.toml"), spark=spark)
    assert micros(spark.read.parquet(str(tmp_path / "out")), way.unit) == expected(way)


def test_files_of_spark_at_other_doors(spark: Any, tmp_path: Path) -> None:
    """What Spark writes is read by `run` and `detect`: Parquet folders, CSV and JSON lines."""
    way = TIMES["stamps in us, Zurich"]
    path = str(tmp_path / "rows.parquet")
    pq.write_table(table(way), path)
    df = spark.read.parquet(path).coalesce(1)
    df.write.parquet(str(tmp_path / "parquet"))
    df.write.option("header", True).csv(str(tmp_path / "csv"))
    df.write.json(str(tmp_path / "json"))
    rules = tmp_path / "rules.etalis"
    rules.write_text(program(way), encoding="utf-8")
    for form in ("parquet", "csv", "json"):
        found = compiled(way).detect(str(tmp_path / form), time="ts", event="withdrawal")
        rows = found.to_pylist()
        assert {(r["Card"], r["Total"], to_time(r["start"]), to_time(r["end"])) for r in rows} == expected(way), form
        command = [
            "run",
            str(rules),
            str(tmp_path / form),
            "--policy",
            "unrestricted",
            "--time",
            "ts",
            "--event",
            "withdrawal",
        ]
        run = CliRunner().invoke(app, [*command, "--output", "json"])
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        assert {(r["Card"], r["Total"], to_time(r["start"]), to_time(r["end"])) for r in lines} == expected(way), form
