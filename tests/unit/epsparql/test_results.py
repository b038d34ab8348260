"""Results as others read them: SPARQL Results JSON that pyoxigraph reads, TriG that is a stream again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, QueryResultsFormat, Variable, parse_query_results

import etalis
from etalis.data.values import Struct, real
from etalis.epsparql.results import to_bindings, to_json, to_trig
from etalis.errors import EtalisError
from etalis.formats import Reading, Row
from etalis.formats.rdf_quads import read_trig
from etalis.logic.rdf.exact_terms import decode, make_literal
from etalis.temporal.event import Event, Retraction

XSD = "http://www.w3.org/2001/XMLSchema#"
VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False).map(real),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda t: make_literal(t, XSD + "string")),
    st.sampled_from(
        ["<http://x/a>", "_:b", '"a"@en', '"a"@ar--rtl', f'"true"^^<{XSD}boolean>', '"null"', '"x"^^<a:b>']
    ),
)
TIMES = st.integers(-(10**12), 10**12)


def select(*args: Any, start: int = 0, end: int = 0) -> Event:
    return Event.make("select_1", args, start, end)


@given(st.lists(st.tuples(VALUES | st.just("null"), VALUES, TIMES, st.integers(0, 5)), max_size=4))
def test_json_is_read_by_others(made: list[tuple[Any, Any, int, int]]) -> None:
    matches = list(dict.fromkeys(select(a, b, start=t, end=t + d) for a, b, t, d in made))
    found = parse_query_results(to_json(matches, ["a", "b"]), QueryResultsFormat.JSON)
    assert [v.value for v in found.variables] == ["a", "b", "start", "end"]
    for match, solution in zip(matches, found, strict=True):
        a, b = match.args
        assert solution["a"] == (None if a == "null" else decode(a))
        assert solution["b"] == decode(b)
        assert [round(float(solution[name].value) * 10**6) for name in ("start", "end")] == [
            match.start_time,
            match.end_time,
        ]


def test_bindings_are_terms_without_the_unbound() -> None:
    assert to_bindings(select("<a:b>", "null", "x"), ["a", "b", "c"]) == {"a": NamedNode("a:b"), "c": Literal("x")}


def test_times_are_dates_where_dates_came_in() -> None:
    engine = etalis.compile("select_1(O) <- rdf(_, _, O).").engine()
    found = engine.push_triple("<a:s>", "<a:p>", 7, at="2026-03-02T09:00:00Z")
    (row,) = json.loads(to_json(found, ["o"]))["results"]["bindings"]
    assert row["start"] == {"type": "literal", "value": "2026-03-02T09:00:00Z", "datatype": XSD + "dateTime"}


def test_a_query_may_have_variables_named_like_times() -> None:
    found = json.loads(to_json([select(7, 8, start=1, end=2)], ["start", "x"]))
    assert found["head"]["vars"] == ["start", "x", "_start", "end"]
    assert found["results"]["bindings"][0]["start"]["value"] == "7"
    assert found["results"]["bindings"][0]["_start"]["value"] == "0.000001"


def test_what_was_taken_back_is_not_there() -> None:
    one, two = select(1), select(2)
    found = json.loads(to_json([one, two, Retraction.of(one)], ["x"]))["results"]["bindings"]
    assert [row["x"]["value"] for row in found] == ["2"]


def test_names_must_fit() -> None:
    with pytest.raises(EtalisError, match="has 2 values, but 1 variables are named"):
        to_json([select(1, 2)], ["x"])


def _plain(value: Any) -> Any:
    """Return a term with the one blank node as it was named."""
    return "_:b" if isinstance(value, str) and value.startswith("_:") else value


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["<a:s>", "<a:t>"]), st.sampled_from(["<a:p>", "<a:q>"]), VALUES, TIMES, st.integers(0, 3)
        ),
        max_size=6,
    ),
    st.booleans(),
)
@example([("<a:s>", "<a:p>", "a\nb\\", 5, 1), ("<a:s>", "<a:p>", 'c"d', 5, 1)], True)
def test_a_construct_is_a_stream_again(made: list[tuple[Any, Any, Any, int, int]], dates: bool) -> None:
    events = [Event.make("rdf", (s, p, o), t, t + d) for s, p, o, t, d in made]
    for event in events:
        event.kind.shown = etalis.temporal.event.Shown(dates=dates)
    text = to_trig(events)
    items = [item for item in read_trig(text.splitlines(keepends=True), "x", Reading()) if isinstance(item, Row)]
    found = [item.event for item in items]
    found = [Event.make("rdf", (*e.args[:2], _plain(e.args[2])), e.start_time, e.end_time) for e in found]
    assert set(found) == set(events)
    assert [(e.end_time, e.start_time) for e in found] == sorted((e.end_time, e.start_time) for e in found)
    assert len(found) == len(set(events))


def test_trig_as_it_is_written() -> None:
    events = [
        Event.make("rdf", ("<a:s>", "<a:p>", 7), 2_000_000, 2_000_000),
        Event.make("rdf", ("_:b", "<a:p>", "x y", "<a:g>", "null"), 1_000_000, 2_500_000),
        Event.make("rdf", ("<a:s>", "<a:p>", '"x"@en'), 2_000_000, 2_000_000),
    ]
    assert to_trig(events, element="http://x/e") == (
        f'<http://x/e1> <http://www.w3.org/ns/prov#generatedAtTime> "2"^^<{XSD}decimal> .\n'
        f'<http://x/e1> {{\n  <a:s> <a:p> "7"^^<{XSD}integer> .\n  <a:s> <a:p> "x"@en .\n}}\n'
        f'<http://x/e2> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<{XSD}decimal> ;\n'
        f'  <http://www.w3.org/ns/prov#invalidatedAtTime> "2.5"^^<{XSD}decimal> .\n'
        '<http://x/e2> {\n  _:b <a:p> "x y" .\n}\n'
    )


@pytest.mark.parametrize(
    "event",
    [
        Event.make("rdf", (7, "<a:p>", 7), 0, 0),
        Event.make("rdf", ("<a:s>", "_:p", 7), 0, 0),
        Event.make("rdf", ("<a:s>", "<a:p>", "null"), 0, 0),
        Event.make("rdf", ("<a:s>", "<a:p>", Struct("f", [1])), 0, 0),
        Event.make("rdf", ("<a s>", "<a:p>", 1), 0, 0),
        Event.make("other", ("<a:s>", "<a:p>", 1), 0, 0),
    ],
)
def test_what_is_no_triple_is_refused(event: Event) -> None:
    with pytest.raises(EtalisError):
        to_trig([event])


def test_a_name_for_elements_that_is_no_iri_is_refused() -> None:
    with pytest.raises(EtalisError, match="is no RDF term"):
        to_trig([Event.make("rdf", ("<a:s>", "<a:p>", 1), 0, 0)], element="no iri")


def test_variables_of_other_readers() -> None:
    found = parse_query_results(to_json([select("<a:b>")], ["x"]), QueryResultsFormat.JSON)
    assert [s[Variable("x")] for s in found] == [NamedNode("a:b")]
