"""`program.on(spark).detect(...)` against the engine: keyed and not, in 1, 2 and 7 shards, all forms and types."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

import etalis
from etalis.errors import InputError
from helpers.spark_rows import SCHEMA, enveloped, expected, make_rows

pytestmark = pytest.mark.spark

SHARDS = (1, 2, 7)
FRAUD = """
:- event(withdrawal(card: string, city: string, amount: float)).
two_cities rule: fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within 30
    where (CityA \\= CityB, \\+ near(CityA, CityB), Total is A + B).
block(Card) <- (withdrawal(Card, X, _) seq withdrawal(Card, Y, _)) cnot confirmed(Card, _, _) within 30 where X \\= Y.
quiet(Card) <- withdrawal(Card, _, _) seq (not withdrawal(Card, _, _) within 9.5).
many(Card, N) <- aggregate(count, withdrawal(Card, _, _), N) within 40.
worse(Card) <- fraud(Card, _) seq block(Card).
near(basel, weil).
near(weil, basel).
"""
PROGRAMS = {
    "keyed": FRAUD,
    "another policy": ":- set_flag(event_consumption_policy, unrestricted).\n" + FRAUD,
    "not keyed": "d(X, Y) <- withdrawal(X, basel, _) seq withdrawal(Y, bern, _). e <- confirmed(_, _, _) ntimes 3.",
    "heads without key": "d(City) <- withdrawal(Card, City, _) seq withdrawal(Card, City, _). e <- confirmed(_, _, _).",
    "groups": "d(X) <- withdrawal(X, Y, _) seq withdrawal(X, Y, _). e(N) <- aggregate(count, confirmed(_, _, _), N).",
    "time points": "d(X) <- 20 seq withdrawal(X, basel, _). e <- 30.",
    "isolation": "d(X) <- iso(withdrawal(X, _, _) seq withdrawal(X, _, _)).",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_same_as_the_engine(spark: Any, text: str) -> None:
    program = etalis.compile(text)
    rows = make_rows(300)
    df = spark.createDataFrame(rows, SCHEMA).repartition(3)
    wanted = enveloped(expected(program, rows))
    assert wanted
    for shards in SHARDS:
        found = program.on(spark).detect(df, time="ts", event="type", shards=shards, envelope=True).collect()
        assert sorted(map(tuple, found)) == wanted, shards


def test_facts_that_arrive_reach_their_readers(spark: Any) -> None:
    """Events that change facts come to the one shard, also where no rule reads them; more shards are refused."""
    program = etalis.compile(":- knowledge confirmed/3. d(X, Y) <- withdrawal(X, _, _) where confirmed(Y, basel, _).")
    rows = make_rows(100)
    df = spark.createDataFrame(rows, SCHEMA).repartition(3)
    wanted = enveloped(expected(program, rows))
    found = program.on(spark).detect(df, time="ts", event="type", envelope=True).collect()
    assert wanted
    assert sorted(map(tuple, found)) == wanted
    with pytest.raises(InputError, match="confirmed/3 changes facts"):
        program.on(spark).detect(df, time="ts", event="type", shards=2)


def test_no_rows_but_time_points(spark: Any) -> None:
    df = spark.createDataFrame([], SCHEMA)
    found = (
        etalis.compile(":- event(a(card: string)). e <- 30. d(X) <- 30 seq a(X).")
        .on(spark)
        .detect(df, time="ts", event="type")
        .collect()
    )
    assert [(row.event, row.start, row.end) for row in found] == [("e", 30, 30)]


def test_forms(spark: Any) -> None:
    """All kinds in typed columns, one kind alone, the types of both."""
    program = etalis.compile(FRAUD)
    df = spark.createDataFrame([("withdrawal", 1, "c", "bern", 2.0), ("withdrawal", 4, "c", "rome", 1.5)], SCHEMA)
    wide = program.on(spark).detect(df, time="ts")
    assert wide.dtypes == [
        ("event", "string"), ("Card", "string"), ("Total", "double"), ("N", "bigint"), ("start", "double"),
        ("end", "double"), ("rule", "string"), ("match_id", "string"),
    ]  # fmt: skip
    one = program.on(spark).detect(df, time="ts", select="fraud")
    assert one.columns == ["Card", "Total", "start", "end", "rule", "match_id"]
    assert [tuple(row) for row in one.collect()] == [
        ("c", 3.5, 1.0, 4.0, "two_cities", "fraud(c, 3.5)@1000000..4000000")
    ]
    rows = {tuple(row)[:-1] for row in wide.collect()}
    assert ("quiet", "c", None, None, 4.0, 13.5, "3") in rows
    assert ("many", "c", None, 2, 1.0, 4.0, "4") in rows


def test_one_frame_per_event_of_any_types(spark: Any) -> None:
    """Keys that are equal meet, whatever their columns are; time stamps with and without zone agree."""
    text = ":- event(pay(who: float, at: time)). :- event(ship(who: float, flag: bool)).\n"
    text += "d(X, T) <- pay(X, T) seq ship(X, Flag) where Flag = true."
    moment = datetime(2026, 3, 1, 11, tzinfo=UTC)
    local = datetime(2026, 3, 1, 11, 0, 30)  # half a minute later: without a zone it is UTC
    pays = spark.createDataFrame([(1, moment, moment), (2, moment, None)], "who int, ts timestamp, at timestamp")
    ships = [(Decimal("1.0"), True, local), (Decimal("2.0"), True, local), (Decimal("3.0"), True, local)]
    other = spark.createDataFrame(ships, "who decimal(9,1), flag boolean, ts timestamp_ntz")
    found = etalis.compile(text).on(spark).detect({"pay": pays, "ship": other}, time="ts", shards=7)
    assert found.dtypes[1:4] == [("X", "double"), ("T", "timestamp"), ("start", "timestamp")]
    rows = found.selectExpr(
        "X", "unix_seconds(T) t", "unix_seconds(start) s", "unix_seconds(`end`) - unix_seconds(start) e"
    )
    seconds = int(moment.timestamp())
    assert sorted(map(tuple, rows.collect())) == [(1.0, seconds, seconds, 30), (2.0, None, seconds, 30)]


def test_times_without_zone_come_back_without(spark: Any) -> None:
    local = datetime(2026, 7, 1, 12, 30)
    df = spark.createDataFrame([(local, 1)], "ts timestamp_ntz, x int")
    (row,) = etalis.compile("d(X) <- a(X).").on(spark).detect(df, time="ts").collect()
    assert (row.start, row.end, row.X) == (local, local, 1)


def test_intervals_and_order(spark: Any) -> None:
    schema = "event string, t1 double, t2 double, n int, x int"
    rows = [("a", 0.5, 2.0, 3, 1), ("a", 1.0, 2.0, 1, 2), ("a", 1.0, 2.0, 0, 3), ("b", 1.0, 2.0, 2, 0)]
    program = etalis.compile("d(X) <- a(X) and b(_).")
    df = spark.createDataFrame(rows, schema)
    found = program.on(spark).detect(df, time=("t1", "t2"), order="n", policy="recent").collect()
    assert [(row.X, row.start, row.end) for row in found] == [(2, 1.0, 2.0)]


def test_modules_travel_as_one_text(spark: Any) -> None:
    """Names of other files, and operators of the program's own, are there on the other side."""
    files = {
        "cards.etalis": """
            :- export fraud/1.
            :- op(700, xfx, exceeds).
            fraud(X) <- swipe(X, M) seq swipe(X, N) where N exceeds M.
            exceeds(A, B) :- A > B.
        """
    }
    text = ":- import fraud/1 from cards. :- import swipe/2 from cards. alert(X) <- fraud(X)."
    files["cards.etalis"] = files["cards.etalis"].replace(":- export fraud/1.", ":- export fraud/1, swipe/2.")
    df = spark.createDataFrame([(1, "c", 5), (2, "c", 7), (3, "c", 6)], "ts int, card string, n int")
    found = etalis.compile(text, read=files.get).on(spark).detect({"swipe": df}, time="ts", select="alert")
    assert [tuple(row)[:-1] for row in found.collect()] == [("c", 1, 2, "2")]


