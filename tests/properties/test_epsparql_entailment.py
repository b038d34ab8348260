"""Random schemas: patterns that follow one find what its entailed triples, streamed with the rest, would give."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from etalis.data.values import Value
from etalis.epsparql.meaning import StreamedTriple, meaning
from etalis.epsparql.read import read_unit
from etalis.epsparql.reads import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from etalis.epsparql.stream_entailment import close, entailed, schema_of
from helpers.epsparql_engine import run_case
from helpers.epsparql_examples import PREFIXES, VOCABULARY

pytestmark = pytest.mark.property

CLASSES = [f"<{VOCABULARY}{name}>" for name in "ABCD"]
PROPERTIES = [f"<{VOCABULARY}{name}>" for name in "pqrt"]
NODES = [f"<{VOCABULARY}{name}>" for name in "xyz"]
QUERIES = (
    "SELECT ?s { ?s a :A }",
    "SELECT ?s ?k { ?s a ?k }",
    "SELECT ?s ?o { ?s :p ?o }",
    "SELECT ?s ?w ?o { ?s ?w ?o }",
    "SELECT ?w ?o { :x ?w ?o }",
    "SELECT ?s ?k ?o { {?s a ?k} SEQ {?s :p ?o} }",
    "SELECT ?s { {?s a :B} SEQ {?s a :A} }",
)


def draw_schema(rng: Random) -> list[tuple[Value, Value, Value]]:
    """Draw a schema; sometimes it says something of rdf:type itself, or has schema properties below others."""
    odd = rng.random() < 0.4
    properties = [*PROPERTIES, TYPE] if odd else PROPERTIES
    above = [*properties, SUBCLASS] if odd else properties
    found: list[tuple[Value, Value, Value]] = []
    for _ in range(rng.randint(1, 6)):
        kind = rng.choice((SUBCLASS, SUBCLASS, SUBPROPERTY, SUBPROPERTY, DOMAIN, RANGE))
        if kind == SUBCLASS:
            found.append((rng.choice(CLASSES), kind, rng.choice(CLASSES)))
        elif kind == SUBPROPERTY:
            found.append((rng.choice(properties), kind, rng.choice(above)))
        else:
            found.append((rng.choice(properties), kind, rng.choice(CLASSES)))
    return found


def draw_stream(rng: Random) -> list[StreamedTriple]:
    found = []
    for i in range(rng.randint(2, 8)):
        p = rng.choice([*PROPERTIES, TYPE])
        o = rng.choice(CLASSES) if p == TYPE or rng.random() < 0.2 else rng.choice([*NODES, 1, "v", "node"])
        found.append(StreamedTriple(rng.choice(NODES), p, o, None, None, i * 1_000_000, i * 1_000_000))
    return found


@given(seed=st.integers(0, 10**9), query=st.sampled_from(QUERIES))
def test_patterns_follow_the_schema(seed: int, query: str) -> None:
    rng = Random(seed)
    schema, stream = draw_schema(rng), draw_stream(rng)
    note(f"{schema}\n{stream}")
    streamed = [p[1:-1] for p in (*PROPERTIES, TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)]
    rows, _ = run_case("pushed", query, stream, schema, streamed=streamed)
    unit = read_unit(query, prefixes=PREFIXES)
    wanted = meaning(unit, stream, schema, streamed=[f"<{p}>" for p in streamed])
    assert rows == {row._replace(waits=False) for row in wanted.rows}


@given(seed=st.integers(0, 10**9), query=st.sampled_from(QUERIES))
def test_a_schema_is_as_good_as_the_triples_that_it_entails(seed: int, query: str) -> None:
    rng = Random(seed)
    schema, stream = draw_schema(rng), draw_stream(rng)
    note(f"{schema}\n{stream}")
    closed = close(schema, True)
    followed = [
        e._replace(s=s, p=p, o=o) for e in stream for s, p, o in entailed((e.s, e.p, e.o), schema_of(closed))
    ]  # fmt: skip
    streamed = [p[1:-1] for p in (*PROPERTIES, TYPE, SUBCLASS, SUBPROPERTY, DOMAIN, RANGE)]
    rows, _ = run_case("pushed", query, stream, schema, streamed=streamed)
    others, _ = run_case("pushed", query, followed, closed, streamed=streamed, entailment=None)
    assert rows == others
