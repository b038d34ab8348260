"""A query over a DataFrame of triples, sharded by what its patterns share, against the process."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import etalis
from etalis.data.values import format_value
from etalis.epsparql.reads import SUBCLASS, TYPE

pytestmark = pytest.mark.spark

SPACE = "http://example.org/"
FALLS = """PREFIX : <http://example.org/>
SELECT ?company ?price3 WHERE
  { ?company :hasStockPrice ?price1 }
  SEQ { ?company :hasStockPrice ?price2 }
  SEQ { ?company :hasStockPrice ?price3 }
FILTER ( ?price2 < ?price1 * 0.7 && ?price3 > ?price1 * 1.05 && getDURATION() < "PT30S"^^xsd:duration )
"""
RATED = FALLS.replace("?price1 }", "?price1 . ?company a :Company }")
MEANS = """PREFIX : <http://example.org/>
SELECT ?company (AVG(?price) AS ?mean) (COUNT(*) AS ?n)
FROM STREAM :ticks [RANGE PT50S STEP PT20S] { ?company :hasStockPrice ?price } GROUP BY ?company
"""
COLUMNS = "s string, p string, o double, at double"


def make_triples(count: int) -> list[tuple[str, str, float, float]]:
    rng = Random(7)
    return [
        (f"<{SPACE}c{rng.randrange(8)}>", f"<{SPACE}hasStockPrice>", round(rng.uniform(1, 100), 1), float(i))
        for i in range(count)
    ]


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_a_query_over_triples_is_sharded_by_its_company(spark: Any, shards: int) -> None:
    program = etalis.compile_sparql(FALLS)
    triples = make_triples(300)
    engine = program.engine()
    pushed = [m for s, p, o, at in triples for m in engine.push_triple(s, p, o, at=at)]
    wanted = sorted((m.args[0], str(m.args[1]), m.start, m.end) for m in pushed)
    assert wanted
    frame = spark.createDataFrame(triples, COLUMNS).repartition(3)
    assert "rdf/3: partitioned by s" in program.on(spark).explain(frame, time="at", event="rdf")
    found = program.on(spark).detect(frame, time="at", event="rdf", shards=shards).collect()
    assert sorted((row["company"], str(row["price3"]), row["start"], row["end"]) for row in found) == wanted


def test_background_goes_to_the_shards(spark: Any) -> None:
    listed = [(f"<{SPACE}c{i}>", TYPE, f"<{SPACE}Listed>") for i in range(4)]
    background = [*listed, (f"<{SPACE}Listed>", SUBCLASS, f"<{SPACE}Company>")]
    program = etalis.compile_sparql(RATED, background=background)
    triples = make_triples(300)
    engine = program.engine()
    wanted = sorted(m.args[0] for s, p, o, at in triples for m in engine.push_triple(s, p, o, at=at))
    assert wanted
    frame = spark.createDataFrame(triples, COLUMNS)
    found = program.on(spark).detect(frame, time="at", event="rdf", shards=2).collect()
    assert sorted(row["company"] for row in found) == wanted


def test_a_streamed_triple_of_the_background_is_rejected(spark: Any, tmp_path: Any) -> None:
    background = [(f"<{SPACE}c1>", f"<{SPACE}rated>", f"<{SPACE}high>")]
    program = etalis.compile_sparql("SELECT ?p ?o { ?s ?p ?o }", background=background)
    triples = [*make_triples(20), (f"<{SPACE}c1>", f"<{SPACE}rated>", 7.0, 20.0)]
    frame = spark.createDataFrame(triples, COLUMNS)
    letters = str(tmp_path / "letters")
    assert len(program.on(spark).detect(frame, time="at", event="rdf", rejected=letters).collect()) == 20
    (letter,) = spark.read.parquet(letters).collect()
    assert "is background" in letter["reason"]


def test_a_window_over_triples_is_one_graph(spark: Any) -> None:
    program = etalis.compile_sparql(MEANS)
    stream = f"<{SPACE}ticks>"
    triples = [(s, p, o, "null", stream, at) for s, p, o, at in make_triples(200)]
    engine = program.engine()
    pushed = [m for s, p, o, _, _, at in triples for m in engine.push_triple(s, p, o, at=at, stream=stream[1:-1])]
    found = [*pushed, *engine.close()]
    wanted = sorted((*map(format_value, m.args), m.end) for m in found)  # columns of unknown types are terms
    assert len(wanted) > 80
    frame = spark.createDataFrame(triples, "s string, p string, o double, g string, n string, at double")
    rows = program.on(spark).detect(frame, time="at", event="rdf").collect()
    assert sorted((row["company"], row["mean"], row["n"], row["end"]) for row in rows) == wanted


def test_the_dialect_of_the_original_goes_to_the_shards(spark: Any) -> None:
    query = (
        "SELECT ?c ?b WHERE { ?c price ?x } SEQ { ?c price ?y } WITHIN 9 FILTER ( ?y > ?x && rdf_store(?c, boss, ?b) )"
    )
    program = etalis.compile_sparql(query, dialect="etalis", background=[("c1", "boss", "ann"), ("c2", "boss", "eve")])
    rng = Random(3)
    triples = [(f"c{rng.randrange(4)}", "price", float(rng.randrange(9)), float(i)) for i in range(60)]
    rows = [("rdf", *triple) for triple in triples]
    wanted = sorted((m.name, m.start, m.end, str(m.args)) for m in program.engine().run(rows))
    assert wanted
    frame = spark.createDataFrame(triples, COLUMNS).repartition(2)
    found = program.on(spark).detect(frame, time="at", event="rdf", shards=2).collect()
    named = [(row["event"], row["start"], row["end"], str((row["c"], row["b"]))) for row in found if row["c"]]
    assert sorted(named) == [row for row in wanted if row[0] == "select_1"]
    listed = sorted((row["start"], row["end"], row["a1"]) for row in found if not row["c"])
    assert listed == sorted((row["start"], row["end"], f"[{row['c']},{row['b']}]") for row in found if row["c"])
