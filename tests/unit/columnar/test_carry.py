"""`engine.detect`: rows over columns on an engine that goes on."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import EventError, InputError

pytestmark = pytest.mark.fast

TEXT = """
:- event(order(id: int, item: string)).
:- event(cancel(id: int)).
:- event(sent(id: int, weight: float)).
late(Id, Item, W) <- ((order(Id, Item) seq sent(Id, W)) cnot cancel(Id)) within 40.
twice(Id) <- late(Id, _, _) and late(Id, _, _).
calm(Id, W) <- sent(Id, W) fnot cancel(Id).
"""
TIMED = (
    TEXT
    + """
silent(Id) <- order(Id, _) seq (not sent(Id, _) within 7).
exceptionAlarm(remind(Id), 5) <- order(Id, x).
after(Id) <- 200 seq order(Id, _).
"""
)
COUNTED = (
    TEXT
    + """
pair(Id) <- order(Id, _) seq sent(Id, _) ntimes 2 seq cancel(Id).
some(Id, Item) <- (order(Id, Item) seq sent(_, _) star_times seq cancel(Id)) cnot order(Id, z).
runs(Id) <- (sent(Id, _) ntimes (2, 3) seq order(Id, _)) within 30.
"""
)
OUTER = (
    TEXT
    + """
