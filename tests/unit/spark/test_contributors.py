"""What matches are made of, in shards, stages and micro-batches: the ids that one engine tells, the same results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.spark.describe import describe
from etalis.temporal.event import Event
from helpers.spark_shuffle import plan_events, run_rows, run_shuffled

STAGED = """
    pair(C, P) <- a(C, P) seq b(C, P).
    both(P) <- pair(C, P) and pair(D, P) where C < D.
    then(P) <- both(P) seq b(_, P).
"""
FOLLOWED = "m <- a seq b star_times seq d."


def events(*given: tuple[Any, ...]) -> list[Event]:
    return [Event(name, *args, at=at) for name, *args, at in given]


def contributors(
    text: str, stream: Sequence[Event], *, shards: int, policy: str | None = None
) -> list[tuple[str, int, int, list[str]]]:
    """Matches with the ids of their rows, which are `r1`, `r2`, ...; with the columns and results of a run without."""
    program = etalis.compile(text)
    options: dict[str, Any] = {"policy": policy, "shards": shards, "ordered": True, "staged": True}
    plan, plain = (plan_events(program, stream, **options, contributors=told) for told in (True, False))
    assert plan is not None
    assert plain is not None
    assert len(plan.stages) == len(plain.stages)
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
    assert contributors(STAGED, stream, shards=shards, policy="unrestricted") == [
        ("both", 1, 4, ["r1", "r2", "r3", "r5"]),
        ("pair", 1, 4, ["r1", "r5"]),
        ("pair", 2, 3, ["r2", "r3"]),
        ("pair", 3, 7, ["r4", "r7"]),
        ("then", 1, 6, ["r1", "r2", "r3", "r5", "r6"]),
    ]


def test_a_row_that_two_stages_read_is_told_once() -> None:
    stream = events(("a", 1, 5, 1), ("b", 1, 5, 2))
    text = "pair(C, P) <- a(C, P) seq b(C, P). n(P) <- pair(_, P) and b(_, P)."
    assert ("n", 1, 2, ["r1", "r2"]) in contributors(text, stream, shards=2, policy="unrestricted")


@pytest.mark.parametrize("policy", ["chronological", "recent", "unrestricted"])
def test_what_follows_a_repetition_matches_as_without(policy: str) -> None:
    """Contributors are no part of the bindings that a policy compares."""
    stream = events(("a", 1), ("b", 2), ("b", 3), ("d", 4), ("d", 5))
    again = [("m", 1, 5, ["r1", "r2", "r3", "r5"])] if policy == "unrestricted" else []
    assert contributors(FOLLOWED, stream, shards=1, policy=policy) == [("m", 1, 4, ["r1", "r2", "r3", "r4"]), *again]


def test_explain_says_why_a_stage_has_one_shard_and_goes_event_at_a_time() -> None:
    program = etalis.compile("p(Z) <- a(X, Z) seq b(X, _). q(X) <- p(X) seq c(X).")
    stream = events(("a", 1, 5, 1), ("b", 1, 5, 2), ("c", 1, 3))
    options: dict[str, Any] = {"policy": None, "shards": 4, "ordered": True, "staged": True}
    plan = plan_events(program, stream, **options, contributors=True)
    assert plan is not None
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
    from etalis.spark.batch.input_names import read_names, write_names

    names = [(b"\0" * 9, "é" * 300), (b"", ""), (b"k", "x")]
    assert list(read_names(write_names(names))) == names
    assert pa.array([write_names(names)], pa.binary()).to_pylist() == [write_names(names)]
