"""`etalis.compile_sparql` and its doors: background, rules beside queries, results, files, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import ExitCode, app
from etalis.errors import OptionError, ProgramError, ProgramWarning

X = "http://x/"
PREFIX = f"PREFIX : <{X}> "
ONTOLOGY = f"""@prefix : <{X}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Thermometer rdfs:subClassOf :Sensor . :s1 :room :lab .
"""
SENSORS = PREFIX + "SELECT ?s ?v ?r { { ?s a :Sensor } SEQ { ?s :value ?v OPTIONAL { ?s :room ?r } } WITHIN 60 }"
STREAM = f"""@prefix : <{X}> . @prefix prov: <http://www.w3.org/ns/prov#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:g1 prov:generatedAtTime "2026-03-02T09:00:00Z"^^xsd:dateTime . :g1 {{ :s1 a :Thermometer . :s2 a :Thermometer . }}
:g2 prov:generatedAtTime "2026-03-02T09:00:05Z"^^xsd:dateTime . :g2 {{ :s1 :value 20 . :s2 :value 21.5 . }}
"""


def push(engine: etalis.Engine, at: float, turtle: str, **options: object) -> list[etalis.Event]:
    return list(engine.push_graph(f"@prefix : <{X}> . {turtle}", at=at, **options))


@pytest.fixture
def ontology(tmp_path: Path) -> Path:
    path = tmp_path / "onto.ttl"
    path.write_text(ONTOLOGY)
    return path


def test_bindings_are_terms_and_leave_out_what_is_unbound(ontology: Path) -> None:
    engine = etalis.compile_sparql(SENSORS, background=ontology).engine()
    push(engine, 1, ":s1 a :Thermometer . :s2 a :Thermometer .")
    one, two = push(engine, 2, ':s1 :value 20 . :s2 :value "x"@en .')
    assert one.bindings == {"s": ox.NamedNode(X + "s1"), "v": ox.Literal(20), "r": ox.NamedNode(X + "lab")}
    assert two.bindings == {"s": ox.NamedNode(X + "s2"), "v": ox.Literal("x", language="en")}
    assert two.to_dict() | {"rule": ""} == {
        "event": "select_1", "s": "<http://x/s2>", "v": '"x"@en', "r": None, "start": 1, "end": 2, "rule": "",
    }  # fmt: skip


def test_variables_may_have_the_names_of_other_columns() -> None:
    query = "SELECT ?start ?Start ?event { ?start :p ?Start , ?event FILTER(?Start < ?event) }"
    program = etalis.compile_sparql(PREFIX + query)
    (match,) = push(program.engine(), 1, ":a :p 1 , 2 .")
    assert {name: term.value for name, term in match.bindings.items()} == {"start": X + "a", "Start": "1", "event": "2"}
    assert json.loads(program.results([match]))["head"]["vars"] == ["start", "Start", "event", "_start", "end"]


def test_background_is_files_triples_or_what_from_names(ontology: Path) -> None:
    triples = list(ox.parse(ONTOLOGY, ox.RdfFormat.TURTLE))
    named = SENSORS.replace("{ { ?s a", f"FROM <{X}onto> {{ {{ ?s a")
    given = [(SENSORS, ontology), (SENSORS, [str(ontology)]), (SENSORS, triples), (named, {X + "onto": ontology})]
    for query, background in given:
        engine = etalis.compile_sparql(query, background=background).engine()
        push(engine, 1, ":s1 a :Thermometer .")
        assert [m.args[2] for m in push(engine, 2, ":s1 :value 20 .")] == ["<http://x/lab>"]


@pytest.mark.parametrize("background", [None, {}, {X + "other": ()}])
def test_from_names_what_is_given(background: object) -> None:
    with pytest.raises(ProgramError, match="E266"):
        etalis.compile_sparql(f"SELECT ?s FROM <{X}onto> {{ ?s a <{X}C> }}", background=background)


def test_without_entailment_only_what_is_said_holds(ontology: Path) -> None:
    engine = etalis.compile_sparql(SENSORS, background=ontology, entailment=None).engine()
    push(engine, 1, ":s1 a :Thermometer .")
    assert push(engine, 2, ":s1 :value 20 .") == []


@pytest.mark.parametrize("name", [X + "in", f"<{X}in>"])
def test_properties_may_be_transitive(name: str) -> None:
    known = [(f"<{X}{a}>", f"<{X}in>", f"<{X}{b}>") for a, b in (("a", "b"), ("b", "c"))]
    query = PREFIX + "SELECT ?w { ?s :p ?o . ?s :in ?w }"
    engine = etalis.compile_sparql(query, background=known, transitive=[name]).engine()
    assert {m.args for m in push(engine, 1, ":a :p 1 .")} == {(f"<{X}b>",), (f"<{X}c>",)}


def test_a_streamed_predicate_is_read_in_both() -> None:
    triples = [("<http://x/a>", "<http://x/room>", "<http://x/lab>")]
    query = PREFIX + "SELECT ?s ?r { ?s :value ?v . ?s :room ?r }"
    engine = etalis.compile_sparql(query, background=triples, streamed=[X + "room"]).engine()
    assert [m.args[1] for m in push(engine, 1, ":a :room :hall . :a :value 1 .")] == [
        "<http://x/hall>",
        "<http://x/lab>",
    ]
    letters: list[etalis.DeadLetter] = []
    engine = etalis.compile_sparql(query, background=triples).engine(on_dead_letter=letters.append)
    assert [m.args[1] for m in push(engine, 1, ":a :room :hall . :a :value 1 .")] == ["<http://x/lab>"]
    assert "name it in streamed=" in letters[0].reason


def test_rules_run_beside_queries_and_read_them() -> None:
    program = etalis.compile_sparql(
        PREFIX + "REGISTER QUERY rise AS SELECT ?c { { ?c :p ?x } SEQ { ?c :p ?y } WITHIN 60 FILTER(?y > ?x) }",
        rules="""big(C) <- rdf(o: V, s: C, p: '<http://x/p>') where V > 100.
        twice(C) <- (rise(c: C) seq big(C)) within 60.""",
    )
    engine = program.engine()
    found = [m for at, v in ((1, 1), (2, 2), (3, 200)) for m in push(engine, at, f":a :p {v} .")]
    assert sorted((m.name, m.start, m.end) for m in found) == [
        ("big", 3, 3), ("rise", 1, 2), ("rise", 1, 3), ("rise", 2, 3), ("twice", 1, 3),
    ]  # fmt: skip


def test_errors_of_rules_point_into_them() -> None:
    with pytest.raises(ProgramError, match="<rules>:1"):
        etalis.compile_sparql(PREFIX + "SELECT ?s { ?s :p ?o }", rules="d(X) <- rdf(_, _, _).")


def test_a_query_without_bound_is_warned_of() -> None:
    with pytest.warns(ProgramWarning, match="add WITHIN"):
        program = etalis.compile_sparql(PREFIX + "SELECT ?c { { ?c :p ?x } SEQ { ?c :p ?y } }")
    assert [problem.code for problem in program.problems] == ["W209"]
    with pytest.raises(ProgramError):
        etalis.compile_sparql(PREFIX + "SELECT ?c { { ?c :p ?x } SEQ { ?c :p ?y } }", strict=True)
    assert etalis.compile_sparql(PREFIX + "SELECT ?c { { ?c :p ?x } SEQ { ?c :p ?y } WITHIN 9 }", strict=True)


def test_policies_of_caller_and_query() -> None:
    text = PREFIX + "SELECT ?x ?y { { ?c :p ?x } SEQ { ?c :p ?y } WITHIN 9 }"
    for query, policy, count in ((text, None, 3), (text, "recent", 2), (text + " POLICY recent", None, 2)):
        engine = etalis.compile_sparql(query, policy=policy).engine()
        assert sum(len(push(engine, at, f":a :p {at} .")) for at in (1, 2, 3)) == count


def test_results_as_sparql_json_and_trig() -> None:
    program = etalis.compile_sparql(
        PREFIX + "SELECT ?s ?o { ?s :p ?o } ; CONSTRUCT { ?s :q ?o } { ?s :p ?o } ; SELECT ?o { ?s :q ?o }"
    )
    found = push(program.engine(), 1, ":a :p 1 .")
    rows = json.loads(program.results(found, query="select_1"))
    assert rows["head"]["vars"] == ["s", "o", "start", "end"]
    assert rows["results"]["bindings"][0]["s"] == {"type": "uri", "value": "http://x/a"}
    assert json.loads(program.results(found, query="select_3"))["head"]["vars"] == ["o", "start", "end"]
    quads = list(ox.parse(program.results(found, format="trig"), ox.RdfFormat.TRIG))
    assert [quad.predicate.value for quad in quads if quad.subject == ox.NamedNode(X + "a")] == [X + "q"]
    for wrong in ({}, {"query": "select_2"}, {"format": "xml"}):
        with pytest.raises(OptionError):
            program.results(found, **wrong)


def test_streams_are_run_together_in_the_order_of_time(tmp_path: Path) -> None:
    for name, times in (("a", (1, 4)), ("b", (2, 3))):
        lines = [json.dumps({"at": t, "turtle": f"<http://x/s> <http://x/p> {t} ."}) for t in times]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    query = PREFIX + "SELECT ?x ?y { { STREAM :a { ?s :p ?x } } SEQ { STREAM :b { ?s :p ?y } } WITHIN 60 }"
    program = etalis.compile_sparql(query, streams={X + name: tmp_path / f"{name}.jsonl" for name in "ab"})
    assert [m.args for m in program.run_streams()] == [(1, 2), (1, 3)]


def test_constructed_streams_are_read_by_their_names() -> None:
    program = etalis.compile_sparql(
        PREFIX
        + """REGISTER STREAM :high AS CONSTRUCT { ?s :is ?v } { STREAM :raw { ?s :p ?v } FILTER(?v > 5) } ;
        SELECT ?s ?v { STREAM :high { ?s :is ?v } }"""
    )
    engine = program.engine()
    found = [*push(engine, 1, ":a :p 9 .", stream=X + "raw"), *push(engine, 2, ":a :p 9 .", stream=X + "other")]
    assert [(m.name, m.args[0], m.end) for m in found if m.name == "select_2"] == [("select_2", "<http://x/a>", 1)]


def test_the_dialect_of_the_original() -> None:
    text = "SELECT ?c ?b WHERE { ?c price ?p } SEQ { ?c price ?q } FILTER (?p < ?q && ?b is (?q - ?p) * 100) WITHIN 10"
    engine = etalis.compile_sparql(text, dialect="etalis").engine()
    engine.push("rdf", "acme", "price", 3, at=1)
    assert [str(m) for m in engine.push("rdf", "acme", "price", 5, at=2)] == [
        "select_1(acme, 200) [1, 2]", "select_event([acme,200]) [1, 2]",
    ]  # fmt: skip
    text = "CONSTRUCT ?c price ?q WHERE { ?c price ?p } DO ( ?q is ?p + 1 && ?q < 1000 )"
    found = etalis.compile_sparql(text, dialect="etalis").engine().push("rdf", "acme", "price", 990, at=1)
    assert [m.args[2] for m in found] == list(range(991, 1000))


def command(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*map(str, words)])
    return result.exit_code, result.stdout


def test_queries_on_the_command_line(tmp_path: Path, ontology: Path) -> None:
    query, stream = tmp_path / "sensors.rq", tmp_path / "stream.trig"
    query.write_text(SENSORS)
    stream.write_text(STREAM)
    background = ("--background", ontology)
    code, text = command("run", query, stream, *background)
    assert (code, text.splitlines()) == (
        ExitCode.OK,
        [
            "select_1('<http://x/s1>', 20, '<http://x/lab>') [2026-03-02T09:00:00Z, 2026-03-02T09:00:05Z]",
            "select_1('<http://x/s2>', 21.5, null) [2026-03-02T09:00:00Z, 2026-03-02T09:00:05Z]",
        ],
    )
    code, text = command("run", query, stream, *background, "--output", "sparql")
    rows = json.loads(text)["results"]["bindings"]
    assert (code, rows[0]["end"]["value"], len(rows)) == (ExitCode.OK, "2026-03-02T09:00:05Z", 2)
    assert command("check", query, *background) == (ExitCode.OK, "1 program: 0 errors, 0 warnings\n")
    code, text = command("explain", query, *background, "--rules")
    assert code == ExitCode.OK
    assert "rdf(S, '<http://x/value>', V) event_multiply (rdf(S, '<http://x/room>', R) *-> true ; true)" in text
    assert "rule 1: select_1(S, V, R), reported" in command("explain", query, *background)[1]


def test_options_of_queries_are_refused_for_rules(tmp_path: Path, ontology: Path) -> None:
    rules, query = tmp_path / "p.etalis", tmp_path / "q.rq"
    rules.write_text("d <- a.\n")
    query.write_text(SENSORS)
    assert command("check", rules, "--background", ontology)[0] == ExitCode.USAGE
    assert command("run", query, "--rdf", ontology)[0] == ExitCode.USAGE
    assert command("run", rules, ontology, "--output", "sparql")[0] == ExitCode.USAGE
    assert command("run", query, "--terms", "exact")[0] == ExitCode.USAGE
    assert command("check", rules, "--origin", "5")[0] == ExitCode.USAGE
    stored = ("--background", ontology, "--output", "trig", "--to", tmp_path / "x.csv")
    assert command("run", query, ontology, *stored)[0] == ExitCode.USAGE


@pytest.mark.parametrize(("origin", "steps"), [(None, [5, 10]), ("2", [2, 7]), ("1970-01-01T00:00:04Z", [4, 9])])
def test_steps_are_counted_from_an_origin_on_the_command_line(
    origin: str | None, steps: list[int], tmp_path: Path
) -> None:
    query, stream = tmp_path / "count.rq", tmp_path / "s.jsonl"
    query.write_text(PREFIX + "SELECT (COUNT(*) AS ?n) FROM STREAM :s [RANGE 10 STEP 5] { ?x :p ?y }")
    stream.write_text(json.dumps({"at": 1, "turtle": f"<{X}a> <{X}p> 1 .", "stream": X + "s"}))
    code, text = command("run", query, stream, *(() if origin is None else ("--origin", origin)))
    assert (code, text.splitlines()) == (ExitCode.OK, [f"select_1(1) [{step}, {step}]" for step in steps])
    assert command("run", query, stream, "--origin", "noon")[0] == ExitCode.INPUT


def test_trig_is_of_what_is_constructed(tmp_path: Path) -> None:
    program = etalis.compile_sparql(PREFIX + "SELECT ?x { ?x :p ?y }")
    with pytest.raises(OptionError, match="no query constructs triples"):
        program.results([], format="trig")


def test_the_background_is_replaced_while_an_engine_runs(tmp_path: Path) -> None:
    classes = [f":C{i} rdfs:subClassOf :Sensor ." for i in range(6)]
    head = f"@prefix : <{X}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :s1 :room :lab ."
    old, new, other = (tmp_path / f"{name}.ttl" for name in ("old", "new", "other"))
    old.write_text(" ".join([head, *classes[:5]]))
    new.write_text(" ".join([head.replace(":lab", ":hall"), *classes]))
    other.write_text(head)
    program = etalis.compile_sparql(SENSORS, background=old)
    engine = program.engine()
    push(engine, 1, ":s1 a :C5 . :s2 a :C0 .")
    assert push(engine, 2, ":s1 :value 1 .") == []
    engine.reload_rdf(new)
    push(engine, 3, ":s1 a :C5 .")
    assert [m.args for m in push(engine, 4, ":s1 :value 1 .")] == [("<http://x/s1>", 1, "<http://x/hall>")]
    with pytest.raises(etalis.InputError, match="E409"):
        engine.reload_rdf(other)
    with pytest.raises(etalis.InputError, match="E407"):
        program.load_rdf(new)
