"""Micro-batches of shards without Spark: late rows, sources, restarts and retries, changed rules, damaged state."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import etalis
from etalis.errors import InputError, LimitError, SnapshotError
from etalis.spark import execution_mode as way
from etalis.spark.plan.detection import plan_detection
from etalis.spark.stream.micro_batch import net_changes
from etalis.spark.stream.state_store import KEPT, open_folder
from etalis.spark.stream.streaming import Streaming, stream_tasks
from etalis.spark.stream.worker import live_shards
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema
from etalis.temporal.event import Event, Retraction
from helpers.micro_batches import Stream, plan_stream, run_whole, standing

SECOND = 10**6
PAIRS = "d(K, X, Y) <- a(K, X) seq b(K, Y). q(K) <- a(K, _) seq (not b(K, _) within 5)."


@pytest.fixture(autouse=True, params=[1, way.MANY], ids=["columns", "event at a time"])
def rows_over_columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of this over columns as well, where rules qualify."""
    monkeypatch.setattr(way, "MANY", request.param)
    monkeypatch.setattr(way, "WORTH", 1000)


def event(name: str, *args: Any, at: float) -> Event:
    return Event.make(name, args, int(at * SECOND), int(at * SECOND))


A1, B3, A4 = event("a", 1, 1, at=1), event("b", 1, 3, at=3), event("a", 2, 4, at=4)


def make(state: Path, text: str = PAIRS, **options: Any) -> Stream:
    stream = plan_stream(etalis.compile(text), [A1, B3], str(state), **options)
    assert stream is not None
    return stream


def brief(rows: list[Any]) -> list[Any]:
    """Results in the order of their ends: rows of a DataFrame have none."""
    found = [(row["event"], row["args"], row["start"] / SECOND, row["end"] / SECOND) for row in rows]
    return sorted(found, key=lambda row: (row[3], row[0]))


def test_rows_wait_for_the_watermark_of_the_slowest_source(tmp_path: Path) -> None:
    stream = make(tmp_path, lateness=1)
    assert stream.run(0, stream.rows(enumerate([B3, A4]))) == []
    assert brief(stream.run(1, stream.rows(enumerate([event("a", 7, 0, at=9)])))) == []  # b has come to 3 only
    late = event("a", 1, 1, at=1.5)
    assert brief(stream.run(2, stream.rows(enumerate([late, event("b", 9, 9, at=20)])))) == []
    found = stream.run(3, stream.rows(enumerate([event("a", 9, 9, at=30)])))
    assert brief(found) == [("q", "[2]", 4.0, 9.0), ("q", "[7]", 9.0, 14.0)]
    (letter,) = pq.read_table(tmp_path / "late").to_pylist()
    assert (letter["event"], letter["args"], letter["start"], letter["batch"]) == ("a", "[1, 1]", 1.5, 2)


def test_a_clock_speaks_for_all_sources(tmp_path: Path) -> None:
    """An absence comes although its key, and every source, is silent."""
    stream = make(tmp_path, lateness=2)
    assert stream.run(0, stream.rows([(0, A1)])) == []
    assert stream.run(1, [], clock=8 * SECOND) == []
    assert brief(stream.run(2, [], clock=8 * SECOND + 1)) == [("q", "[1]", 1.0, 6.0)]


def test_a_source_that_is_idle_is_not_waited_for(tmp_path: Path) -> None:
    stream = make(tmp_path, lateness=0, idle="10 seconds")
    assert stream.run(0, stream.rows([(0, A1)])) == []
    assert brief(stream.run(1, stream.rows([(1, event("a", 3, 3, at=12))]))) == [("q", "[1]", 1.0, 6.0)]
    again = stream.rows([(2, event("b", 3, 0, at=13)), (3, event("b", 1, 0, at=2))])  # one in time, one late
    assert stream.run(2, again) == []
    both = stream.rows([(4, event("a", 4, 4, at=14)), (5, event("b", 4, 4, at=14))])
    assert brief(stream.run(3, both)) == [("d", "[3, 3, 0]", 12.0, 13.0)]
    assert pq.read_table(tmp_path / "late").num_rows == 1


