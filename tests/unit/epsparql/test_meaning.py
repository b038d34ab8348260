"""The meaning of queries: all worked examples, its options, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from etalis.epsparql.check import check
from etalis.epsparql.meaning import Answer, StreamedTriple, UnitAnswers, meaning, model
from etalis.epsparql.read import read_unit
from etalis.epsparql.reads import known_predicates
from etalis.epsparql.stream_entailment import close
from etalis.errors import LimitError, ProgramError
from helpers.epsparql_examples import PREFIXES, VOCABULARY, Example, find_examples, name_alike, read_example

EXAMPLES = find_examples()


def answers_of(example: Example, elements: Iterable[StreamedTriple]) -> UnitAnswers:
    unit = read_unit(example.query, prefixes=PREFIXES, vocabulary=VOCABULARY)
    streamed, background = example.options.get("streamed", ()), example.options.get("background", ())
    return meaning(unit, elements, example.background, streamed=streamed, background_predicates=background)


def rows_of(example: Example, elements: Iterable[StreamedTriple]) -> set[Answer]:
    """Return the rows of an example without their moments, of one query that is not named."""
    rows = answers_of(example, elements).rows
    several = any(row.query for row in example.rows or ())
    return {row._replace(waits=False, query=row.query if several else 0) for row in rows}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.rows is not None], ids=lambda e: e.number)
def test_the_rows_of_an_example(example: Example) -> None:
    assert rows_of(example, example.elements) == example.rows


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.moments], ids=lambda e: e.number)
def test_when_the_rows_of_an_example_are_known(example: Example) -> None:
    several = any(row.query for row in example.rows or ())
    rows = answers_of(example, example.elements).rows
    found = {r._replace(waits=False, query=r.query if several else 0): r.waits for r in rows}
    assert {row: found[row] for row in example.moments} == example.moments


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.constructed is not None], ids=lambda e: e.number)
def test_what_an_example_constructs(example: Example) -> None:
    found = {a._replace(waits=False, query=0) for a in answers_of(example, example.elements).constructed}
    assert name_alike(found) == name_alike(example.constructed or ())


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.error is not None], ids=lambda e: e.number)
def test_the_error_of_an_example(example: Example) -> None:
    with pytest.raises(ProgramError) as caught:
        answers_of(example, example.elements)
    (problem,) = caught.value.problems
    assert problem.code == example.error
    assert example.says in problem.message
    assert problem.span is not None
    assert problem.hint


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.number)
def test_the_warnings_of_an_example(example: Example) -> None:
    unit = read_unit(example.query, prefixes=PREFIXES, vocabulary=VOCABULARY)
    known = known_predicates(unit, example.background, close(example.background, rdfs=True), **example.options)
    warnings = [problem.code for problem in check(unit, known) if not problem.is_error]
    assert warnings == ([] if example.warning is None else [example.warning])


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.dead], ids=lambda e: e.number)
def test_the_dead_letters_of_an_example(example: Example) -> None:
    assert tuple(e[:3] for e in answers_of(example, example.elements).dead) == example.dead


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.steps], ids=lambda e: e.number)
def test_how_the_rows_of_an_example_change(example: Example) -> None:
    elements, before = list(example.elements), rows_of(example, example.elements)
    for step in example.steps:
        elements = [*elements, *step.elements] if step.is_added else [e for e in elements if e not in step.elements]
        rows = rows_of(example, elements)
        assert (before - rows, rows - before) == (step.gone, step.come)
        before = rows


def rows(query: str, stream: str, background: str = "", **options: Any) -> set[tuple[Any, ...]]:
    """Return the rows of a query by value and by the seconds of their ends."""
    example = read_example({"number": "0", "shows": "", "query": query, "stream": stream, "background": background})
    unit = read_unit(query, prefixes=PREFIXES)
    found = meaning(unit, example.elements, example.background, **options).rows
    return {(*row.values, row.start / 1e6, row.end / 1e6) for row in found}


def test_without_entailment_classes_are_what_is_said() -> None:
    stream, background = "1: :a a :Dog", ":Dog rdfs:subClassOf :Animal ."
    assert rows("SELECT ?x {?x a :Animal}", stream, background) == {(iri("a"), 1, 1)}
    assert rows("SELECT ?x {?x a :Animal}", stream, background, rdfs=False) == set()


def test_transitive_properties_are_closed_in_the_background_alone() -> None:
    query, background = "SELECT ?y {?x :at ?h . ?h :in ?y}", ":a :in :b . :b :in :c ."
    assert rows(query, "1: :x :at :a", background) == {(iri("b"), 1, 1)}
    assert rows(query, "1: :x :at :a", background, transitive=[iri("in")]) == {(iri("b"), 1, 1), (iri("c"), 1, 1)}


def test_the_origin_shifts_the_steps_of_windows() -> None:
    query = "SELECT ?y FROM STREAM :s [RANGE 5 STEP 5] {?x :p ?y}"
    assert rows(query, "1 on :s: :a :p 1") == {(1, 5, 5)}
    assert rows(query, "1 on :s: :a :p 1", origin=2_000_000) == {(1, 2, 2)}


def test_predicates_that_the_caller_calls_background_are_not_streamed() -> None:
    unit = read_unit("SELECT ?x {?x :p ?y}", prefixes=PREFIXES)
    element = StreamedTriple(iri("a"), iri("q"), 1, None, None, 1, 1)
    assert meaning(unit, [element], background_predicates=[iri("q")]).dead == [element]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?x { {?x :p ?y} SEQ {?x :q ?z} } POLICY recent",
        "SELECT (COUNT(*) AS ?n) FROM STREAM :s [RANGE 5] {?x :p ?y}",
    ],
)
def test_what_has_no_meaning_here_is_refused_by_name(query: str) -> None:
    with pytest.raises(ProgramError) as caught:
        rows(query, "1: :a :p 1")
    assert caught.value.code == "E207"


def test_recursion_that_makes_new_terms_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_TRIPLES", 50)
    with pytest.raises(LimitError) as caught:
        rows("CONSTRUCT {?x :n ?m} { ?x :n ?k BIND(?k + 1 AS ?m) }", "1: :a :n 1")
    assert caught.value.code == "E320"


def iri(name: str) -> str:
    return f"<{VOCABULARY}{name}>"
