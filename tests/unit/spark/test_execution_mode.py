"""Shards over columns: which rules go that way, and that what comes out is what one engine gives, value by value."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import etalis
from etalis.data.values import format_value
from etalis.errors import EtalisError
from etalis.spark import execution_mode as way
from etalis.spark.batch.job import load
from etalis.spark.batch.shard import run_shard
from etalis.spark.describe import describe
from etalis.spark.execution_mode import is_over_columns, run_columns
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.tables.plan import ResultForm
from etalis.tables.results.encode_columns import float_texts
from etalis.tables.schema import Options, TableSchema

pytest.importorskip("numba")

ARROW = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
TYPES = {"i": "bigint", "f": "double", "s": "string", "b": "boolean"}
WIDE = ResultForm()
TOLD = ResultForm(contributors=True)


def plan(text: str, form: ResultForm = WIDE, types: dict[str, str] = TYPES) -> DetectionPlan:
    columns = {"event": "string", "ts": "bigint", **types}
    program = etalis.compile(text)
    return plan_detection(
        program.compiled, [TableSchema(columns)], Options(unit="us"), form, policy=None, shards=1, usual=1
    )


def table(found: DetectionPlan, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows (event, time, attributes...) as they come to a shard."""
    columns = list(zip(*rows, strict=True))
    cells = {"_event": pa.array(columns[0], pa.string()), "_start": pa.array(columns[1], pa.int64())}
    sources = {f"s{i}": c for x, places in found.slots.places for i, c in zip(places, x.columns, strict=True)}
    given = dict(zip(TYPES, columns[2:], strict=True))
    for i, slot_type in enumerate(found.slots.types):
        cells[f"s{i}"] = pa.array(given[sources[f"s{i}"]], ARROW[slot_type])
    return pa.table(cells)


