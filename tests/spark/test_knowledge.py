"""What the host told a program reaches Spark's workers: facts, RDF, functions, and tables of Spark."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

import etalis
from helpers.spark_rows import SCHEMA, enveloped, expected, make_rows

pytestmark = pytest.mark.spark

STAGED = """
:- event(withdrawal(card: string, city: string, amount: float)).
far(Card, X, City) <- withdrawal(Card, X, _) seq withdrawal(Card, City, _) within 9 where \\+ near(X, City).
land(Land, N) <- aggregate(count, far(_, _, City), N) within 20 where (N > 1, land_of(City, Land), even(N)).
"""
NEAR = [("basel", "weil"), ("weil", "basel"), ("bern", "basel"), ("basel", "basel"), ("bern", "bern")]
LANDS = {"basel": "ch", "bern": "ch", "geneva": "ch", "weil": "de"}


def test_facts_and_functions(spark: Any) -> None:
    """In one shard and in stages of several; a function may be any that Spark can send."""
    program = etalis.compile(STAGED, register={"even": lambda n: n % 2 == 0})
    program.register("land_of", LANDS.get)
    program.load_facts("near", NEAR)
    rows = make_rows(200)
    df = spark.createDataFrame(rows, SCHEMA)
    wanted = enveloped(expected(program, rows))
    assert wanted
    for shards in (1, 3):
        found = program.on(spark).detect(df, time="ts", event="type", shards=shards, envelope=True).collect()
        assert sorted(map(tuple, found)) == wanted, shards


def test_tables_of_spark(spark: Any) -> None:
    """Beside what the program knows already, which stays as it is."""
    program = etalis.compile("d(X, N) <- a(X) where near(X, N). e(X, D) <- a(X) where since(X, D).")
    program.load_facts("near", [("basel", 1), ("bern", 2)])
    near = spark.createDataFrame([("basel", 3), ("weil", None)], "city string, n int")
    since = spark.createDataFrame([("bern", date(2026, 3, 1))], "city string, day date")
    df = spark.createDataFrame([(1, "basel"), (2, "bern"), (3, "weil")], "ts int, city string")
    here = etalis.compile("d(X, N) <- a(X) where near(X, N). e(X, D) <- a(X) where since(X, D).")
    here.load_facts("near", [("basel", 1), ("bern", 2), ("basel", 3), ("weil", None)])
    here.load_facts("since", [("bern", date(2026, 3, 1))])
    engine = here.engine()
    wanted = enveloped([*engine.run([("a", "basel", 1), ("a", "bern", 2), ("a", "weil", 3)]), *engine.close()])
    knowledge = {"near": near, "since": since}
    found = program.on(spark).detect({"a": df}, time="ts", knowledge=knowledge, envelope=True).collect()
    assert sorted(map(tuple, found)) == wanted
    assert len(program.on(spark).detect({"a": df}, time="ts", select="d").collect()) == 2
    assert program.on(spark).errors({"a": df}, time="ts", knowledge=knowledge).count() == 0


def test_rdf(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: etalis[rdf]")
    graph = tmp_path / "places.ttl"
    graph.write_text("@prefix : <http://example.org/> . :basel :in :ch . :weil :in :de .")
    program = etalis.compile("d(X, L) <- a(X) where rdf(X, in, L).")
    program.load_rdf(graph, prefixes={"": "http://example.org/"})
    df = spark.createDataFrame([(1, "basel"), (2, "weil")], "ts int, city string")
    found = program.on(spark).detect(df, time="ts", event="a", select="d").collect()
    engine = program.engine()
    wanted = [e.args for e in [*engine.run([("a", "basel", 1), ("a", "weil", 2)]), *engine.close()]]
    assert len(wanted) == 2
    assert sorted((row.X, row.L) for row in found) == sorted(wanted)
