"""Queries as rules: what each construct becomes, which the printed program shows."""

from __future__ import annotations

import pytest

from etalis.epsparql.reads import SUBCLASS, SUBPROPERTY, TYPE
from etalis.errors import ProgramError
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.syntax import Rule
from helpers.epsparql_engine import compile_case
from helpers.epsparql_examples import VOCABULARY

SECTOR = ((f"<{VOCABULARY}a>", f"<{VOCABULARY}sector>", f"<{VOCABULARY}tech>"),)
KNOWS = ((f"<{VOCABULARY}a>", f"<{VOCABULARY}knows>", f"<{VOCABULARY}b>"),)
LENGTH = (
    "rdf(C, '<p>', X) seq rdf(C, '<q>', Y) within 5 "
    "check (t1(_Start), t2(_End), sparql(<=(getduration(_Start, _End), 5)))"
)
SHORT = ((VOCABULARY, ""), ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"))


def rules_of(query: str, background: tuple[tuple[str, str, str], ...] = (), **options: object) -> list[str]:
    """Return the rules and clauses of a query, with short names; they are read as they are printed."""
    tree = compile_case(query, background, **options).compiled.tree
    text = print_program(tree)
    assert parse(text) == tree
    for long, short in SHORT:
        text = text.replace(long, short)
    return [line for line in text.splitlines() if not line.startswith(":- ")]


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        ("?c :p ?x", "rdf(C, '<p>', X)"),
        ("?c :p ?x . ?c :q ?y", "rdf(C, '<p>', X) and rdf(C, '<q>', Y)"),
        ("{?c :p ?x} SEQ {?c :q ?y}", "rdf(C, '<p>', X) seq rdf(C, '<q>', Y)"),
        ("{?c :p ?x} EQUALS {?c :q ?y} WITHIN 5", "rdf(C, '<p>', X) equals rdf(C, '<q>', Y) within 5"),
        ("{?c :p ?x} OPTIONALSEQ {?c :q ?y}", "rdf(C, '<p>', X) ?seq rdf(C, '<q>', Y)"),
        ("{?c :p ?x} SEQOPTIONAL {?c :q ?y} WITHIN 1m", "rdf(C, '<p>', X) seq? rdf(C, '<q>', Y) within 60"),
        ("{?c :p ?x} EQUALSOPTIONAL {?c :q ?y}", "rdf(C, '<p>', X) equals? rdf(C, '<q>', Y)"),
        ("{?c :p ?x} OPTIONALEQUALS {?c :q ?y}", "rdf(C, '<p>', X) ?equals rdf(C, '<q>', Y)"),
        (
            "{?c :p ?x FILTER(?x > ?y)} OPTIONALSEQ {?c :q ?y}",
            "(rdf(C, '<p>', X) where sparql(X > Y)) ?seq rdf(C, '<q>', Y)",
        ),
        ("{?c :p ?x} UNION {?c :q ?y}", "rdf(C, '<p>', X) or rdf(C, '<q>', Y)"),
        ("?c :p ?x FILTER(?x > 1 && ?x < 5)", "rdf(C, '<p>', X) where (sparql(X > 1), sparql(X < 5))"),
        ("?c :p ?x FILTER(?z > 1)", "rdf(C, '<p>', X) where sparql(null > 1)"),
        ("?c :p ?x BIND(?x + 1 AS ?y)", "rdf(C, '<p>', X) where sparql(X + 1, Y)"),
        (
            "{?c :p ?x} SEQ {?c :q ?y} FILTER NOT EXISTS {?c :r ?z FILTER(?z > ?x)}",
            "rdf(C, '<p>', X) seq rdf(C, '<q>', Y) cnot (rdf(C, '<r>', _Z) where sparql(_Z > X))",
        ),
        (
            "{?c :p ?x} SEQ {?c :q ?y} FILTER(getDURATION() <= 5)",
            LENGTH,
        ),
        ("?c :p/^:q ?x", "rdf(C, '<p>', _Path1) and rdf(X, '<q>', _Path1)"),
        ("{ SELECT ?c { ?c :p ?x } } ?c :q ?x", "rdf(C, '<p>', _X) and rdf(C, '<q>', X)"),
        ("{?c :p ?x OPTIONAL {?c :q ?y}} WITHIN 0", "rdf(C, '<p>', X) equals? rdf(C, '<q>', Y) within 0"),
    ],
)  # fmt: skip
def test_a_pattern(body: str, pattern: str) -> None:
    (rule,) = rules_of(f"SELECT ?c ?x {{ {body} }}")
    assert rule == f"select_1(C, X) <- {pattern}."


