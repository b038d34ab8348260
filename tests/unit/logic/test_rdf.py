"""RDF as facts: formats, names of nodes, values of literals, relations, and what is refused with its place."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis import EtalisError, InputError
from etalis.data.values import Real
from etalis.logic.rdf.load import RdfFacts, load_graph

SHOP = "http://shop.example/"
PREFIXES = f"@prefix : <{SHOP}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
PREFIXES += "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"

TURTLE = PREFIXES + ":rose a :Flower ; :price 2.5 ; :in :bed .\n"
TRIPLES = f"""<{SHOP}rose> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SHOP}Flower> .
<{SHOP}rose> <{SHOP}price> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<{SHOP}rose> <{SHOP}in> <{SHOP}bed> .
"""
XML = f"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY shop "{SHOP}"> <!ENTITY bed "&shop;bed">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="{SHOP}">
  <Flower rdf:about="&shop;rose">
    <price rdf:datatype="http://www.w3.org/2001/XMLSchema#decimal">2.5</price>
    <in rdf:resource="&bed;"/>
  </Flower>
</rdf:RDF>
"""
QUADS = TRIPLES.replace(" .\n", f" <{SHOP}stock> .\n")
TRIG = PREFIXES + ":stock { :rose a :Flower ; :price 2.5 } :rose :in :bed .\n"
FACTS = [("rose", "rdf:type", "Flower"), ("rose", "price", 2.5), ("rose", "in", "bed")]


def read(text: str, format: str = "turtle", **options: Any) -> RdfFacts:  # noqa: A002
    return load_graph(io.StringIO(text), format=format, **options)


def triples(text: str, **options: Any) -> list[tuple[Any, ...]]:
    return read(PREFIXES + text, **options).relations[0][1].rows


def relations(text: str, wanted: Any = True, **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    found = read(PREFIXES + text, relations=wanted, **options).relations
    assert found[0][0] == "rdf"
    return {f"{name}/{rows.arity}": rows.rows for name, rows in found[1:]}


@pytest.mark.parametrize(
    ("ending", "text"),
    [("ttl", TURTLE), ("nt", TRIPLES), ("rdf", XML), ("owl", XML), ("nq", QUADS), ("trig", TRIG)],
)
def test_every_format_gives_the_same_facts(ending: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"shop.{ending}"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = load_graph(path, prefixes={"": SHOP})
    assert found.relations[0][1].rows == FACTS
    if ending not in ("nt", "nq"):
        assert load_graph(str(path)).relations[0][1].rows == FACTS
    with path.open("rb") as file:
        assert load_graph(file, prefixes={"": SHOP}).relations[0][1].rows == FACTS


def test_several_files_are_one_graph(tmp_path: Path) -> None:
    schema, data = tmp_path / "schema.ttl", tmp_path / "data.ttl"
    schema.write_text(PREFIXES + ":Rose rdfs:subClassOf :Flower . [] :made :x .", encoding="utf-8")
    data.write_text(PREFIXES + ":rose a :Rose . [] :made :y .", encoding="utf-8")
    one = load_graph([schema, data], entailment="rdfs").relations[0][1]
    other = load_graph((data, schema), entailment="rdfs").relations[0][1]
    assert ("rose", "rdf:type", "Flower") in one.rows
    assert {row for row in one.rows if row[1] != "made"} == {row for row in other.rows if row[1] != "made"}
    assert [row for row in one.rows if row[1] == "made"] == [("_:1", "made", "x"), ("_:2", "made", "y")]
    assert one.source == f"{schema}, {data}"


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("7", 7),
        ("-0.5", -0.5),
        ("2.0", Real(2.0)),
        ("1e3", Real(1000.0)),
        ("true", "true"),
        ('"0"^^xsd:boolean', "false"),
        ('"12345678901234567890"^^xsd:unsignedLong', 12345678901234567890),
        ('"-INF"^^xsd:double', float("-inf")),
        ('"1970-01-01T00:01:00Z"^^xsd:dateTime', 60),
        ('"1970-01-01T01:00:00.5+01:00"^^xsd:dateTime', 0.5),
        ('"1970-01-01T24:00:00"^^xsd:dateTime', 86400),
        ('"1970-01-02"^^xsd:date', 86400),
        ('"1970-01-02-01:00"^^xsd:date', 90000),
        ('"-P1DT1M"^^xsd:dayTimeDuration', -86460),
        ('"a b"', "a b"),
        ('"hello"@en-GB', "hello"),
        ('"2026"^^xsd:gYear', "2026"),
        ('"x"^^:mine', "x"),
    ],
)
def test_literals_have_the_values_of_their_types(literal: str, value: Any) -> None:
    (found,) = triples(f":a :b {literal} .")
    assert found == ("a", "b", value)
    assert type(found[2]) is type(value)