def test_names_that_need_quotes(spark: Any) -> None:
    df = spark.createDataFrame([("a", 1, 1.0, 5)], "`my type` string, `at.ts` int, `x y` double, `z``w` int")
    program = etalis.compile("d(X, Y) <- a(X, Y).")
    (row,) = program.on(spark).detect(df, time="at.ts", event="my type", shards=2).collect()
    assert tuple(row) == ("d", 1.0, 5, 1, 1, "1", "d(1.0, 5)@1000000..1000000")


def test_keys_that_cannot_be_converted_are_refused_by_the_engine(spark: Any) -> None:
    df = spark.createDataFrame([(1, float("nan"))], "ts int, x double")
    program = etalis.compile(":- event(a(x: int)). d <- a(X) seq a(X).")
    with pytest.raises(Exception, match=r"E301: a at 1 s: NaN is not a value"):
        program.on(spark).detect(df, time="ts").collect()


def test_errors_of_conditions(spark: Any) -> None:
    df = spark.createDataFrame([("a", 1, "x"), ("a", 2, "y"), ("a", 3, None)], "event string, ts int, v string")
    program = etalis.compile("d(Y) <- a(X) where Y is X + 1.")
    assert program.on(spark).detect(df, time="ts").count() == 0
    found = program.on(spark).errors(df, time="ts").collect()
    assert len(found) == 3
    assert all(row.code == "E501" and "Y is X + 1 of rule 1" in row.message for row in found)


def test_refusals_name_what_is_wrong(spark: Any) -> None:
    program = etalis.compile(FRAUD)
    df = spark.createDataFrame([], SCHEMA)
    with pytest.raises(InputError, match=r"E602.*no column for amount of withdrawal"):
        program.on(spark).detect(df.drop("amount"), time="ts", event="type")
    with pytest.raises(InputError, match=r"E601.*list is no DataFrame"):
        program.on(spark).detect([("withdrawal", 1)], time="ts")
    with pytest.raises(InputError, match=r"E605.*are for streaming DataFrames"):
        program.on(spark).detect(df, time="ts", event="type", lateness=5)
    with pytest.raises(InputError, match=r"E605.*two forms"):
        program.on(spark).detect(df, time="ts", select="fraud", envelope=True)
    with pytest.raises(etalis.ProgramError, match="E211"):
        program.on(spark).detect(df, time="ts", event="type", policy="recentt")


def test_a_failing_row_is_named(spark: Any) -> None:
    df = spark.createDataFrame([("a", 1, 1 << 40)], "event string, ts int, x bigint")
    program = etalis.compile("d(Y) <- a(X) where Y is X * X.")
    with pytest.raises(Exception, match=r"E607.*outside 64 bits"):
        program.on(spark).detect(df, time="ts").collect()


def test_explain(spark: Any) -> None:
    text = etalis.compile(FRAUD).on(spark).explain(spark.createDataFrame([], SCHEMA), time="ts", event="type")
    assert text.startswith("3 shards\n  withdrawal/3: partitioned by card\n")
    assert "the standard order of the events" in text
