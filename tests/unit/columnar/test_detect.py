"""`program.detect`: tables in, a table back; the same rows as the engine gives."""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import etalis
from etalis.columnar.data.columns import Column
from etalis.columnar.data.events import gather
from etalis.columnar.data.instances import Instances
from etalis.columnar.kernels.buffers import Buffers
from etalis.columnar.kernels.join import USED
from etalis.columnar.operators.pair_search import JoinSearch
from etalis.columnar.run import ColumnRun
from etalis.errors import InputError, ProgramError
from etalis.tables import run
from etalis.tables.read.sources import open_source
from etalis.tables.schema import Options
from etalis.temporal.event import Event

pytestmark = pytest.mark.fast

TEXT = """
:- event(withdrawal(card: string, city: string, amount: float)).
:- event(confirmed(card: string)).
fraud(Card, A, B) <- ((withdrawal(Card, C, A) seq withdrawal(Card, D, B)) cnot confirmed(Card)) within 60
    where (C \\= D, \\+ near(C, D)).
again(Card) <- fraud(Card, _, _) seq fraud(Card, _, _).
large(Card, B) <- withdrawal(Card, _, B) where B > 90.0.
near(basel, weil). near(weil, basel).
"""
COLUMNS = ("at", "event", "card", "city", "amount")


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    found: list[dict[str, Any]] = []
    at = 0
    for _ in range(count):
        at += rng.randrange(4)
        card = f"c{rng.randrange(8)}"
        if rng.random() < 0.2:
            found.append(dict(zip(COLUMNS, (at, "confirmed", card, None, None), strict=True)))
        else:
            cells = (at, "withdrawal", card, rng.choice(("basel", "weil", "rome", "é日")), float(rng.randrange(100)))
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def by_engine(program: etalis.Program, stream: list[dict[str, Any]], policy: str) -> list[dict[str, Any]]:
    engine = program.engine(policy=policy)
    names = {"fraud": ("Card", "A", "B"), "again": ("Card",), "large": ("Card", "B")}
    found = []
    for row in stream:
        args = (row["card"],) if row["event"] == "confirmed" else (row["card"], row["city"], row["amount"])
        for event in engine.push(row["event"], *args, at=row["at"]):
            cells = dict.fromkeys(("Card", "A", "B")) | dict(zip(names[event.name], event.args, strict=True))
            found.append({"event": event.name, **cells, "start": event.start, "end": event.end, "rule": event.rule})
    return found


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "continuous"])
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_detect_gives_what_the_engine_gives(policy: str, batch: int) -> None:
    program = etalis.compile(TEXT)
    stream = rows(300 if batch > 1 else 60, batch)
    table = pa.Table.from_pylist(stream)
    found = program.detect(table, policy=policy, batch=batch).to_pylist()
    expected = by_engine(program, stream, policy)
    assert expected
    assert found == expected
    assert program.explain(table, policy=policy) == "over columns: rules 1, 2, 3"


@pytest.mark.parametrize("form", ["parquet", "folder", "feather", "csv", "jsonl", "pandas", "stream"])
def test_all_sources_give_the_same(form: str, tmp_path: Path) -> None:
    program = etalis.compile(TEXT)
    table = pa.Table.from_pylist(rows(200, 3))
    path: Any = tmp_path / f"events.{form}"
    match form:
        case "parquet":
            pa.parquet.write_table(table, path, row_group_size=50)
        case "folder":
            path.mkdir()
            for i in range(4):
                pa.parquet.write_table(table.slice(50 * i, 50), path / f"part{i}.parquet")
        case "feather":
            pa.feather.write_feather(table, str(path))
        case "csv":
            pa.csv.write_csv(table, path)
        case "jsonl":
            path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
        case "pandas":
            path = table.to_pandas()
        case _:
            path = table.to_reader(max_chunksize=13)
    assert program.detect(path, policy="chronological").equals(program.detect(table, policy="chronological"))


def test_one_program_under_several_policies() -> None:
    program = etalis.compile("d(X, Y) <- a(X) seq b(Y).")
    table = pa.table({"event": ["a", "a", "b", "b"], "at": [1, 2, 3, 4], "x": [1, 2, 3, 4]})

    def pairs(policy: str) -> list[tuple[int, int]]:
        found = program.detect(table, policy=policy)
        return sorted(zip(found["X"].to_pylist(), found["Y"].to_pylist(), strict=True))

    for _ in range(2):  # plans are kept by policy
        assert pairs("chronological") == [(1, 3), (2, 4)]
        assert pairs("recent") == [(1, 4), (2, 3)]
        assert pairs("unrestricted") == [(1, 3), (1, 4), (2, 3), (2, 4)]
    with pytest.raises(ProgramError, match="unknown policy oldest"):
        program.detect(table, policy="oldest")


