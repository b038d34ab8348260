"""The examples on Spark: what their pipelines find is what one engine finds on the same rows."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import etalis
from etalis.pipeline import check_pipeline, run_pipeline
from etalis.temporal.event import Event

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "card_fraud"
RULES = EXAMPLE.parent / "fraud" / "fraud.etalis"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example with its data, so that nothing is left in the project."""
    root = tmp_path_factory.mktemp("examples")
    folder = root / "card_fraud"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
    shutil.copytree(RULES.parent, root / "fraud")
    load("data").write_data(folder / "data")
    return folder


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find(rows: Iterable[dict[str, Any]], program: Path = RULES) -> list[Event]:
    """What one engine finds in rows, as they stand in the order of time."""
    names = {"withdrawal": ("card", "city", "amount"), "confirmed": ("card",)}
    events = [(row["type"], *(row[name] for name in names[row["type"]]), row["ts"]) for row in rows]
    engine = etalis.compile_file(program).engine()
    return [*engine.run(events), *engine.close()]


def by_rule(matches: Iterable[Event]) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in matches:
        found[str(match.rule)] = found.get(str(match.rule), 0) + 1
    return found


def test_history(spark: Any, example: Path) -> None:
    wanted = find(load("data").make_rows())
    figures = run_pipeline(check_pipeline(example / "history.toml"), spark=spark)
    assert figures.matches == by_rule(wanted)
    assert figures.rows == len(load("data").make_rows())
    fraud = spark.read.parquet(str(example / "data" / "fraud")).selectExpr(
        "Card", "CityA", "CityB", "Total", "unix_seconds(start)"
    )
    assert sorted(map(tuple, fraud.collect())) == sorted(
        (*match.args, int(match.start)) for match in wanted if match.name == "fraud"
    )
    block = spark.read.option("header", True).csv(str(example / "data" / "block"))
    assert block.columns == ["Card", "start", "end", "rule", "match_id"]
    assert block.count() == sum(match.name == "block" for match in wanted)
    assert "etalis_up" in (example / "data" / "history.prom").read_text()


def test_live(spark: Any, example: Path) -> None:
    data = load("data")
    arrived, late = data.arrive(data.make_rows())
    in_time = sorted((row for row in arrived if row not in late), key=lambda row: row["ts"])
    figures = run_pipeline(check_pipeline(example / "live.toml"), spark=spark)
    assert (figures.state, figures.batch, figures.late) == ("finished", data.FILES - 1, len(late))
    assert figures.rows == len(in_time)
    assert figures.matches == by_rule(find(in_time))
    assert spark.read.parquet(str(example / "data" / "live")).count() == figures.matched
    letters = spark.read.parquet(str(example / "data" / "late")).collect()
    assert sorted(json.loads(row.args)[0] for row in letters) == sorted(row["card"] for row in late)
    again = run_pipeline(check_pipeline(example / "live.toml"), spark=spark)
    assert (again.batch, again.matched) == (figures.batch, figures.matched)


def test_backtest(spark: Any, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(EXAMPLE))
    try:
        load("run").show_backtest(spark, example)
    finally:
        sys.path.remove(str(EXAMPLE))
    shown = capsys.readouterr().out
    rows = load("data").make_rows()
    old, new = (set(find(rows, program)) for program in (RULES, EXAMPLE / "stricter.etalis"))
    for change, matches in (("gained", new - old), ("lost", old - new)):
        for event in ("fraud", "block"):
            number = sum(match.name == event for match in matches)
            assert number
            assert f"{event}|{change}|{number}|" in shown.replace(" ", "")
