"""One table per event, merged by time; ties by a column; knowledge for one call: the arguments that Spark has."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import etalis
from etalis.errors import InputError
from etalis.spark import SparkProgram

TEXT = """
:- event(login(who: string)).
:- event(payment(who: string, amount: int)).
d(W, A) <- login(W) seq payment(W, A).
t(N) <- aggregate(count, payment(_, _), N).
"""
SPARK_ONLY = {
    "effects", "shards", "memory", "state", "lateness", "reporting", "idle", "clock", "late", "refreshed",
    "checkpoint", "allow_dropped", "close", "rejected", "max_rejected",
}  # fmt: skip
ROWS = pa.table({"at": [1], "x": [1]})
TABLES_ONLY = {"encoding", "on_report", "batch", "threads", "progress", "on_error", "on_dead_letter"}


def stream(count: int, seed: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Logins and payments at different times, apart and together."""
    chance = random.Random(seed)
    times = chance.sample(range(count * 5), 2 * count)
    logins = sorted((times[i], chance.choice("abc")) for i in range(count))
    payments = sorted((times[count + i], chance.choice("abc"), i) for i in range(count))
    both = sorted([("login", t, w, None) for t, w in logins] + [("payment", t, w, a) for t, w, a in payments],
                  key=lambda row: row[1])  # fmt: skip
    return (
        pa.table({"at": [t for t, _ in logins], "who": [w for _, w in logins]}),
        pa.table(
            {"amount": [a for *_, a in payments], "who": [w for _, w, _ in payments], "at": [t for t, *_ in payments]}
        ),
        pa.table({name: [row[i] for row in both] for i, name in enumerate(("event", "at", "who", "amount"))}),
    )


@pytest.mark.parametrize("batch", [1, 7, 1 << 17])
@pytest.mark.parametrize("beside", ["", "p <- login(W) where print(W)."], ids=["columns", "event at a time"])
def test_tables_are_merged_by_time(batch: int, beside: str, tmp_path: Path) -> None:
    logins, payments, both = stream(150, seed=batch)
    program = etalis.compile(TEXT + beside)
    wanted = program.detect(both)
    assert program.detect({"login": logins, "payment": payments}, batch=batch).to_pylist() == wanted.to_pylist()
    parquet.write_table(payments, tmp_path / "payments.parquet")
    several = {"payment": tmp_path / "payments.parquet", "login": logins.to_pandas()}
    assert program.detect(several, batch=batch, match_id=True).drop("match_id").to_pylist() == wanted.to_pylist()
    text = {"payment": payments.to_pylist(), "login": logins}
    assert program.detect(text, batch=batch).to_pylist() == wanted.to_pylist()
    engine = program.engine()
    found = [engine.detect({"login": part, "payment": payments if not i else payments.slice(0, 0)}, batch=batch)
             for i, part in enumerate((logins, logins.slice(0, 0)))]  # fmt: skip
    assert pa.concat_tables(found).to_pylist() == wanted.to_pylist()


def test_what_is_in_memory_need_not_be_in_order() -> None:
    logins, payments, both = stream(40, seed=1)
    tables = {"login": logins.take(list(reversed(range(40)))), "payment": payments}
    program = etalis.compile(TEXT)
    assert program.detect(tables, batch=8).to_pylist() == program.detect(both).to_pylist()
    reader = tables["login"].to_reader(max_chunksize=8)
    with pytest.raises(InputError, match="E404"):
        program.detect({**tables, "login": reader}, batch=8)


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_a_column_orders_rows_of_equal_time(batch: int) -> None:
    program = etalis.compile(":- event(a(x: int)). l(L) <- aggregate(list(X), a(X), L).")
    table = pa.table({"at": [1, 1, 1, 2, 2, 2], "n": [3, 1, 2, 9, None, 8], "x": [30, 10, 20, 90, 100, 80]})
    found = program.detect(table, order="n", batch=batch)["L"].to_pylist()
    assert found[-1] == "[10,20,30,80,90,100]"
    apart = {"a": table.slice(0, 2), "a/1": table.slice(2)}
    assert program.detect(apart, order="n", batch=batch)["L"].to_pylist() == found


def test_two_tables_of_one_event_of_two_types() -> None:
    found = etalis.compile("d(X) <- a(X) seq a(X).").detect(
        {"a": pa.table({"at": [1, 3], "x": [1, 2]}), "a/1": pa.table({"at": [2, 4], "x": ["k", "k"]})}, time="at"
    )
    assert found["X"].to_pylist() == ["k"]


def test_knowledge_for_one_call() -> None:
    program = etalis.compile(":- event(a(x: int)). d(Y) <- a(X) where near(X, Y).")
    program.load_facts("near", [(1, 10)])
    table = pa.table({"at": [1, 2], "x": [1, 2]})
    assert program.detect(table, knowledge={"near": pa.table({"x": [2], "y": [20]})})["Y"].to_pylist() == [10, 20]
    assert program.detect(table)["Y"].to_pylist() == [10]


def test_rows_too_far_ahead_of_all_tables() -> None:
    letters: list[Any] = []
    tables = {"a": pa.table({"at": [1, 50], "x": [1, 2]}), "b": pa.table({"at": [30, 9_000], "x": [1, 2]})}
    program = etalis.compile(":- event(a(x: int)). :- event(b(x: int)). d(X) <- a(X). e(X) <- b(X).")
    found = program.detect(tables, ahead=40, on_dead_letter=letters.append)
    assert found["end"].to_pylist() == [1, 30, 50]
    assert [(letter.name, letter.args) for letter in letters] == [("b", (2,))]
    assert letters[0].reason.startswith("it ends at 9000, more than 40 s after the latest time, 50")


@pytest.mark.parametrize("beside", ["", "p(X) <- a(X) where print(X)."], ids=["columns", "event at a time"])
@pytest.mark.parametrize(("ahead", "taken"), [(None, 1), (1000, 2), (-1, 2)])
def test_the_argument_goes_before_the_flag(ahead: int | None, taken: int, beside: str) -> None:
    program = etalis.compile(":- set_flag(max_ahead, 60). :- event(a(x: int)). d(X) <- a(X). " + beside)
    table = pa.table({"at": [1, 900], "x": [1, 2]})
    assert program.detect(table, ahead=ahead, select="d").num_rows == taken


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ({}, {}, "E605: no table is given"),
        ({"a": ROWS}, {"event": "a"}, "E605: event='a' names the event of several tables"),
        ({"zzz": ROWS}, {}, "E604: no rule of the program reads the event zzz"),
        ({"a": [{"at": 1, "x": 1}]}, {"order": "x"}, "E605: order='x' orders tables that have columns"),
        (ROWS, {"order": "zzz"}, "E602: the DataFrame has no column zzz"),
    ],
)  # fmt: skip
def test_refusals(tables: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        etalis.compile("d(X) <- a(X).").detect(tables, **options)


def test_the_process_and_spark_take_the_same_arguments() -> None:
    here = set(inspect.signature(etalis.Program.detect).parameters) - {"self", "source"}
    spark = set(inspect.signature(SparkProgram.detect).parameters) - {"self", "df"}
    assert here - TABLES_ONLY == spark - SPARK_ONLY
    assert {"time", "event", "order", "unit", "policy", "select", "envelope", "knowledge", "match_id"} <= here & spark
