"""The dialect of the original's own parser: bare names, goals and assignments in FILTER and DO, aggregate groups."""

from __future__ import annotations

import pytest

from etalis.epsparql import syntax as s
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect, read_unit
from etalis.language.syntax import Compound, Const, ListTerm, Var

COMPANY, P, Q = Var("company"), Var("p"), Var("q")
PRICE = Const("hasStockPrice")


def only(text: str) -> s.StreamQuery:
    (query,) = read_unit(text, dialect="etalis").queries
    return query


def test_names_without_prefix_are_plain_atoms() -> None:
    query = only("select ?p where { company1 hasStockPrice ?p . company1 ask 5 } filter (?p != none)")
    assert query.body.elements == (
        s.Triple(Const("company1"), PRICE, P),
        s.Triple(Const("company1"), Const("ask"), Const(5)),
        s.FilterBy(Compound("!=", (P, Const("none")))),
    )


def test_what_do_assigns_is_used_in_the_template() -> None:
    query = only(
        "CONSTRUCT ?company hasStockPrice ?q WHERE { ?company hasStockPrice ?p } DO ( ?q is ?p + 1 && ?q < 1000 )"
    )
    assert query.template == (s.Triple(COMPANY, PRICE, Q),)
    assert query.body.elements == (
        s.Triple(COMPANY, PRICE, P),
        s.BindAs(Compound("+", (P, Const(1))), Q),
        s.FilterBy(Compound("<", (Q, Const(1000)))),
    )


def test_a_filter_holds_comparisons_assignments_and_goals() -> None:
    text = """
    SELECT ?company ?bonus WHERE { ?company hasStockPrice ?p } SEQ { ?company hasStockPrice ?q } WITHIN 10
    FILTER (?q =< ?p * 2 && ?bonus is (?q - ?p) * 100 && rdf_store(?company, hasCEO, ?ceo) && rich(?ceo, [1, f(x)]))
    """
    chain, comparison, assignment, stored, rich = only(text).body.elements
    assert isinstance(chain, s.Chain)
    assert chain.within == 10_000_000
    assert comparison == s.FilterBy(Compound("<=", (Q, Compound("*", (P, Const(2))))))
    assert assignment == s.BindAs(Compound("*", (Compound("-", (Q, P)), Const(100))), Var("bonus"))
    assert stored == s.AskGoal(Compound("rdf_store", (COMPANY, Const("hasCEO"), Var("ceo"))))
    inner = ListTerm((Const(1), Compound("f", (Const("x"),))))
    assert rich == s.AskGoal(Compound("rich", (Var("ceo"), inner)))


def test_a_disjunction_is_one_condition() -> None:
    (_, test) = only("SELECT ?p { ?company hasStockPrice ?p } FILTER (?p =:= 1 || ?p == 2)").body.elements
    assert test == s.FilterBy(Compound("||", (Compound("=", (P, Const(1))), Compound("=", (P, Const(2))))))


@pytest.mark.parametrize(
    "written",
    ["?p > 1 && ?p < 9 && goal(?p)", "((?p > 1) && ((?p < 9 && goal(?p))))", "(?p > 1 && ?p < 9) && (goal(?p))"],
)
def test_brackets_change_nothing_in_a_conjunction(written: str) -> None:
    (_, *tests) = only(f"SELECT ?p {{ ?company hasStockPrice ?p }} FILTER ({written})").body.elements
    assert tests == [
        s.FilterBy(Compound(">", (P, Const(1)))),
        s.FilterBy(Compound("<", (P, Const(9)))),
        s.AskGoal(Compound("goal", (P,))),
    ]


def test_and_binds_more_than_or() -> None:
    (_, test) = only("SELECT ?p { ?company hasStockPrice ?p } FILTER (?p && ?company || 1)").body.elements
    assert test == s.FilterBy(Compound("||", (Compound("&&", (P, COMPANY)), Const(1))))


def test_what_only_prints_is_left_out_with_a_note() -> None:
    text = "SELECT ?p { ?company hasStockPrice ?p } FILTER (write(?p) && write_space(2) && ?p > 1 && write_nl(1))"
    unit, problems = read_collect(text, dialect="etalis")
    assert len(unit.queries[0].body.elements) == 2
    assert [(p.code, p.message) for p in problems] == [
        ("W130", "write is left out"), ("W130", "write_space is left out"), ("W130", "write_nl is left out")
    ]  # fmt: skip


def test_an_assignment_to_what_has_a_value_compares() -> None:
    (_, test) = only("SELECT ?p { ?company hasStockPrice ?p } FILTER (?p is 1 + 2)").body.elements
    assert test == s.FilterBy(Compound("=", (P, Compound("+", (Const(1), Const(2))))))
    (_, binding, again) = only("SELECT ?q { ?company hasStockPrice ?p } DO (?q is ?p && ?q is 2)").body.elements
    assert binding == s.BindAs(P, Q)
    assert again == s.FilterBy(Compound("=", (Q, Const(2))))


def test_goals_may_be_negated_and_need_no_arguments() -> None:
    (_, *goals) = only(
        "SELECT ?p { ?company hasStockPrice ?p } FILTER (open && !low(?p) && not(high(?p)))"
    ).body.elements
    low, high = (Compound("not", (Compound(name, (P,)),)) for name in ("low", "high"))
    assert goals == [s.AskGoal(Compound("open", ())), s.AskGoal(low), s.AskGoal(high)]


