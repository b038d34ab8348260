"""What matches are made of, in shards, stages and micro-batches: the ids that one engine tells, the same results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError, SnapshotError
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import restore, start_engine
from etalis.spark.batch.input_names import read_names, write_names
from etalis.spark.describe import describe
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.stream.state_store import ShardPlace, Store
from etalis.spark.stream.worker import live_shards
from etalis.temporal.event import Event
from helpers.micro_batches import END_OF_TIME, Stream, plan_stream
from helpers.spark_shuffle import plan_events, run_rows, run_shuffled

STAGED = """
    pair(C, P) <- a(C, P) seq b(C, _).
    both(P) <- pair(C, P) and pair(D, P) where C < D.
    then(P) <- both(P) seq b(_, P).
"""
FOLLOWED = "m <- a seq b star_times seq d."


def events(*given: tuple[Any, ...]) -> list[Event]:
    return [Event(name, *args, at=at) for name, *args, at in given]


def planned(
    text: str, stream: Sequence[Event], shards: int, *, contributors: bool, policy: str | None = None
) -> DetectionPlan:
    options: dict[str, Any] = {"policy": policy, "shards": shards, "ordered": True, "staged": True}
    plan = plan_events(etalis.compile(text), stream, **options, contributors=contributors)
    assert plan is not None
    return plan


def contributors(
    text: str, stream: Sequence[Event], *, shards: int, policy: str | None = None
) -> list[tuple[str, int, int, list[str]]]:
    """Matches with the ids of their rows, which are `r1`, `r2`, ...; with the columns and results of a run without."""
    program = etalis.compile(text)
    plan, plain = (planned(text, stream, shards, contributors=told, policy=policy) for told in (True, False))
    ids = [f"r{number}" for number in range(1, len(stream) + 1)]
    rows = run_rows(plan, stream, ordered=True, ids=ids)
    found = sorted((r["event"], r["start"] // 10**6, r["end"] // 10**6, r["contributors"]) for r in rows)
    without = run_shuffled(plain, stream, ordered=True)
    assert [row[:3] for row in found] == sorted((r[0], r[2] // 10**6, r[3] // 10**6) for r in without)
    engine = program.engine(policy=policy, parts=True)
    one = [*engine.run(stream), *engine.close()]
    assert found == sorted((e.name, e.start, e.end, [f"r{number}" for number in e.parts]) for e in one)
    return found


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_ids_travel_with_derived_rows(shards: int) -> None:
    stream = events(
        ("a", 1, 5, 1), ("a", 2, 5, 2), ("b", 2, 5, 3), ("a", 3, 6, 3), ("b", 1, 5, 4), ("b", 9, 5, 6), ("b", 3, 6, 7),
    )  # fmt: skip
    assert len(planned(STAGED, stream, shards, contributors=True).stages) == (1 if shards == 1 else 2)
    assert contributors(STAGED, stream, shards=shards, policy="unrestricted") == [
        ("both", 1, 4, ["r1", "r2", "r3", "r5"]),
        ("pair", 1, 4, ["r1", "r5"]),
        ("pair", 2, 3, ["r2", "r3"]),
        ("pair", 3, 7, ["r4", "r7"]),
        ("then", 1, 6, ["r1", "r2", "r3", "r5", "r6"]),
    ]


def test_a_row_that_two_stages_read_is_told_once() -> None:
    stream = events(("a", 1, 5, 1), ("b", 1, 5, 2))
    text = "pair(C, P) <- a(C, P) seq b(C, _). n(P) <- pair(_, P) and b(_, P)."
    assert ("n", 1, 2, ["r1", "r2"]) in contributors(text, stream, shards=2, policy="unrestricted")


@pytest.mark.parametrize("policy", ["chronological", "recent", "unrestricted"])
def test_what_follows_a_repetition_matches_as_without(policy: str) -> None:
    """Contributors are no part of the bindings that a policy compares."""
    stream = events(("a", 1), ("b", 2), ("b", 3), ("d", 4), ("d", 5))
    again = [("m", 1, 5, ["r1", "r2", "r3", "r5"])] if policy == "unrestricted" else []
    assert contributors(FOLLOWED, stream, shards=1, policy=policy) == [("m", 1, 4, ["r1", "r2", "r3", "r4"]), *again]


def test_explain_says_why_a_stage_has_one_shard_and_goes_event_at_a_time() -> None:
    stream = events(("a", 1, 5, 1), ("b", 1, 5, 2), ("c", 1, 3))
    plan = planned("p(Z) <- a(X, Z) seq b(X, _). q(X) <- p(X) seq c(X).", stream, 4, contributors=True)
    assert describe(plan).splitlines()[:7] == [
        "stage 1 of 2: 1 shard, rule 1",
        "  a/2: all rows in one shard",
        "  b/2: all rows in one shard",
        "  contributors are told, and equal events of several shards have others",
        "  event at a time: rule 1",
        "    the contributors of its events go on to other stages",
        "stage 2 of 2: 4 shards, rule 2",
    ]


def test_ids_are_texts_of_any_length() -> None:
    names = [(b"\0" * 9, "é" * 300), (b"", ""), (b"k", "x")]
    assert list(read_names(write_names(names))) == names
    assert pa.array([write_names(names)], pa.binary()).to_pylist() == [write_names(names)]


# micro-batches


def stream_of(state: Path, text: str, stream: Sequence[Event], **options: Any) -> Stream:
    planned = plan_stream(etalis.compile(text), stream, str(state), contributors=True, **options)
    assert planned is not None
    return planned


def run_each(stream: Stream, given: Sequence[Event]) -> list[tuple[str, list[str]]]:
    """Run every event in a batch of its own, each from the state that was written, then let time end."""
    found: list[Any] = []
    for number, row in enumerate(stream.rows(enumerate(given, 1))):
        live_shards.cache_clear()
        found += stream.run(number, [row], clock=row[2])
    live_shards.cache_clear()
    found += stream.run(len(given), [], clock=END_OF_TIME)
    return [(row["event"], row["contributors"]) for row in found]


REPEATED = events(("a", 1), ("b", 2), ("b", 3), ("d", 4), ("d", 5))


@pytest.mark.parametrize("policy", ["chronological", "unrestricted"])
def test_ids_are_kept_with_the_state_of_a_stream(tmp_path: Path, policy: str) -> None:
    text = f"{FOLLOWED} n(R) <- a seq aggregate(count, b, R). o <- m seq (not b within 1)."
    found = run_each(stream_of(tmp_path, text, REPEATED, policy=policy), REPEATED)
    expected = [
        ("n", ["r001"]), ("n", ["r001", "r002"]), ("n", ["r001", "r002", "r003"]),
        ("m", ["r001", "r002", "r003", "r004"]), ("o", ["r001", "r002", "r003", "r004"]),
    ]  # fmt: skip
    again = ["r001", "r002", "r003", "r005"]
    expected += [("m", again), ("o", again)] if policy == "unrestricted" else []
    assert sorted(found) == sorted(expected)


def test_ids_travel_between_the_stages_of_a_stream(tmp_path: Path) -> None:
    given = events(("a", 1, 5, 1), ("a", 2, 5, 2), ("b", 2, 5, 3), ("b", 1, 5, 4), ("b", 9, 5, 6))
    stream = stream_of(tmp_path, STAGED, given, shards=3, policy="unrestricted")
    assert len(stream.tasks) > 1
    assert sorted(run_each(stream, given)) == [
        ("both", ["r001", "r002", "r003", "r004"]),
        ("pair", ["r001", "r004"]),
        ("pair", ["r002", "r003"]),
        ("then", ["r001", "r002", "r003", "r004", "r005"]),
    ]


def test_ids_of_rows_that_nothing_waits_for_are_forgotten(tmp_path: Path) -> None:
    given = [Event("a", number % 3, at=1000 * number) for number in range(1, 40)]
    text = "m(X) <- (a(X) seq a(X)) within 5000."
    stream = stream_of(tmp_path, text, given, policy="recent")
    run_each(stream, given)
    live_shards.cache_clear()
    store = Store(str(tmp_path))
    version = store.load(ShardPlace("query", "stage-1", 0), len(given) - 1)
    engine = restore(
        partial(start_engine, etalis.compile(text).compiled), [version.snapshot], EngineOptions(parts=True)
    )
    names = [name for _, name in engine.core.input_names.values()]
    assert "r038" in names  # the last one waits for the watermark
    assert len(names) <= 6


def test_a_changelog_has_no_contributors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes matches back") as refused:
        stream_of(tmp_path, FOLLOWED, REPEATED, reporting="on_arrival")
    assert refused.value.code == "E605"


def test_contributors_are_not_switched_on_while_a_query_lives(tmp_path: Path) -> None:
    plain = plan_stream(etalis.compile(FOLLOWED), REPEATED, str(tmp_path))
    assert plain is not None
    rows = plain.rows(enumerate(REPEATED))
    plain.run(0, rows[:1])
    with pytest.raises(SnapshotError, match="contributors") as refused:
        stream_of(tmp_path, FOLLOWED, REPEATED).run(1, rows[1:])
    assert refused.value.code == "E622"