def test_texts_of_one_language_are_taken() -> None:
    text = ':a :b "hello"@en-GB, "hallo"@de, "plain", "english"@EN .'
    assert [row[2] for row in triples(text)] == ["hello", "hallo", "plain", "english"]
    assert [row[2] for row in triples(text, language="en")] == ["hello", "plain", "english"]


def test_iris_are_named_by_prefixes() -> None:
    text = "@prefix geo: <http://geo.example/> . @prefix sea: <http://geo.example/sea/> .\n"
    text += "geo:a geo:b <http://geo.example/sea/north> . <http://geo.example/> geo:b <urn:x:y> ."
    b = "geo:b"
    assert triples(text) == [("geo:a", b, "sea:north"), ("http://geo.example/", b, "urn:x:y")]
    b = "http://geo.example/b"
    full = [("http://geo.example/a", b, "http://geo.example/sea/north"), ("http://geo.example/", b, "urn:x:y")]
    assert triples(text, prefixes={}) == full
    assert triples(text, prefixes={"": "http://geo.example/"})[0] == ("a", "b", "sea/north")


def test_blank_nodes_are_numbered_as_they_appear() -> None:
    text = "_:b :in _:a . _:a :in [ :in _:b ] ."
    assert triples(text) == [("_:1", "in", "_:2"), ("_:3", "in", "_:1"), ("_:2", "in", "_:3")]
    assert triples(text) == triples(text)
    assert triples(":a :b ( 1 ) .")[0] == ("_:1", "rdf:first", 1)


def test_a_graph_is_a_set() -> None:
    assert triples(":a :b :c . :a :b :c . :a :b 1, 1.0, 01 .") == [
        ("a", "b", "c"),
        ("a", "b", 1),
        ("a", "b", Real(1.0)),
    ]


def test_properties_and_classes_are_relations() -> None:
    text = ":rose a :CutFlower ; :part-of :bed ; :price 3 . :tulip a :CutFlower . :empty rdfs:domain :Shelf ."
    assert relations(text) == {
        "part_of/2": [("rose", "bed")],
        "price/2": [("rose", 3)],
        "empty/2": [],
        "cutFlower/1": [("rose",), ("tulip",)],
        "shelf/1": [],
    }
    assert relations(text, False) == {}
    assert relations(text, {"kind": "rdf:type", "flower": ":CutFlower", "costs": SHOP + "price"}) == {
        "kind/2": [("rose", "CutFlower"), ("tulip", "CutFlower")],
        "flower/1": [("rose",), ("tulip",)],
        "costs/2": [("rose", 3)],
    }
    assert relations(text, {"costs": "price"})["costs/2"] == [("rose", 3)]


def test_short_names_keep_letters_of_any_script() -> None:
    assert relations(":a :größe 1 ; :caf%C3%A9 2 . :b a :Éclair .") == {
        "größe/2": [("a", 1)],
        "caf_C3_A9/2": [("a", 2)],
        "éclair/1": [("b",)],
    }
    sweet = etalis.compile("d <- a.")
    sweet.load_rdf(graph(":b a :Éclair ."), format="turtle", relations=True)
    assert sweet.engine().query("éclair(X)") == [{"X": "b"}]