def test_negated_functions_are_conditions() -> None:
    (_, test) = only("SELECT ?p { ?company hasStockPrice ?p } FILTER (!BOUND(?q) && true)").body.elements[:2]
    assert test == s.FilterBy(Compound("!", (Compound("bound", (Q,)),)))


def test_full_stops_between_triples_may_be_missing() -> None:
    first, second = only("SELECT ?p { company1 hasStockPrice ?p ?company ask true DO (?p > 1) }").body.elements[:2]
    assert first == s.Triple(Const("company1"), PRICE, P)
    assert second == s.Triple(COMPANY, Const("ask"), Const("true"))


def test_a_name_behind_a_colon_is_plain_unless_something_declares_it() -> None:
    def subject(text: str, **options: str) -> object:
        (element,) = read_unit(text, dialect="etalis", **options).queries[0].body.elements
        assert isinstance(element, s.Triple)
        return element.subject

    assert subject("ASK { :acme p ?x }") == Const("acme")
    assert subject("PREFIX : <http://x/> ASK { :acme p ?x }") == Const("<http://x/acme>")
    assert subject("ASK { :acme p ?x }", vocabulary="http://v/") == Const("<http://v/acme>")


def test_a_group_may_be_an_aggregate() -> None:
    text = "SELECT ?s { aggregate(sum(?p), rdf(?company, hasStockPrice, ?p), ?s) }"
    (chain,) = only(f"{text} SEQ {{ aggregate(count, rdf(x, y, z), ?n) }}").body.elements
    assert isinstance(chain, s.Chain)
    total = s.Folded("sum", P, s.Triple(COMPANY, PRICE, P), Var("s"))
    count = s.Folded("count", None, s.Triple(Const("x"), Const("y"), Const("z")), Var("n"))
    assert [inner.elements for inner in chain.groups] == [(total,), (count,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?p { company1 hasStockPrice ?p . ?p a 'b c' . ?p 'b c' is } FILTER (p(?p, [a, f(1)]) && ?q is 2)",
        "CONSTRUCT a hasStockPrice ?q { ?c hasStockPrice ?p } DO (?q is ?p * 1.5 && goal(?q))",
        "SELECT ?s { aggregate(avg(?p), rdf(?c, 'x y', ?p), ?s) } WITHIN 30 FILTER (?s >= 3)",
        "SELECT ?n { aggregate(count, rdf(?c, p, ?v), ?n) }",
        "SELECT ?n { ?w p ?t } SEQ { aggregate(COUNT(?v), rdf(?c, p, ?v), ?n) . FILTER (?n > 1 && ?m is ?n) } WITHIN 5",
        "SELECT ?n { ?n p true ?n q false } FILTER (open && !closed(?n) && ?n is 1) DO (?m is 2 && ?m is ?n)",
        "SELECT * FROM STREAM prices { STREAM prices { ?c p ?v } GRAPH filter { ?c q ?v } }",
    ],
)
def test_the_printed_form_reads_the_same(text: str) -> None:
    unit = read_unit(text, dialect="etalis")
    assert read_unit(print_unit(unit), dialect="etalis") == unit


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("SELECT ?s { aggregate(total(?p), rdf(?c, q, ?p), ?s) }", "E108", "this is no aggregate over a triple"),
        ("SELECT ?s { ?c p ?s BIND (?c AS ?s) }", "E135", "?s has a value already"),
        ("SELECT ?s { aggregate(sum(?p), rdf(f(?c), q, ?p), ?s) }", "E108", "this is no aggregate over a triple"),
        ("SELECT ?s { aggregate(sum(f(?p)), rdf(?c, q, ?p), ?s) }", "E108", "this is no aggregate over a triple"),
        ("SELECT ?s { ?c p ?s } FILTER (goal(?s,) )", "E108", "an argument is missing before `)`"),
        ("SELECT ?s { ?c p null }", "E131", "`null` stands for no value"),
        ("SELECT ?s { ?c p ?s } FILTER (low(?s) || ?s > 1)", "E132", "there is no function `low`"),
        ("SELECT ?s { ?c p ?s } AND { ?c q ?s }", "E108", "expected the end of the query, found `AND`"),
        ("SELECT ?s { aggregate(sum(?p), rdf(?c, q, ?p), ?s) ?c p ?x }", "E108", "this stands beside an aggregate"),
    ],
)
def test_what_is_wrong_is_told(text: str, code: str, message: str) -> None:
    _, problems = read_collect(text, dialect="etalis")
    assert [(p.code, p.message) for p in problems] == [(code, message)]


def test_a_name_like_a_variable_of_prolog_is_a_warning() -> None:
    text = "SELECT ?c { ?c price ?p } FILTER ( boss(C, ?b) && ?b \\= Ann )"
    (problem,) = read_collect(text, dialect="etalis")[1]
    assert (problem.code, problem.message, problem.hint) == ("W133", "C is a name, no variable", "write ?c, or 'C'")


def test_a_goal_is_negated_as_in_prolog() -> None:
    text = "SELECT ?c {{ ?c price ?p }} FILTER ( {}boss(?c, ann) )"
    ways = [only(text.format(sign)).body.elements[-1] for sign in ("!", "\\+ ")]
    assert ways[0] == ways[1] == s.AskGoal(Compound("not", (Compound("boss", (Var("c"), Const("ann"))),)))
    assert only("SELECT ?c { ?c price ?p } FILTER ( \\+ (?p > 5) )") == only(
        "SELECT ?c { ?c price ?p } FILTER ( !(?p > 5) )"
    )
