"""A connector is one record: once it is in the table, files may name it, and it is checked, read and written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from etalis.errors import InputError
from etalis.pipeline.check import check_pipeline
from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.connectors.connector import Connector, schema_columns
from etalis.pipeline.sinks import Target, write_once, write_part
from etalis.pipeline.sources import read_source
from etalis.pipeline.values import COUNT, TEXT

PROGRAM = ":- event(a(x: int)).\ntwice(X) <- a(X) seq a(X) within 5 s.\n"
FILE = """[program]
files = "p.etalis"
[[source]]
format = "queue"
channel = "in"
depth = 3
schema = "type string, at bigint, x bigint"
[[sink]]
format = "queue"
channel = "out"
depth = 1
event = "twice"
"""


@dataclass
class Queues:
    """Where the connector of these tests reads and writes."""

    rows: dict[str, list[Any]] = field(default_factory=dict)
    installed: bool = True

    def connector(self) -> Connector:
        return Connector(
            name="queue", keys={"channel": TEXT, "depth": COUNT}, target="channel", columns=schema_columns,
            read=lambda _, source, __: SimpleNamespace(rows=self.rows[source.keys["channel"]]),
            write=lambda df, sink, _: self.rows.setdefault(sink.keys["channel"], []).append(df),
            needs=lambda _: None if self.installed else ("queues need a client", "pip install queues"),
        )  # fmt: skip


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    found = Queues()
    monkeypatch.setitem(CONNECTORS, "queue", found.connector())
    return found


def problems(folder: Path, text: str) -> list[str]:
    (folder / "p.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        check_pipeline(folder / "p.toml")
    return [f"{problem.code}: {problem.message}" for problem in caught.value.problems]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.etalis").write_text(PROGRAM)
    (tmp_path / "p.toml").write_text(FILE)
    return tmp_path


def test_an_unknown_format_is_refused(folder: Path) -> None:
    assert problems(folder, FILE)[0].startswith("E704: format is one of parquet, orc")


def test_a_record_is_all_that_a_pipeline_needs(folder: Path, queues: Queues) -> None:
    checked = check_pipeline(folder / "p.toml")
    assert checked.open_questions == ()
    (source,), (sink,) = checked.pipeline.sources, checked.pipeline.sinks
    assert source.keys == {"channel": "in", "depth": 3}
    queues.rows["in"] = [("a", 1, 7)]
    assert read_source(None, checked.pipeline, source).rows == [("a", 1, 7)]
    target = Target(sink)
    write_once("all", target, checked.pipeline)
    write_part("batch 4", target, checked.pipeline, 4)  # which is written as all are, since the record says nothing
    assert queues.rows["out"] == ["all", "batch 4"]


def test_what_a_record_says_is_checked(folder: Path, queues: Queues) -> None:
    wrong = FILE.replace("depth = 3\n", "").replace('channel = "out"', 'channel = "out"\npath = "x"')
    assert problems(folder, wrong) == ["E703: format queue needs depth", "E705: format queue has no path"]
    assert problems(folder, FILE.replace("depth = 1", "depth = 0")) == ["E704: depth is a whole number above 0, not 0"]
    unfit = FILE.replace("x bigint", "y bigint, z bigint")
    assert problems(folder, unfit) == ["E602: the DataFrame: no column for x of a"]
    again = FILE + FILE[FILE.index("[[sink]]") :]
    assert problems(folder, again) == ["E705: two sinks write to out"]
    stream = FILE + '[run]\ntrigger = "10 seconds"\ncheckpoint = "state"\n'
    assert problems(folder, stream) == ["E705: format queue takes no streams"]
    queues.installed = False
    assert problems(folder, FILE) == ["E707: queues need a client"]


def test_every_record_reads_or_writes() -> None:
    for name, connector in CONNECTORS.items():
        assert connector.name == name
        assert connector.read is not None or connector.write is not None
        assert (connector.write is None) == (connector.open_stream is None)
        assert connector.target is None or connector.target in connector.keys


def test_the_manual_lists_all_formats() -> None:
    page = (Path(__file__).parents[3] / "docs" / "pipeline.md").read_text(encoding="utf-8")
    listed = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| `format` \|(.*)\|$", page, re.MULTILINE)]
    sources = [name for name, connector in CONNECTORS.items() if connector.read is not None]
    sinks = [name for name, connector in CONNECTORS.items() if connector.write is not None]
    assert listed == [sources, sinks]