def test_a_program_with_some_of_its_rules_has_plans_of_its_own() -> None:
    program = etalis.compile("d <- a. e <- b.")
    assert [head.label for head in program.compiled.plans()] == ["1", "2"]
    assert [head.label for head in program.compiled.taking([1]).plans()] == ["2"]


def test_rules_without_kernels_run_event_at_a_time(caplog: pytest.LogCaptureFixture) -> None:
    program = etalis.compile(TEXT + "silent(C) <- withdrawal(C, _, _) seq (not confirmed(C) within 5) do true.")
    stream = rows(100, 5)
    table = pa.Table.from_pylist(stream)
    found = program.detect(table, policy="recent", batch=9)
    assert "event at a time: rule 4\n  rule 4: it has an action" in caplog.text
    engine = program.engine(policy="recent")
    expected = 0
    for row in stream:
        args = (row["card"],) if row["event"] == "confirmed" else (row["card"], row["city"], row["amount"])
        expected += sum(e.name == "silent" for e in engine.push(row["event"], *args, at=row["at"]))
    expected += sum(e.name == "silent" for e in engine.close())
    assert expected
    assert found["event"].to_pylist().count("silent") == expected


def test_one_kind_and_time_stamps() -> None:
    program = etalis.compile("up(X, Y) <- p(X) seq p(Y) where Y > X.", event_consumption_policy="recent")
    moments = pa.array([1_000_000, 2_500_000, 3_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": moments, "x": pa.array([1, 3, 2], pa.int32())})
    found = program.detect(table, event="p", select="up")
    assert found.column_names == ["X", "Y", "start", "end", "rule"]
    assert found["X"].to_pylist() == [1]
    assert found["end"].cast(pa.int64()).to_pylist() == [2_500_000]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (pa.table({"event": ["p"], "x": [1]}), "E602"),
        (object(), "E401"),
        ("nowhere.parquet", "E401"),
    ],
)
def test_bad_tables_are_refused(table: Any, code: str) -> None:
    program = etalis.compile("q(X) <- p(X).")
    with pytest.raises(InputError) as caught:
        program.detect(table)
    assert caught.value.problems[0].code == code


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (pa.table({"at": [1, 2], "event": ["p", "p"], "x": [1.0, float("nan")]}), "E301: NaN is not a value"),
        (pa.table({"at": [1, 2], "event": ["p", None], "x": [1, 2]}), "it names no event"),
        (pa.table({"at": [1, None], "event": ["p", "p"], "x": [1, 2]}), "it has no time"),
        ([("p", 1, 1), 7], "error E306: the rows, row 2: not a row of events: 7"),
    ],
)
def test_bad_rows_are_dead_letters(rows: Any, reason: str) -> None:
    program = etalis.compile("q(X) <- p(X).")
    letters: list[Any] = []
    assert program.detect(rows, on_dead_letter=letters.append)["X"].to_pylist() == [1]
    assert [letter.reason for letter in letters] == [reason]


def test_rows_are_sorted_in_memory_and_refused_across_batches_of_a_stream() -> None:
    program = etalis.compile("q(X, Y) <- p(X) seq p(Y).", event_consumption_policy="unrestricted")
    table = pa.table({"at": [3, 1, 2], "event": ["p"] * 3, "x": [3, 1, 2]})
    assert program.detect(table)["X"].to_pylist() == [1, 1, 2]
    assert program.detect(table, batch=1)["X"].to_pylist() == [1, 1, 2]
    with pytest.raises(InputError, match="sort the rows"):
        program.detect(table.to_reader(max_chunksize=1), batch=1)


def test_values_at_the_edge_of_64_bits_and_nulls() -> None:
    program = etalis.compile("q(X, Y) <- p(X) seq p(Y) where X + 1 < Y.", event_consumption_policy="unrestricted")
    big = (1 << 63) - 1
    stream = [(1, big - 2), (2, big), (3, None), (4, -big), (5, 0)]
    table = pa.table(
        {"at": [t for t, _ in stream], "event": ["p"] * 5, "x": pa.array([x for _, x in stream], pa.int64())}
    )
    engine = program.engine()
    expected = [e.args for t, x in stream for e in engine.push("p", "null" if x is None else x, at=t)]
    assert [(row["X"], row["Y"]) for row in program.detect(table).to_pylist()] == expected