first(Id, Item, W) <- (order(Id, Item) seq? sent(Id, W)) within 20.
beside(Id, Item) <- (order(Id, Item) ?and cancel(Id)) within 9.
same(Id, W) <- (sent(Id, W) equals? cancel(Id)) ?seq order(Id, _).
"""
)
MIXED = TEXT + "many(Id, N) <- order(Id, _) seq aggregate(count, sent(Id, _), N).\n"


def rows(count: int, seed: int, *, late: int = 0) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    at = 0
    for _ in range(count):
        at += rng.randrange(3)
        time, key = at - rng.randrange(late + 1), rng.randrange(12)
        match rng.randrange(5):
            case 0 | 1:
                found.append(("order", key, rng.choice("xyz"), time))
            case 2 | 3:
                found.append(("sent", key, rng.choice((1.0, 2.5)), time))
            case _:
                found.append(("cancel", key, time))
    return found


POLICIES = ("unrestricted", "chronological", "recent", "continuous", "snoop_recent", "cumulative")
NAMES = {"order": ("id", "item"), "sent": ("id", "weight"), "cancel": ("id",)}
SCHEMA = pa.schema([("event", "string"), ("at", "int64"), ("id", "int64"), ("item", "string"), ("weight", "float64")])


def table(stream: list[tuple[Any, ...]]) -> pa.Table:
    cells = [{"event": n, "at": at, **dict(zip(NAMES[n], args, strict=True))} for n, *args, at in stream]
    return pa.Table.from_pylist(cells, schema=SCHEMA)


def pushed(engine: etalis.Engine, stream: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(e.name, *e.args, e.start, e.end) for e in engine.run(stream)]


def detected(engine: etalis.Engine, stream: list[tuple[Any, ...]], **options: Any) -> list[tuple[Any, ...]]:
    found = engine.detect(table(stream), time="at", event="event", **options).to_pylist()
    heads = {
        "late": ("Id", "Item", "W"),
        "twice": ("Id",),
        "calm": ("Id", "W"),
        "many": ("Id", "N"),
        "silent": ("Id",),
        "remind": ("Id",),
        "after": ("Id",),
        "five": (),
        "pair": ("Id",),
        "some": ("Id", "Item"),
        "runs": ("Id",),
        "first": ("Id", "Item", "W"),
        "beside": ("Id", "Item"),
        "same": ("Id", "W"),
    }
    cells = [(r["event"], *(r[name] for name in heads[r["event"]]), r["start"], r["end"]) for r in found]
    return [tuple("null" if cell is None else cell for cell in row) for row in cells]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", [TEXT, TIMED, COUNTED, MIXED], ids=["columns", "timed", "counted", "mixed"])
def test_pushes_and_batches_go_on_from_each_other(text: str, policy: str) -> None:
    check_alternating(text, policy)


@pytest.mark.parametrize("policy", ["unrestricted", "chronological"])
def test_what_waits_for_a_partner_goes_on_as_it_came(policy: str) -> None:
    check_alternating(OUTER, policy)


def check_alternating(text: str, policy: str) -> None:
    program = etalis.compile(text)
    stream = rows(400, 5)
    one, other = program.engine(policy=policy), program.engine(policy=policy)
    expected, found = pushed(one, stream), []
    for number, low in enumerate(range(0, 400, 50)):
        part = stream[low : low + 50]
        if number % 4 == 3:
            other = program.restore(other.snapshot())
        found += pushed(other, part) if number % 2 else detected(other, part, batch=20)
    assert expected
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert other.waiting() <= one.waiting()
    assert other.now == one.now
    assert count_timers(other) == count_timers(one)
    if text not in (COUNTED, MIXED) and policy != "snoop_recent":  # which of two parts comes first is left open
        assert found == expected


def count_timers(engine: etalis.Engine) -> int:
    """Return how many timers stand: those of rows that have found a partner do not."""
    return sum(owner.stands(payload) for _, _, _, owner, payload, _ in engine.core.state.timers)


def test_what_was_counted_is_in_snapshots_of_changes() -> None:
    program = etalis.compile(COUNTED)
    stream = rows(300, 6)
    one, other = program.engine(), program.engine()
    expected, found, chain = pushed(one, stream), [], [other.snapshot()]
    for number, low in enumerate(range(0, 300, 20)):
        part = stream[low : low + 20]
        found += pushed(other, part) if number % 3 == 2 else detected(other, part)
        chain.append(other.snapshot(since=chain))
        other = program.restore(*chain)
    assert sorted(found) == sorted(expected)
    assert {"pair", "some", "runs"} < {row[0] for row in found}


def test_rows_before_the_time_reached_are_dead_letters() -> None:
    engine = etalis.compile(TEXT).engine()
    engine.push("order", 1, "x", at=10)
    assert detected(engine, [("sent", 1, 1.0, 9), ("sent", 1, 2.5, 11)]) == [
        ("late", 1, "x", 2.5, 10, 11), ("calm", 1, 2.5, 11, 11), ("twice", 1, 10, 11)
    ]  # fmt: skip
    assert engine.dead_letter_count == 1
    assert engine.dead_letters[0].end == 9


def test_rows_before_those_of_an_earlier_batch_are_dead_letters() -> None:
    engine = etalis.compile(TEXT).engine()
    found = detected(engine, [("sent", 1, 1.0, 9), ("sent", 1, 2.5, 7), ("sent", 1, 2.5, 9)], batch=1)
    assert [row[-1] for row in found] == [9, 9]
    assert [letter.end for letter in engine.dead_letters] == [7]


@pytest.mark.parametrize("size", [1, 7, 50])
def test_late_rows_are_those_of_sorted_batches_pushed(size: int) -> None:
    program = etalis.compile(TEXT)
    stream = rows(200, 9, late=4)
    one, other = program.engine(), program.engine()
    for engine in (one, other):
        pushed(engine, rows(50, 2))
    batches = [sorted(stream[low : low + size], key=lambda row: row[-1]) for low in range(0, 200, size)]
    expected = [row for part in batches for row in pushed(one, part)]
    assert detected(other, stream, batch=size) == expected
    assert [x.to_json() for x in other.dead_letters] == [x.to_json() for x in one.dead_letters]
    assert one.dead_letter_count


def test_a_closed_engine_takes_no_rows() -> None:
    engine = etalis.compile(TEXT).engine()
    engine.close()
    with pytest.raises(EventError, match="E310"):
        detected(engine, [("sent", 1, 1.0, 9)])


def test_facts_are_those_of_the_engine() -> None:
    program = etalis.compile("seen(X) <- order(X, Y) where known(Y). :- dynamic known/1.")
    engine = program.engine()
    engine.assert_fact("known", "x")
    rows = pa.table({"event": ["order", "order"], "at": [1, 2], "a": [1, 2], "b": ["x", "y"]})
    assert engine.detect(rows, time="at", event="event")["X"].to_pylist() == [1]


def test_explain_says_what_an_engine_keeps_for_itself() -> None:
    program = etalis.compile(TEXT + "thrice(Id) <- order(Id, _) seq sent(Id, _) star_times.")
    given = {"time": "at", "event": "event"}
    engine = program.engine()
    for each in (program, engine):
        assert each.explain(table(rows(9, 1)), **given) == "over columns: rules 1, 2, 3, 4"
    engine.on("late", print)
    assert engine.explain(table(rows(9, 1)), **given) == (
        "event at a time: rules 1, 2, 3, 4\n  events are handed to callbacks"
    )


def test_changed_rules_are_refused() -> None:
    engine = etalis.compile(TEXT).engine()
    engine.insert_rule("new(Id) <- order(Id, _).")
    with pytest.raises(InputError, match="E610"):
        detected(engine, [("sent", 1, 1.0, 9)])


def test_what_columns_cannot_hold_runs_event_at_a_time(caplog: pytest.LogCaptureFixture) -> None:
    program = etalis.compile("both(X, Y) <- a(X) and b(X, Y).")
    engine = program.engine()
    engine.push("a", "text", at=1)
    engine.push("a", 1, at=1)
    found = engine.detect(pa.table({"at": [2], "x": [1], "y": [5]}), time="at", event="b")
    assert found.select(["X", "Y"]).to_pylist() == [{"X": 1, "Y": 5}]
    assert "event at a time" in caplog.text


def test_callbacks_are_called() -> None:
    engine = etalis.compile(TEXT).engine()
    seen: list[Any] = []
    engine.on("calm", seen.append)
    detected(engine, [("sent", 1, 1.0, 9)])
    assert [e.args for e in seen] == [(1, 1.0)]


LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 6).\n"


@pytest.mark.parametrize("text", [TEXT, TIMED, MIXED], ids=["columns", "timed", "mixed"])
@pytest.mark.parametrize("late", [5, 12])
def test_late_rows_are_held_as_by_push(text: str, late: int) -> None:
    program = etalis.compile(LATE + text)
    stream = rows(400, 7, late=late)
    one, other = program.engine(), program.engine()
    expected, found = pushed(one, stream), []
    for number, low in enumerate(range(0, 400, 50)):
        part = stream[low : low + 50]
        if number % 4 == 3:
            other = program.restore(other.snapshot())
        found += pushed(other, part) if number % 3 == 1 else detected(other, part, batch=20)
    assert expected
    assert sorted(found) == sorted(expected)
    assert (other.now, other.watermark) == (one.now, one.watermark)
    assert [x.to_json() for x in other.dead_letters] == [x.to_json() for x in one.dead_letters]
    assert bool(one.dead_letter_count) == (late > 6)
    assert one.close() == other.close()


def test_all_rows_of_a_file_may_be_late() -> None:
    program = etalis.compile(LATE + TEXT)
    stream = rows(300, 8, late=5)
    engine = program.engine()
    expected = pushed(engine, stream) + [(e.name, *e.args, e.start, e.end) for e in engine.close()]
    found = program.detect(table(stream), time="at", event="event", batch=30)
    assert found["start"].to_pylist() == [row[-2] for row in expected]
    assert found["end"].to_pylist() == [row[-1] for row in expected]


@pytest.mark.parametrize("waiting", [5, "text"], ids=["columns", "event at a time"])
def test_rules_that_share_a_part_stay_together(waiting: object) -> None:
    program = etalis.compile("""
        one(X) <- (a(X) seq b(X)) and c(_).
        two(X) <- (a(X) seq b(X)) and d(Y) where Y \\= 4.
        three(X) <- a(X) and e(X).
    """)
    one, other = (program.engine(policy="unrestricted") for _ in range(2))
    for engine in (one, other):
        list(engine.run([("d", waiting, 0), ("c", 1, 0), ("a", 1, 1), ("b", 1, 2)]))
    given = {"event": ["a", "b", "c", "d", "e"], "at": [4, 5, 6, 7, 8], "x": [1, 1, 3, 4, 1]}
    found = other.detect(pa.table(given), time="at", event="event")
    assert [len(c.numbers) for c in other.core.over_columns[2].components] == ([1] if waiting == "text" else [1, 1, 1])
    expected = list(one.run(zip(given["event"], given["x"], given["at"], strict=True)))
    assert sorted(zip(*(found[c].to_pylist() for c in ("end", "start", "event")), strict=True)) == sorted(
        (e.end, e.start, e.name) for e in expected
    )
    assert other.waiting() == one.waiting()


def test_progress_is_told() -> None:
    engine = etalis.compile(TEXT).engine()
    told: list[tuple[int, int]] = []
    found = detected(engine, rows(50, 3), batch=20, progress=lambda *so_far: told.append(so_far))
    assert [count for count, _ in told] == [20, 40, 50]
    assert told[-1][1] == len(found)


def test_a_time_point_comes_when_the_watermark_has_reached_it() -> None:
    program = etalis.compile(LATE + TEXT + "five(x) <- 5.")
    one, other = program.engine(), program.engine()
    for time in range(8, 15):
        row = ("sent", 1, 1.0, time)
        assert [e[0] for e in detected(other, [row])] == [e[0] for e in pushed(one, [row])], time


def test_rules_that_run_apart_hide_no_other() -> None:
    pairs = "".join(f"e{n}(X) <- any(2, [cancel(X), order(X, k{n})]).\n" for n in range(6))  # no operator over columns
    program = etalis.compile(TEXT + pairs)
    one, other = (program.engine(policy="snoop_recent") for _ in range(2))
    stream = [("order", 1, "k1", 1), ("cancel", 1, 2), ("order", 2, "k3", 3), ("sent", 2, 1.0, 4), ("cancel", 2, 5)]
    expected = pushed(one, stream)
    assert {"late", "calm", "e1", "e3"} < {row[0] for row in expected}
    assert detected(other, stream[:1]) == []
    assert pushed(other, stream[1:]) == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_of_rules_that_have_no_columns_are_those_pushed(policy: str) -> None:
    asked = "calm(Id, W) <- (order(Id, _) seq sent(Id, W)) cnot (sent(Id, X) where X > W).\n"  # of blocker and match
    program = etalis.compile(TEXT[: TEXT.index("late")] + asked)
    stream = [*rows(200, 3), ("sent", 3, 1.0, 5)]  # the last one comes too late
    one, other = (program.engine(policy=policy) for _ in range(2))
    expected = pushed(one, stream)
    assert expected
    assert other.explain(table(stream), time="at", event="event").startswith("event at a time: rule 1")
    assert detected(other, stream, batch=64) == expected
    assert other.dead_letter_count == one.dead_letter_count == 1
