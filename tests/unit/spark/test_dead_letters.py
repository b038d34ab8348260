"""Micro-batches without Spark: rows that cannot be taken, rows from the future, the bound on both, and the end."""

from __future__ import annotations

import math
import os
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.errors import InputError, SnapshotError
from etalis.runtime.engine import start_engine
from etalis.spark.batch.feed import Rows
from etalis.spark.batch.job import load
from etalis.spark.plan.detection import plan_detection
from etalis.spark.stream import dead_letters as letter_files
from etalis.spark.stream import growing_files
from etalis.spark.stream.ending import end_tag
from etalis.spark.stream.marks import Ahead, Marking, mark_time, read_marks
from etalis.spark.stream.rejection_limit import FEW
from etalis.spark.stream.restart import check_restart, warn_of_restart
from etalis.spark.stream.state_store import Store
from etalis.spark.stream.streaming import Streaming, fit_checkpoint, plan_stream
from etalis.spark.stream.worker import live_shards
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema
from helpers.micro_batches import Stream

SECOND = 10**6
YEAR_131000 = (131_000 - 1970) * 31_556_952 * SECOND
DECLARED = """
:- event(a(k: int, x: float)).
:- event(b(k: int, x: float)).
"""
TEXT = f"""{DECLARED}
d rule: d(K, X, Y) <- a(K, X) seq b(K, Y).
q rule: q(K) <- a(K, _) seq (not b(K, _) within 5).
two(K) <- d(K, _, _) seq d(K, _, _).
"""
STAGED = TEXT + "n(N) <- aggregate(count, d(_, _, _), N) within 100. e(X) <- d(_, X, _) seq a(_, X)."


def make(folder: Path, text: str = TEXT, *, shards: int = 2, k: str = "double", **options: Any) -> Stream:
    program = etalis.compile(text)
    columns = {"event": "string", "ts": "bigint", "until": "bigint", "n": "int", "k": k, "x": "double"}
    given = TableSchema(columns)
    names = Options(time=("ts", "until"), event="event", order="n", unit="us")

    def plan(count: int | None, staged: bool) -> Any:
        form = ResultForm(envelope=True)
        return plan_detection(program.compiled, [given], names, form, policy=None, shards=count, usual=1, staged=staged)

    streaming = Streaming(**{"state": str(folder), "lateness": 2, **options})
    return Stream(*plan_stream(program.compiled, streaming, plan, shards))


def row(name: str | None, at: float | None, k: Any = 1.0, x: Any = 1.0, end: float | None = None) -> tuple[Any, ...]:
    start = None if at is None else int(at * SECOND)
    return (name, start, start if end is None else int(end * SECOND), 0, k, x)


def found_letters(folder: Path) -> list[tuple[Any, ...]]:
    rows = pq.read_table(folder / "late").to_pylist()
    return sorted((r["cause"], r["event"] or "", r["args"], r["reason"], r["batch"]) for r in rows)


BAD = [
    row(None, 1),
    row("d", 1),
    row("a", None),
    row("a", 1, x=math.nan),
    row("a", 1, k=1.5),
    row("a", 1, k=1e300),
    row("a", 9, end=8),
    ("a", YEAR_131000, YEAR_131000, 0, 1.0, 1.0),
]