@pytest.mark.parametrize(
    ("body", "pattern"),
    [
        ("?c :sector :tech . ?c :p ?x", "rdf(C, '<p>', X) where rdf(C, '<sector>', '<tech>')"),
        ("?c :p ?x . ?c :sector ?s", "rdf(C, '<p>', X) event_multiply rdf(C, '<sector>', S)"),
        (
            "?c :p ?x OPTIONAL {?c :sector ?s}",
            "rdf(C, '<p>', X) event_multiply (rdf(C, '<sector>', S) *-> true ; true)",
        ),
        ("?c :p ?x MINUS {?c :sector ?s}", "rdf(C, '<p>', X) where \\+ rdf(C, '<sector>', _S)"),
        ("?c :p ?x FILTER EXISTS {?c :sector ?s}", "rdf(C, '<p>', X) where \\+ \\+ rdf(C, '<sector>', _S)"),
        (
            "?c :p ?x . ?c ?w :tech",
            "rdf(C, '<p>', X) and rdf(C, W, '<tech>') or (rdf(C, '<p>', X) event_multiply rdf(C, W, '<tech>'))",
        ),
    ],
)  # fmt: skip
def test_a_pattern_over_background(body: str, pattern: str) -> None:
    assert rules_of(f"SELECT ?c ?x {{ {body} }}", SECTOR) == [f"select_1(C, X) <- {pattern}."]


def test_a_path_with_repetition_is_a_tabled_predicate() -> None:
    assert rules_of("SELECT ?a ?c { ?a :p ?b . ?b :knows+ ?c }", KNOWS) == [
        "select_1(A, C) <- rdf(A, '<p>', B) event_multiply path_1(B, C).",
        "path_1(X, Y) :- rdf(X, '<knows>', Y).",
        "path_1(X, Y) :- path_1(X, Z), rdf(Z, '<knows>', Y).",
    ]


def test_a_schema_is_followed_by_membership_in_sets() -> None:
    classes = tuple((f"<{VOCABULARY}C{i}>", SUBCLASS, f"<{VOCABULARY}C0>") for i in range(1, 5))
    program = compile_case("SELECT ?s { ?s a :C0 }", classes)
    assert program.compiled.knowledge.facts["rdfs_class", 2] == [
        (f"<{VOCABULARY}C{i}>", f"<{VOCABULARY}C0>") for i in range(5)
    ]
    assert rules_of("SELECT ?s { ?s a :C0 }", classes) == [
        "select_1(S) <- rdf(S, '<rdf:type>', _p) where rdfs_class(_p, '<C0>')."
    ]


def test_a_few_properties_are_written_out() -> None:
    schema = ((f"<{VOCABULARY}q>", SUBPROPERTY, f"<{VOCABULARY}p>"),)
    assert rules_of("SELECT ?s { ?s :p ?o }", schema) == ["select_1(S) <- rdf(S, '<p>', O) or rdf(S, '<q>', O)."]


def test_a_schema_that_is_about_types_is_asked_as_a_whole() -> None:
    schema = ((f"<{VOCABULARY}p>", SUBPROPERTY, TYPE),)
    rule, *clauses = rules_of("SELECT ?s { ?s a :A }", schema)
    assert rule == "select_1(S) <- rdf(_s, _p, _o) event_multiply rdfs_follows(_s, _p, _o, S, '<rdf:type>', '<A>')."
    assert len(clauses) == 5


def test_heads() -> None:
    text = "REGISTER QUERY drop AS SELECT ?c (?x * 2 AS ?d) { ?c :p ?x } ; ASK { ?c :p 1 } ;"
    text += "CONSTRUCT { ?c :q ?x } { ?c :p ?x }"
    assert rules_of(text) == [
        "drop(C, D) <- rdf(C, '<p>', X) where sparql(X*2, D).",
        "ask_2 <- rdf(C, '<p>', 1).",
        "rdf(C, '<q>', X) <- rdf(C, '<p>', X) where sparql('||'(isiri(C), isblank(C))).",
    ]


def test_a_blank_node_of_a_template_is_named_by_its_solution() -> None:
    (rule,) = rules_of("CONSTRUCT { _:b :q ?x } { ?c :p ?x }")
    assert rule == (
        "rdf(_b, '<q>', X) <- rdf(C, '<p>', X) check (t1(_Start), t2(_End), "
        "sparql_blank(1, b, [_Start, _End, c = C, x = X], _b))."
    )


