"""Queries of the kinds that benchmarks of RDF stream engines ask, over weather stations and a city.

At every step pyoxigraph answers the same body over the graphs of the windows, each with the background and what it
entails. What is asked in time has its meaning (`epsparql.meaning`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import pyoxigraph as ox
import pytest

import etalis
from etalis.data.values import Value
from etalis.epsparql.meaning import StreamedTriple, meaning
from etalis.epsparql.read import read_unit
from etalis.epsparql.stream_entailment import close
from etalis.logic.rdf.exact_terms import decode, encode
from helpers.pyoxigraph_answers import Row, answers_in, worth
from helpers.sensor_streams import MINUTE, PREFIXES, SPACE, SensorReading, SensorWorld, city, weather

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")

PREFIX = f"PREFIX : <{SPACE}> "
MICROSECONDS = 1_000_000
Triple = tuple[Value, Value, Value]
Rows = set[tuple[Any, ...]]

WEATHER_QUERIES = {
    "rain of the last hour": """SELECT ?station ?v ?u FROM STREAM :weather [RANGE 1h STEP 10m] {
        ?o a :Rain ; :by ?station ; :result [ :value ?v ; :unit ?u ] }""",
    "precipitation of any kind, its unit if it is told": """SELECT ?station ?v ?u
        FROM STREAM :weather [RANGE 30m STEP 10m] {
        ?o a :Precipitation ; :by ?station ; :result ?r . ?r :value ?v OPTIONAL { ?r :unit ?u } }""",
    "is there a hurricane": """ASK FROM STREAM :weather [RANGE 1h STEP 10m] {
        { SELECT ?station (AVG(?v) AS ?mean) { ?o a :Wind ; :by ?station ; :result/:value ?v } GROUP BY ?station }
        FILTER(?mean > 90) }""",
    "wind where it is hot": """SELECT ?station (AVG(?w) AS ?wind) (MAX(?t) AS ?heat)
        FROM STREAM :weather [RANGE 1h STEP 10m] {
        ?o a :Wind ; :by ?station ; :result/:value ?w . ?p a :Heat ; :by ?station ; :result/:value ?t FILTER(?t > 25) }
        GROUP BY ?station""",
    "hard to see: rain or snow, or wind": """SELECT ?station FROM STREAM :weather [RANGE 20m STEP 10m] {
        { ?o a :Rain ; :by ?station ; :result/:value ?v FILTER(?v > 30) } UNION
        { ?o a :Snow ; :by ?station ; :result/:value ?v FILTER(?v > 20) } UNION
        { ?o a :Wind ; :by ?station ; :result/:value ?v FILTER(?v > 120) } }""",
    "stations that fell silent": """SELECT ?station
        FROM NAMED WINDOW :long ON :weather [RANGE 40m STEP 10m]
        FROM NAMED WINDOW :short ON :weather [RANGE 10m STEP 10m]
        { WINDOW :long { ?o :by ?station } MINUS { WINDOW :short { ?p :by ?station } } }""",
    "least and greatest heat near a large town": """SELECT ?name (MIN(?v) AS ?least) (MAX(?v) AS ?most)
        FROM STREAM :weather [RANGE 1h STEP 20m] {
        ?o a :Heat ; :by ?station ; :result/:value ?v . ?station :near ?town . ?town :people ?n ; :name ?name
        FILTER(?n > 40000) } GROUP BY ?name""",
    "how strong the wind is": """SELECT ?station ?force FROM STREAM :weather [RANGE 10m STEP 10m] {
        { SELECT ?station (AVG(?v) AS ?mean) { ?o a :Wind ; :by ?station ; :result/:value ?v } GROUP BY ?station }
        BIND(IF(?mean < 20, "breeze", IF(?mean < 75, "wind", "storm")) AS ?force) }""",
    "towns that saw snow and no rain": """SELECT DISTINCT ?town FROM STREAM :weather [RANGE 30m STEP 10m] {
        ?o a :Snow ; :by/:near ?town FILTER NOT EXISTS { ?p a :Rain ; :by/:near ?town } }""",
    "stations above others with more rain": """SELECT ?low ?high FROM STREAM :weather [RANGE 1h STEP 20m] {
        ?o a :Rain ; :by ?low ; :result/:value ?v . ?p a :Rain ; :by ?high ; :result/:value ?w .
        ?low :height ?a . ?high :height ?b FILTER(?a < ?b && ?v < ?w) }""",
}
CITY_QUERIES = {
    "how full the roads of a route are": """SELECT ?road ?speed ?cars FROM STREAM :traffic [RANGE 3m STEP 1m] {
        :route :takes ?road . ?loop :watches ?road . ?o :by ?loop ; :speed ?speed ; :cars ?cars }""",
    "how long the route takes": """SELECT (SUM(?seconds) AS ?all) (COUNT(*) AS ?n)
        FROM STREAM :traffic [RANGE 5m STEP 1m] {
        { SELECT ?road (AVG(?speed) AS ?mean) { ?loop :watches ?road . ?o :by ?loop ; :speed ?speed } GROUP BY ?road }
        :route :takes ?road . ?road :length ?length BIND(?length * 3.6e0 / ?mean AS ?seconds) }""",
    "jams where somebody walks": """SELECT ?who ?road
        FROM NAMED WINDOW :now ON :people [RANGE 5m STEP 1m]
        FROM NAMED WINDOW :cars ON :traffic [RANGE 3m STEP 1m]
        { WINDOW :now { ?who :walksIn ?d } WINDOW :cars { ?o :by ?loop ; :speed ?v FILTER(?v < 30) }
          ?loop :watches ?road . ?road :in ?d }""",
    "free places near somebody, the cheapest price": """SELECT ?who (MIN(?cost) AS ?least)
        FROM NAMED WINDOW :now ON :people [RANGE 5m STEP 2m]
        FROM NAMED WINDOW :places ON :parking [RANGE 10m STEP 2m]
        { WINDOW :now { ?who :walksIn ?d } WINDOW :places { ?p :of ?park ; :free ?n FILTER(?n > 0) }
          ?park :in ?d ; :costs ?cost } GROUP BY ?who""",
    "roads where something is on": """SELECT ?title ?road ?speed FROM STREAM :traffic [RANGE 2m STEP 2m] {
        ?place :holds/:title ?title ; :in ?d . ?road :in ?d . ?loop :watches ?road . ?o :by ?loop ; :speed ?speed }""",
    "the districts of bad air": """SELECT ?d (AVG(?v) AS ?mean) (COUNT(*) AS ?n) FROM STREAM :air [RANGE 10m STEP 5m] {
        ?a :around ?d ; :particles ?v } GROUP BY ?d HAVING (AVG(?v) > 25)""",
    "roads behind a jam": """SELECT DISTINCT ?road ?other FROM STREAM :traffic [RANGE 4m STEP 2m] {
        ?o :by/:watches ?road ; :speed ?v FILTER(?v < 20) ?road :leadsTo+ ?other }""",
    "car parks that only tell that they are full": """SELECT ?park FROM STREAM :parking [RANGE 10m STEP 1m] {
        ?p :of ?park ; :free 0 MINUS { ?q :of ?park ; :free ?n FILTER(?n > 0) } }""",
}
IN_TIME = {
    "a storm and then rain at one station": """SELECT ?station ?w ?r {
        { ?o a :Wind ; :by ?station ; :result/:value ?w } SEQ { ?p a :Rain ; :by ?station ; :result/:value ?r }
        WITHIN 20m FILTER(?w > 60 && ?r > 10) }""",
    "rain without snow before it": """SELECT ?station ?r { {
        { ?o a :Snow ; :by ?station ; :result/:value ?s } OPTIONALSEQ
        { ?p a :Rain ; :by ?station ; :result/:value ?r } }
        WITHIN 15m FILTER(!BOUND(?s)) }""",
    "a station that falls silent": """SELECT ?station ?o { { { ?o a :Observation ; :by ?station } SEQOPTIONAL
        { ?p :by ?station } } WITHIN 25m FILTER(!BOUND(?p)) }""",
    "no heat between wind and wind": """SELECT ?station ?o ?p { { { ?o a :Wind ; :by ?station } SEQ
        { ?p a :Wind ; :by ?station } FILTER NOT EXISTS { ?q a :Heat ; :by ?station } } WITHIN 30m }""",
}


@cache
def world(name: str) -> SensorWorld:
    return weather(3) if name == "weather" else city(5)


def streamed(reading: SensorReading) -> list[ox.Triple]:
    """Return the triples of an element; its blank nodes are its own."""
    found = list(ox.parse((PREFIXES + reading.turtle).encode(), ox.RdfFormat.TURTLE, rename_blank_nodes=True))
    return [quad.triple for quad in found]


def known(background: str) -> list[Triple]:
    """Return the background with what it entails."""
    quads = ox.parse(background.encode(), ox.RdfFormat.TURTLE)
    return [(encode(q.subject), encode(q.predicate), encode(q.object)) for q in quads]


def values_of(match: etalis.Event, names: Iterable[str]) -> Row:
    """Return the values of a solution by their worth."""
    terms = (match.bindings.get(name) for name in names)
    return tuple(None if term is None else worth(encode(term)) for term in terms)


def answers(query: str, about: SensorWorld) -> Rows:
    """Return the solutions of an engine, with their times."""
    program = etalis.compile_sparql(PREFIX + query, background=list(ox.parse(about.background, ox.RdfFormat.TURTLE)))
    engine = program.engine()
    found = [
        match
        for reading in about.readings
        for match in engine.push_graph(PREFIXES + reading.turtle, at=reading.at, stream=reading.stream)
    ]
    names = program.queries[0].columns or ()
    return {(match.start, match.end, *values_of(match, names)) for match in [*found, *engine.close()]}


def windows_of(query: str) -> dict[str | None, tuple[str, int, int]]:
    """Return stream, range and step of the windows of a query by their names; None is that of the whole body."""
    unit = read_unit(PREFIX + query)
    return {
        None if d.kind == "stream" else d.iri: ((d.stream or d.iri)[1:-1], d.window.range, d.window.step or 0)
        for d in unit.queries[0].datasets
        if d.window is not None
    }


def stepwise(query: str, about: SensorWorld) -> Rows:
    """Return what pyoxigraph answers at every step over the graphs of the windows."""
    windows = windows_of(query)
    plain = re.sub(r"FROM (?:NAMED WINDOW \S+ ON|STREAM) \S+ \[[^\]]*\]", "", query).replace("WINDOW", "GRAPH")
    elements = [(reading, streamed(reading)) for reading in about.readings]
    background = known(about.background)
    (step,) = {step // MICROSECONDS for _, _, step in windows.values()}
    last = about.readings[-1].at + max(length for _, length, _ in windows.values()) // MICROSECONDS
    found: Rows = set()
    for now in range(step, last + step, step):
        store = ox.Store()
        sizes = []
        for name, (stream, length, _) in windows.items():
            inside = [
                (encode(t.subject), encode(t.predicate), encode(t.object))
                for reading, triples in elements
                for t in triples
                if reading.stream == stream and now - length // MICROSECONDS < reading.at <= now
            ]
            sizes.append(len(inside))
            graph = ox.DefaultGraph() if name is None else decode(name)
            store.extend(ox.Quad(*map(decode, triple), graph) for triple in close([*background, *inside], rdfs=True))
        if None not in windows:
            store.extend(ox.Quad(*map(decode, triple)) for triple in close(background, rdfs=True))
        if any(sizes):
            found |= {(now, now, *row) for row in answers_in(store, plain, PREFIX)}
    return found


CASES = [
    *(pytest.param("weather", query, id=name) for name, query in WEATHER_QUERIES.items()),
    *(pytest.param("city", query, id=name) for name, query in CITY_QUERIES.items()),
]


@pytest.mark.parametrize(("name", "query"), CASES)
def test_a_window_is_answered_at_each_step_as_plain_sparql(name: str, query: str) -> None:
    about = world(name)
    expected = stepwise(query, about)
    assert expected, "a query that finds nothing compares nothing"
    assert answers(query, about) == expected


def triples_in_time(readings: Iterable[SensorReading]) -> list[StreamedTriple]:
    return [
        StreamedTriple(
            encode(t.subject), encode(t.predicate), encode(t.object), None, f"<{r.stream}>",
            r.at * MICROSECONDS, r.at * MICROSECONDS,
        )
        for r in readings
        for t in streamed(r)
    ]  # fmt: skip


@pytest.mark.parametrize("query", IN_TIME.values(), ids=IN_TIME)
def test_a_pattern_in_time_has_its_meaning(query: str) -> None:
    about = world("weather")
    short = SensorWorld(about.readings[: len(about.readings) // 2], about.background)
    rows = meaning(read_unit(PREFIX + query), triples_in_time(short.readings), known(about.background)).rows
    expected = {(r.start // MICROSECONDS, r.end // MICROSECONDS, *map(worth, r.values)) for r in rows}
    assert expected
    assert answers(query, short) == expected


def test_what_changes_between_steps_is_the_difference_of_their_answers() -> None:
    query, about = CITY_QUERIES["how full the roads of a route are"], world("city")
    all_rows = stepwise(query, about)
    steps = range(MINUTE, max(row[0] for row in all_rows) + 2 * MINUTE, MINUTE)
    at = {now: {row[2:] for row in all_rows if row[0] == now} for now in (0, *steps)}
    for word, sign in (("ISTREAM", 1), ("DSTREAM", -1)):
        expected = {
            (now, now, *row)
            for now in steps
            for row in (at[now] - at[now - MINUTE] if sign > 0 else at[now - MINUTE] - at[now])
        }
        assert answers(f"REGISTER {word} :out AS {query}", about) == expected


def test_a_mean_that_slides_has_a_value_at_every_reading() -> None:
    query = "SELECT (SUM(?v) AS ?sum) (COUNT(*) AS ?n) FROM STREAM :weather [RANGE 30m] { ?r :value ?v }"
    about = world("weather")
    values = [(r.at, float(re.findall(r":value (\S+)", r.turtle)[0])) for r in about.readings]
    expected = set()
    for place, (at, _) in enumerate(values, 1):  # of one stamp they count one after the other
        inside = [(other, v) for other, v in values[:place] if other >= at - 30 * MINUTE]
        expected.add((min(other for other, _ in inside), at, worth(sum(v for _, v in inside)), worth(len(inside))))
    assert answers(query, about) == expected
