"""What queries read as: every construct of the grammar, and the queries of 003."""

from __future__ import annotations

import pytest

from etalis.epsparql import syntax as s
from etalis.epsparql.read import read_unit
from etalis.language.syntax import Compound, Const, Term, Var
from helpers.chapter_seven import DOWNRATED, DROP_AND_RISE, NOT_ACQUIRED, QUERIES, RATINGS, RUNNING_COUNT

HOME = "http://x/"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def iri(name: str) -> Const:
    return Const(f"<{HOME}{name}>")


def only(text: str) -> s.StreamQuery:
    (query,) = read_unit(text, vocabulary=HOME).queries
    return query


def body(pattern: str) -> tuple[s.Element, ...]:
    return only(f"SELECT * WHERE {pattern}").body.elements


def expression(text: str) -> Term:
    (found,) = body(f"{{ FILTER ({text}) }}")
    assert isinstance(found, s.FilterBy)
    return found.expression


def price(who: str, value: str, predicate: str = "hasStockPrice") -> s.Triple:
    return s.Triple(Var(who), iri(predicate), Var(value))


def group(*elements: s.Element) -> s.GroupPattern:
    return s.GroupPattern(elements)


def call(name: str, *arguments: object) -> Compound:
    made = tuple(a if isinstance(a, Var | Const | Compound) else Const(a) for a in arguments)
    return Compound(name, made)


X, Y, Z = Var("x"), Var("y"), Var("z")


@pytest.mark.parametrize("text", QUERIES)
def test_the_queries_of_003_read_as_printed(text: str) -> None:
    assert len(read_unit(text, vocabulary=HOME).queries) == 1


def test_a_chain_outside_braces_is_the_body() -> None:
    query = only(DROP_AND_RISE)
    chain, test = query.body.elements
    groups = tuple(group(price("company", f"price{n}")) for n in (1, 2, 3))
    assert chain == s.Chain(groups, ("SEQ", "SEQ"))
    assert isinstance(test, s.FilterBy)
    assert query.items == (s.Item(Var("company")),)
    braced = DROP_AND_RISE.replace("WHERE", "WHERE {") + "}"
    assert only(braced) == query


def test_an_operand_may_be_a_chain() -> None:
    outer = only(DOWNRATED).body.elements[0]
    inner = s.Chain((group(price("company", "price1")), group(price("company", "price2"))), ("SEQ",))
    left = group(s.Triple(Var("company"), iri("downratedby"), Var("ratingagency")))
    assert outer == s.Chain((left, group(inner)), ("OPTIONALSEQ",))


def test_the_names_are_as_written() -> None:
    first = only(NOT_ACQUIRED).body.elements[0]
    assert isinstance(first, s.Chain)
    assert first.groups[0] == group(price("company", "price1", "hasStockprice"))


def test_a_template_needs_no_braces() -> None:
    query = only(RATINGS)
    assert query.form == "construct"
    assert query.template == (s.Triple(Var("company"), iri("downratedby"), Var("ratingagency")),)


def test_the_running_count_selects_in_a_group() -> None:
    query = only(RUNNING_COUNT)
    assert [triple.subject for triple in query.template] == [Var("_:aaa"), Var("_:aaa")]
    (inner,) = query.body.elements
    assert isinstance(inner, s.SubSelect)
    assert inner.query.items == (
        s.Item(Var("count"), call("+", Var("prevcount"), 1)),
        s.Item(Var("sum"), call("+", Var("prevsum"), Var("price"))),
    )
    chain, test = inner.query.body.elements
    assert isinstance(chain, s.Chain)
    assert chain.operators == ("EQUALSOPTIONAL",)
    assert isinstance(test, s.FilterBy)