def test_graphs_and_streams_are_attributes_where_one_is_named() -> None:
    rules = rules_of("SELECT ?g ?x FROM STREAM :s { GRAPH ?g { ?c :p ?x } ?c :q ?y }")
    assert rules == [
        "select_1(G, X) <- (rdf(C, '<p>', X, G, '<s>') where G \\== null) and rdf(C, '<q>', Y, _g, '<s>')."
    ]


def test_values_are_facts() -> None:
    assert rules_of("SELECT ?c ?x { ?c :p ?x VALUES (?x ?y) { (1 UNDEF) (2 3) } }") == [
        "select_1(C, X) <- rdf(C, '<p>', X) event_multiply values_1(X, Y).",
        "values_1(1, _).",
        "values_1(2, 3).",
    ]


def test_a_policy_is_one_of_the_query() -> None:
    tree = compile_case("SELECT ?c { {?c :p ?x} SEQ {?c :p ?y} } POLICY recent").compiled.tree
    (rule,) = [item for item in tree.items if isinstance(item, Rule)]
    assert [(p.name, p.value.value) for p in rule.properties] == [("policy", "recent")]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (
            (
                "REGISTER STREAM :s AS CONSTRUCT {?x :p 1} { {?x :q ?y} EQUALSOPTIONAL {?x :r ?z} } ; "
                "SELECT (COUNT(*) AS ?n) FROM STREAM :s [RANGE PT10S STEP PT5S] { ?s :p ?o }"
            ),
            "E265",
        ),
        ("SELECT ?c { { ?c :p ?x FILTER NOT EXISTS { ?y :q ?z } } OPTIONALSEQ { ?c :r ?y } }", "E265"),
        ("SELECT ?c FROM :onto { ?c :p ?x }", "E266"),
        ("REGISTER QUERY rdf AS SELECT ?a ?b ?c { ?a ?b ?c }", "E268"),
        ("REGISTER QUERY seq AS ASK { ?c :p ?x }", "E268"),
        ("REGISTER QUERY select_2 AS SELECT ?c { ?c :p ?x } ; SELECT ?c { ?c :p ?x }", "E268"),
    ],
)
def test_what_rules_do_not_say_is_refused(query: str, code: str) -> None:
    with pytest.raises(ProgramError) as refused:
        compile_case(query)
    assert refused.value.code == code
    assert refused.value.problems[0].span is not None
    assert refused.value.problems[0].hint


def test_a_query_over_a_window_is_alarms_and_a_predicate() -> None:
    query = "SELECT ?x FROM STREAM :s [RANGE PT10S STEP PT5S] { ?x :p ?y MINUS { ?x :q ?z } }"
    found = rules_of(query)
    assert found[1] == (
        "exceptionAlarmAbsoluteDatetime(window_1(B, K, triple(0, S, P, O)), When) <- rdf(S, P, O, _g, '<s>') "
        "check (t1(Start), t2(End), window_steps(Start, End, 10000000, 5000000, 0, When, K, B))."
    )
    assert found[5] == "exceptionAlarm(part_1(J, B, X), 5) <- part_1(K, B, X) where (K > 0, J is K - 1)."
    assert found[-1] == (
        "solutions_1(_Window, X) :- sparql_graphs(_Window, [_Graph]), sparql_triple(_Graph, X, '<p>', Y), "
        "\\+ sparql_triple(_Graph, X, '<q>', _Z)."
    )


def test_a_sliding_aggregate_is_one_of_the_language() -> None:
    query = "SELECT ?x (SUM(?y) AS ?s) FROM STREAM :s [RANGE PT10S] { ?x :p ?y } GROUP BY ?x"
    (rule,) = rules_of(query)
    assert rule == (
        "select_1(X, S) <- aggregate(list(_Row), rdf(_X_2, '<p>', _Y_2, _g, '<s>') "
        "where (_Row = [_X_2, _Y_2], _Key = [_X_2]), _Rows) within 10 "
        "where (_Key = [_X], sparql_groups([_X, _Y], [], [], [_X = _X, _S = sum(_Y)], _Rows, [X, S]))."
    )


def test_a_rule_that_reads_other_triples_is_refused() -> None:
    with pytest.raises(ProgramError) as refused:
        compile_case("SELECT ?g { GRAPH ?g { ?s :p ?o } }", rules="d <- rdf(_, _, _).")
    assert refused.value.code == "E267"
    assert "rdf(S, P, O, Graph, Stream)" in str(refused.value)
