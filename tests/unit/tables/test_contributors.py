"""What matches in tables are made of: ids of rows, over columns and event at a time, by every door of `detect`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError

pytest.importorskip("numba")

PAIRS = "m(X) <- (a(X) seq b(X)) within 1 min. n(X) <- m(X) or c(X)."
ROWS = pa.table(
    {
        "event": ["a", "a", "b", "c", "b"],
        "at": [1, 2, 3, 3, 9],
        "x": [1, 1, 1, 1, 2],
        "row": ["r0", "r1", "r2", None, "r4"],
    }
)


def told(found: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["event"], row["start"], row["end"], row["contributors"]) for row in found.to_pylist()]


EXPECTED = [
    ("m", 1, 3, ["r0", "r2"]), ("m", 2, 3, ["r1", "r2"]), ("n", 1, 3, ["r0", "r2"]), ("n", 2, 3, ["r1", "r2"]),
    ("n", 3, 3, ["c(1)@3000000..3000000"]),
]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("more", ["", "o(N) <- aggregate(count, z(N), N) last 2.", "m(X) <- z(X) star_times seq z(X)."])
def test_ids_come_from_a_column_else_from_the_event(batch: int, more: str) -> None:
    """Over columns, beside rules that run event at a time, and together with them."""
    program = etalis.compile(f"{PAIRS} {more}")
    options: dict[str, Any] = {"time": "at", "policy": "unrestricted", "batch": batch}
    found = program.detect(ROWS, contributors=True, id="row", **options)
    assert sorted(told(found)) == EXPECTED
    assert found.schema.field("contributors").type == pa.list_(pa.string())
    envelope = program.detect(ROWS, contributors=True, id="row", envelope=True, **options)
    assert sorted(told(envelope)) == EXPECTED
    assert found.drop(["contributors"]).equals(program.detect(ROWS.drop(["row"]), **options))


def test_explain_says_which_rules_tell_them_event_at_a_time() -> None:
    program = etalis.compile(
        "m(X) <- a(X) seq b(X). n(X) <- a(X) seq b(X) star_times seq c(X). o(N) <- aggregate(count, c(_), N) last 3. "
        "r(X) <- c(X). r(X) <- r(X) seq b(X). s <- a(X) cnot n(X)."
    )
    rows = ROWS.drop(["row"])
    assert "event at a time" not in program.explain(rows, time="at", policy="unrestricted")
    assert program.explain(rows, time="at", policy="unrestricted", contributors=True).splitlines() == [
        "over columns: rule 1",
        "event at a time: rules 2, 3, 4, 5, 6",
        "  rule 2: its contributors are told, and a repetition has any number of them",
        "  rule 3: its contributors are told, and an aggregate has any number of them",
        "  rule 4: its contributors are told, and it is recursive",
    ]
    wide = etalis.compile("w0 <- a(_). " + " ".join(f"w{i} <- w{i - 1} and w{i - 1}." for i in range(1, 8)))
    assert "its contributors are told, more than 64 of a match" in wide.explain(rows, time="at", contributors=True)
    assert "over columns: rules 1, 2, 3, 4, 5, 6, 7, 8" in wide.explain(rows, time="at")


def test_elements_of_repetitions_and_aggregates() -> None:
    program = etalis.compile("m <- a(_) seq b(_) star_times seq c(_). s(N) <- aggregate(count, b(_), N).")
    rows = pa.table({"event": ["a", "b", "b", "c"], "at": [1, 2, 3, 4], "x": [1, 2, 3, 4], "row": [10, 11, 12, 13]})
    found = program.detect(rows, time="at", policy="chronological", contributors=True, id="row")
    assert told(found)[-1] == ("m", 1, 4, ["10", "11", "12", "13"])
    assert told(found)[:2] == [("s", 2, 2, ["11"]), ("s", 2, 3, ["11", "12"])]


def test_something_after_a_repetition_makes_what_it_makes_without() -> None:
    program = etalis.compile("m <- a seq b star_times seq d.")
    rows = pa.table({"event": ["a", "b", "b", "d", "d"], "at": [1, 2, 3, 4, 5]})
    for policy in ("unrestricted", "chronological", "recent", "cumulative", "snoop_recent"):
        plain = program.detect(rows, time="at", policy=policy)
        assert program.detect(rows, time="at", policy=policy, contributors=True).drop(["contributors"]).equals(plain)


def test_several_tables_are_numbered_by_time() -> None:
    program = etalis.compile("m(X) <- (a(X) seq b(X)) within 1 min.")
    tables = {
        "a": pa.table({"at": [1, 5], "x": [1, 1], "row": ["a0", "a1"]}),
        "b": pa.table({"at": [2, 6], "x": [1, 1], "row": ["b0", "b1"]}),
    }
    found = program.detect(tables, contributors=True, id="row", policy="recent")
    assert [row["contributors"] for row in found.to_pylist()] == [["a0", "b0"], ["a1", "b1"]]


@pytest.mark.parametrize("more", ["", "k(N) <- aggregate(count, b(_), N) last 3."])
@pytest.mark.parametrize("batch", [1, 100])
def test_late_rows_keep_their_ids(more: str, batch: int) -> None:
    program = etalis.compile(
        f":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5). m(X) <- (a(X) seq b(X)) within 1 min. {more}"
    )
    rows = pa.table({"event": ["b", "z", "a", "a", "b"], "at": [2, 3, 1, 4, 9], "x": [1] * 5, "row": [*"vwxyz"]})
    found = program.detect(rows, time="at", contributors=True, id="row", policy="unrestricted", select="m", batch=batch)
    assert [row["contributors"] for row in found.to_pylist()] == [["v", "x"], ["x", "z"], ["y", "z"]]


def test_absences_alarms_and_points_have_the_rows_of_what_came() -> None:
    program = etalis.compile("w(X) <- a(X) seq (not b(X) within 2). exceptionAlarm(late(X), 3) <- w(X).")
    rows = pa.table({"event": ["a", "a", "b", "c"], "at": [1, 2, 3, 20], "x": [1, 2, 1, 9], "row": [*"pqrs"]})
    assert program.explain(rows, time="at", contributors=True).startswith("over columns")
    assert told(program.detect(rows, time="at", contributors=True, id="row")) == [
        ("w", 2, 4, ["q"]), ("late", 7, 7, ["q"])
    ]  # fmt: skip


def test_an_engine_that_goes_on_knows_the_rows_of_tables_before() -> None:
    program = etalis.compile("m(X) <- (a(X) seq b(X)) within 1 min.")
    engine = program.engine(policy="unrestricted", parts=True)
    engine.push("a", 1, at=0)
    tables = [ROWS.slice(0, 2), ROWS.slice(2, 3)]
    found = [engine.detect(table, time="at", contributors=True, id="row") for table in tables]
    assert [told(table) for table in found] == [[], [("m", 0, 3, ["1", "r2"]), *EXPECTED[:2]]]
    assert "an engine that goes on" in engine.explain(ROWS.drop(["row"]), time="at")
    with pytest.raises(InputError, match="parts=True"):
        program.engine().detect(ROWS, time="at", contributors=True)


def test_what_is_refused() -> None:
    program = etalis.compile("m(X) <- a(X) seq b(X).")
    with pytest.raises(InputError, match="contributors=True"):
        program.detect(ROWS, time="at", id="row")
    with pytest.raises(InputError, match="id='row' is for tables"):
        program.detect(ROWS.to_pylist(), time="at", contributors=True, id="row")
    with pytest.raises(InputError, match="rov"):
        program.detect(ROWS, time="at", contributors=True, id="rov")