@pytest.mark.parametrize("live", [True, False])
def test_a_batch_that_is_run_again_gives_the_same(tmp_path: Path, live: bool) -> None:
    stream = make(tmp_path, lateness=0)
    found = []
    for number, rows in enumerate(([A1], [B3], [A4, event("b", 9, 9, at=50)], [event("a", 9, 9, at=50)])):
        made = [stream.run(number, stream.rows(enumerate(rows))) for _ in range(3)]
        assert made[0] == made[1] == made[2]
        found += made[0]
        if not live:
            live_shards.cache_clear()
    assert brief(found) == [("d", "[1, 1, 3]", 1.0, 3.0), ("q", "[2]", 4.0, 9.0)]
    kept = [path.name for path in (tmp_path / "query" / "stage-1" / "0").iterdir()]
    assert sorted(kept) == [f"{n}.state" for n in range(4 - KEPT, 4)]


def test_a_batch_that_fails_half_way_leaves_no_trace(tmp_path: Path) -> None:
    endless = ":- set_flag(max_derivations, 20). square(Y) <- a(_, X) where Y is X * X. up(X) <- a(_, X) where X > 99. "
    stream = make(tmp_path, endless + "up(Y) <- up(X) where Y is X + 1. " + PAIRS, lateness=0)
    assert stream.run(0, stream.rows([(0, A1)])) == []
    large = [event("a", 1, 1 << 40, at=2), event("b", 1, 9, at=60), event("a", 0, 0, at=60)]
    with pytest.raises(LimitError, match="E320"):
        stream.run(1, stream.rows(enumerate(large)))
    found = stream.run(
        1, stream.rows(enumerate([event("b", 1, 2, at=2), event("b", 0, 0, at=9), event("a", 0, 0, at=9)]))
    )
    assert brief(found) == [("square", "[1]", 1.0, 1.0), ("d", "[1, 1, 2]", 1.0, 2.0)]


def test_changed_rules_take_over_what_waits_and_rows_not_yet_taken(tmp_path: Path) -> None:
    stream = make(tmp_path, lateness=3)
    both = [A1, event("b", 0, 0, at=9), event("a", 0, 0, at=9), event("a", 5, 8, at=7)]
    assert stream.run(0, stream.rows(enumerate(both))) == []  # taken up to 6, the others wait
    live_shards.cache_clear()
    changed = make(tmp_path, "seen(X) <- a(_, X). " + PAIRS.replace("Y) <-", "Y, new) <-"), lateness=3)
    more = [event("b", 1, 2, at=8), event("a", 0, 1, at=30), event("b", 0, 0, at=12)]
    assert brief(changed.run(1, changed.rows(enumerate(more)))) == [
        ("q", "[1]", 1.0, 6.0), ("seen", "[8]", 7.0, 7.0), ("d", '[1, 1, 2, "new"]', 1.0, 8.0),
    ]  # fmt: skip


def test_changed_rules_find_the_columns_of_rows_not_yet_taken(tmp_path: Path) -> None:
    stream = make(tmp_path, "d(K, X) <- a(K, X). e(X) <- b(_, X).", lateness=3)
    assert stream.run(0, stream.rows(enumerate([event("a", 1, 7, at=1), B3]))) == []
    live_shards.cache_clear()
    turned = make(tmp_path, ":- event(a(x1: int, x0: int)). d(K, X) <- a(X, K). e(X) <- b(_, X).", lateness=3)
    assert turned.tasks[0].stream.layouts != stream.tasks[0].stream.layouts
    assert brief(turned.run(1, [], clock=9 * SECOND)) == [("d", "[1, 7]", 1.0, 1.0), ("e", "[3]", 3.0, 3.0)]


def test_changed_rules_may_read_another_event(tmp_path: Path) -> None:
    tagged = TableSchema({"event": "string", "ts": "bigint", "k": "bigint", "name": "string"})

    def plan(text: str) -> Stream:
        program = etalis.compile(text)
        options = Options(time="ts", unit="us")
        plan = plan_detection(
            program.compiled, [tagged], options, ResultForm(envelope=True), policy=None, shards=2, usual=2
        )
        return Stream(plan, stream_tasks(plan, Streaming(state=str(tmp_path)), 0))

    first = "d(K) <- a(K) seq b(K)."
    plan(first).run(0, [])
    live_shards.cache_clear()
    plan(f"{first} e(K) <- a(K) seq c(K).").run(1, [])
    live_shards.cache_clear()
    with pytest.raises(SnapshotError, match=r"E622.*keys"):
        plan(f"{first} e(K) <- c(_) seq c(K).").run(2, [])
    with pytest.raises(SnapshotError, match=r"E622.*forms of keys"):  # then keys are written as text
        plan(f":- event(n(name: string)). {first} e(K) <- n(K) seq n(K).").run(2, [])


