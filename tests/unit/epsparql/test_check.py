"""What is refused of queries before they run, and what is warned of: code, place and hint."""

from __future__ import annotations

import pytest

from etalis.epsparql import syntax as s
from etalis.epsparql.check import check, refuse
from etalis.epsparql.read import read_unit
from etalis.epsparql.reads import (
    BACKGROUND,
    BOTH,
    DOMAIN,
    STREAM,
    SUBCLASS,
    SUBPROPERTY,
    TYPE,
    Predicates,
    known_predicates,
)
from etalis.epsparql.scope import always_bound, is_sequence, selected
from etalis.epsparql.strata import order
from etalis.epsparql.stream_entailment import close
from etalis.errors import Problem, ProgramError
from etalis.language.syntax import Compound, Const, Term, Var
from helpers.epsparql_examples import PREFIXES, VOCABULARY


def iri(name: str) -> str:
    return f"<{VOCABULARY}{name}>"


K = [(iri("a"), iri("sector"), iri("tech")), (iri("a"), iri("knows"), iri("b")), (iri("a"), TYPE, iri("Co"))]


def read(text: str) -> s.Unit:
    return read_unit(text, prefixes=PREFIXES)


def problems(text: str, background: list[tuple[str, str, str]] = K, **decided: list[str]) -> list[Problem]:
    unit = read(text)
    return check(unit, known_predicates(unit, background, close(background, rdfs=True), **decided))


