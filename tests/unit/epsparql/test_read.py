"""What queries read as: every construct of the grammar, and the queries of 003."""

from __future__ import annotations

import pytest

from etalis.data.values import real
from etalis.epsparql import syntax as s
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect, read_unit
from etalis.epsparql.read.words import TEMPORAL
from etalis.errors import OptionError
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


def test_a_filter_behind_a_single_group_belongs_to_it() -> None:
    test = s.FilterBy(call(">", Y, 1))
    assert body("{ ?x :p ?y } FILTER (?y > 1)") == (s.Triple(X, iri("p"), Y), test)
    inner = group(s.SubSelect(s.StreamQuery("select", group(s.Triple(X, iri("p"), Y)))))
    assert body("{ SELECT * { ?x :p ?y } } FILTER (?y > 1)") == (inner, test)


@pytest.mark.parametrize("word", sorted(TEMPORAL))
def test_every_temporal_operator_is_read_in_any_case(word: str) -> None:
    left, right = group(s.Triple(X, iri("p"), Y)), group(s.Triple(X, iri("q"), Z))
    for written in (word, word.lower()):
        assert body(f"{{ ?x :p ?y }} {written} {{ ?x :q ?z }}") == (s.Chain((left, right), (word,)),)


def test_within_is_of_the_whole_chain() -> None:
    left, right = group(s.Triple(X, iri("p"), Y)), group(s.Triple(X, iri("q"), Z))
    chain = s.Chain((left, right), ("SEQ",), 5_000_000)
    test = s.FilterBy(call(">", Y, 1))
    assert body("{ ?x :p ?y } SEQ { ?x :q ?z } WITHIN 5") == (chain,)
    for written in ("WITHIN 5 FILTER (?y > 1)", "FILTER (?y > 1) WITHIN 5", "WITHIN 9 FILTER (?y > 1) WITHIN 5"):
        assert body(f"{{ ?x :p ?y }} SEQ {{ ?x :q ?z }} {written}") == (chain, test)
        assert body(f"{{ {{ ?x :p ?y }} SEQ {{ ?x :q ?z }} {written} }}") == (chain, test)
    assert body("{ { ?x :p ?y } SEQ { ?x :q ?z } } WITHIN 5") == (
        s.Chain((group(s.Chain((left, right), ("SEQ",))),), (), 5_000_000),
    )
    assert body("{ ?x :p ?y } WITHIN 0") == (s.Chain((left,), (), 0),)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ('"PT10M"^^xsd:duration', 600),
        ('"P1DT2H"^^xsd:dayTimeDuration', 93_600),
        ('"PT10M"', 600),
        ("'PT0.5S'", 0.5),
        ("PT10M", 600),
        ("P30D", 2_592_000),
        ("PT1H30M", 5_400),
        ("PT0.25S", 0.25),
        ("600", 600),
        ("2.5", 2.5),
        ("500ms", 0.5),
        ("10s", 10),
        ("10m", 600),
        ("10 m", 600),
        ("2h", 7_200),
        ("1h30m", 5_400),
        ("30d", 2_592_000),
        ("10 min", 600),
    ],
)
def test_a_duration_has_many_spellings(written: str, seconds: float) -> None:
    for pattern in (f"{{ ?x :p ?y }} WITHIN {written}", f"{{ {{ ?x :p ?y }} WITHIN {written} FILTER (?y > 1) }}"):
        chain = body(pattern)[0]
        assert isinstance(chain, s.Chain)
        assert chain.within == seconds * 1_000_000


def test_triples_share_subjects_and_predicates() -> None:
    assert body("{ ?x a :C ; :p 1, 2 ; ; . ?y :q ?z }") == (
        s.Triple(X, Const(f"<{RDF}type>"), iri("C")),
        s.Triple(X, iri("p"), Const(1)),
        s.Triple(X, iri("p"), Const(2)),
        s.Triple(Y, iri("q"), Z),
    )