def both(found: DetectionPlan, rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Results over columns and event at a time, in no order."""
    batches = table(found, rows).to_batches(7)
    return [
        sorted(
            str(row) for batch in run_shard(replace(found.job, over_columns=over), batches) for row in batch.to_pylist()
        )
        for over in (True, False)
    ]


def goes_over_columns(found: DetectionPlan) -> bool:
    return is_over_columns(found.job, run_columns(found.job, load(found.job)))


def make_rows(count: int, seed: int) -> list[tuple[Any, ...]]:
    """Rows with many ties and nulls, and values that are hard to write."""
    chance = random.Random(seed)
    floats = (None, 0.0, 1.0, 2.5, 1e22, 1e-7, 123456789.25, 1e15, 1e16, float("inf"), 0.1)
    texts = (None, "null", "a", "B c", "it's", "[]", "ü", "", "true", '"', "\n")
    return [
        (
            chance.choice("ab"), chance.randrange(9), chance.choice((None, 0, 1, -5, 1 << 62)), chance.choice(floats),
            chance.choice(texts), chance.choice((None, True, False)),
        )
        for _ in range(count)
    ]  # fmt: skip


ALL = (
    "d(I, F, S, B, J) <- a(I, F, S, B) and b(J, F, _, B). e(S) <- a(_, _, S, _) seq b(_, _, S, _). n <- a(_, _, x, _)."
)


@pytest.mark.parametrize(
    "form", [WIDE, ResultForm(envelope=True), ResultForm(select="d")], ids=["wide", "envelope", "select"]
)
@pytest.mark.parametrize("seed", range(4))
def test_results_are_the_same(form: ResultForm, seed: int) -> None:
    found = plan(ALL, form)
    assert goes_over_columns(found)
    over, at_a_time = both(found, make_rows(60, seed))
    assert over == at_a_time
    assert over


def test_ids_and_atoms_of_merged_results() -> None:
    found = plan(ALL)
    merged = replace(found.job.output, columns=(*found.job.output.columns, ("_atom", "string")), atom=True)
    over, at_a_time = both(replace(found, job=replace(found.job, output=merged)), make_rows(60, 9))
    assert over == at_a_time
    assert any("it\\'s" in row or "B c" in row for row in over)


def test_rules_without_kernel_run_beside() -> None:
    text = "d(I) <- a(I, _, _, _) seq b(I, _, _, _). c(I) <- a(I, _, _, _). c(f(I)) <- c(I) seq a(I, _, _, _)."
    found = plan(text)
    lines = describe(found).splitlines()
    assert "  over columns: rule 1" in lines
    assert "  event at a time: rules 2, 3" in lines
    over, at_a_time = both(found, make_rows(40, 3))
    assert over == at_a_time


@pytest.mark.parametrize(
    ("declared", "types", "value"),
    [("int", {"x": "double"}, 1.5), ("float", {"x": "double"}, float("nan")), ("bool", {"x": "string"}, "yes")],
)
def test_what_does_not_fit_is_refused_in_the_same_words(declared: str, types: dict[str, str], value: Any) -> None:
    found = plan(f":- event(a(x: {declared})). d(X) <- a(X) seq a(X).", types=types)
    cells = pa.array([None, value], ARROW[types["x"]])
    rows = pa.table({"_event": ["a", "a"], "_start": [1, 2_000_000], "s0": cells}).to_batches()
    refusals = []
    for over in (True, False):
        with pytest.raises(EtalisError) as refused:
            list(run_shard(replace(found.job, over_columns=over), rows))
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    assert "a at 2 s" in refusals[0]


def test_attributes_of_other_types_order_rows_too() -> None:
    """Rows of one time are taken in the order of all attributes, also of those that no kernel knows."""
    types = {"x": "bigint", "y": "array<bigint>"}
    found = plan("d(X, Z) <- a(X, _) seq b(Z, _).", ResultForm(envelope=True), types)
    rows = [("a", 1, 5, [2]), ("a", 1, 5, None), ("a", 1, 3, [1, 2]), ("a", 1, 5, [1]), ("b", 2, 1, [])]
    random.Random(1).shuffle(rows)
    event, ts, x, y = zip(*rows, strict=True)
    slots = {"s0": pa.array(x), "s1": pa.array(y, pa.list_(pa.int64()))}
    batches = pa.table({"_event": pa.array(event), "_start": pa.array(ts), **slots}).to_batches(2)
    assert goes_over_columns(found)
    over, at_a_time = (
        [row for batch in run_shard(replace(found.job, over_columns=over), batches) for row in batch.to_pylist()]
        for over in (True, False)
    )
    assert over == at_a_time
    assert [row["args"] for row in over] == ["[5, 1]"]


def test_without_numba(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(way, "find_spec", lambda name: None)
    way.say_once.cache_clear()
    found = plan(ALL)
    assert (
        "    columns need numba, which is not installed: pip install 'etalis[columnar]'" in describe(found).splitlines()
    )
    for _ in range(2):
        assert not goes_over_columns(found)
    assert [record.message.splitlines()[0] for record in caplog.records] == ["event at a time: all rules"]


def test_contributors_are_told_over_columns_where_their_number_is_known() -> None:
    found = plan("d(X) <- a(X, _, _, _) seq b(X, _, _, _). e(N) <- aggregate(count, b(_, _, _, _), N).", TOLD)
    lines = describe(found).splitlines()
    assert "  over columns: rule 1" in lines
    assert "    rule 2: its contributors are told, and an aggregate has any number of them" in lines


def test_one_kind_from_two_frames() -> None:
    given = [TableSchema({"ts": "bigint", "x": "bigint"}, "a"), TableSchema({"ts": "bigint", "x": "string"}, "a/1")]
    program = etalis.compile("d(X) <- a(X) seq a(X).")
    found = plan_detection(program.compiled, given, Options(), WIDE, policy=None, shards=1, usual=1)
    assert "    rows of a/1 come from several DataFrames" in describe(found).splitlines()


def test_texts_of_floats() -> None:
    chance = np.random.default_rng(0)
    scaled = [chance.random(500) * 10.0**e * chance.choice([1, -1], 500) for e in range(-9, 20)]
    rounded = [np.round(part, digits) for part in scaled for digits in (0, 2)]
    numbers = np.concatenate([[0.0, -0.0, np.inf], *scaled, *rounded])
    assert float_texts(numbers, format_value).to_pylist() == [format_value(x) for x in numbers.tolist()]
