"""Queries in the dialect of the original, on streams of plain triples; results worked out by hand in `dialect/`."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app
from etalis.epsparql.meaning import Answer
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_unit
from etalis.errors import ProgramError, ProgramWarning
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.sparql import SparqlProgram
from etalis.temporal.event import Event
from helpers.epsparql_engine import answers, in_order
from helpers.epsparql_examples import VOCABULARY, Example, find_examples, name_alike

FILES = sorted((Path(__file__).parent / "dialect").glob("*.toml"))
CASES = {f"{file.stem}: {name}": case for file in FILES for name, case in tomllib.loads(file.read_text()).items()}
LISTED = "select_event"
COUNTING = "CONSTRUCT ?c price ?q WHERE { ?c price ?p } DO ( ?q is ?p + 1 && ?q < 1000 )"
RISES = "SELECT ?c ?d WHERE { ?c price ?p } SEQ { ?c price ?q } FILTER ( ?p < ?q && ?d is (?q - ?p) * 100 )"
TURTLE = """
@prefix : <http://shop.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:acme :hasCEO :ann ; :label "Acme Inc" .
:Truck rdfs:subClassOf :Vehicle .
:paid rdfs:subPropertyOf :gave .
:drivenBy rdfs:range :Driver .
"""

Row = tuple[str, tuple[Any, ...], Any, Any]


def compile_case(text: str, **options: Any) -> SparqlProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProgramWarning)
        return etalis.compile_sparql(text, dialect="etalis", **options)


def program_of(case: dict[str, Any]) -> SparqlProgram:
    background = [tuple(triple) for triple in case.get("background", ())]
    options = {"rules": case.get("rules", ""), **case.get("options", {})}
    return compile_case(case["query"], background=background or None, **options)


def push_all(program: SparqlProgram, events: Iterable[list[Any]]) -> list[Event]:
    engine = program.engine()
    found: list[Event] = []
    for *when, s, p, o in events:
        found += engine.push("rdf", s, p, o, at=when[0] if len(when) == 1 else tuple(when))
    return [*found, *engine.close()]


def push_prices(program: SparqlProgram, *prices: Any) -> list[Event]:
    """Return what prices of one company cause, one a second."""
    return push_all(program, [[at, "acme", "price", price] for at, price in enumerate(prices, 1)])


def rows_of(events: Iterable[Event]) -> list[Row]:
    """Return events without the listed form, sorted."""
    return sorted(((e.name, e.args, e.start, e.end) for e in events if e.name != LISTED), key=str)


def wanted(case: dict[str, Any]) -> list[Row]:
    return sorted(((name, tuple(values), start, end) for name, values, start, end in case["results"]), key=str)


def listed(events: Iterable[Event]) -> list[Row]:
    return sorted(((LISTED, e.args, e.start, e.end) for e in events if e.name == LISTED), key=str)


def warned(text: str, **options: Any) -> list[str]:
    """Return the warnings of queries, as they are told."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        etalis.compile_sparql(text, dialect="etalis", **options).engine()
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_results_are_those_worked_out_by_hand(case: dict[str, Any]) -> None:
    assert rows_of(push_all(program_of(case), case["events"])) == wanted(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_select_is_reported_as_a_list_too(case: dict[str, Any]) -> None:
    program = program_of(case)
    selects = {head.name for head in program.queries if head.columns}
    rows = {(LISTED, (values,), start, end) for name, values, start, end in wanted(case) if name in selects}
    assert listed(push_all(program, case["events"])) == sorted(rows, key=str)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_many_rows_at_once_are_the_same_as_events_one_by_one(case: dict[str, Any]) -> None:
    engine = program_of(case).engine()
    events = [Event("rdf", *e[-3:], start=e[0], end=e[-4]) for e in case["events"]]
    assert rows_of([*engine.run(events), *engine.close()]) == wanted(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_rules_of_a_query_read_as_they_are_printed(case: dict[str, Any]) -> None:
    program = program_of(case)
    assert parse(print_program(program.compiled.tree)) == program.compiled.tree


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_standard_form_reads_the_same(case: dict[str, Any]) -> None:
    unit = read_unit(case["query"], dialect="etalis")
    assert read_unit(print_unit(unit), dialect="etalis") == unit


# what the original's tests are about


def test_recursion_by_construct_ends_where_do_ends_it() -> None:
    found = push_prices(compile_case(COUNTING), 1)
    assert [event.args for event in found] == [("acme", "price", price) for price in range(2, 1000)]
    assert {(event.start, event.end) for event in found} == {(1, 1)}


def test_recursion_goes_on_with_every_triple_that_comes() -> None:
    found = push_prices(compile_case(COUNTING), 998, 997)
    assert rows_of(found) == [
        ("rdf", ("acme", "price", 998), 2, 2),
        ("rdf", ("acme", "price", 999), 1, 1),
        ("rdf", ("acme", "price", 999), 2, 2),
    ]


def test_facts_may_be_loaded_later() -> None:
    program = compile_case("SELECT ?b WHERE { ?c price ?p } FILTER ( rdf_store(?c, hasCEO, ?b) && rank(?b, ?r) )")
    program.load_facts("rdf_store", [("acme", "hasCEO", "ann"), ("acme", "hasCEO", "bob")])
    program.load_facts("rank", [("ann", 1)])
    assert rows_of(push_prices(program, 5)) == [("select_1", ("ann",), 1, 1)]


def test_goals_may_be_functions_of_python() -> None:
    program = compile_case("SELECT ?q WHERE { ?c price ?p } DO ( ?q is ?p * 2 && lucky(?q) )")
    program.register("lucky", lambda price: price == 14)
    assert rows_of(push_prices(program, 5, 7)) == [("select_1", (14,), 2, 2)]


def test_printing_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    push_prices(compile_case("SELECT ?c WHERE { ?c price ?p } DO ( write(?c) && write_nl(1) && nl && print(?p) )"), 5)
    assert capsys.readouterr().out == ""


# doors


def test_a_row_of_a_list_is_pushed_as_a_tuple() -> None:
    found = compile_case(RISES).engine().run([("rdf", "acme", "price", 1, 1), ("rdf", "acme", "price", 3, 2)])
    assert [str(event) for event in found] == ["select_1(acme, 200) [1, 2]", "select_event([acme,200]) [1, 2]"]


def test_a_result_is_named_by_its_variables() -> None:
    first, _ = push_prices(compile_case(RISES), 1, 3)
    assert {name: first.to_dict()[name] for name in ("c", "d")} == {"c": "acme", "d": 200}


def test_a_table_is_searched_by_columns() -> None:
    table = pa.table({"s": ["acme"] * 3, "p": ["price"] * 3, "o": [1, 4, 2], "at": [1, 2, 3]})
    found = compile_case(RISES).detect(table, event="rdf", time="at").to_pylist()
    named = [(row["c"], row["d"], row["start"], row["end"]) for row in found if row["event"] == "select_1"]
    assert sorted(named) == [("acme", 100, 1, 3), ("acme", 300, 1, 2)]
    assert sorted(row["a1"] for row in found if row["event"] == LISTED) == ["[acme,100]", "[acme,300]"]


def test_rules_beside_a_query_see_its_list() -> None:
    program = compile_case(RISES, rules="rise(C) <- select_event([C, D]) where D > 100.")
    found = push_prices(program, 1, 4, 2)
    assert [event.args for event in found if event.name == "rise"] == [("acme",)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rises.rq").write_text(RISES)
    (tmp_path / "bosses.rq").write_text("CONSTRUCT ?b hears ?p { ?c price ?p } FILTER ( rdf_store(?c, hasCEO, ?b) )")
    triples = ("acme, price, 1", "'Big Co', price, 3", "acme, price, 4")
    events = (f"event(rdf({triple}), [{at}, {at}]).\n" for at, triple in enumerate(triples, 1))
    (tmp_path / "prices.P").write_text("".join(events))
    (tmp_path / "bosses.csv").write_text("s,p,o\nBig Co,hasCEO,ann\n")
    (tmp_path / "shop.ttl").write_text(TURTLE)
    return tmp_path


def run_file(folder: Path, query: str, *options: str) -> list[str]:
    arguments = ["run", str(folder / query), str(folder / "prices.P"), "--dialect", "etalis", *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return [line for line in result.stdout.splitlines() if line]


def test_files_of_events_run_on_the_command_line(folder: Path) -> None:
    assert run_file(folder, "rises.rq") == ["select_1(acme, 300) [1, 3]", "select_event([acme,300]) [1, 3]"]


def test_facts_are_given_on_the_command_line(folder: Path) -> None:
    facts = f"rdf_store={folder / 'bosses.csv'}"
    assert run_file(folder, "bosses.rq", "--facts", facts) == ["rdf(ann, hears, 3) [2, 2]"]


def test_background_is_given_on_the_command_line(folder: Path) -> None:
    found = run_file(folder, "bosses.rq", "--background", str(folder / "shop.ttl"))
    assert found == ["rdf(ann, hears, 1) [1, 1]", "rdf(ann, hears, 4) [3, 3]"]


def test_triples_of_named_streams_are_taken_too() -> None:
    text = "SELECT ?c ?n { STREAM shop { ?m opens ?h } } SEQ { aggregate(count, rdf(?c, sold, ?x), ?n) }"
    engine = compile_case(text).engine()
    rows = [
        ("market", "opens", 9, "null", "other"),
        ("market", "opens", 9, "null", "shop"),
        ("acme", "sold", 5, "null", "x"),
    ]
    found = [event for at, row in enumerate(rows, 1) for event in engine.push("rdf", *row, at=at)]
    assert rows_of(found) == [("select_1", ("acme", 1), 2, 3)]


# background of RDF


def test_names_of_the_empty_prefix_are_plain(folder: Path) -> None:
    query = "SELECT ?b ?l WHERE { ?c price ?p . ?c hasCEO ?b } FILTER ( rdf_store(?c, label, ?l) )"
    program = compile_case(query, background=folder / "shop.ttl")
    assert rows_of(push_prices(program, 5)) == [("select_1", ("ann", "Acme Inc"), 1, 1)]


def test_names_of_a_vocabulary_are_plain(folder: Path) -> None:
    query = "PREFIX s: <http://shop.example/> SELECT ?b WHERE { ?c price ?p . ?c s:hasCEO ?b }"
    text = TURTLE.replace("@prefix :", "@prefix shop:").replace(" :", " shop:").replace("\n:", "\nshop:")
    (folder / "other.ttl").write_text(text.replace("@prefix shop:shop:", "@prefix shop:"))
    plain = "SELECT ?b WHERE { ?c price ?p . ?c hasCEO ?b }"
    program = compile_case(plain, background=folder / "other.ttl", vocabulary="http://shop.example/")
    assert rows_of(push_prices(program, 5)) == [("select_1", ("ann",), 1, 1)]
    exact = compile_case(query, background=folder / "other.ttl")
    found = push_all(exact, [[1, "<http://shop.example/acme>", "price", 5]])
    assert rows_of(found) == [("select_1", ("<http://shop.example/ann>",), 1, 1)]


def test_classes_and_properties_entail_with_plain_names(folder: Path) -> None:
    program = compile_case(
        "SELECT ?v WHERE { ?v a Vehicle } ; SELECT ?a ?b WHERE { ?a gave ?b }", background=folder / "shop.ttl"
    )
    found = push_all(
        program,
        [[1, "t1", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "Truck"], [2, "ann", "paid", 5]],
    )
    assert rows_of(found) == [("select_1", ("t1",), 1, 1), ("select_2", ("ann", 5), 2, 2)]


def test_ranges_make_members_of_names_but_not_of_numbers(folder: Path) -> None:
    program = compile_case("SELECT ?d WHERE { ?d a Driver }", background=folder / "shop.ttl")
    found = push_all(program, [[1, "t1", "drivenBy", "ann"], [2, "t1", "drivenBy", 7]])
    assert rows_of(found) == [("select_1", ("ann",), 1, 1)]


def test_a_predicate_may_be_streamed_and_known() -> None:
    options: dict[str, Any] = {"background": [("acme", "hasCEO", "ann")], "streamed": ["hasCEO"]}
    program = compile_case("SELECT ?b WHERE { ?c price ?p . ?c hasCEO ?b }", **options)
    found = push_all(program, [[1, "acme", "hasCEO", "bob"], [2, "acme", "price", 5]])
    assert rows_of(found) == [("select_1", ("ann",), 2, 2), ("select_1", ("bob",), 1, 2)]


def test_an_iri_with_no_plain_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.ttl").write_text("@prefix : <http://x/> . :a :b :null .")
    with pytest.raises(etalis.EtalisError, match="E410: <http://x/null> has no plain name"):
        compile_case("SELECT ?x WHERE { ?x b ?y }", background=tmp_path / "odd.ttl")


# what is told


def test_the_standard_form_is_noted() -> None:
    (note,) = [text for text in warned("select ?c where { ?c p ?x } do ( ?x > 1 )") if "W132" in text]
    assert "the queries are in the dialect of the original" in note
    assert "    WHERE {\n      ?c p ?x .\n      FILTER (?x > 1)\n    }" in note


def test_a_strict_program_may_be_in_the_dialect() -> None:
    program = compile_case("SELECT ?c WHERE { ?c p ?x }", strict=True)
    assert rows_of(push_all(program, [[1, "a", "p", 1]])) == [("select_1", ("a",), 1, 1)]


def test_what_prints_is_noted() -> None:
    text = "SELECT ?c WHERE { ?c p ?x } FILTER ( write(?c) && write_space(1) && nl )"
    found = [note.split(": ")[2].splitlines()[0] for note in warned(text) if "W130" in note]
    assert found == ["write is left out", "write_space is left out", "nl is left out"]


def test_a_goal_that_nothing_defines_is_told_when_the_program_runs() -> None:
    assert any("unknown predicate nosuch/1" in note for note in warned("SELECT ?c { ?c p ?x } DO ( nosuch(?x) )"))
    assert not any("unknown" in note for note in warned("SELECT ?c { ?c p ?x } DO ( rdf_store(?c, a, ?x) )"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?c { ?c p ?x } FILTER ( good(?c) || ?x > 1 )", "E132: there is no function `good`"),
        ("SELECT ?c { ?c p ?x } FILTER ( ?y is good(?x) )", "E132: there is no function `good`"),
        ("SELECT ?c { ?c ex:p ?x }", "E131: the prefix `ex:` is not declared"),
        ("SELECT ?c { ?c p null }", "E131: `null` stands for no value"),
        ("SELECT ?n { ?w s ?t } SEQ { aggregate(most(?p), rdf(?c, q, ?p), ?n) }", "E108: this is no aggregate"),
        ("SELECT ?n { ?w s ?t } SEQ { aggregate(sum(?p), tdf(?c, q, ?p), ?n) }", "E108: this is no aggregate"),
        ("SELECT ?n { aggregate(sum(?p), rdf(?c, q, ?p), ?n) ?c b ?x }", "E108: this stands beside an aggregate"),
        ("SELECT ?n { ?w s ?t } SEQ { aggregate(sum(?z), rdf(?c, q, ?p), ?n) }", "E216: ?z is aggregated"),
        ("SELECT ?n { ?w s ?t } SEQ { STREAM x { { aggregate(count, rdf(?c, q, ?p), ?n) } } }", "an aggregate reads"),
        ("SELECT ?c { ?c p ?x } SEQOPTIONAL { ?c q ?y }", "E254: SEQOPTIONAL without WITHIN"),
        ("SELECT ?c { ?c p ?x } UNION { ?c q ?y } SEQ { ?c r ?z }", "E133: SEQ beside UNION"),
        ("SELECT ?c { ?c p ?x BIND (1 AS ?x) }", "E135: ?x has a value already"),
        ("SELECT ?c { ?c p ?x } FILTER ( ?x > 1", "E107"),
    ],
)
def test_what_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        compile_case(text)
    assert message in str(caught.value)


# the worked examples, with plain names

APART = {"41", "120"}  # a text as what a range makes a member, a literal as subject: names are texts here
WORKED = [
    example
    for example in find_examples()
    if example.error is None
    and example.number not in APART
    and not re.search("GRAPH|STREAM|WINDOW|FROM|isIRI|STR\\(", example.query)
]


def plain(value: Any) -> Any:
    """Return a term of the examples as the dialect names it."""
    space = f"<{VOCABULARY}"
    return value[len(space) : -1] if isinstance(value, str) and value.startswith(space) else value


def plain_answers(found: Iterable[Answer]) -> set[Answer]:
    return {answer._replace(query=0, values=tuple(map(plain, answer.values)), waits=False) for answer in found}


@pytest.mark.parametrize("example", WORKED, ids=lambda example: example.number)
def test_worked_examples_mean_the_same_with_plain_names(example: Example) -> None:
    query = re.sub(r"(?<![\w:]):(\w+)", r"\1", example.query)
    background = list(example.background) or None
    options = {name: list(map(plain, values)) for name, values in example.options.items()}
    if "background" in options:
        options["background_predicates"] = options.pop("background")
    program = compile_case(query, vocabulary=VOCABULARY, background=background, **options)
    events = [[e.start / 1e6, e.end / 1e6, *map(plain, (e.s, e.p, e.o))] for e in in_order(example.elements)]
    rows, made = answers((e for e in push_all(program, events) if e.name != LISTED), program)
    if example.rows is not None:
        assert plain_answers(rows) == plain_answers(example.rows)
    if example.constructed is not None:
        assert name_alike(plain_answers(made)) == name_alike(plain_answers(example.constructed))