@pytest.mark.parametrize("text", [TEXT, STAGED], ids=["one stage", "stages"])
def test_a_row_that_cannot_be_taken_is_a_dead_letter_and_moves_nothing(tmp_path: Path, text: str) -> None:
    stream = make(tmp_path, text)
    assert stream.run(0, [*BAD[:4], row("a", 1)]) == []
    for _ in range(2):  # the second is run again, once from the file and once from the living shard
        found = stream.run(1, [*BAD[4:], row("b", 3), row("a", 20)])
    assert {r["args"] for r in found if r["event"] == "d"} == {"[1, 1.0, 1.0]"}
    wanted = [
        ("event", "it names no event"),
        ("event", "rows name the event d, which is not declared"),
        ("time", ".* lies in the year 131000.*"),
        ("time", "it ends before it starts"),
        ("time", "it has no time"),
        ("value", "E301: .*NaN.*"),
        ("value", "E305: a: k should be of type int, not 1.5"),
        ("value", "E607: a: k is an integer outside 64 bits"),
    ]
    found = sorted((cause, reason) for cause, _, _, reason, _ in found_letters(tmp_path))
    for (cause, reason), (wanted_cause, pattern) in zip(found, wanted, strict=True):
        assert cause == wanted_cause
        assert re.fullmatch(pattern, reason)
    counts = [header for _, header, _ in Store(str(tmp_path)).headers("query", 1)]
    assert sum(header["counts"]["late"] for header in counts) == len(BAD)
    assert {cause: sum(h["causes"].get(cause, 0) for h in counts) for cause in ("event", "time", "value")} == {
        "event": 2, "time": 3, "value": 3,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_poison_changes_nothing_for_clean_rows(tmp_path: Path, seed: int) -> None:
    """Whatever the batches, shards, retries and restarts: the matches of the clean rows, and each bad row once."""
    chance = random.Random(seed)
    stream = make(tmp_path, chance.choice((TEXT, STAGED)), shards=chance.choice((1, 3)), lateness=1000, ahead=50)
    times = [chance.randrange(60) * SECOND for _ in range(30)]
    clean = [(chance.choice("ab"), t, t, n, float(chance.randrange(3)), float(n)) for n, t in enumerate(times)]
    bad = [chance.choice(BAD) for _ in range(12)] + [row("a", 10_000)]
    rows = [*clean, *bad]
    chance.shuffle(rows)
    cuts = sorted(chance.sample(range(len(rows)), 3))
    found: list[Any] = []
    parts = [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    for number, part in enumerate(parts):
        if chance.randrange(2):
            stream.run(number, part)
            live_shards.cache_clear()
        found += stream.run(number, part)
    found += stream.run(len(parts), [], told=[end_tag()])
    engine = start_engine(load(replace(stream.tasks[0].stream.job, rules=None)))
    events = [(r[0], int(r[4]), r[5], r[1] // SECOND) for r in sorted(clean, key=lambda r: (r[1], r[3]))]
    wanted = [*engine.run(events), *engine.close()]
    assert sorted(r["match_id"] for r in found) == sorted(event.id for event in wanted)
    assert len(found_letters(tmp_path)) == len(bad)


def test_a_file_that_a_killed_writer_leaves_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may end after a file is written beside its place and before it is put there."""

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    stream = make(tmp_path, shards=1)
    stream.run(0, [row("a", 1)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            stream.run(1, BAD)
    assert any((tmp_path / "late").iterdir())
    for batch in range(1, 6):
        stream.run(batch, BAD if batch == 1 else [])
    assert len(found_letters(tmp_path)) == len(BAD)


def test_a_bad_row_on_arrival_is_a_dead_letter(tmp_path: Path) -> None:
    stream = make(tmp_path, reporting="on_arrival", lateness=60, shards=1)
    found = stream.run(0, [*BAD, row("a", 1), row("b", 3)])
    assert [r["event"] for r in found] == ["d"]
    assert len(found_letters(tmp_path)) == len(BAD)


def test_files_of_dead_letters_grow_and_roll_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a shard whatever the number of batches, another one when it is large; each row is there once."""
    stream = make(tmp_path, shards=1)
    for number in range(9):
        if number % 3 == 0:
            live_shards.cache_clear()
        for _ in range(2):
            stream.run(number, [row("a", 10 * number), row("a", 10 * number, x=math.nan)])
    assert len(list((tmp_path / "late").iterdir())) == 1
    monkeypatch.setattr(growing_files, "ROLL", 1)
    for number in range(9, 12):
        for _ in range(2):
            stream.run(number, [row("a", 10 * number, x=math.nan)])
    assert len(list((tmp_path / "late").iterdir())) == 4
    assert [batch for *_, batch in found_letters(tmp_path)] == list(range(12))


def test_a_task_that_nobody_waits_for_takes_nothing_away(tmp_path: Path) -> None:
    stream = make(tmp_path, shards=1)
    for number in range(3):
        stream.run(number, [row("a", number, x=math.nan)])
    live_shards.cache_clear()
    stream.run(1, [row("a", 1, x=math.nan)])
    assert [batch for *_, batch in found_letters(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("shards", [1, 3])
def test_a_row_too_far_ahead_of_the_latest_moves_nothing(tmp_path: Path, shards: int) -> None:
    """Measured from the latest time before it, of all partitions and batches: a chain of small steps may go far."""
    stream = make(tmp_path, ahead=10, shards=shards)
    stream.run(0, [row("a", 1, k=1.0), row("a", 9, k=2.0), row("a", 18, k=3.0), row("a", 40, k=4.0)])
    stream.run(1, [row("b", 28, k=3.0), row("a", 500, k=5.0)])
    found = stream.run(2, [row("a", 38, k=6.0), row("a", 49, k=7.0)])
    assert sorted((r["event"], r["args"]) for r in found if r["event"] == "d") == [("d", "[3, 1.0, 1.0]")]
    flagged = make(tmp_path / "flag", f":- set_flag(max_ahead, 10). {TEXT}", shards=shards)
    assert flagged.tasks[0].stream.ahead == stream.tasks[0].stream.ahead
    assert flagged.tasks[0].stream.job.settings.max_ahead is None  # a shard alone would see gaps that are none
    assert [(cause, args, reason) for cause, _, args, reason, _ in found_letters(tmp_path)] == [
        ("ahead", "[4.0, 1.0]", "it ends at 40, more than 10 s after the latest time, 18"),
        ("ahead", "[5.0, 1.0]", "it ends at 500, more than 10 s after the latest time, 28"),
        ("ahead", "[7.0, 1.0]", "it ends at 49, more than 10 s after the latest time, 38"),
    ]


def test_marks_of_parts_come_to_what_a_mark_of_all_comes_to() -> None:
    chance = random.Random(5)
    for _ in range(300):
        gap, before = chance.randrange(1, 8), chance.choice((None, chance.randrange(60)))
        times = [chance.randrange(100) for _ in range(chance.randrange(1, 30))]
        ahead = Ahead(gap, of_clock=False)
        parts = [times[i::3] for i in range(3)]
        marking = Marking("0", 1, "us", ahead)
        made = [mark for part in parts for mark in mark_time(marking, [_times(part[::2]), _times(part[1::2])])]
        marks = read_marks([mark["tag"][0].as_py()[1:] for mark in made], ahead, before)
        reached = before
        for time in sorted(times):
            if reached is not None and time > reached + gap:
                break
            reached = time if reached is None else max(reached, time)
        assert reached is not None
        assert marks.limit == reached + gap
        assert marks.latest.get("0") == max((t for t in times if t <= reached), default=None)


def _times(times: list[int]) -> Any:
    return pa.RecordBatch.from_arrays([pa.array(times, pa.int64())], ["time"])


def test_a_row_past_the_wall_clock_moves_nothing(tmp_path: Path) -> None:
    plain = make(tmp_path, ahead="10 seconds")
    bound = Ahead(10 * SECOND, of_clock=True)  # as of time stamps
    tasks = tuple(_replace(task, bound) for task in plain.tasks)
    stream = Stream(plain.plan, tasks)
    stream.run(0, [row("a", 1), row("a", 61, k=2.0)], now=50 * SECOND)
    found = stream.run(1, [row("b", 60), row("a", 62, k=3.0)], now=51 * SECOND)
    assert [r["event"] for r in found] == ["q"]  # of the first, at 6: the watermark has come to 58
    assert [(cause, args) for cause, _, args, _, _ in found_letters(tmp_path)] == [
        ("ahead", "[2.0, 1.0]"), ("ahead", "[3.0, 1.0]"),
    ]  # fmt: skip


def _replace(task: Any, ahead: Ahead) -> Any:
    return replace(task, stream=replace(task.stream, ahead=ahead))


def test_a_stream_stops_when_too_many_rows_are_rejected(tmp_path: Path) -> None:
    """The bound is of the query, not of a shard, and late rows do not count."""
    stream = make(tmp_path, shards=3, max_rejected=3)
    stream.run(0, [row("a", 50, k=float(k)) for k in range(9)])
    stream.run(1, [row("a", 1, k=float(k)) for k in range(9)])  # late
    stream.run(2, [row("a", 60, k=float(k), x=math.nan) for k in range(3)])
    with pytest.raises(InputError, match=r"E627: 4 rows were rejected \(4 for a value\), and max_rejected is 3"):
        stream.run(3, [row("a", 61, k=7.0, x=math.nan)])
    more = make(tmp_path, shards=3, max_rejected=4)
    more.run(3, [row("a", 61, k=7.0, x=math.nan)])
    assert sum(cause == "value" for cause, *_ in found_letters(tmp_path)) == 4


def test_a_share_of_rows_may_be_rejected(tmp_path: Path) -> None:
    stream = make(tmp_path, shards=1, max_rejected=0.01)
    bad = row("a", 1, x=math.nan)
    stream.run(0, [bad] * (FEW // 100))
    with pytest.raises(InputError, match=r"E627.*max_rejected is 1.0000% of all rows"):
        stream.run(1, [bad])
    for wrong in (1.5, -1, True, "many"):
        with pytest.raises(InputError, match="E605: max_rejected is"):
            make(tmp_path, max_rejected=wrong)


# the end


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("text", [TEXT, STAGED], ids=["one stage", "stages"])
def test_the_end_tells_what_is_owed(tmp_path: Path, text: str, live: bool) -> None:
    """All rows that are held, and all deadlines, once; rows that come afterwards are dead letters."""
    stream = make(tmp_path, text)
    rows = [row("a", 1, k=1.0), row("b", 3, k=1.0), row("a", 4, k=2.0), row("a", 5, k=1.0)]
    found = stream.run(0, rows)
    assert stream.run(1, [row("b", 4.5, k=9.0)], told=[end_tag()]) == []  # rows come with it: more may follow
    ends = [stream.run(2, [], told=[end_tag()]) for _ in range(2)]  # the second time it is run again
    assert sorted(map(str, ends[0])) == sorted(map(str, ends[1]))
    engine = etalis.compile(text).engine()
    events = [(r[0], int(r[4]), r[5], r[1] / SECOND) for r in sorted([*rows, row("b", 4.5, k=9.0)], key=lambda r: r[1])]
    wanted = [*engine.run(events), *engine.close()]
    assert sorted(r["match_id"] for r in found + ends[0]) == sorted(event.id for event in wanted)
    if not live:
        live_shards.cache_clear()
    assert stream.run(3, [], told=[end_tag()]) == []
    assert stream.run(4, [row("a", 100, k=1.0)]) == []
    assert [(cause, reason) for cause, _, _, reason, _ in found_letters(tmp_path)] == [
        ("late", "it ends at 100, but the stream has ended")
    ]


def test_the_end_on_arrival(tmp_path: Path) -> None:
    stream = make(tmp_path, reporting="on_arrival", lateness=60, shards=1)
    assert stream.run(0, [row("a", 1)]) == []
    assert [(r["op"], r["event"]) for r in stream.run(1, [], told=[end_tag()])] == [("+", "q")]
    assert stream.run(2, [row("a", 100)]) == []


def test_a_query_that_was_begun_without_its_checkpoint_cannot_be_closed(tmp_path: Path) -> None:
    """It has no source that tells its end, and Spark would refuse one more."""
    given = Streaming(state=str(tmp_path), checkpoint="c")
    assert fit_checkpoint(given, None).checkpoint == fit_checkpoint(given, "query").checkpoint == "c"
    make(tmp_path).run(0, [row("a", 1)])
    assert fit_checkpoint(given, "query").checkpoint is None
    with pytest.raises(InputError, match=r"E605: a stream is closed by a file next to its checkpoint"):
        fit_checkpoint(replace(given, close=True), "query")


# changed rules


def test_what_waits_is_not_dropped_unless_that_is_allowed(tmp_path: Path) -> None:
    stream = make(tmp_path)
    stream.run(0, [row("a", 9), row("b", 13, k=2.0)])
    live_shards.cache_clear()
    changed = TEXT.replace("within 5", "within 7")
    with pytest.raises(SnapshotError, match=r"E628.*the changed rules have no place for .*of rule q(.|\n)*allow_drop"):
        make(tmp_path, changed).run(1, [])
    with pytest.raises(SnapshotError, match=r"E628: query query: the changed rules have no place"):
        check_restart(make(tmp_path, changed).tasks, "query")
    allowed = make(tmp_path, changed, allow_dropped=True)
    told = check_restart(allowed.tasks, "query", allowed=True)
    assert told is not None
    assert (told.query, told.batch) == ("query", 0)
    assert [bool(part) for part in (told.kept, told.dropped, told.new)] == [True, True, True]
    assert all("rule q" in text for text in (*told.dropped, *told.new))
    assert all("rule d" in text for text in told.kept)
    assert "\n  dropped: " in str(told)
    allowed.run(1, [row("a", 30)])


def test_rows_that_wait_are_not_dropped_either(tmp_path: Path) -> None:
    stream = make(tmp_path)
    stream.run(0, [row("a", 1), row("b", 1)])
    live_shards.cache_clear()
    less = make(tmp_path, DECLARED + "d(K) <- a(K, _).")
    with pytest.raises(SnapshotError, match=r"E628.*1 rows of b that wait"):
        less.run(1, [])


def test_rows_that_wait_and_do_not_fit_a_changed_declaration_are_dead_letters(tmp_path: Path) -> None:
    make(tmp_path, shards=1).run(0, [row("a", 1, x=1.5), row("a", 1, x=2.0)])
    live_shards.cache_clear()
    changed = make(tmp_path, TEXT.replace("a(k: int, x: float)", "a(k: int, x: int)"), shards=1)
    found = changed.run(1, [row("b", 2), row("b", 20)])
    assert [r["args"] for r in found if r["event"] == "d"] == ["[1, 2, 1.0]"]
    assert [reason for _, _, _, reason, _ in found_letters(tmp_path)] == ["E305: a: x should be of type int, not 1.5"]


def test_a_changed_policy_drops_what_waits(tmp_path: Path) -> None:
    make(tmp_path, shards=1).run(0, [row("a", 9), row("b", 13, k=2.0)])
    changed = make(tmp_path, f":- set_flag(event_consumption_policy, unrestricted). {TEXT}", shards=1)
    with pytest.raises(SnapshotError, match="E628"):
        check_restart(changed.tasks, "query")


def test_the_same_rules_go_on_in_silence(tmp_path: Path) -> None:
    make(tmp_path).run(0, [row("a", 1)])
    again = make(tmp_path)
    told = check_restart(again.tasks, "query")
    assert str(told) == "query query goes on after batch 0, with the same rules"
    assert check_restart(again.tasks, "another") is None


def test_one_more_stage_is_refused_before_the_query_starts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path).run(0, [row("a", 1)])
    warn_of_restart(make(tmp_path).tasks)
    assert not caplog.text
    warn_of_restart(make(tmp_path, STAGED).tasks)
    assert "if this goes on with the checkpoint of query query, it will fail: error E622" in caplog.text
    with pytest.raises(SnapshotError, match=r"E622.*was kept with stages 1, now it would be 3"):
        check_restart(make(tmp_path, STAGED).tasks, "query")


def test_dead_letters_show_times_as_far_as_they_are_some() -> None:
    far = (131_000 - 1970) * 31_556_952
    for column, wanted in (
        (pa.array(["2026-05-01T12:00:00Z", "soon", None, "1e99"]), [1777636800.0, None, None, None]),
        (pa.array([1.5, math.nan, None, float(far)]), [1.5, None, None, float(far)]),
        (pa.array([1, far * SECOND, None, 2], pa.timestamp("us", "UTC")), [1e-6, float(far), None, 2e-6]),
    ):
        rows = pa.table({"_event": ["a"] * 4, "_start": column, "s0": [1, 2, 3, 4]})
        letters = letter_files.Letters(rows, ["why"] * 4, "time")
        known = [Rows("a", "a", (0,), ("int",))]
        found = letter_files.describe_letters([letters], known, "s", 7).sort_by("args")
        assert found["start"].to_pylist() == wanted
        assert found["args"].to_pylist() == ["[1]", "[2]", "[3]", "[4]"]
