"""All types of columns that can be attributes, as values and as keys; those that cannot are refused by name."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

import etalis
from etalis.errors import InputError

pytestmark = pytest.mark.spark

TYPES: dict[str, tuple[Any, Any]] = {  # type: a value, and the value in rules as JSON
    "tinyint": (1, 1), "smallint": (-2, -2), "int": (3, 3), "bigint": (1 << 62, 1 << 62),
    "float": (0.5, 0.5), "double": (2.0, 2.0), "decimal(9,2)": (Decimal("1.25"), 1.25),
    "string": ("it's", "it's"), "boolean": (True, "true"), "void": (None, "null"),
    "array<smallint>": ([1, None], [1, "null"]), "array<decimal(3,1)>": ([Decimal("1.5")], [1.5]),
    "map<string,int>": ({"k": 1}, [["k", 1]]),
    "struct<a:tinyint,`b c`:array<boolean>>": (
        (1, [False]),
        [{"name": "-", "args": ["a", 1]}, {"name": "-", "args": ["b c", ["false"]]}],
    ),
}  # fmt: skip
REFUSED = {
    "binary": "hex", "array<binary>": "array<binary> with binary in it", "interval day to second": "number of seconds",
    "struct<a:date>": "with date in it", "timestamp": "declare the attribute time",
    "date": "declare the attribute time",
}  # fmt: skip


def test_values(spark: Any) -> None:
    """Each type in a column of its own, through two stages and back."""
    names = [f"x{i}" for i in range(len(TYPES))]
    schema = ", ".join(["ts int", "k int", *(f"{n} {t}" for n, t in zip(names, TYPES, strict=True))])
    values = [value for value, _ in TYPES.values()]
    df = spark.createDataFrame([(1, 1, *values), (2, 2, *values), (3, 1, *([None] * len(values)))], schema)
    variables = ", ".join(n.upper() for n in names)
    program = etalis.compile(
        f"d(K, {variables}) <- a(K, {variables}). e(L) <- aggregate(list(f({variables})), d(_, {variables}), L)."
    )
    wanted = [value for _, value in TYPES.values()]
    for shards in (1, 3):
        found = program.on(spark).detect(df, time="ts", event="a", shards=shards, envelope=True).collect()
        rows = {(row.event, row.end): json.loads(row.args) for row in found}
        assert rows["d", 1] == [1, *wanted]
        assert rows["d", 3] == [1, *(["null"] * len(wanted))]
        assert rows["e", 2] == [[{"name": "f", "args": wanted}] * 2]


@pytest.mark.parametrize("column_type", [t for t in TYPES if t != "void" and "<" not in t])
def test_keys(spark: Any, column_type: str) -> None:
    value = TYPES[column_type][0]
    df = spark.createDataFrame([(1, value), (2, None), (3, value), (4, None)], f"ts int, x {column_type}")
    program = etalis.compile("d <- a(X) seq a(X).")
    found = program.on(spark).detect(df, time="ts", event="a", shards=4).collect()
    assert sorted((row.start, row.end) for row in found) == [(1, 3), (2, 4)]


def test_times_as_attributes(spark: Any) -> None:
    text = ":- event(a(x: time)). d(X) <- a(X)."
    moments = {"date": date(2026, 3, 1), "timestamp_ntz": datetime(2026, 3, 1), "bigint": 7, "double": 7.5}
    for column_type, moment in moments.items():
        df = spark.createDataFrame([(1, moment)], f"ts int, x {column_type}")
        (row,) = etalis.compile(text).on(spark).detect(df, time="ts", envelope=True).collect()
        seconds = 1772319600 if column_type in ("date", "timestamp_ntz") else moment  # midnight in Zurich
        assert json.loads(row.args) == [seconds], column_type


@pytest.mark.parametrize(("column_type", "words"), REFUSED.items())
def test_refusals(spark: Any, column_type: str, words: str) -> None:
    df = spark.createDataFrame([], f"ts int, x {column_type}")
    with pytest.raises(InputError) as caught:
        etalis.compile("d(X) <- a(X).").on(spark).detect(df, time="ts")
    assert f"E603: the column x of type {column_type}" in str(caught.value)
    assert words in str(caught.value)


def test_a_rerun_gives_the_same_rows(spark: Any) -> None:
    """Rows in other partitions and another order, many at equal times, consuming policies: the same matches and ids."""
    text = """
    :- set_flag(event_consumption_policy, chronological).
    d(K, X, Y) <- a(K, X) and b(K, Y).
    e(X, L) <- aggregate(list(Y), d(_, X, Y), L) last 3.
    """
    rows = [("ab"[i % 2], i % 4, i % 3, (i * 7) % 11) for i in range(200)]
    df = spark.createDataFrame(rows, "event string, ts int, k int, x int")
    found = set()
    for number, shards in enumerate((1, 2, 7)):
        again = df.orderBy((df.x * (3 + number)) % 5).repartition(2 + number)
        matches = etalis.compile(text).on(spark).detect(again, time="ts", shards=shards).collect()
        found.add(tuple(sorted(map(repr, matches))))
        assert len({row.match_id for row in matches}) == len(matches) > 100
    assert len(found) == 1


def test_contributors(spark: Any) -> None:
    """By a column of ids, else by what tells events apart; equal rows in the order of their ids, however they come."""
    text = ":- event(a(k: int, x: int)). d(K, X) <- a(K, X) seq b(K). e(N) <- aggregate(count, b(K), N)."
    rows = [("a", 1, 1, 7, "r1"), ("a", 1, 1, 7, "r0"), ("b", 3, 1, None, "r2"), ("b", 4, 1, None, None)]
    df = spark.createDataFrame(rows, "event string, ts int, k int, x int, row string")
    program = etalis.compile(text, event_consumption_policy="chronological")
    for parts, shards in ((1, 1), (3, 2), (4, 7)):
        again = df.orderBy(df.row.desc() if parts > 1 else df.row).repartition(parts)
        found = program.on(spark).detect(again, time="ts", contributors=True, id="row", shards=shards).collect()
        assert sorted((row.event, row.end, row.contributors) for row in found) == [
            ("d", 3, ["r0", "r2"]), ("d", 4, ["r1", "b(1)@4000000..4000000"]),
            ("e", 3, ["r2"]), ("e", 4, ["r2", "b(1)@4000000..4000000"]),
        ]  # fmt: skip
    bare = program.on(spark).detect(df.drop("row"), time="ts", contributors=True, select="d", envelope=False)
    assert {tuple(row.contributors) for row in bare.collect()} == {
        ("a(1, 7)@1000000..1000000", "b(1)@3000000..3000000"), ("a(1, 7)@1000000..1000000", "b(1)@4000000..4000000")
    }  # fmt: skip
    with pytest.raises(InputError, match="contributors=True"):
        program.on(spark).detect(df, time="ts", id="row")