def test_nodes_without_a_name_are_variables() -> None:
    first, second = Var("_:b1"), Var("_:b2")
    assert body("{ ?x :p [] ; :q [ :r 1 ; :s ?y ] }") == (
        s.Triple(X, iri("p"), first),
        s.Triple(X, iri("q"), second),
        s.Triple(second, iri("r"), Const(1)),
        s.Triple(second, iri("s"), Y),
    )
    assert body("{ [ :p 1 ] . [] :q _:b1 }") == (
        s.Triple(second, iri("p"), Const(1)),
        s.Triple(Var("_:b3"), iri("q"), first),
    )


def test_a_list_is_its_cells() -> None:
    rest, nil = Const(f"<{RDF}rest>"), Const(f"<{RDF}nil>")
    first = Const(f"<{RDF}first>")
    one, two = Var("_:b1"), Var("_:b2")
    cells = (
        s.Triple(one, first, Const(1)),
        s.Triple(one, rest, two),
        s.Triple(two, first, X),
        s.Triple(two, rest, nil),
    )
    assert body("{ ?y :p (1 ?x) }") == (s.Triple(Y, iri("p"), one), *cells)
    assert body("{ (1 ?x) . }") == cells
    assert body("{ (1 ?x) :p () }") == (*cells, s.Triple(one, iri("p"), nil))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (":p/:q/:r", call("/", iri("p"), iri("q"), iri("r"))),
        (":p|^:q", call("|", iri("p"), call("^", iri("q")))),
        (":p/:q|:r", call("|", call("/", iri("p"), iri("q")), iri("r"))),
        (":p/(:q|:r)", call("/", iri("p"), call("|", iri("q"), iri("r")))),
        (":p*", call("*", iri("p"))),
        ("^:p+", call("^", call("+", iri("p")))),
        ("(^:p)?", call("?", call("^", iri("p")))),
        ("!:p", call("!", iri("p"))),
        ("!(:p|^a)", call("!", iri("p"), call("^", Const(f"<{RDF}type>")))),
        ("!()", call("!")),
        ("a/:p", call("/", Const(f"<{RDF}type>"), iri("p"))),
    ],
)
def test_paths(path: str, expected: Compound) -> None:
    assert body(f"{{ ?x {path} ?y }}") == (s.Triple(X, expected, Y),)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("+1", 1),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1e3", real(1000.0)),
        ("1.e3", real(1000.0)),
        ("true", f'"true"^^<{XSD}boolean>'),
        ("FALSE", f'"false"^^<{XSD}boolean>'),
        ('"text"', "text"),
        ("'it \"is\"'", 'it "is"'),
        (r'"a\tb\n\"\\\u00e9\U0001F600"', 'a\tb\n"\\\u00e9\U0001f600'),
        ('"""long "text"\n"""', 'long "text"\n'),
        ("'''it's'''", "it's"),
        ('"chat"@FR', '"chat"@fr'),
        ('"07"^^xsd:int', 7),
        ('"1.0"^^xsd:decimal', real(1.0)),
        ('"x"^^xsd:integer', f'"x"^^<{XSD}integer>'),
        ('"P1D"^^<http://www.w3.org/2001/XMLSchema#duration>', f'"P1D"^^<{XSD}duration>'),
        ('"<a>"', '"<a>"'),
        ('"null"', '"null"'),
        ("<http://y/z>", "<http://y/z>"),
        (r"<http://y/\u00e9>", "<http://y/\u00e9>"),
        (":a.b", "<http://x/a.b>"),
        (r":a\,b%20c", "<http://x/a,b%20c>"),
        ("prov:x", "<http://www.w3.org/ns/prov#x>"),
        ("acme", "<http://x/acme>"),
    ],
)
def test_constants(written: str, value: object) -> None:
    (triple,) = body(f"{{ ?x :p {written} }}")
    assert isinstance(triple, s.Triple)
    assert triple.object == Const(value)


def test_a_number_ends_before_the_full_stop() -> None:
    assert body("{ ?x :p 1. ?x :p 1.5. }") == (s.Triple(X, iri("p"), Const(1)), s.Triple(X, iri("p"), Const(1.5)))