def test_a_literal_and_an_iri_may_share_an_atom() -> None:
    text = ':p rdfs:range :Thing . :a :p "x", :y . :x :q 1 .'
    assert relations(text, entailment="rdfs")["thing/1"] == [("y",)]


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        (":a :b 1 ;\n:c\n 2 . :e", {}, "E402", "the RDF text, line 5: not Turtle: "),
        (":a :b 1 .\n<c> :d 1 .", {}, "E402", "line 4: not Turtle: No scheme"),
        (':a :b "\n', {}, "E402", "line 3: not Turtle"),
        (':a :b 1 ;\n  :c "x"^^xsd:integer .', {}, "E405", "line 4: 'x' is no xsd:integer"),
        (':a :b "2026-02-30"^^xsd:date .', {}, "E405", "line 3: '2026-02-30' is no xsd:date"),
        (':a :b "NaN"^^xsd:double .', {}, "E405", "line 3: NaN is not a value"),
        (":a :b <<( :c :d :e )>> .", {}, "E405", "a triple inside a triple"),
        (":a :b :c .", {"relations": {"x": ":unheard"}}, "E410", "<http://shop.example/unheard> is no property"),
        (":a :b :c .", {"relations": {"": ":b"}}, "E410", "'' cannot be the name of a relation"),
        (":a :b :c . :a <http://x/b> :c .", {"relations": True}, "E410", "would both be the relation b/2"),
        (":a :2020 :c .", {"relations": True}, "E410", "gives no name for a relation"),
        (":a :b :c .", {"prefixes": {}, "transitive": ["b"]}, "E410", "'b' has no prefix"),
        (":x:a :b <x:a> .", {}, "E410", "would both be the atom x:a"),
        (":a :in :b . :b :in :c .", {"transitive": "in", "max_triples": 2}, "E411", "more than 2 triples"),
        (":a :b :c .", {"entailment": "owl"}, "E407", "unknown entailment 'owl'"),
        (":a :b :c .", {"format": "n3"}, "E407", "unknown format of RDF 'n3'"),
        (":a :b :c .", {"base": "here"}, "E407", "Invalid base IRI 'here'"),
        (":a :b :c, :d .", {"max_triples": 1}, "E411", "more than 1 triples"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(EtalisError) as caught:
        read(PREFIXES + text, **{"format": "turtle", **options})
    assert caught.value.code == code
    assert words in str(caught.value)


LAUGHS = XML.replace(f'shop "{SHOP}"', f'shop "{SHOP}"><!ENTITY a "{"ha" * 50}"><!ENTITY b "{"&a;" * 50}"')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (XML.replace("</Flower>", "</Tree>"), "line 7: not RDF/XML: mismatched tag"),
        (XML[: XML.index("</Flower>")], "line 7: not RDF/XML: no element found"),
        (XML.replace('rdf:about="&shop;rose"', 'rdf:about="rose"'), "line 4: not RDF/XML: error while parsing IRI"),
        (XML.replace("2.5", "dear"), "line 5: 'dear' is no xsd:decimal"),
        (LAUGHS, "line 2: not RDF/XML: the entity b is longer than 1000 characters"),
        (
            XML.replace(f'"{SHOP}">', 'SYSTEM "file:///etc/passwd">', 1),
            "the entity shop is not spelled out in the file",
        ),
        ("", "line 1: not RDF/XML: no element found"),
    ],
)
def test_what_is_no_rdf_xml_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text, "rdfxml")
    assert words in str(caught.value)


SAMPLES = (("turtle", TURTLE), ("ntriples", TRIPLES), ("rdfxml", XML), ("nquads", QUADS), ("trig", TRIG))


@pytest.mark.property
@given(st.sampled_from(SAMPLES), st.integers(0, 700), st.integers(0, 20), st.binary(max_size=4), st.booleans())
def test_odd_files_are_read_or_refused(sample: tuple[str, str], at: int, cut: int, put: bytes, all_: bool) -> None:
    kind, text = sample
    odd = text.encode()
    odd = odd[:at] + put + odd[at + cut :]
    code, told = outcome(io.BytesIO(odd), format=kind, relations=all_, entailment="rdfs")
    assert code in ("read", "E402", "E405", "E410")
    assert code in ("read", "E410") or "the RDF text, line " in told


def outcome(source: io.BytesIO, **options: Any) -> tuple[str, str]:
    """Return the code and text of a refusal, if there is one."""
    try:
        found = load_graph(source, **options)
    except EtalisError as error:
        return error.code, str(error)
    return "read", found.source


def test_a_long_line_is_one_line() -> None:
    for sign in "xé漢😀":
        wrong = '"x"^^<http://www.w3.org/2001/XMLSchema#int>'
        text = f'<a:b> <a:c> "{sign * 20_000}" .\n<a:b> <a:c> 1 .\n<a:b> <a:c> {wrong} .\n'
        for source in (io.StringIO(text), io.BytesIO(text.encode())):
            with pytest.raises(InputError, match="line 3: 'x' is no xsd:int"):
                load_graph(source, format="turtle")


def test_what_is_no_file_of_rdf_is_refused(tmp_path: Path) -> None:
    latin = tmp_path / "x.ttl"
    latin.write_bytes(b'<a:b> <a:c> "\xe9" .')
    with latin.open(encoding="utf-8") as text:
        for source, code, words in (
            (tmp_path / "no.ttl", "E401", "cannot read"),
            (tmp_path, "E407", "no known kind of RDF ends in"),
            (tmp_path / "x.csv", "E407", "no known kind of RDF ends in '.csv'"),
            (7, "E407", "RDF cannot be read from int"),
            (latin, "E402", "x.ttl, line 1: not Turtle: Invalid UTF-8"),
            (text, "E402", "x.ttl: not UTF-8 text"),
        ):
            with pytest.raises(InputError) as caught:
                load_graph(source)
            assert caught.value.code == code
            assert words in str(caught.value)


