"""Laws of the meaning of queries: plain SPARQL is SPARQL, the past stands, and what is constructed is a fixpoint."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.meaning import Answer, StreamedTriple, meaning
from etalis.epsparql.read import read_unit
from etalis.epsparql.reads import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from etalis.epsparql.scope import selected
from etalis.epsparql.stream_entailment import close, entailed, schema_of
from etalis.errors import ProgramError
from etalis.language.syntax import Const, Var
from etalis.logic.rdf.exact_terms import kind_of
from helpers.epsparql_engine import run_case
from helpers.epsparql_examples import PREFIXES
from helpers.pyoxigraph_answers import ask, draw_stepwise, worth
from helpers.random_sparql import VARIABLES, BodyWriter, draw_graph
from helpers.random_stream_queries import SECOND, RandomCase, draw_case, draw_windowed_case

SEEDS = st.integers(min_value=0, max_value=2**48)


@given(SEEDS)
def test_plain_sparql_means_what_pyoxigraph_answers(seed: int) -> None:
    case, query = draw_plain(Random(seed))
    found = meaning(case.unit(), case.elements, case.background).rows
    assert {tuple(map(worth, row.values)) for row in found} == answers_of_pyoxigraph(case, query), query


@given(SEEDS)
def test_an_engine_answers_plain_sparql_as_pyoxigraph_does(seed: int) -> None:
    case, query = draw_plain(Random(seed))
    try:
        found, _ = run_case("pushed", case.query, case.elements, case.background, seed)
    except ProgramError as error:
        if error.code != "E265":  # what rules cannot say
            raise
        return
    assert {tuple(map(worth, row.values)) for row in found} == answers_of_pyoxigraph(case, query), query


def draw_plain(rng: Random) -> tuple[RandomCase, str]:
    """Draw a query of plain SPARQL, as ours over one element, and as it is."""
    streamed, known = draw_graph(rng)
    writer = BodyWriter(rng)
    body = writer.body()
    names = " ".join((*VARIABLES, *writer.fresh))
    elements = tuple(StreamedTriple(*t, None, None, SECOND, SECOND) for t in streamed)
    case = RandomCase(f"SELECT {names} {{ {{ {body} }} WITHIN 0 }}", elements, tuple(known))
    return case, f"SELECT {names} {{ {body} }}"


def answers_of_pyoxigraph(case: RandomCase, query: str) -> set[tuple[Value | None, ...]]:
    return ask(query, [*(e[:3] for e in case.elements), *case.background])


@given(SEEDS)
def test_a_window_is_its_graph_at_each_step(seed: int) -> None:
    case = draw_stepwise(Random(seed))
    unit = read_unit(case.query, prefixes=PREFIXES)
    found = meaning(unit, case.elements, case.background).rows
    assert {(row.end // SECOND, *map(worth, row.values)) for row in found} == case.answers(), case.query


@given(SEEDS)
def test_what_is_known_at_a_moment_stands(seed: int) -> None:
    rng = Random(seed)
    case = draw_case(rng) if seed % 4 else draw_windowed_case(rng)
    whole = meaning(case.unit(), case.elements, case.background)
    for moment in {e.end for e in case.elements}:
        past = meaning(case.unit(), [e for e in case.elements if e.end <= moment], case.background)
        for some, all_ in ((past.rows, whole.rows), (past.constructed, whole.constructed)):
            assert until(some, moment) == until(all_, moment), case.query


def until(answers: set[Answer], moment: int) -> set[Answer]:
    return {answer for answer in answers if answer.end <= moment}


@given(SEEDS)
def test_what_is_constructed_is_a_fixpoint(seed: int) -> None:
    case = draw_case(Random(seed))
    unit = case.unit()
    made = {a._replace(waits=False) for a in meaning(unit, case.elements, case.background).constructed}
    selects = tuple(replace(q, form="select", template=(), items=None, registered=None) for q in unit.queries)
    streams = [None if q.registered is None else q.registered[1] for q in unit.queries]
    elements = list(case.elements)
    elements += [StreamedTriple(*a.values, None, streams[a.query - 1], a.start, a.end) for a in made]
    rows = meaning(s.Unit(selects), elements, case.background).rows
    again = {a for row in rows for a in instances(unit.queries[row.query - 1], row)}
    assert again == made, case.query


def instances(query: s.StreamQuery, row: Answer) -> list[Answer]:
    """Return what a CONSTRUCT makes of a row of its body."""
    values = dict(zip(selected(replace(query, items=None)), row.values, strict=True))
    found = []
    for t in query.template:
        terms = [x for x in (t.subject, t.predicate, t.object) if isinstance(x, Var | Const)]
        parts = [values.get(x.name) if isinstance(x, Var) else x.value for x in terms]
        if None not in parts and kind_of(parts[0]) != "literal":
            found.append(Answer(row.query, tuple(parts), row.start, row.end))
    return found


@given(SEEDS)
def test_the_order_of_elements_does_not_matter(seed: int) -> None:
    rng = Random(seed)
    case = draw_case(rng)
    elements = rng.sample(case.elements, len(case.elements))
    assert meaning(case.unit(), elements, case.background) == meaning(case.unit(), case.elements, case.background)


@given(SEEDS)
def test_a_streamed_triple_entails_what_it_entails_with_the_schema(seed: int) -> None:
    rng = Random(seed)
    names = [f"<http://x/{c}>" for c in "abcde"] + [TYPE, "_:n", 1]
    iris = names[:6]
    rules = (SUBCLASS, SUBPROPERTY, SUBPROPERTY, DOMAIN, RANGE)
    loaded = [(rng.choice(iris[:5]), rng.choice(rules), rng.choice(names[:7])) for _ in range(rng.randint(1, 6))]
    schema = schema_of(close(loaded, rdfs=True))
    triple = (rng.choice(names[:5]), rng.choice(iris), rng.choice(names))
    alone = set(close(schema, rdfs=True))
    found = set(entailed(triple, schema))
    assert set(close([*schema, triple], rdfs=True)) - alone == found - alone, (triple, schema)