def test_kernels_run_as_plain_python() -> None:
    code = (
        "import sys, pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', 'gives_what', sys.argv[1]]))"
    )
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", code, __file__]
    done = subprocess.run(
        command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_kinds_made_at_the_same_moments_come_in_the_order_of_an_engine() -> None:
    text = "z(I, X) <- a(I, X) seq b(I, _). y(I) <- a(I, X) seq b(I, _). x(X, I) <- a(I, X) seq b(I, _)."
    rows = [("a", 1, "p"), ("b", 1, "q"), ("a", 2, "r"), ("a", 2, "s"), ("b", 2, "t"), ("b", 2, "u")]
    kinds, ids, texts = zip(*rows, strict=True)
    table = pa.table({"ts": range(len(rows)), "type": kinds, "i": ids, "x": texts})
    program = etalis.compile(text, event_consumption_policy="chronological")
    engine = program.engine()
    pushed = [event.name for kind, i, x, t in zip(kinds, ids, texts, range(len(rows)), strict=True)
              for event in engine.push(kind, i, x, at=t)]  # fmt: skip
    assert pushed == ["y", "x", "z"] * 3
    assert program.detect(table, time="ts", event="type")["event"].to_pylist() == pushed


@pytest.mark.parametrize("portion", [1, 7, 1 << 18])
def test_kinds_made_together_are_written_in_portions(portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etalis.tables.results.collect.PORTION", portion)
    body = "a(I, X) seq b(I, Y, Z)"
    declared = ":- event(a(i: int, x: string)). :- event(b(i: int, y: float, z: bool)).\n"
    text = f"{declared} z(I, X, Y, Z) <- {body}. y(I, X, Y, Z) <- {body}. x(Z, X, Y, I) <- {body}. w(0.5, X) <- {body}."
    program = etalis.compile(text, event_consumption_policy="chronological")
    rows = [(kind, i, f"t{i % 3}", None if i % 5 else i * 0.5, bool(i % 2)) for i in range(20) for kind in "ab"]
    kinds, ids, x, y, z = zip(*rows, strict=True)
    table = pa.table({"ts": range(40), "type": kinds, "i": ids, "x": x, "y": y, "z": z})
    engine = program.engine()
    pushed = [
        event
        for at, (kind, i, text, number, truth) in enumerate(rows)
        for event in engine.push(kind, i, *([text] if kind == "a" else [number, truth]), at=at)
    ]
    roles = {"time": "ts", "event": "type"}
    found = program.detect(table, **roles).to_pylist()
    assert [(row["event"], row["rule"], row["start"], row["end"]) for row in found] == [
        (event.name, event.rule, event.start, event.end) for event in pushed
    ]
    plain = [[row[name] for name in "IXYZ"] for row in found if row["event"] in ("z", "y")]
    assert plain == [[i, text, number, truth] for kind, i, text, number, truth in rows if kind == "b" for _ in "zy"]
    assert len(found) == 80


def test_reading_ahead_gives_the_same_rows_and_errors() -> None:
    program = etalis.compile("d(X) <- a(X) seq b(X).")
    table = pa.table({"ts": [1, 2, 3, 4], "type": ["a", "b", "a", "b"], "x": [1, 1, 2, 2]})
    alone, ahead = (program.detect(table, time="ts", event="type", batch=1, threads=n) for n in (1, 2))
    assert ahead.equals(alone)
    assert ahead["X"].to_pylist() == [1, 2]
    unsorted = table.take([3, 2, 1, 0])
    with pytest.raises(InputError, match="end before"):
        program.detect(unsorted.to_reader(max_chunksize=1), time="ts", event="type", batch=1)


def test_row_groups_without_a_known_event_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    table = pa.table({"ts": [1, 2, 3, 4], "type": ["a", "b", "zz", "zz"], "x": ["p", "p", "q", None]})
    pyarrow.parquet.write_table(table, path, row_group_size=2)
    program = etalis.compile("d(X) <- a(X) seq b(X).")
    source = open_source(path, 100, 1, program.compiled, Options())
    read = source.scan(["type"], pc.field("type").isin(["a", "b"]))
    assert [batch.num_rows for batch in read if batch.num_rows] == [2]
    assert program.detect(path, time="ts", event="type")["X"].to_pylist() == ["p"]


def test_left_sides_that_are_blocked_do_not_wait_where_events_have_no_duration() -> None:
    program = etalis.compile("d(X) <- (a(X) seq b(X)) cnot c(X).", event_consumption_policy="chronological")
    count = 300
    kinds = ["a", "c", "b"] * count
    table = pa.table({"ts": range(3 * count), "type": kinds, "x": [i for i in range(count) for _ in range(3)]})
    received = {("a", 1): ("int",), ("b", 1): ("int",), ("c", 1): ("int",)}
    for points, waiting in ((True, 0), (False, count)):
        run = ColumnRun(program.compiled, received, only_points=points)
        stream = [Event.make(kind, (x,), t, t) for t, kind, x in zip(*table.to_pydict().values(), strict=True)]
        for low in range(0, len(stream), 7):
            assert list(run.process(gather(stream[low : low + 7], received))) == []
        assert run.waiting == waiting
    assert program.detect(table, time="ts", event="type", batch=7).num_rows == 0


@pytest.mark.parametrize("options", [{"batch": 0}, {"batch": -1}, {"threads": 0}])
def test_no_rows_at_a_time_or_no_thread_is_refused(options: dict[str, int]) -> None:
    program = etalis.compile("d(X) <- a(X) seq b(X).")
    table = pa.table({"ts": [1, 2], "type": ["a", "b"], "x": [1, 1]})
    with pytest.raises(InputError, match="E605"):
        program.detect(table, time="ts", event="type", **options)


def test_nothing_that_was_kept_outlives_the_call() -> None:
    rows = pa.table({"at": range(20_000), "event": ["a", "b"] * 10_000, "x": [i % 50 for i in range(20_000)]})
    program = etalis.compile(":- event(a(x: int)). :- event(b(x: int)).\np(X) <- (a(X) seq b(Y)) within 3 where Y > X.")
    program.detect(rows, time="at", event="event", threads=1)
    gc.collect()
    gc.disable()
    try:
        found = program.detect(rows, time="at", event="event", threads=1)
        left = [each for each in gc.get_objects() if issubclass(type(each), Column | Instances | Buffers)]
    finally:
        gc.enable()
    assert found.num_rows
    assert left == []


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "cumulative"])
@pytest.mark.parametrize("relation", ["meets", "finishes"])
def test_what_is_over_leaves_the_table_of_a_join(relation: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    rows = [("e", at // 6 * 2 + draw.randrange(2), draw.randrange(3), at) for at in range(6_000)]
    text = f"""
    :- event(e(k: int, x: int)).
    span([property(policy, unrestricted)]) rule: span(K, B) <- (e(K, A) seq e(K, B)) within 60.
    pair(K, B, C) <- (span(K, B) {relation} span(K, C)) within 90.
    print_trigger(pair/3).
    """
    program = etalis.compile(text)
    kept: list[tuple[int, int]] = []
    rebuild = JoinSearch.rebuild

    def noting(search: JoinSearch) -> None:
        rebuild(search)
        kept.append((int(search.alive.sum()), int(search.cursor[USED])))

    monkeypatch.setattr(JoinSearch, "rebuild", noting)
    names = ("event", "k", "x", "at")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    found = program.detect(table, time="at", event="event", policy=policy, threads=1)
    wanted = [event for event in program.engine(policy=policy).run(rows) if event.name == "pair"]
    got = sorted(zip(*(found[name].to_pylist() for name in ("start", "end", "K", "B", "C")), strict=True))
    assert got == sorted((event.start, event.end, *event.args) for event in wanted)
    assert len(got) > 20
    if relation == "meets":  # what begins where another ends has come after it, and need not wait
        assert not kept
    else:
        assert any(alive > 100 + 10 * used for alive, used in kept), kept


def test_many_rules_take_more_rows_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"at": range(6_000), "event": ["a"] * 6_000, "x": [i % 7 for i in range(6_000)]})
    program = etalis.compile(":- event(a(x: int)).\n" + "\n".join(f"p{i}(X) <- a(X) where X > {i}." for i in range(4)))
    taken: list[int] = []
    admit = ColumnRun.admit

    def noting(whole: ColumnRun, batch: Any) -> Any:
        taken.append(len(batch.end))
        return admit(whole, batch)

    monkeypatch.setattr(ColumnRun, "admit", noting)
    found = program.detect(rows, time="at", event="event", batch=1_000, threads=1)
    assert taken == [1_000] * 6
    taken.clear()
    monkeypatch.setattr(run, "MANY_RULES", 4)
    assert program.detect(rows, time="at", event="event", batch=1_000, threads=1) == found
    assert taken == [5_000, 1_000]
    assert found.num_rows == sum(x > i for x in rows["x"].to_pylist() for i in range(4))
