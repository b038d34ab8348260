"""Triples and graphs pushed by a host: their terms, their times, and that an element is taken back as a whole."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode

import etalis
from etalis import Stamp
from etalis.errors import EtalisError, EventError, InputError

XSD = "http://www.w3.org/2001/XMLSchema#"
REVISED = ":- set_flag(revision_flag, on). :- set_flag(revision_window, 3600). "
SEEN = "seen(S, O) <- rdf(S, '<a:p>', O)."
PAIR = "pair(X, Y) <- rdf(S, '<a:p>', X) seq rdf(S, '<a:p>', Y)."


def engine(text: str = SEEN, **options: Any) -> etalis.Engine:
    return etalis.compile(text).engine(policy="unrestricted", **options)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("<a:o>", "<a:o>"),
        ("<a:\\u00e9>", "<a:é>"),
        ("_:o", "_:o"),
        ('"o"', "o"),
        ('"a\\tb\\u0041"', "a\tbA"),
        ('"o"@EN', '"o"@en'),
        (f'"07"^^<{XSD}byte>', 7),
        (NamedNode("a:o"), "<a:o>"),
        (BlankNode("o"), "_:o"),
        (Literal("<o"), '"<o"'),
        (7, 7),
        (10**30, 10**30),
        (2.5, 2.5),
        (float("inf"), f'"INF"^^<{XSD}double>'),
        (float("nan"), f'"NaN"^^<{XSD}double>'),
        (True, f'"true"^^<{XSD}boolean>'),
        (Decimal("1.50"), 1.5),
        (Decimal("1E+3"), 1000.0),
        (date(2026, 3, 2), f'"2026-03-02"^^<{XSD}date>'),
        (datetime(2026, 3, 2, 9), f'"2026-03-02T09:00:00"^^<{XSD}dateTime>'),
        (datetime(2026, 3, 2, 9, tzinfo=UTC), f'"2026-03-02T09:00:00Z"^^<{XSD}dateTime>'),
        (np.int64(7), 7),
        (np.float64(7.5), 7.5),
        (np.datetime64("2026-03-02T09:00:00"), f'"2026-03-02T09:00:00Z"^^<{XSD}dateTime>'),
    ],
)
def test_terms_in_their_forms(given: Any, value: Any) -> None:
    (event,) = engine().push_triple("<a:s>", "<a:p>", given, at=1)
    assert event.args == ("<a:s>", value)
    assert type(event.args[1]) is not bool


@pytest.mark.parametrize(
    ("triple", "words"),
    [
        (("a:s", "<a:p>", 1), "'a:s' is no term in the N-Triples syntax"),
        (("<a:s>", "<a:p>", "plain text"), "'plain text' is no term in the N-Triples syntax"),
        (("<a:s>", "<a:p>", ""), "is no term in the N-Triples syntax"),
        (("<a:s>", "<a:p>", '"a" . <b:b> <b:c> "d"'), "is no term in the N-Triples syntax"),
        (("<a:s>", "<a:p>", "<a:o> <a:x>"), "is no term in the N-Triples syntax"),
        (("<a:s>", "<a:p>", None), "None is no RDF term"),
        (("<a:s>", "<a:p>", [1]), "is no RDF term"),
        ((7, "<a:p>", 1), "the subject of a triple is an IRI or a blank node, not 7"),
        (('"s"', "<a:p>", 1), "the subject of a triple is an IRI or a blank node"),
        (("<a:s>", "_:p", 1), "the predicate of a triple is an IRI"),
    ],
)
def test_what_is_no_triple_is_refused(triple: tuple[Any, Any, Any], words: str) -> None:
    with pytest.raises(EventError) as caught:
        engine().push_triple(*triple, at=1)
    assert caught.value.problems[0].code == "E342"
    assert words in str(caught.value)


def test_an_element_has_one_time() -> None:
    found = engine(PAIR).push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1)
    assert found == ()
    run = engine(PAIR)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1)
    assert [(e.args, e.start, e.end) for e in run.push_triple("<a:s>", "<a:p>", 3, at=2, until=4)] == [
        ((1, 3), 1, 4),
        ((2, 3), 1, 4),
    ]
    ticks = iter([5, 6])
    run = engine(SEEN, clock=lambda: next(ticks))
    assert [e.end for e in run.push_graph("@prefix : <a:> . :s :p 1, 2 .")] == [5, 5]
    with pytest.raises(EtalisError, match="no time"):
        engine().push_graph("@prefix : <a:> . :s :p 1 .")


def test_formats_of_graphs() -> None:
    run = engine()
    assert [e.args[1] for e in run.push_graph('<a:s> <a:p> "x" .', at=1, format="ntriples")] == ["x"]
    assert [e.args[1] for e in run.push_graph('{"@id": "a:s", "a:p": 7}', at=1, format="jsonld")] == [7]
    with pytest.raises(InputError, match="unknown format 'rdfxml'"):
        run.push_graph("", at=1, format="rdfxml")
    with pytest.raises(InputError, match="not Turtle, line 2"):
        run.push_graph("<a:s> <a:p> 1 .\n<a:s> oops 2 .", at=1)
    deep = '{"a:b":' * 30_000 + "1" + "}" * 30_000
    with pytest.raises(InputError, match="levels deep"):
        run.push_graph(deep, at=1, format="jsonld")
    with pytest.raises(InputError, match="expected a text, found bytes"):
        run.push_graph(b"", at=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="half a character"):
        run.push_graph('<a:s> <a:p> "\ud800" .', at=1)


def test_graph_and_stream_where_they_are_read() -> None:
    run = engine("seen(O, G, N) <- rdf(_, _, O, G, N).")
    assert [e.args for e in run.push_triple("<a:s>", "<a:p>", 1, at=1)] == [(1, "null", "null")]
    assert [e.args for e in run.push_triple("<a:s>", "<a:p>", 1, at=1, graph="a:g", stream=NamedNode("a:n"))] == [
        (1, "<a:g>", "<a:n>")
    ]
    assert [e.args for e in run.push_graph("<a:s> <a:p> 1 .", at=1, graph="_:g", stream="<a:n>")] == [
        (1, "_:g", "<a:n>")
    ]
    with pytest.raises(EventError, match="the stream of a triple is an IRI"):
        run.push_triple("<a:s>", "<a:p>", 1, at=1, stream="_:b")


def test_blank_nodes_are_apart_per_graph_and_the_same_again() -> None:
    elements = ((1, None), (1, None), (2, None), (2, "a:g"))
    nodes = [engine().push_graph("[] <a:p> 1 .", at=at, graph=g)[0].args[0] for at, g in elements]
    assert nodes[0] == nodes[1]
    assert len(set(nodes)) == 3
    run = engine(REVISED + SEEN, clock=lambda: 5)
    assert [e.end for e in run.push_triple("<a:s>", "<a:p>", 1, graph="a:g")] == [5]
    ticks = iter([1, 2])
    run = engine(clock=lambda: next(ticks))
    assert [run.push_graph("[] <a:p> 1 .")[0].args[0] for _ in range(2)] == [nodes[0], nodes[2]]


def test_an_element_is_taken_back_as_a_whole() -> None:
    run = engine(REVISED + PAIR)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1, graph="a:g")
    assert len(run.push_triple("<a:s>", "<a:p>", 3, at=2)) == 2
    assert sorted(map(str, run.retract("<a:g>"))) == ["-pair(1, 3) [1, 2]", "-pair(2, 3) [1, 2]"]
    assert run.push_triple("<a:s>", "<a:p>", 4, at=3)[0].args == (3, 4)
    letters = run.dead_letter_count
    assert run.retract("<a:g>") == ()
    assert run.dead_letter_count == letters + 1


def test_rev_takes_back_an_element_by_its_stamp() -> None:
    run = engine(REVISED + PAIR)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=Stamp(1, id="e1"), graph="a:g")
    run.push_triple("<a:s>", "<a:p>", 3, at=2)
    assert len(run.push("rev", "e1", at=3)) == 2
    run.push_graph("@prefix : <a:> . :s :p 5 .", at=Stamp(4, id="e1"))
    assert [e.args for e in run.push_triple("<a:s>", "<a:p>", 6, at=5)] == [(3, 6), (5, 6)]
    assert [str(e) for e in run.push("rev", "e1", at=6)] == ["-pair(3, 5) [2, 4]", "-pair(5, 6) [4, 5]"]


def test_an_element_is_corrected_in_one_step() -> None:
    run = engine(REVISED + PAIR)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1, graph="a:g")
    run.push_triple("<a:s>", "<a:p>", 3, at=2)
    found = run.correct("<a:g>", to=("rdf", "<a:s>", "<a:p>", 1, 1))
    assert [str(e) for e in found] == ["-pair(2, 3) [1, 2]"]
    assert [str(e) for e in run.retract("<a:g>")] == ["-pair(1, 3) [1, 2]"]


ELEMENTS = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.integers(0, 3), min_size=1, max_size=3), st.booleans()), max_size=8
)
WAITING = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 3). "


@pytest.mark.parametrize("flags", ["", WAITING, WAITING + ":- set_flag(reporting, on_arrival). "])
@given(elements=ELEMENTS)
def test_what_is_taken_back_might_never_have_come(flags: str, elements: list[tuple[int, list[int], bool]]) -> None:
    ordered = sorted(elements, key=lambda each: each[0])
    run, expected = engine(REVISED + flags + PAIR), engine(REVISED + flags + PAIR)
    reported: Counter[Any] = Counter()
    changes: list[Any] = []
    for number, (at, values, _) in enumerate(ordered):
        turtle = "".join(f"<a:s> <a:p> {value} ." for value in values)
        changes += run.push_graph(turtle, at=at, graph=f"a:g{number}")
    for number, (_, _, stays) in enumerate(ordered):
        if not stays:
            changes += run.retract(f"<a:g{number}>")
    changes += run.close()
    for change in changes:
        reported[change.reported if change.sign < 0 else change] += change.sign
    rows = [(at, value) for at, values, stays in ordered if stays for value in values]
    wanted = [e for at, value in rows for e in expected.push("rdf", "<a:s>", "<a:p>", value, at=at)]
    wanted += expected.close()
    assert +reported == Counter(dict.fromkeys(wanted, 1))
    assert min(reported.values(), default=0) >= 0


def test_what_waits_for_the_watermark_is_taken_back_as_a_whole() -> None:
    flags = REVISED + ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). "
    run = engine(flags + SEEN)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1, graph="a:g")
    run.push_graph("@prefix : <a:> . :s :p 3 .", at=1, graph="a:h")
    again = etalis.compile(flags + SEEN).restore(run.snapshot())
    for each in (run, again):
        each.retract("<a:g>")
        assert [e.args[1] for e in each.close()] == [3]


def test_held_events_are_taken_back_by_their_atom_then_by_id() -> None:
    run = engine(REVISED + ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). " + SEEN)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1, graph="a:g")
    run.push("rev", etalis.Struct("rdf", ["<a:s>", "<a:p>", 1]), at=1)
    run.retract("<a:g>")
    assert run.close() == ()
    assert run.dead_letter_count == 0


def test_elements_of_a_snapshot_are_taken_back() -> None:
    run = engine(REVISED + SEEN)
    run.push_graph("@prefix : <a:> . :s :p 1, 2 .", at=1, graph="a:g")
    again = etalis.compile(REVISED + SEEN).restore(run.snapshot())
    assert sorted(e.args[1] for e in again.retract("<a:g>")) == [1, 2]


def test_elements_of_files_are_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "s.trig"
    path.write_text(
        "@prefix : <a:> . @prefix prov: <http://www.w3.org/ns/prov#> .\n"
        ":g prov:generatedAtTime 1 . :g { :s :p 1, 2 } :h prov:generatedAtTime 2 . :h { :s :p 3 }",
        encoding="utf-8",
    )
    run = engine(REVISED + SEEN)
    assert len(list(run.run(path))) == 3
    assert sorted(e.args[1] for e in run.retract("<a:g>")) == [1, 2]
    lines = tmp_path / "s.jsonl"
    lines.write_text('{"at": 3, "id": "e7", "turtle": "<a:s> <a:p> 7, 8 ."}\n', encoding="utf-8")
    assert len(list(run.run(str(lines)))) == 2
    assert sorted(e.args[1] for e in run.retract("e7")) == [7, 8]
    table = tmp_path / "s.csv"
    table.write_text('s,p,o,g,at\n<a:s>,<a:p>,"""x""",<a:t>,4\n<a:s>,<a:p>,"""y""",<a:t>,4\n', encoding="utf-8")
    assert len(list(run.run(table))) == 2
    assert sorted(e.args[1] for e in run.retract("<a:t>")) == ["x", "y"]


def test_options_of_run(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_text('<a:g> <a:at> "1500" .\n<a:g> <a:to> "2500" .\n<a:s> <a:p> "x" <a:g> .\n', encoding="utf-8")
    run = engine("seen(O, G, N) <- rdf(_, _, O, G, N).")
    (event,) = run.run(path, format="nquads", time="a:at", until="a:to", unit="ms", stream="a:n")
    assert (event.args, event.start, event.end) == (("x", "<a:g>", "<a:n>"), 1.5, 2.5)
    with pytest.raises(EtalisError, match="run has no option tme"):
        run.run(path, tme="x")  # type: ignore[call-arg]
    with pytest.raises(EtalisError, match="run has no option time for rows"):
        run.run([("rdf", 1)], time="at")
    with pytest.raises(EtalisError, match="run has no option unit for rows"):
        run.run([("rdf", 1)], unit="ms")
    with pytest.raises(InputError, match="no known format ends"):
        list(run.run(path))
