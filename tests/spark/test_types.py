"""All types of columns that can be attributes, as values and as keys; those that cannot are refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any

import pytest

import etalis
from etalis.errors import InputError

pytestmark = pytest.mark.spark

TYPES: dict[str, tuple[Any, Any]] = {  # type: a value, and the value in rules as JSON
    "tinyint": (1, 1), "smallint": (-2, -2), "int": (3, 3), "bigint": (1 << 62, 1 << 62),
    "float": (0.5, 0.5), "double": (2.0, 2.0), "decimal(9,0)": (Decimal(7), 7),
    "decimal(20,0)": (Decimal(1 << 60), 1 << 60),
    "string": ("it's", "it's"), "boolean": (True, "true"), "void": (None, "null"),
    "array<smallint>": ([1, None], [1, "null"]), "array<decimal(3,0)>": ([Decimal(15)], [15]),
    "map<string,int>": ({"k": 1}, [["k", 1]]),
    "struct<a:tinyint,`b c`:array<boolean>>": (
        (1, [False]),
        [{"name": "-", "args": ["a", 1]}, {"name": "-", "args": ["b c", ["false"]]}],
    ),
}  # fmt: skip
REFUSED = {
    "binary": "hex", "array<binary>": "array<binary> with binary in it", "interval day to second": "number of seconds",
    "decimal(9,2)": "declare what becomes of its digits", "array<decimal(3,1)>": "with decimal(3,1) in it",
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
        typed = program.on(spark).detect(df, time="ts", event="a", shards=shards, select="d")
        kept = dict(typed.dtypes)
        nested = {n.upper(): t for n, t in dict(df.dtypes).items() if "<" in t}
        assert nested == {n: t for n, t in kept.items() if n in nested}
        assert len(nested) == 4
        assert (kept["X6"], kept["X7"]) == ("bigint", "decimal(20,0)")
        cells = {row.end: [row[n] for n in nested] for row in typed.collect()}
        assert cells[1] == [df.first()[n.lower()] for n in nested]
        assert cells[3] == [None] * 4


@pytest.mark.parametrize("column_type", [t for t in TYPES if t != "void" and "<" not in t])
def test_keys(spark: Any, column_type: str) -> None:
    value = TYPES[column_type][0]
    df = spark.createDataFrame([(1, value), (2, None), (3, value), (4, None)], f"ts int, x {column_type}")
    program = etalis.compile("d <- a(X) seq a(X).")
    found = program.on(spark).detect(df, time="ts", event="a", shards=4).collect()
    assert sorted((row.start, row.end) for row in found) == [(1, 3), (2, 4)]


ZONES = ("Europe/Zurich", "America/New_York")
MOMENTS = (  # in the gap of spring and the overlap of autumn, in both zones; long ago, and late
    "2026-03-29 02:30:00.123456", "2026-03-08 02:30:00", "2026-10-25 02:30:00", "2026-11-01 01:30:00",
    "0001-01-01 00:00:00", "9999-12-31 23:59:59",
)  # fmt: skip


@pytest.fixture(params=ZONES)
def zoned(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The session, in a zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def test_a_time_without_zone_is_utc_in_every_zone(zoned: Any) -> None:
    """As time and as attribute, from each type of column that can tell a time, alone and beside one with a zone."""
    df = zoned.createDataFrame([(text,) for text in MOMENTS], "text string").selectExpr(
        "text", "cast(text as timestamp_ntz) naive", "to_timestamp(concat(text, 'Z')) zoned", "cast(text as date) day"
    )
    micros = {
        text: (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1) for text in MOMENTS
    }
    days = {text: micros[text] // 86_400_000_000 * 86_400_000_000 for text in MOMENTS}
    program = etalis.compile(
        ":- event(a(x: time, y: time)). :- event(b(x: time, y: time)). d(X) <- a(X, _). e(X) <- b(X, _)."
    )
    columns = {"text": "timestamp", "naive": "timestamp_ntz", "zoned": "timestamp", "day": "timestamp_ntz"}
    parts = []
    for name, kind in columns.items():
        given = df.selectExpr(f"{name} at", f"{name} x", "text y")
        found = program.on(zoned).detect(given, time="at", event="a", shards=1)
        assert dict(found.dtypes)["end"] == kind, name
        assert dict(found.dtypes)["X"] == "timestamp"
        both = {"a": given, "b": df.selectExpr("zoned at", "zoned x", "text y")}
        beside = program.on(zoned).detect(both, time="at", shards=1)
        assert dict(beside.dtypes)["end"] == "timestamp"
        parts += [_rows(found, name, kind), _rows(beside.where("event = 'd'"), name, "timestamp")]
    rows = sorted(map(tuple, reduce(lambda a, b: a.union(b), parts).collect()))
    expected = [(name, days[text] if name == "day" else micros[text]) for name in columns for text in MOMENTS] * 2
    assert rows == sorted((name, time, time) for name, time in expected)


def _rows(found: Any, name: str, kind: str) -> Any:
    """Return the ends and attributes of matches in microseconds, however they are shown."""
    end = "`end`" if kind == "timestamp" else "to_timestamp(concat(cast(`end` as string), 'Z'))"
    return found.selectExpr(f"'{name}' as name", f"unix_micros({end}) as end", "unix_micros(X) as x")


def test_decimals_become_what_is_declared(spark: Any) -> None:
    df = spark.createDataFrame([(1, Decimal("1.50")), (2, Decimal("2.00"))], "ts int, x decimal(9,2)")
    found = {}
    for declared in ("float", "string"):
        program = etalis.compile(f":- event(a(x: {declared})). d(X) <- a(X).")
        found[declared] = [row.X for row in program.on(spark).detect(df, time="ts").orderBy("end").collect()]
    assert found == {"float": [1.5, 2.0], "string": ["1.50", "2.00"]}
    whole = etalis.compile(":- event(a(x: int)). d(X) <- a(X).")
    assert [row.X for row in whole.on(spark).detect(df.where("ts = 2"), time="ts").collect()] == [2]


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


def test_results_can_be_fed_in_again(spark: Any) -> None:
    """From Spark to Spark, and from the process to Spark and back: the same values, of the same types."""
    text = ":- event(a(n: int, t: time, l: term, m: term)). d(N, T, L, M, P) <- a(N, T, L, M) where price(N, P)."
    again = ":- event(d(n: int, t: time, l: term, m: term, p: float)). e(N, T, L, M, P) <- d(N, T, L, M, P)."
    df = spark.sql("""
        select * from values
        (1, 7L, timestamp'2026-03-29 02:30:00Z', array(1, null), map('k', 1.5D)), (2, 8L, null, null, null)
        as t(ts, n, t, l, m)""")
    price = spark.createDataFrame([(7, 0.1), (8, None)], "n int, p double")
    found = etalis.compile(text).on(spark).detect(df, time="ts", knowledge={"price": price}, shards=1)
    assert [t for _, t in found.dtypes[1:6]] == ["bigint", "timestamp", "array<int>", "map<string,double>", "double"]
    table = found.toArrow()
    here = etalis.compile(again).detect(table, time=("start", "end"), event="event")
    there = etalis.compile(again).on(spark).detect(found, time=("start", "end"), event="event", shards=1)
    names = ["N", "T", "L", "M", "P"]
    assert there.dtypes[1:6] == found.dtypes[1:6]
    assert (
        here.select(names).to_pylist() == there.toArrow().select(names).to_pylist() == table.select(names).to_pylist()
    )