def test_other_shards_or_keys_are_refused(tmp_path: Path) -> None:
    stream = make(tmp_path, shards=2)
    stream.run(0, stream.rows([(0, A1)]))
    more = make(tmp_path, shards=3)
    with pytest.raises(SnapshotError, match=r"E622.*was kept with shards 2, now it would be 3"):
        more.run(1, [])
    other = make(tmp_path, "d(X) <- a(_, X) seq b(_, X).", shards=2)
    with pytest.raises(SnapshotError, match=r"E622.*kept with keys"):
        other.run(1, [])


def test_state_that_is_missing_or_damaged_is_refused(tmp_path: Path) -> None:
    stream = make(tmp_path)
    with pytest.raises(SnapshotError, match=r"E620.*has no state of stage-1 of query query, which has come to batch 4"):
        stream.run(4, [])
    stream.run(0, stream.rows([(0, A1)]))
    with pytest.raises(SnapshotError, match=r"E620.*no state of batch 1 of shard 0"):
        stream.run(2, [])
    live_shards.cache_clear()
    path = tmp_path / "query" / "stage-1" / "0" / "0.state"
    data = path.read_bytes()
    for wrong, said in (
        (data[:-1], "checksum"),
        (data[:10], "begin"),
        (b"x" * 100, "begin"),
        (data + b"x", "checksum"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(SnapshotError, match=f"E621.*{said}"):
            stream.run(1, [])
    path.write_bytes(data)
    assert stream.run(1, []) == []


def test_on_arrival_is_a_changelog(tmp_path: Path) -> None:
    text = "ok(K) <- (a(K, _) seq b(K, _)) cnot c(K, _)."
    events = [A1, B3, event("c", 1, 0, at=2)]
    stream = plan_stream(etalis.compile(text), events, str(tmp_path), lateness=60, reporting="on_arrival")
    assert stream is not None
    first = stream.run(0, stream.rows(enumerate(events[:2])))
    assert [(row["op"], row["match_id"]) for row in first] == [("+", "ok(1)@1000000..3000000")]
    second = stream.run(1, stream.rows([(2, events[2])]))
    assert [(row["op"], row["match_id"]) for row in second] == [("-", "ok(1)@1000000..3000000")]
    assert standing([*first, *second]) == []


def test_a_folder_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"E605.*the folder nowhere://x cannot be opened"):
        make("nowhere://x")  # type: ignore[arg-type]
    assert open_folder(f"file:{tmp_path}")[1] == open_folder(f"file://{tmp_path}")[1] == str(tmp_path)


def test_ties_on_arrival_do_not_depend_on_batches(tmp_path: Path) -> None:
    """Without an order column equal times are taken in the standard order of the atoms, whenever they come."""
    text = "d(X, Y) <- a(X) seq b(Y)."
    events = [event("a", 2, at=1), event("a", 1, at=1), event("b", 1, at=2), event("b", 0, at=2)]
    for seed in range(6):
        state = str(tmp_path / str(seed))
        stream = plan_stream(etalis.compile(text), events, state, lateness=9, reporting="on_arrival", order=False)
        assert stream is not None
        found = standing(run_whole(stream, events, Random(seed)))
        assert [(row[1], row[2]) for row in found] == [("[1, 1]", SECOND), ("[2, 0]", SECOND)]


def test_changes_of_one_batch_are_netted() -> None:
    one, two = event("d", 1, at=1), event("d", 2, at=2)
    gone = Retraction.of(one)
    assert list(net_changes([one, two, gone])) == [two]
    assert list(net_changes([gone, one])) == []
    assert list(net_changes([gone, one, gone])) == [gone]