REFUSED = {
    "SELECT ?c {?c :sector ?s}": ("E251", "{?c :sector ?s}"),
    "SELECT ?c { {?c :price ?x} SEQ {?c :sector ?s} }": ("E251", "{?c :sector ?s}"),
    "SELECT ?c { {VALUES ?c {1}} SEQ {?c :price ?s} }": ("E251", "{VALUES ?c {1}}"),
    "SELECT ?c { ?c :price ?x OPTIONAL {?c :vol ?v} }": ("E252", "OPTIONAL {?c :vol ?v}"),
    "SELECT ?c { {?c :price ?x OPTIONAL {?c a ?v}} WITHIN 1 }": ("E252", "OPTIONAL {?c a ?v}"),
    "SELECT ?c { {?c a :Co OPTIONAL {?c :vol ?v}} WITHIN 0 }": ("E252", "OPTIONAL {?c :vol ?v}"),
    "SELECT ?c { ?c :price ?x MINUS {?c :vol ?v} }": ("E253", "{?c :vol ?v}"),
    "SELECT ?c { ?c :price ?x FILTER EXISTS {?c :vol ?v} }": ("E253", "{?c :vol ?v}"),
    "SELECT ?c { {?c :ask ?q} SEQOPTIONAL {?c :ans ?r} }": ("E254", "{?c :ask ?q} SEQOPTIONAL {?c :ans ?r}"),
    "CONSTRUCT {?x :r 1} { {?x :p ?y} EQUALSOPTIONAL {?x :r ?z} FILTER(!BOUND(?z)) }": ("E255", "?x :r ?z"),
    "CONSTRUCT {?x :r 1} { {?x :r ?z} OPTIONALEQUALS {?x :p ?y} FILTER(!BOUND(?z)) }": ("E255", "?x :r ?z"),
    "CONSTRUCT {?x :r 1} { {?x :p ?y} SEQOPTIONAL {?x :r ?z} WITHIN 5 FILTER(!BOUND(?z)) }": ("E255", "?x :r ?z"),
    "CONSTRUCT {?x :r 1} { {?x :p ?y OPTIONAL {?x :r ?z}} WITHIN 0 FILTER(!BOUND(?z)) }": ("E255", "?x :r ?z"),
    "SELECT ?a { ?a ?b ?c . ?c ?d ?e . ?e ?f ?g . ?g ?h ?i . ?i ?j ?k }": ("E256", "?i ?j ?k"),
    "SELECT ?a { ?a :price+ ?b }": ("E257", "?a :price+ ?b"),
    "SELECT ?a { ?a :price ?x . GRAPH :g { ?a :knows+ ?b } }": ("E257", "?a :knows+ ?b"),
    "SELECT ?a FROM STREAM :s [RANGE 10 STEP 5] { {?a :p ?b} SEQ {?a :q ?c} }": ("E258", "{?a :p ?b} SEQ {?a :q ?c}"),
    "SELECT ?a { ?a :price ?x . WINDOW :w {?a :p ?b} }": ("E258", "WINDOW :w {?a :p ?b}"),
    "SELECT (COUNT(*) AS ?n) {?c :price ?x}": ("E259", "SELECT (COUNT(*) AS ?n) {?c :price ?x}"),
    "SELECT ?a FROM STREAM :s [RANGE 10 STEP 5] FROM STREAM :t {?a :p ?b}": ("E258", "FROM STREAM :t"),
    "SELECT ?c { {{?c :p ?x} UNION {?d :q ?x}} SEQ {?c :r ?y} } POLICY snoop_recent": ("E261", "{?c :r ?y}"),
    "REGISTER RSTREAM :s AS CONSTRUCT {?c :p 1} FROM STREAM :s [RANGE 9 STEP 5] {?c :p ?x}": ("E255", "?c :p ?x"),
    "SELECT ?a FROM NAMED <http://x/g> {?a :price ?x}": ("E260", "FROM NAMED <http://x/g>"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_where_and_what_else_to_write(text: str) -> None:
    code, place = REFUSED[text]
    (problem,) = problems(text)
    assert problem.code == code
    assert problem.span is not None
    assert text[problem.span.start : problem.span.end] == place
    assert problem.hint


WARNED = {
    "SELECT ?c { ?c :price ?x FILTER NOT EXISTS {?c :acq ?o} }": "W250",
    "SELECT ?c { {?c :p ?x} SEQ { {?c :q ?o} OPTIONALSEQ {?c :p ?y} } FILTER(!BOUND(?o)) }": "W251",
    "CONSTRUCT {_:n :next ?x} {?x :next ?y}": "W252",
}


@pytest.mark.parametrize("text", WARNED)
def test_what_is_warned_of(text: str) -> None:
    (problem,) = problems(text)
    assert (problem.code, problem.is_error) == (WARNED[text], False)
    assert problem.span is not None
    assert problem.hint


TAKEN = [
    "SELECT ?c { ?c :price ?x OPTIONAL {?c :sector ?s} }",
    "SELECT ?c { {?c a :Co} SEQ {?c :price ?x} }",
    "SELECT ?c { {?c a :Co . ?c :price ?x OPTIONAL {?c :vol ?v}} WITHIN 0 }",
    "SELECT ?c { ?c :price ?x MINUS {?c :sector ?v} FILTER EXISTS {?c :knows+ ?d} }",
    "SELECT ?c { ?c :price ?x . ?c :knows* ?d . ?d !:sector ?e }",
    "SELECT ?c { { {?c :ask ?q} SEQOPTIONAL {?c :ans ?r} } SEQ {?c :ask ?z} WITHIN 5 }",
    "SELECT ?c { {?c :price ?x} SEQ {?c :price ?y} FILTER NOT EXISTS {?c :acq ?o} }",
    "SELECT (COUNT(*) AS ?n) FROM STREAM :s [RANGE PT10S] {?c :price ?x}",
    "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 9 STEP 5] { ?c :sector ?s . WINDOW :w {?c :price ?x} }",
    "CONSTRUCT {_:n :count ?m} { {?p :count ?k} SEQ {?c :price ?x} BIND(?k + 1 AS ?m) }",
    "CONSTRUCT {?x :r 1} { {?x :p ?y} EQUALSOPTIONAL { {?x :r ?z} SEQ {?x :p ?y} } FILTER(!BOUND(?z)) }",
    "CONSTRUCT {?x :r 1} { {?x :r ?z} OPTIONALSEQ {?x :p ?y} FILTER(!BOUND(?z)) }",
    "CONSTRUCT {?x :r 1} { {?x :p ?y} EQUALSOPTIONAL {?x :r 2} }",
    "SELECT ?c { {?c :p ?x} SEQ {?c :r ?y} } POLICY snoop_recent",
    "REGISTER RSTREAM :t AS CONSTRUCT {?c :p 1} FROM STREAM :s [RANGE 9 STEP 5] {?c :p ?x}",
]  # fmt: skip


@pytest.mark.parametrize("text", TAKEN)
def test_what_is_not_refused(text: str) -> None:
    assert problems(text) == []


def test_all_errors_come_at_once() -> None:
    unit = read("SELECT ?c { {?c :ask ?q} SEQOPTIONAL {?c :ans ?r OPTIONAL {?c :p ?q}} }; SELECT ?c {?c :price+ ?x}")
    with pytest.raises(ProgramError) as caught:
        refuse(unit)
    assert [problem.code for problem in caught.value.problems] == ["E254", "E252", "E257"]


def test_groups_that_are_too_deep() -> None:
    group = s.GroupPattern((s.Triple(Var("x"), Const(iri("p")), Var("y")),))
    for _ in range(5_000):
        group = s.GroupPattern((group,))
    (problem,) = check(s.Unit((s.StreamQuery("select", group),)))
    assert problem.code == "E250"


def test_paths_that_are_too_deep() -> None:
    path: Term = Const(iri("p"))
    for _ in range(5_000):
        path = Compound("^", (path,))
    group = s.GroupPattern((s.Triple(Var("x"), path, Var("y")),))
    (problem,) = check(s.Unit((s.StreamQuery("select", group),)))
    assert problem.code == "E250"


def test_two_constructs_that_wait_for_each_other() -> None:
    one = "CONSTRUCT {?x :r 1} { {?x :p ?y} EQUALSOPTIONAL {?x :t ?z} FILTER(!BOUND(?z)) }"
    other = "CONSTRUCT {?x :t 1} {?x :r ?y}"
    assert [problem.code for problem in problems(f"{one}; {other}")] == ["E255"]
    assert problems(one) == []
    back = "CONSTRUCT {?x :t 1} { {?x :r ?y} SEQ {?x :p ?z} }"
    assert problems(f"{one}; {back}") == []


def test_constructs_are_run_after_those_they_read() -> None:
    unit = read("CONSTRUCT {?x :c ?y} {?x :b ?y}; SELECT ?x {?x :c ?y}; CONSTRUCT {?x :b ?y} {?x :a ?y}")
    assert order(unit, Predicates()) == [[2], [0]]


SCHEMA = [
    (iri("Co"), SUBCLASS, iri("Org")),
    (iri("thermo"), SUBPROPERTY, iri("sensor")),
    (iri("sensor"), DOMAIN, iri("Room")),
    (iri("r0"), iri("sensor"), iri("s0")),
    (iri("a"), iri("sector"), iri("tech")),
    (iri("a"), iri("made"), iri("b")),
]


@pytest.mark.parametrize(
    ("predicate", "where"),
    [
        ("sector", BACKGROUND),
        ("price", STREAM),
        ("sensor", BOTH),  # a property below it is not in the background, so that it may be streamed
        ("thermo", STREAM),
        ("made", BOTH),  # constructed
        ("given", BACKGROUND),
        ("both", STREAM),
    ],
)
def test_where_a_pattern_reads(predicate: str, where: str) -> None:
    unit = read("CONSTRUCT {?x :made ?y} {?x :price ?y}")
    closed = close(SCHEMA, rdfs=True)
    known = known_predicates(unit, SCHEMA, closed, streamed=[iri("both")], background=[iri("given")])
    assert known.reads(Const(iri(predicate))) == where


def test_where_other_patterns_read() -> None:
    unit = read("SELECT ?x {?x :price ?y}")
    known = known_predicates(unit, SCHEMA, close(SCHEMA, rdfs=True))
    assert [known.reads(term) for term in (Const(TYPE), Var("p"), Const(SUBCLASS))] == [BOTH, BOTH, BACKGROUND]
    assert [Predicates().reads(term) for term in (Const(TYPE), Var("p"))] == [STREAM, STREAM]
    moved = known_predicates(unit, SCHEMA, close(SCHEMA, rdfs=True), streamed=[iri("sector")])
    assert moved.reads(Const(iri("sector"))) == BOTH


def test_a_construct_of_whatever_predicate_leaves_none_to_the_background() -> None:
    unit = read("CONSTRUCT {?x ?p ?y} {?x ?p ?y}")
    assert known_predicates(unit, SCHEMA, close(SCHEMA, rdfs=True)).reads(Const(iri("sector"))) == BOTH


def test_what_a_query_reports() -> None:
    (query,) = read(
        "SELECT * { ?a :p [] . {?b :p ?c} UNION {?d :p ?a} MINUS {?e :sector ?f} FILTER(?g)"
        " BIND(1 AS ?h) {SELECT ?i {?i :p ?j}} }"
    ).queries
    assert selected(query) == ("a", "b", "c", "d", "h", "i")


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("?a :p ?b OPTIONAL {?a :sector ?c}", "ab"),
        ("{?a :p ?b} UNION {?a :q ?c}", "a"),
        ("{?a :p ?b} OPTIONALSEQ {?a :q ?c}", "ac"),
        ("{?a :p ?b} SEQ {?a :q ?c} EQUALSOPTIONAL {?d :p ?a}", "abc"),
        ("?a :p ?b BIND(1 AS ?c) VALUES (?d ?e) {(1 UNDEF) (2 3)}", "abd"),
        ("{SELECT ?a (1 AS ?b) {?a :p ?c}}", "a"),
    ],
)
def test_what_is_always_bound(group: str, names: str) -> None:
    (query,) = read(f"SELECT * {{ {group} }}").queries
    assert always_bound((query.body,)) == frozenset(names)


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("{?a :p ?b} SEQ {?a :q ?c} FILTER(?b > 1)", True),
        ("{ {?a :p ?b} SEQ {?a :q ?c} WITHIN 5 } SEQ {?a :p ?d}", True),
        ("{ { {?a :p ?b} SEQ {?a :q ?c} } BIND(1 AS ?d) } WITHIN 5", True),
        ("{?a :p ?b} SEQ {?a :q ?c} OPTIONALSEQ {?a :p ?d}", False),
        ("{?a :p ?b} SEQ {?a :q ?c} ?a :sector ?s", False),
        ("?a :p ?b", False),
    ],
)
def test_what_is_a_sequence(group: str, expected: bool) -> None:
    (query,) = read(f"SELECT * {{ {group} }}").queries
    assert is_sequence(query.body) == expected
