"""Programs in several stages on Spark: other keys, no key, absences, aggregates and policies, against one engine."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from helpers.spark_rows import SCHEMA, enveloped, expected, make_rows

pytestmark = pytest.mark.spark

SHARDS = (2, 7)
PROGRAMS = {
    "another key": """
        moved(Card, City) <- withdrawal(Card, X, _) seq withdrawal(Card, City, _) where X \\= City.
        busy(City, N) <- aggregate(count, moved(_, City), N) within 20.
    """,
    "made events with rows, then no key": """
        :- set_flag(event_consumption_policy, chronological).
        pair(Card, City, Sum) <- withdrawal(Card, City, A) and withdrawal(Card, _, B) where Sum is A + B.
        near(City, Card) <- pair(Card, City, _) seq confirmed(_, City, _).
        many(L) <- aggregate(list(C), near(C, _), L) last 3.
        last(City) <- near(City, _) fnot many(_).
    """,
    "absences and alarms": """
        quiet(Card, City) <- withdrawal(Card, City, _) seq (not withdrawal(Card, _, _) within 4).
        exceptionAlarm(late(City), 2) <- quiet(_, City).
        calm(City) <- late(City) seq (not quiet(_, City) within 4).
        both(City) <- calm(City) and late(City).
    """,
    "one rule after the other over the same rows": """
        d(X) <- withdrawal(X, _, A) seq withdrawal(X, _, A).
        e(Y) <- withdrawal(_, Y, A) seq withdrawal(_, Y, A) within 5.
        f(A) <- withdrawal(_, _, A) ntimes 3.
        g <- d(_) seq e(_) within 1.
    """,
    "terms and nulls between stages": """
        d(f(Card, [A]), City) <- withdrawal(Card, City, A).
        e(City, T, S) <- d(T, City) and d(T, City) where (T = f(_, [A]), (A = null -> S = none ; S is A * 2)).
        g(S) <- e(basel, _, S) seq e(bern, _, S).
    """,
    "facts, and only some reported": """
        print_trigger(g/2).
        d(Card, Land) <- withdrawal(Card, City, _) where in(City, Land).
        g(Land, N) <- aggregate(count, d(_, Land), N) within 10.
        in(basel, ch). in(bern, ch). in(geneva, ch). in(weil, de).
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_the_same_as_the_engine(spark: Any, text: str) -> None:
    program = etalis.compile(text)
    rows = make_rows(150)
    df = spark.createDataFrame(rows, SCHEMA).repartition(3)
    wanted = enveloped(expected(program, rows))
    assert wanted
    for shards in SHARDS:
        explained = program.on(spark).explain(df, time="ts", event="type", shards=shards)
        assert explained.startswith("stage 1 of "), explained
        found = program.on(spark).detect(df, time="ts", event="type", shards=shards, envelope=True).collect()
        assert sorted(map(tuple, found)) == wanted, shards


def test_explained(spark: Any) -> None:
    df = spark.createDataFrame([], SCHEMA)
    program = etalis.compile(PROGRAMS["made events with rows, then no key"])
    lines = program.on(spark).explain(df, time="ts", event="type").splitlines()
    assert lines[:-2] == [
        "stage 1 of 3: 3 shards, rule 1",
        "  withdrawal/3: partitioned by card",
        "  over columns: rule 1",
        "stage 2 of 3: 3 shards, rule 2",
        "  confirmed/3: partitioned by city",
        "  pair/3, derived by an earlier stage: partitioned by attribute 2",
        "  event at a time: rule 2",
        "    events derived by other stages come between its rows",
        "stage 3 of 3: 1 shard, rules 3, 4",
        "  near/2, derived by an earlier stage: all rows in one shard",
        "  rule 3: near/2 is not joined by L",
        "  event at a time: rules 3, 4",
        "    events derived by other stages come between its rows",
    ]
