"""Columns of sources before Spark is asked."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.ddl import SchemaError, read_ddl
from etalis.pipeline.parts import SourcePart


def known_columns(source: SourcePart) -> dict[str, str] | None:
    return CONNECTORS[source.format].columns(source)


def files(kind: str, path: Path, **options: str) -> SourcePart:
    return SourcePart(kind, {"path": str(path)}, options=options)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a string", {"a": "string"}),
        ("a STRING NOT NULL, b: long comment 'x, y'", {"a": "string", "b": "bigint"}),
        ("`a b` decimal(10, 2), c array<struct<x: int>>", {"a b": "decimal(10, 2)", "c": "array<struct<x: int>>"}),
        ("t timestamp_ltz,u timestamp_ntz", {"t": "timestamp", "u": "timestamp_ntz"}),
    ],
)  # fmt: skip
def test_schema(text: str, columns: dict[str, str]) -> None:
    assert read_ddl(text) == columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a strin", "'strin' is no type of Spark; did you mean string?"),
        ("a", "'a' is no column: a column is `name type`"),
        ("a int, a string", "a occurs twice"),
        ("a int b", "'int b' is no type of Spark"),
        ("", "'' is no column"),
    ],
)
def test_wrong_schema(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_ddl(text)
    assert str(caught.value).startswith(message)


def test_files(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": pa.array([1], pa.int32()),
            "s": pa.array(["x"]).dictionary_encode(),
            "d": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
            "t": pa.array([datetime(2026, 1, 1)], pa.timestamp("us", "UTC")),
            "u": pa.array([datetime(2026, 1, 1)], pa.timestamp("us")),
            "l": pa.array([[1.5]]),
        }
    )
    (tmp_path / "day=1" / "_temporary").mkdir(parents=True)
    (tmp_path / "day=1" / "_temporary" / "x.parquet").write_text("half a file")
    parquet.write_table(table, tmp_path / "day=1" / "x.parquet")
    (tmp_path / "x.csv").write_text("a;b c\n1;2\n")
    (tmp_path / "y.json").write_text("{}")
    types = {
        "n": "int",
        "s": "string",
        "d": "decimal(9,2)",
        "t": "timestamp",
        "u": "timestamp_ntz",
        "l": "array<double>",
    }
    assert known_columns(files("parquet", tmp_path / "day=*")) == types
    assert known_columns(files("csv", tmp_path / "*.csv", sep=";")) == {"a": "void", "b c": "void"}
    assert known_columns(files("json", tmp_path / "*.json")) is None
    assert known_columns(files("parquet", tmp_path / "*.csv")) is None
    assert known_columns(SourcePart("rate")) == {"timestamp": "timestamp", "value": "bigint"}
    assert list(known_columns(SourcePart("kafka", schema="a int")) or ()) == [
        "a", "_key", "_partition", "_offset", "_timestamp"
    ]  # fmt: skip