def test_prefixes_and_base_hold_for_all_that_follows() -> None:
    text = """
    # the first query has a base, the second another meaning of the prefix
    BASE <http://b/c/d>
    PREFIX p: <e#>
    ASK { <> p:x <../y> } ;
    PREFIX p: <http://q/>
    ASK { <f> p:x <//h/i> }
    """
    bodies = [query.body.elements for query in read_unit(text, prefixes={"p:": "http://never/"}).queries]
    assert bodies == [
        (s.Triple(Const("<http://b/c/d>"), Const("<http://b/c/e#x>"), Const("<http://b/y>")),),
        (s.Triple(Const("<http://b/c/f>"), Const("<http://q/x>"), Const("<http://h/i>")),),
    ]
    (given,) = read_unit("ASK { <a> p:x <b> }", prefixes={"p": "<http://given/>"}).queries
    assert given.body.elements == (s.Triple(Const("<a>"), Const("<http://given/x>"), Const("<b>")),)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("?x + 1 * 2", call("+", X, call("*", 1, 2))),
        ("(?x + 1) * 2", call("*", call("+", X, 1), 2)),
        ("1 - 2 - 3", call("-", call("-", 1, 2), 3)),
        ("1 - (2 - 3)", call("-", 1, call("-", 2, 3))),
        ("?x -1", call("-", X, 1)),
        ("?x * -1", call("*", X, -1)),
        ("- 1", call("neg", 1)),
        ("-?x", call("neg", X)),
        ("+?x", call("pos", X)),
        ("!?x = ?y", call("=", call("!", X), Y)),
        ("?x = 1 || ?y = 2 && ?z", call("||", call("=", X, 1), call("&&", call("=", Y, 2), Z))),
        ("?x <= 1 && ?x >= 2 && ?x != 3", call("&&", call("&&", call("<=", X, 1), call(">=", X, 2)), call("!=", X, 3))),
        ("?x<?y", call("<", X, Y)),
        ("?x = <http://x/a>", call("=", X, iri("a"))),
        ("?x=<http://x/a>", call("=", X, iri("a"))),
        ("?x IN (1, ?y + 1)", call("in", X, 1, call("+", Y, 1))),
        ("?x not in ()", call("!", call("in", X))),
        ("?x + 1 IN (2) && ?y", call("&&", call("in", call("+", X, 1), 2), Y)),
        ("bound(?x)", call("bound", X)),
        ("URI(?x)", call("iri", X)),
        ("isURI(?x)", call("isiri", X)),
        ("if(?x, 1, 2)", call("if", X, 1, 2)),
        ("COALESCE(?x, ?y, 1)", call("coalesce", X, Y, 1)),
        ("SUBSTR(?x, 1, 2)", call("substr", X, 1, 2)),
        ('REGEX(?x, "^a", "i")', call("regex", X, "^a", "i")),
        ("xsd:double(?x)", call(f"<{XSD}double>", X)),
        ("getduration() < 5", call("<", call("getduration"), 5)),
        ('GETENDTIME() > "2020-01-01T00:00:00Z"^^xsd:dateTime', call(
            ">", call("getendtime"), f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>')),
    ],
)  # fmt: skip
def test_expressions(written: str, expected: Compound) -> None:
    assert expression(written) == expected


def test_the_elements_of_a_group() -> None:
    one, two = group(s.Triple(X, iri("p"), Y)), group(s.Triple(X, iri("q"), Z))
    a, b = "{ ?x :p ?y }", "{ ?x :q ?z }"
    assert body(f"{{ {a} UNION {b} UNION {a} }}") == (s.Alternatives((one, two, one)),)
    assert body(f"{{ {a} {b} }}") == (one, two)
    assert body(f"{{ ?x :p ?y OPTIONAL {b} MINUS {a} }}") == (*one.elements, s.Optional(two), s.Minus(one))
    assert body(f"{{ FILTER EXISTS {a} . FILTER NOT EXISTS {b} }}") == (s.Exists(one, False), s.Exists(two, True))
    assert body(f"{{ GRAPH ?g {a} STREAM :s {b} }}") == (
        s.Scoped("graph", Var("g"), one),
        s.Scoped("stream", iri("s"), two),
    )
    assert body("{ BIND (?x + 1 AS ?y) FILTER regex(?y, 'a') FILTER xsd:boolean(?y) }") == (
        s.BindAs(call("+", X, 1), Y),
        s.FilterBy(call("regex", Y, "a")),
        s.FilterBy(call(f"<{XSD}boolean>", Y)),
    )
    assert body("{ }") == ()


