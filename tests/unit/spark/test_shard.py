"""One shard without Spark: Arrow batches in, the engine's results out, in whatever order the rows come."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import EtalisError
from etalis.spark.batch.shard import run_errors, run_shard
from etalis.spark.plan.detection import plan_detection
from etalis.tables import sorting
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema

Row = tuple[Any, ...]
WIDE = ResultForm()
ARROW = {
    "bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"), "array<bigint>": pa.list_(pa.int64()),
}  # fmt: skip


def shard(text: str, columns: dict[str, str], rows: Sequence[Row], *, form: ResultForm = WIDE,
          policy: str | None = None, run: Any = run_shard, **options: Any) -> list[dict[str, Any]]:  # fmt: skip
    """Run rows (event, time or start and end, order?, attributes...) as one shard, in two batches, both ways."""
    names = Options(event="event", time=("start", "end") if "start" in columns else "ts", **options)
    program = etalis.compile(text)
    plan = plan_detection(program.compiled, [TableSchema(columns)], names, form, policy=policy, shards=1, usual=1)
    fixed = [name for name in columns if name in ("event", "ts", "start", "end", names.order)]
    parts = {"event": "_event", "ts": "_start", "start": "_start", "end": "_end", names.order: "_order"}
    slots = {i: c for layout, places in plan.slots.places for i, c in zip(places, layout.columns, strict=True)}
    order = [*fixed, *(slots[i] for i in range(len(plan.slots.types)))]
    types = [ARROW[columns[c]] for c in fixed] + [ARROW[t] for t in plan.slots.types]
    cells = [[row[list(columns).index(c)] for row in rows] for c in order]
    table = pa.table(
        [pa.array(c, t) for c, t in zip(cells, types, strict=True)],
        [*(parts[c] for c in fixed), *(f"s{i}" for i in range(len(plan.slots.types)))],
    )
    batches = table.to_batches(max(1, len(rows) // 2))
    found, again = (
        [row for batch in run(replace(plan.job, over_columns=over), batches) for row in batch.to_pylist()]
        for over in (True, False)
    )
    assert sorted(map(repr, found)) == sorted(map(repr, again))
    return found


FLAT = {"event": "string", "ts": "bigint", "x": "bigint"}


def test_rows_are_sorted_by_time() -> None:
    rows = [("b", 3, 1), ("a", 1, 1), ("b", 5, 2), ("a", 4, 2)]
    found = shard("d(X) <- a(X) seq b(X).", FLAT, rows)
    assert [(r["event"], r["X"], r["start"], r["end"]) for r in found] == [("d", 1, 1, 3), ("d", 2, 4, 5)]


def test_ties_follow_the_standard_order() -> None:
    """Of equal ends the earlier start first, then a/1 before b/1, then lesser values (definition 6.4)."""
    text = "d(X, Y) <- a(X) and b(Y)."
    rows = [("b", 1, 1, 7), ("b", 1, 1, 5), ("a", 1, 1, 2), ("a", 0, 1, 9), ("a", 1, 1, 1)]
    columns = {"event": "string", "start": "bigint", "end": "bigint", "x": "bigint"}
    results = []
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        results.append([(r["X"], r["Y"]) for r in shard(text, columns, rows, policy="chronological")])
    assert results == [[(9, 5), (1, 7)]] * 5


def test_an_order_column_breaks_ties() -> None:
    columns = {"event": "string", "ts": "bigint", "n": "string", "x": "bigint"}
    rows = [("a", 1, "2", 1), ("a", 1, "1", 2), ("b", 1, "3", 0)]
    found = shard("d(X) <- a(X) and b(_).", columns, rows, policy="chronological", order="n")
    assert [r["X"] for r in found] == [2]


@pytest.mark.parametrize(("unit", "end"), [("s", 7), ("ms", 7), ("us", 7), ("ns", 7_000)])
def test_units(unit: str, end: int) -> None:
    (found,) = shard("d <- a(X).", FLAT, [("a", end, 1)], unit=unit)
    assert found["end"] == end


def test_fractions_of_seconds() -> None:
    (found,) = shard("d <- a(X) seq a(X).", FLAT | {"ts": "double"}, [("a", 1.25, 1), ("a", 2.5, 1)])
    assert (found["start"], found["end"]) == (1.25, 2.5)


def test_forms() -> None:
    text = "d(X, f(X), Y) <- a(X) where Y is X / 2. e(X, k) <- a(X)."
    rows = [("a", 1, 3)]
    times, at = {"start": 1, "end": 1}, "@1000000..1000000"
    assert shard(text, FLAT, rows) == [
        {"event": "d", "X": 3, "a2": "f(3)", "Y": "1.5", "e_a2": None, **times, "rule": "1",
         "match_id": f"d(3, f(3), 1.5){at}"},
        {"event": "e", "X": 3, "a2": None, "Y": None, "e_a2": "k", **times, "rule": "2",
         "match_id": f"e(3, k){at}"},
    ]  # fmt: skip
    one = {"X": 3, "a2": "k", **times, "rule": "2", "match_id": f"e(3, k){at}"}
    assert shard(text, FLAT, rows, form=ResultForm(select="e")) == [one]
    enveloped = shard(text, FLAT, rows, form=ResultForm(envelope=True))
    assert [(r["event"], json.loads(r["args"])) for r in enveloped] == [
        ("d", [3, {"name": "f", "args": [3]}, 1.5]),
        ("e", [3, "k"]),
    ]


def test_null_is_an_atom_and_comes_back_as_null() -> None:
    columns = {"event": "string", "ts": "bigint", "x": "string"}
    found = shard("d(X) <- a(X) seq b(X).", columns, [("a", 1, None), ("b", 2, "null"), ("b", 3, "x")])
    assert [(r["X"], r["end"]) for r in found] == [(None, 2)]


def test_booleans_are_atoms() -> None:
    columns = {"event": "string", "ts": "bigint", "x": "boolean"}
    found = shard("d(X) <- a(X) where X = true.", columns, [("a", 1, True), ("a", 2, False)])
    assert [(r["X"], r["end"]) for r in found] == [(True, 1)]


def test_lists_are_terms() -> None:
    columns = {"event": "string", "ts": "bigint", "x": "array<bigint>"}
    (found,) = shard("d(H, T) <- a([H|T]).", columns, [("a", 1, [1, 2, 3])])
    assert (found["H"], found["T"]) == ("1", "[2,3]")


def test_attributes_of_time() -> None:
    text = ":- event(a(at: time)). d(T) <- a(T) where T > 0. e(S) <- a(T) where S is T * 2."
    columns = {"event": "string", "ts": "bigint", "at": "timestamp"}
    found = shard(text, columns, [("a", 1, 2_500_000)])
    assert found[0]["T"].timestamp() == 2.5
    assert found[1]["S"] == 5.0


def test_declared_types_convert() -> None:
    text = ":- event(a(x: float)). d(X) <- a(X)."
    assert shard(text, FLAT, [("a", 1, 3)])[0]["X"] == 3.0


def test_a_declared_head_is_converted() -> None:
    text = ":- event(d(x: float)). d(N) <- aggregate(count, a(_), N)."
    assert [r["x"] for r in shard(text, FLAT, [("a", 1, 3), ("a", 2, 3)])] == [1.0, 2.0]


def test_triggers_choose_what_is_reported() -> None:
    text = "print_trigger(e/1). d(X) <- a(X). e(X) <- d(X) where X > 1."
    found = shard(text, FLAT, [("a", 1, 1), ("a", 2, 2)])
    assert [(r["event"], r["X"]) for r in found] == [("e", 2)]


def test_deadlines_pass_at_the_end() -> None:
    found = shard("d(X) <- a(X) seq (not b(X) within 5).", FLAT, [("a", 1, 1), ("a", 2, 2), ("b", 3, 2)])
    assert [(r["X"], r["start"], r["end"]) for r in found] == [(1, 1, 6)]


def test_who_has_no_partner_is_known_at_the_end_at_the_latest() -> None:
    rows = [("b", 3, 1), ("a", 1, 1), ("a", 4, 2), ("b", 20, 2), ("a", 20, 2)]
    text = "d(X) <- (a(X) seq? b(X)) within 5. e(X, Y) <- (a(X) ?seq b(X)) equals? a(Y)."
    found = shard(text, FLAT, rows, policy="unrestricted")
    assert sorted((r["event"], r["X"], r["Y"], r["start"], r["end"]) for r in found if r["event"] == "d") == [
        ("d", 1, None, 1, 3), ("d", 2, None, 4, 9), ("d", 2, None, 20, 25),
    ]  # fmt: skip
    assert [(r["X"], r["Y"], r["start"], r["end"]) for r in found if r["event"] == "e"] == [
        (1, None, 1, 3), (2, None, 4, 20),
    ]  # fmt: skip


def test_an_empty_shard() -> None:
    assert shard("d(X) <- a(X).", FLAT, []) == []


def test_errors_of_conditions_are_listed_apart() -> None:
    columns = FLAT | {"x": "string"}
    rows = [("a", 1, "x"), ("a", 2, "y")]
    text = "d(Y) <- a(X) where Y is X + 1."
    assert shard(text, columns, rows) == []
    found = shard(text, columns, rows, run=run_errors)
    assert [r["code"] for r in found] == ["E501", "E501"]
    assert "(X = x)" in found[0]["message"]


REFUSED: dict[str, tuple[str, dict[str, str], list[Row], str]] = {
    "no name": ("d <- a(X).", FLAT, [(None, 1, 1)], "E606: 1 rows name no event"),
    "no time": ("d <- a(X).", FLAT, [("a", None, 1)], "E606: it has no time"),
    "no number": (
        "d <- a(X).",
        FLAT | {"ts": "double"},
        [("a", float("nan"), 1)],
        "E606: nan is not a time",
    ),
    "too late": (
        "d <- a(X).",
        FLAT,
        [("a", 1 << 60, 1)],
        "lies far from the years 1 to 9999: is it in nanoseconds?",
    ),
    "backwards": (
        "d <- a(X).",
        {"event": "string", "start": "bigint", "end": "bigint", "x": "bigint"},
        [("a", 2, 1, 0)],
        "E606: a: a row ends before it starts",
    ),
    "NaN": ("d <- a(X).", FLAT | {"x": "double"}, [("a", 1, float("nan"))], "E301: a at 1 s: NaN is not a value"),
    "a made event": (
        "d(X) <- a(X). e <- d(X).",
        FLAT,
        [("d", 1, 1)],
        "E606: rows name the event d, which is not declared",
    ),
    "half an integer": (
        ":- event(a(x: int)). d <- a(X).",
        FLAT | {"x": "double"},
        [("a", 1, 1.5)],
        "E305: a at 1 s: a: x should be of type int, not 1.5",
    ),
    "64 bits": (
        "d(Y) <- a(X) where Y is X * X.",
        FLAT,
        [("a", 1, 1 << 40)],
        "E607: rule 1 derived d(1208925819614629174706176): Y is an integer outside 64 bits",
    ),
    "64 bits in a term": ("d(f(Y)) <- a(X) where Y is X * X.", FLAT, [("a", 1, 1 << 40)], "E607"),
    "a head of another type": (
        ":- event(d(x: int)). d(Y) <- a(X) where p(X, Y). p(1, k).",
        FLAT,
        [("a", 1, 1)],
        "E607: rule 1 derived d(k): x is k, not int",
    ),
}


@pytest.mark.parametrize(("text", "columns", "rows", "expected"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, columns: dict[str, str], rows: list[Row], expected: str) -> None:
    with pytest.raises(EtalisError) as found:
        shard(text, columns, rows)
    assert expected in str(found.value)


def test_event_at_a_time_the_result_that_does_not_fit_is_named() -> None:
    text = "d(Y) <- a(X) where Y is X * X."
    plan = plan_detection(
        etalis.compile(text).compiled, [TableSchema(FLAT)], Options(), WIDE, policy=None, shards=1, usual=1
    )
    rows = pa.table({"_event": ["a"], "_start": [1], "s0": [1 << 40]}).to_batches()
    with pytest.raises(EtalisError, match=r"E607: rule 1 derived d\(1208925819614629174706176\): Y is an integer"):
        list(run_shard(replace(plan.job, over_columns=False), rows))


def test_an_envelope_holds_integers_of_any_size() -> None:
    (row,) = shard("d(Y) <- a(X) where Y is X * X.", FLAT, [("a", 1, 1 << 40)], form=ResultForm(envelope=True))
    assert json.loads(row["args"]) == [1 << 80]


class Context:
    """What is needed of a Spark context."""

    def __init__(self, master: str) -> None:
        self.master = master
        self.pythonExec = "python3"


class Session:
    def __init__(self, master: str) -> None:
        self._sc = Context(master)


@pytest.mark.parametrize(
    ("master", "chosen", "expected"),
    [("local[2]", None, sys.executable), ("local[2]", "other", "python3"), ("spark://host:7077", None, "python3")],
)
def test_a_local_spark_uses_this_python(
    monkeypatch: pytest.MonkeyPatch, master: str, chosen: str | None, expected: str
) -> None:
    """Unless the user chose one, or the workers are somewhere else."""
    monkeypatch.setenv("PYSPARK_PYTHON", chosen or "")
    if chosen is None:
        monkeypatch.delenv("PYSPARK_PYTHON")
    session = Session(master)
    etalis.compile("d <- a.").on(session)
    assert session._sc.pythonExec == expected


def test_raised_events_are_taken_in_a_shard() -> None:
    found = shard("d(X) <- a(X) do event(c(X)). e(X) <- c(X) seq a(_).", FLAT, [("a", 2, 2), ("a", 1, 1)])
    assert [(r["event"], r["X"], r["end"]) for r in found] == [("d", 1, 1), ("d", 2, 2), ("e", 1, 2)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("d(X) <- a(X) do ins_event_rule((e <- a(_))).", "goals insert rules"),
        ("print_trigger(c/1). d(X) <- a(X) do event(c(X)).", "c/1 is to be reported, which no rule derives"),
        ("print_trigger(all_events). d(X) <- a(X) do event(c(X)).", "all_events is to be reported"),
    ],
)
def test_results_that_cannot_be_planned_are_refused(text: str, reason: str) -> None:
    with pytest.raises(EtalisError, match=reason) as caught:
        shard(text, FLAT, [("a", 1, 1)])
    assert caught.value.code == "E610"


def test_a_shard_larger_than_the_memory_it_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one key, in no order, many at equal times: run from disk, they give the same and are never all held."""
    text = "d(X, N) <- aggregate(count, a(X), N) last 5. e(X) <- a(X) seq b(X)."
    count = 60_000
    monkeypatch.setattr(sorting, "_BLOCK", 500)
    chance = random.Random(3)
    plan = plan_detection(
        etalis.compile(text).compiled, [TableSchema(FLAT)], Options(event="event", time="ts"), WIDE,
        policy="chronological", shards=1, usual=1, memory=1,
    )  # fmt: skip

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(count // 1000):
            columns = {
                "_event": chance.choices("ab", k=1000),
                "_start": [chance.randrange(20_000) for _ in range(1000)],
                "s0": [1] * 1000,
            }
            yield pa.record_batch(columns)

    def results(memory: int) -> tuple[list[Any], int]:
        chance.seed(3)
        before, most, found = pa.total_allocated_bytes(), 0, []
        for batch in run_shard(replace(plan.job, memory=memory), batches()):
            most = max(most, pa.total_allocated_bytes() - before)
            found += [(r["event"], r["N"], r["start"], r["end"]) for r in batch.to_pylist()]
        return sorted(found, key=repr), most

    rows, held = results(100_000)
    wanted, whole = results(1 << 40)
    assert len(rows) > count / 3
    assert rows == wanted
    assert 2 * held < whole


def test_a_shard_does_not_judge_what_lies_far_ahead() -> None:
    """Rows of others, which it does not see, may lie between its own."""
    text = ":- set_flag(max_ahead, 60). :- event(a(x: int)). d(X) <- a(X)."
    assert [row["X"] for row in shard(text, FLAT, [("a", 1, 1), ("a", 900, 2)])] == [1, 2]
