"""Rows that a shard of a batch sets aside: one file per task, whoever runs it and how often; a bound over all tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import etalis
from etalis.errors import InputError
from etalis.spark.batch import rejections
from etalis.spark.batch.rejecting import Rejecting, leave_out, reject
from etalis.spark.batch.rejections import tell_buckets, tell_rejected
from etalis.spark.batch.shard import run_shard
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema

TEXT = ":- event(a(k: int, x: float)). d(K, X) <- a(K, X). t(N) <- aggregate(count, d(_, _), N)."
ROWS = pa.table(
    {
        "_event": pa.array(["a", "a", None, "a", "a", "d"]),
        "_start": pa.array([1.0, 2.0, 3.0, None, 5.0, 6.0]),
        "s0": pa.array([1, 2, 3, 4, 5, 6]),
        "s1": pa.array([0.5, float("nan"), 0.5, 0.5, 1.5, 0.5]),
    }
)
REASONS = ["it names no event", "it has no time", "E301", "rows name the event d"]


def plan_of(folder: Path | None, most: int | None = None, shards: int = 1) -> DetectionPlan:
    columns = {"event": "string", "at": "double", "k": "bigint", "x": "double"}
    made = plan_detection(
        etalis.compile(TEXT).compiled, [TableSchema(columns)], Options("at"), ResultForm(envelope=True), policy=None,
        shards=shards, usual=shards, staged=shards > 1,
    )  # fmt: skip
    return leave_out(made) if folder is None else reject([], made, Rejecting(str(folder), most))


def found_in(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*")) for row in parquet.read_table(path).to_pylist()]


def run(plan: DetectionPlan, rows: pa.Table = ROWS, size: int = 2) -> list[Any]:
    return [
        json.loads(row["args"]) for batch in run_shard(plan.job, rows.to_batches(size)) for row in batch.to_pylist()
    ]


def test_a_task_that_is_run_again_writes_the_same_file(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    for size in (2, 1, 6):
        assert sorted(run(plan, size=size)) == [[1], [1, 0.5], [2], [5, 1.5]]
        letters = found_in(tmp_path)
        assert len(list(tmp_path.iterdir())) == 1
        assert len(letters) == 4
        assert all(any(reason in letter["reason"] for letter in letters) for reason in REASONS)
    by_cause = {letter["cause"] for letter in letters}
    assert by_cause == {"event", "time", "value"}
    (nan,) = [letter for letter in letters if letter["cause"] == "value"]
    assert (nan["event"], nan["args"], nan["end"]) == ("a", '[2, "nan"]', 2.0)
    assert json.loads(nan["raw"]) == {"event": "a", "at": 2.0, "k": 2, "x": "nan"}


def test_the_bound_holds_for_all_tasks_of_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(tmp_path, most=6)
    run(plan)
    run(plan)  # again, which is not more
    monkeypatch.setattr(rejections, "_partition", lambda: 1)
    with pytest.raises(InputError, match="E627: 8 rows were rejected, and max_rejected is 6"):
        run(plan)
    run(plan_of(tmp_path, most=6))  # another call


def test_the_first_stage_to_read_a_row_tells_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, shards=2)
    assert len(plan.stages) == 2
    rows = [batch for batch in run_shard(plan.stages[0].job, ROWS.to_batches(2)) if batch.num_rows]
    found = [row for batch in run_shard(plan.stages[1].job, rows) for row in batch.to_pylist()]
    assert sorted(json.loads(row["args"]) for row in found) == [[1], [1, 0.5], [2], [5, 1.5]]
    assert len(found_in(tmp_path)) == 4


def test_they_are_told_or_left_out() -> None:
    plan = plan_of(None)
    assert sorted(run(plan)) == [[1], [1, 0.5], [2], [5, 1.5]]
    whole = ROWS.append_column("_raw", pa.array([{"at": i, "note": "n"} for i in range(6)]))
    told = [row for batch in tell_rejected(plan.job, whole.to_batches(3)) for row in batch.to_pylist()]
    assert [json.loads(row["raw"])["at"] for row in told] == [1, 2, 3, 5]


def test_without_a_place_for_them_a_row_ends_the_task() -> None:
    plan = plan_of(None)
    bare = replace(plan, job=replace(plan.job, rejects=None))
    with pytest.raises(InputError, match=r'rejected="folder"'):
        run(bare, ROWS.slice(1, 1))


def test_times_by_buckets() -> None:
    plan = plan_of(None)
    rows = [row for batch in tell_buckets(plan.job, 2_000_000, ROWS.to_batches(6)) for row in batch.to_pylist()]
    assert [(row["least"], row["most"]) for row in rows] == [(1_000_000, 1_000_000), (5_000_000, 5_000_000)]