def test_exact_terms_keep_their_kind() -> None:
    text = ':a :p :b, "b", "B"@EN, 1, 1.0, true, "x"^^xsd:int, "2026-03-02"^^xsd:date ; :q _:z . _:z :q "null", "<b>" .'
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert triples(text, terms="exact") == [
        *((f"<{SHOP}a>", f"<{SHOP}p>", o) for o in (f"<{SHOP}b>", "b", '"B"@en', 1, Real(1.0))),
        *((f"<{SHOP}a>", f"<{SHOP}p>", f'"{o}"^^<{xsd}{t}>') for o, t in (("true", "boolean"), ("x", "int"))),
        (f"<{SHOP}a>", f"<{SHOP}p>", f'"2026-03-02"^^<{xsd}date>'),
        (f"<{SHOP}a>", f"<{SHOP}q>", "_:1"),
        ("_:1", f"<{SHOP}q>", '"null"'),
        ("_:1", f"<{SHOP}q>", '"<b>"'),
    ]


def test_exact_terms_are_entailed_like_others() -> None:
    text = ":partOf rdfs:domain :Place . :Port rdfs:subClassOf :Place . :h a :Port ; :partOf :g . :g :partOf :e ."
    options: dict[str, Any] = {"entailment": "rdfs", "transitive": "partOf", "relations": True}
    short, exact = read(PREFIXES + text, **options), read(PREFIXES + text, terms="exact", **options)
    spaces = {
        "": SHOP,
        "rdf:": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs:": "http://www.w3.org/2000/01/rdf-schema#",
    }

    def full(atom: str) -> str:
        space = max((prefix for prefix in spaces if atom.startswith(prefix)), key=len)
        return f"<{spaces[space]}{atom.removeprefix(space)}>"

    assert [(name, rows.rows) for name, rows in exact.relations] == [
        (name, [tuple(map(full, row)) for row in rows.rows]) for name, rows in short.relations
    ]


def test_graphs_of_a_program_have_one_naming() -> None:
    program = etalis.compile("a(O) <- b where rdf('<http://shop.example/a>', _, O).")
    assert program.load_rdf(io.StringIO(PREFIXES + ":a :p 1 ."), format="turtle", terms="exact") == 1
    with pytest.raises(InputError, match="one naming"):
        program.load_rdf(io.StringIO(PREFIXES + ":a :p 2 ."), format="turtle")
    with pytest.raises(InputError, match="unknown naming of terms 'long'"):
        read(PREFIXES, terms="long")
    engine = program.engine()
    assert [event.args for event in engine.push("b", at=1)] == [(1,)]
    engine.reload_rdf(io.StringIO(PREFIXES + ":a :p 'x' ."))
    assert [event.args for event in engine.push("b", at=2)] == [("x",)]


def test_prefixes_of_files_may_differ_where_terms_are_exact() -> None:
    files = [io.StringIO("@prefix : <http://a/> . :x :y :z ."), io.StringIO("@prefix : <http://b/> . :x :y :z .")]
    assert len(load_graph(files, format="turtle", terms="exact").relations[0][1].rows) == 2
    for file in files:
        file.seek(0)
    with pytest.raises(InputError, match="in another file"):
        load_graph(files, format="turtle", terms="exact", transitive=["y"])


def test_prefixes_that_differ_between_files_must_be_given() -> None:
    files = [f"@prefix x: <http://{host}.example/> . x:a x:b x:c ." for host in ("one", "two")]
    with pytest.raises(InputError, match=r"the prefix x: is .*, in another file"):
        load_graph([io.StringIO(text) for text in files], format="turtle")
    found = load_graph([io.StringIO(text) for text in files], format="turtle", prefixes={"x": "http://one.example/"})
    assert len(found.relations[0][1].rows) == 2


def test_a_missing_reader_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(InputError) as caught:
        read(TURTLE)
    assert caught.value.code == "E412"
    assert "pip install 'etalis[rdf]'" in str(caught.value)


def test_the_reader_is_not_imported_before_it_is_used() -> None:
    code = "import sys, etalis; sys.exit('pyoxigraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# in programs and engines


def program(text: str = "found(X) <- look(X) where flower(X).") -> etalis.Program:
    return etalis.compile(text)