def test_values() -> None:
    rows = ((Const(1), None), (iri("a"), Const("t")))
    assert body("{ VALUES (?x ?y) { (1 UNDEF) (:a 't') } }") == (s.Values((X, Y), rows),)
    assert body("{ VALUES ?x { 1 UNDEF } }") == (s.Values((X,), ((Const(1),), (None,))),)
    assert body("{ VALUES () { () } }") == (s.Values((), ((),)),)
    assert only("SELECT * { ?x :p ?y } VALUES ?x { 1 }").values == s.Values((X,), ((Const(1),),))


def test_the_forms_of_queries() -> None:
    triple = s.Triple(X, iri("p"), Y)
    assert only("ASK { ?x :p ?y }") == s.StreamQuery("ask", group(triple))
    assert only("CONSTRUCT { ?x :p ?y } { ?x :p ?y }") == s.StreamQuery("construct", group(triple), template=(triple,))
    assert only("CONSTRUCT WHERE { ?x :p ?y }") == s.StreamQuery("construct", group(triple), template=(triple,))
    items = (s.Item(X), s.Item(Z, call("+", Y, 1)))
    for written in ("?x (?y + 1 AS ?z)", "DISTINCT ?x (?y + 1 AS ?z)", "reduced ?x ?z AS ?y + 1"):
        assert only(f"SELECT {written} WHERE {{ ?x :p ?y }}") == s.StreamQuery("select", group(triple), items)
    assert only("SELECT * { ?x :p ?y } POLICY recent").policy == "recent"


def test_registered_queries_and_what_they_read_from() -> None:
    text = """
    REGISTER QUERY stockDrop AS SELECT ?x FROM <onto.ttl> FROM STREAM :s [RANGE 10m] { ?x :p ?y } ;
    REGISTER RSTREAM :out AS SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE PT10M STEP 30s] FROM NAMED <g>
    { WINDOW :w { ?x :p ?y } }
    """
    first, second = read_unit(text, vocabulary=HOME).queries
    assert first.registered == ("query", "stockDrop")
    assert first.datasets == (
        s.Dataset("default", "<onto.ttl>"),
        s.Dataset("stream", "<http://x/s>", s.StreamWindow(600_000_000)),
    )
    assert second.registered == ("rstream", "<http://x/out>")
    window = s.StreamWindow(600_000_000, 30_000_000)
    assert second.datasets == (
        s.Dataset("window", "<http://x/w>", window, "<http://x/s>"),
        s.Dataset("named", "<g>"),
    )
    assert second.body.elements == (s.Scoped("window", iri("w"), group(s.Triple(X, iri("p"), Y))),)


def test_grouping() -> None:
    query = only("""
    SELECT ?x ?k (COUNT(*) AS ?n) (SUM(DISTINCT ?y) + 1 AS ?s) (GROUP_CONCAT(?y; SEPARATOR=", ") AS ?t)
    FROM STREAM :s [RANGE 10] { ?x :p ?y } GROUP BY ?x (str(?y) AS ?k) HAVING (AVG(?y) > 1) (COUNT(DISTINCT *) > 2)
    """)
    assert query.groups == (s.Item(X), s.Item(Var("k"), call("str", Y)))
    assert query.having == (call(">", call("avg", Y), 1), call(">", call("count", call("distinct")), 2))
    assert query.items == (
        s.Item(X),
        s.Item(Var("k")),
        s.Item(Var("n"), call("count")),
        s.Item(Var("s"), call("+", call("sum", call("distinct", Y)), 1)),
        s.Item(Var("t"), call("group_concat", Y, ", ")),
    )


def test_places_are_those_of_the_text() -> None:
    (query,) = read_unit("ASK {\n  ?x <http://x/p> ?y FILTER (?y > 1) }").queries
    triple, test = query.body.elements
    assert repr(triple.span) == "<query>:2:3"
    assert isinstance(test, s.FilterBy)
    assert test.expression.span is not None
    assert test.expression.span.source.text[test.expression.span.start : test.expression.span.end] == "?y > 1"