def graph(text: str) -> io.StringIO:
    return io.StringIO(PREFIXES + text)


def test_conditions_ask_the_graph() -> None:
    shop = program("found(X, P) <- look(X) where (flower(X), rdf(X, price, P), P < 3).")
    assert shop.load_rdf(graph(TURTLE[len(PREFIXES) :]), format="turtle", relations=True) == 3
    assert shop.problems == ()
    engine = shop.engine()
    assert [e.atom for e in engine.run([("look", "rose", 1), ("look", "bed", 2)])] == ["found(rose, 2.5)"]


def test_loads_add_up_and_keep_blank_nodes_apart() -> None:
    shop = program()
    for text in ("[] a :Flower .", "[] a :Flower ."):
        shop.load_rdf(graph(text), format="turtle", relations=True)
    assert shop.engine().query("flower(X)") == [{"X": "_:1"}, {"X": "_:2"}]


def test_a_graph_is_replaced_while_the_engine_runs(tmp_path: Path) -> None:
    shop = program()
    options: Any = {"format": "turtle", "relations": True, "entailment": "rdfs"}
    shop.load_rdf(graph(":rose a :Flower ; :price 3 ."), **options)
    engine, other = shop.engine(), shop.engine()
    assert engine.push("look", "lily", at=1) == ()
    assert engine.reload_rdf(graph(":Lily rdfs:subClassOf :Flower . :lily a :Lily .")) == 3
    assert [e.atom for e in (*engine.push("look", "lily", at=2), *engine.push("look", "rose", at=3))] == ["found(lily)"]
    assert engine.query("price(X, Y)") == []
    assert engine.query("lily(X)") == [{"X": "lily"}]
    changed = tmp_path / "changed.rdf"
    changed.write_text(XML, encoding="utf-8")
    assert engine.reload_rdf(changed) == 3  # the ending tells the format, whatever was given before
    assert engine.query("flower(X), in(X, Y)") == [{"X": "rose", "Y": "bed"}]
    assert engine.reload_rdf(graph(":x :price 4 .")) == 1
    assert engine.query("flower(X) ; lily(X) ; price(X, 4)") == [{"X": "x"}]
    assert [e.atom for e in other.push("look", "rose", at=1)] == ["found(rose)"]


def test_a_graph_is_replaced_at_a_time_to_come() -> None:
    shop = program()
    shop.load_rdf(graph(":rose a :Flower ."), format="turtle", relations=True)
    engine = shop.engine()
    engine.advance(to=1)
    assert engine.reload_rdf(graph(":lily a :Flower ."), at=5) == 1
    rows = [("look", "rose", 2), ("look", "lily", 3), ("look", "rose", 5), ("look", "lily", 6)]
    assert [str(e) for e in engine.run(rows)] == ["found(rose) [2, 2]", "found(lily) [6, 6]"]
    with pytest.raises(EtalisError, match="time has reached"):
        engine.reload_rdf(graph(":rose a :Flower ."), at=3)
    assert engine.query("flower(X)") == [{"X": "lily"}]


def test_an_old_graph_is_known_for_a_while() -> None:
    shop = program(":- set_flag(knowledge_horizon, 100). found(X) <- look(X) where flower(X).")
    shop.load_rdf(graph(":rose a :Flower ; :price 1 ."), format="turtle", relations=True)
    engine = shop.engine()
    engine.advance(to=3)
    engine.reload_rdf(graph(":lily a :Flower ; :size 3 ."), at=4)
    engine.advance(to=5)
    goal = "findall(X, (flower(X) ; price(_, X) ; size(_, X)), L)"
    assert [engine.query(goal, at=t)[0]["L"] for t in (3, 4)] == [("rose", 1), ("lily", 3)]


def test_relations_that_have_no_place_are_refused() -> None:
    shop = program("found(X) <- look(X) where price(X). price(X) :- rdf(X, price, P), P > 3.")
    with pytest.raises(InputError) as caught:
        shop.load_rdf(graph(":a :price 1 ; :length 3 ."), format="turtle", relations=True)
    assert caught.value.code == "E409"
    assert shop.load_rdf(graph(":a a :Flower ; :price 4 ."), format="turtle", relations={"flower": "Flower"}) == 2
    engine = shop.engine()
    for text in (":a a :Price .", ":a :length 3 ."):
        with pytest.raises(InputError) as caught:
            engine.reload_rdf(graph(text), relations=True)
        assert caught.value.code == "E409"
    assert engine.query("price(X)") == engine.query("flower(X)") == [{"X": "a"}]