def test_a_variable_that_nothing_binds_is_a_warning() -> None:
    _, problems = read_collect("SELECT ?pric { ?x <http://x/p> ?price }")
    assert [(p.code, p.message, p.hint) for p in problems] == [
        ("W131", "?pric occurs nowhere in the pattern", "did you mean ?price?")
    ]


def unseen(text: str) -> list[tuple[str, str]]:
    """Return what is told of variables without a value: code, and the part of the text."""
    _, problems = read_collect("PREFIX : <http://x/> " + text)
    spans = [problem.span for problem in problems]
    assert {problem.code for problem in problems} <= {"W131"}, problems
    return [(p.message, s.source.text[s.start : s.end]) for p, s in zip(problems, spans, strict=True) if s is not None]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{ ?x :p ?y FILTER (?yy > 5) }", ["?yy occurs nowhere in the pattern"]),
        ("{ ?x :p ?y BIND (?z + 1 AS ?w) }", ["?z occurs nowhere in the pattern"]),
        ("{ ?x :p ?y { ?x :q ?z FILTER (?z > ?y) } }", ["?y has no value in this group"]),
        ("{ { ?x :p ?y FILTER (?y > ?z) } SEQ { ?x :q ?z } }", ["?z has no value in this group"]),
        ("{ { ?x :p ?y } SEQ { ?x :q ?z FILTER (?y > ?z) } }", ["?y has no value in this group"]),
        ("{ ?x :p ?y MINUS { ?x :q ?z FILTER (?y > ?z) } }", ["?y has no value in this group"]),
        ("{ { ?x :p ?y } UNION { ?x :q ?z FILTER (?y > 1) } }", ["?y has no value in this group"]),
        ("{ { ?x :p ?y FILTER (?y > ?z) } OPTIONALSEQ { ?x :q ?z } }", []),
        ("{ { ?x :p ?y } EQUALSOPTIONAL { ?x :q ?z FILTER (?y > ?z) } }", []),
        ("{ { ?x :p ?y FILTER (?y > ?z) } EQUALSOPTIONAL { ?x :q ?z } }", ["?z has no value in this group"]),
        ("{ ?x :p ?y OPTIONAL { ?x :q ?z FILTER (?y > ?z) } }", []),
        ("{ ?x :p ?y FILTER NOT EXISTS { ?x :q ?z { ?x :r ?w FILTER (?y > ?w) } } }", []),
        ("{ ?x :p ?y } VALUES ?y { 1 2 }", []),
        ("{ ?x :p ?y BIND (?y + 1 AS ?z) FILTER (?z > 5) }", []),
    ],
)
def test_a_variable_that_an_expression_does_not_see_is_a_warning(text: str, found: list[str]) -> None:
    assert unseen(f"SELECT ?x {text}") == [(message, message.split()[0]) for message in found]


def test_a_variable_of_what_is_selected_is_bound_somewhere() -> None:
    assert unseen("SELECT (?z + 1 AS ?w) { ?x :p ?y }") == [("?z occurs nowhere in the pattern", "?z")]
    text = "SELECT ?k (SUM(?z) AS ?w) FROM STREAM :s [RANGE 5] { ?x :p ?y } GROUP BY (?v AS ?k)"
    assert unseen(text) == [("?z occurs nowhere in the pattern", "?z"), ("?v occurs nowhere in the pattern", "?v")]


def test_there_is_one_dialect() -> None:
    with pytest.raises(OptionError, match="there is no dialect 'etails'"):
        read_unit("ASK {}", dialect="etails")


@pytest.mark.parametrize(
    ("window", "lengths"),
    [("RANGE 10m TUMBLING", (600, 600)), ("range 10m slide 30s", (600, 30)), ("RANGE 10m", (600, None))],
)
def test_windows_as_other_languages_write_them(window: str, lengths: tuple[int, int | None]) -> None:
    unit = read_unit(f"SELECT ?x FROM STREAM <http://x/s> [{window}] {{ ?x <http://x/p> ?y }}")
    found = unit.queries[0].datasets[0].window
    assert found is not None
    assert (found.range, found.step) == tuple(None if n is None else n * 1_000_000 for n in lengths)
    assert read_unit(print_unit(unit)) == unit
