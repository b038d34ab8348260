"""Streams of RDF: N-Quads, TriG, lines of JSON, tables; when a triple happens, and what is said of what is none."""

from __future__ import annotations

import gzip
import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, serialize

import etalis
from etalis.errors import EtalisError, InputError
from etalis.formats import Bad, Item, Reading, Row, read
from etalis.formats import rdf_quads as quads_module
from etalis.formats.rdf_quads import BLOCK, TIME, UNTIL, read_nquads, read_trig
from etalis.formats.row import reading_of
from etalis.logic.rdf.exact_terms import encode

X = "http://x/"
XSD = "http://www.w3.org/2001/XMLSchema#"
DEEP = "<a:a> <a:b> " + "<<( <a:a> <a:b> " * 40_000 + "1" + ")>>" * 40_000


def told(graph: str, moment: object, which: str = TIME) -> str:
    return f'<{X}{graph}> <{which}> "{moment}" .\n'


def quad(graph: str, value: object, subject: str = "s") -> str:
    return f'<{X}{subject}> <{X}p> "{value}" <{X}{graph}> .\n'


def shown(items: Any) -> list[str]:
    """Return events shortly: subject, object, interval; what is bad by line and code."""
    found = []
    for item in items:
        if isinstance(item, Bad):
            found.append(f"bad {item.place.line} {item.problem.code}")
        else:
            s, _, o, *more = item.event.args
            places = "".join(f" {x}" for x in more)
            found.append(
                f"{s}={o}{places} [{item.event.start}, {item.event.end}]".replace(f"<{X}", "").replace(">", "")
            )
    return found


def quads(text: str, **reading: Any) -> list[str]:
    return shown(read_nquads(text.splitlines(keepends=True), "test.nq", Reading(**reading)))


def trig(text: str, **reading: Any) -> list[str]:
    prefixes = f"@prefix : <{X}> . @prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <{XSD}> .\n"
    return shown(read_trig((prefixes + text).splitlines(keepends=True), "test.trig", Reading(**reading)))


def problem(items: Any) -> str:
    (bad,) = [item for item in items if isinstance(item, Bad)]
    return str(bad.problem)


# times


def test_a_triple_has_the_time_of_its_graph() -> None:
    assert quads(told("g", 5) + quad("g", 1) + quad("g", 2)) == ["s=1 [5, 5]", "s=2 [5, 5]"]


def test_triples_are_held_until_the_time_is_known() -> None:
    text = quad("g", 1) + quad("h", 2) + told("h", 7) + quad("h", 3) + told("g", 5)
    assert quads(text) == ["s=2 [7, 7]", "s=3 [7, 7]", "s=1 [5, 5]"]


def test_an_end_stands_next_to_the_time_or_before_it() -> None:
    for order in ((told("g", 5), told("g", 8, UNTIL)), (told("g", 8, UNTIL), told("g", 5))):
        assert quads(quad("g", 1) + "".join(order) + quad("g", 2)) == ["s=1 [5, 8]", "s=2 [5, 8]"]
    text = told("g", 8, UNTIL) + quad("h", 0) + told("h", 1) + told("g", 5) + quad("g", 1)
    assert quads(text) == ["s=0 [1, 1]", "s=1 [5, 8]"]


def test_an_end_that_comes_too_late_is_refused() -> None:
    text = told("g", 5) + quad("g", 1) + told("g", 8, UNTIL) + quad("g", 2)
    assert quads(text) == ["s=1 [5, 5]", "bad 3 E404"]
    assert "has had another time so far" in problem(read_nquads(text.splitlines(keepends=True), "x", Reading()))


def test_times_may_be_told_again() -> None:
    assert quads(told("g", 5) + quad("g", 1) + told("g", 5) + quad("g", 2)) == ["s=1 [5, 5]", "s=2 [5, 5]"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (told("g", "soon"), "the time of <http://x/g>: expected a time, found 'soon'"),
        (told("g", 5) + told("g", 6), "has two times"),
        (told("g", 5, UNTIL) + told("g", 6, UNTIL), "has two ends"),
        (told("g", 5) + told("g", 4, UNTIL) + told("h", 9), "ends before it starts"),
        (f"<{X}g> <{TIME}> <{X}noon> .\n", "expected a time, found '<http://x/noon>'"),
        (told("g", 10**20), "the time of"),
    ],
)
def test_an_element_whose_time_is_none_is_bad_as_a_whole(text: str, words: str) -> None:
    lines = (quad("g", 1) + text + quad("g", 2) + told("ok", 9) + quad("ok", 3)).splitlines(keepends=True)
    items = list(read_nquads(lines, "x", Reading()))
    assert [line for line in shown(items) if "bad" not in line] == ["s=3 [9, 9]"]
    assert words in problem(items)


def test_a_graph_without_a_time_is_named_at_the_end() -> None:
    text = quad("g", 1) + told("h", 2) + quad("g", 2) + quad("h", 3)
    items = list(read_nquads(text.splitlines(keepends=True), "in.nq", Reading()))
    assert shown(items) == ["s=3 [2, 2]", "bad 1 E404"]
    assert "in.nq, line 1: the graph <http://x/g> has no time (2 triples)" in problem(items)


def test_times_are_numbers_or_dates() -> None:
    stamp = f'<{X}g> <{TIME}> "2026-03-02T10:00:00+01:00"^^<{XSD}dateTime> .\n'
    (row,) = read_nquads([stamp, quad("g", 1)], "x", reading := Reading())
    assert isinstance(row, Row)
    assert row.event.start_time == 1_772_442_000_000_000
    assert reading.seen.stamps
    whole = f'<{X}g> <{TIME}> "1500"^^<{XSD}integer> .\n'
    assert quads(whole + quad("g", 1), unit="ms") == ["s=1 [1.5, 1.5]"]
    exact = f'<{X}g> <{TIME}> "1772442000.000001"^^<{XSD}decimal> .\n'
    (row,) = read_nquads([exact, quad("g", 1)], "x", Reading())
    assert isinstance(row, Row)
    assert row.event.start_time == 1_772_442_000_000_001


def test_properties_of_time_may_be_others() -> None:
    text = f'<{X}g> <{X}at> "5" ; <{X}to> "6" . <{X}g> {{ <{X}s> :p 1 }}'
    assert trig(text, time=X + "at", until=f"<{X}to>") == ["s=1 [5, 6]"]
    assert trig(text, time=(X + "at", X + "to")) == ["s=1 [5, 6]"]
    assert trig(text, time=X + "at") == ["s=1 [5, 5]"]
    assert trig(text) == ["bad 2 E404"]


def test_other_triples_of_the_default_graph_are_counted() -> None:
    reading = Reading()
    lines = [told("g", 1), f"<{X}a> <{X}b> <{X}c> .\n", f"<{X}g> <{X}b> <{X}c> .\n", quad("g", 1)]
    assert shown(read_nquads(lines, "x", reading)) == ["s=1 [1, 1]"]
    assert list(reading.seen.notes()) == ["2 triples of the default graph are no event: only graphs with a time are"]


def test_many_elements_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quads_module, "REMEMBERED", 10)
    text = "".join(told(f"g{i}", i) + quad(f"g{i}", i) for i in range(100)) + quad("g95", "late") + quad("g2", "lost")
    assert quads(text)[100:] == ["s=late [95, 95]", "bad 202 E404"]


# terms


def test_terms_are_exact() -> None:
    text = ':g prov:generatedAtTime 1 . :g { :s :p :o, "o", "o"@EN, 7, 7.0, true, "null", "<" ; a :C }'
    lines = [f"@prefix : <{X}> . @prefix prov: <http://www.w3.org/ns/prov#> .", text]
    found = [item.event.args for item in read_trig(lines, "x", Reading()) if isinstance(item, Row)]
    assert [o for _, _, o in found] == [
        *(f"<{X}o>", "o", '"o"@en', 7, 7.0, f'"true"^^<{XSD}boolean>', '"null"', '"<"', f"<{X}C>"),
    ]


SUBJECTS = [NamedNode(X + "s"), BlankNode("b1"), BlankNode("b2")]
OBJECTS = [
    *(NamedNode(X + "o"), BlankNode("b1"), Literal(7), Literal(2.5), Literal('a b <c> " . \n @x')),
    *(Literal("é \\ ^^<x>", language="de-ch"), Literal("7 <g>", datatype=NamedNode(X + "t"))),
]


@given(st.lists(st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(OBJECTS), st.integers(0, 3)), max_size=8))
def test_what_pyoxigraph_writes_is_read(made: list[tuple[Any, Any, int]]) -> None:
    graphs = [NamedNode(f"{X}g{i}") for i in range(3)] + [BlankNode("g")]
    data = [Quad(g, NamedNode(TIME), Literal(i)) for i, g in enumerate(graphs)]
    data += [Quad(s, NamedNode(X + "p"), o, graphs[g]) for s, o, g in made]
    nodes: dict[str, str] = {}

    def same(value: Any) -> Any:
        return (
            nodes.setdefault(value, f"_:{len(nodes)}") if isinstance(value, str) and value.startswith("_:") else value
        )

    for form, reader in ((RdfFormat.N_QUADS, read_nquads), (RdfFormat.TRIG, read_trig)):
        text = serialize(data, format=form).decode()
        found = list(reader(io.StringIO(text, newline=""), "x", Reading()))
        nodes.clear()
        expected = [(encode(s), f"<{X}p>", encode(o), g) for s, o, g in made]
        want = [(same(s), p, same(o), g) for s, p, o, g in expected]
        nodes.clear()
        got = [(same(s), p, same(o), int(r.event.end)) for r in found for s, p, o in [r.event.args]]  # type: ignore[union-attr]
        assert got == want


def test_blank_nodes_are_numbered_by_document() -> None:
    text = ":g prov:generatedAtTime 1 . :g { [] :p _:x . _:x :p [ :p 1 ] }"
    first, again = trig(text), trig(text)
    assert first == again
    assert len({line.split("=")[0] for line in first}) == 3
    assert first[0].split("=")[0].endswith("n1")
    other = shown(read_trig([f"@prefix : <{X}> . @prefix prov: <http://www.w3.org/ns/prov#> .", text], "b", Reading()))
    assert {line.split("=")[0] for line in first}.isdisjoint(line.split("=")[0] for line in other)


def test_graphs_may_be_blank_nodes() -> None:
    assert trig("_:g prov:generatedAtTime 4 . _:g { :s :p 1 }") == ["s=1 [4, 4]"]


def test_triple_terms_are_refused() -> None:
    line = f"<{X}s> <{X}p> <<( <{X}s> <{X}p> <{X}o> )>> <{X}g> .\n"
    assert quads(told("g", 1) + line + quad("g", 2)) == ["bad 2 E405", "s=2 [1, 1]"]
    assert trig(":g prov:generatedAtTime 1 . :g { << :s :p :o >> :q 1 }") == ["bad 2 E405", trig_last()]
    assert quads(told("g", 1) + line.replace(f" <{X}g>", "") + quad("g", 2)) == ["s=2 [1, 1]"]


def trig_last() -> str:
    """Return the triple about a statement, which is no triple term itself."""
    return trig(":g prov:generatedAtTime 1 . :g { [] :q 1 }")[0]


def test_triples_in_triples_without_end_are_refused(tmp_path: Path) -> None:
    for text in (DEEP, DEEP.replace("<<(", "\n<<(")):
        with pytest.raises(InputError, match="levels deep"):
            list(read_trig(text.splitlines(keepends=True), "x", Reading()))
    path = tmp_path / "deep.nq"
    path.write_text(told("g", 1) + DEEP + "\n" + quad("g", 1), encoding="utf-8")
    assert shown(read(path)) == ["bad 2 E402", "s=1 [1, 1]"]
    with path.open(encoding="utf-8") as lines:
        assert shown(read_nquads(lines, "x", Reading())) == ["bad 2 E402", "s=1 [1, 1]"]


def test_many_triple_terms_are_refused_one_by_one() -> None:
    lines = [told("g", 1), *[f"<{X}g> {{ <{X}s> <{X}p> <<( <a:s> <a:p> <a:o> )>> }}\n"] * 3_000]
    assert shown(read_trig(lines, "x", Reading())) == [f"bad {n} E405" for n in range(2, 3_002)]


# graph and stream


def test_a_program_may_read_graph_and_stream() -> None:
    program = etalis.compile("hit(S, O, G, N) <- rdf(S, _, O, G, N).")
    reading = reading_of(program.compiled, stream=f"<{X}n>")
    assert shown(read_nquads([told("g", 1), quad("g", 7)], "x", reading)) == ["s=7 g n [1, 1]"]
    line = json.dumps({"at": 1, "turtle": f"<{X}s> <{X}p> 7 ."})
    assert shown(_lines(line, reading)) == ["s=7 null n [1, 1]"]
    line = json.dumps({"at": 1, "turtle": f"<{X}s> <{X}p> 7 .", "graph": X + "g", "stream": X + "m"})
    assert shown(_lines(line, reading)) == ["s=7 g m [1, 1]"]


# broken lines


@pytest.mark.parametrize("as_file", [True, False])
def test_a_bad_line_of_quads_is_bad_by_itself(as_file: bool, tmp_path: Path) -> None:
    good = [told("g", 1), quad("g", 1), quad("g", 2)]
    parts = f"<{X}s> <{X}p>"
    broken = ["oops\n", f'{parts} "x <{X}g> .\n', f"{parts} <{X}o> <{X}g>\n", f"{parts} <rel> <{X}g> .\n", "<\n"]
    for seed in range(40):
        rng = random.Random(seed)
        lines = good + broken + ["\n", "# a comment\n", "   \n", " # another\r\n"]
        rng.shuffle(lines)
        lines.insert(0, lines.pop(lines.index(good[0])))
        expected = [
            f"s={line.split()[2][1:-1]} [1, 1]" if line in good else f"bad {n} E402"
            for n, line in enumerate(lines, 1)
            if line.strip() and not line.strip().startswith("#") and line is not good[0]
        ]
        if as_file:
            path = tmp_path / "s.nq"
            path.write_bytes("".join(lines).encode())
            assert shown(read(path)) == expected
        else:
            assert shown(read_nquads(lines, "x", Reading())) == expected


def test_a_bad_line_is_shown() -> None:
    assert problem(read_nquads([f"<{X}s> <{X}p> oops <{X}g> .\n"], "in.nq", Reading())) == (
        "in.nq:1:27: error E402: not N-Quads: The object of a triple must be an IRI, a blank node or a literal\n"
        "    1 | <http://x/s> <http://x/p> oops <http://x/g> .\n"
        "                                  ^\n"
        "  hint: check this line"
    )


def test_lines_are_numbered_over_blocks(tmp_path: Path) -> None:
    path = tmp_path / "long.nq"
    lines = [told("g", 1), *(quad("g", i) for i in range(3 * BLOCK))]
    lines[BLOCK + 5 : BLOCK + 5] = ["# here\n", "oops\n"]
    path.write_text("".join(lines), encoding="utf-8")
    items = list(read(path))
    assert [item.place.line for item in items] == [n for n in range(2, 3 * BLOCK + 4) if n != BLOCK + 6]
    assert [n for n, item in enumerate(items) if isinstance(item, Bad)] == [BLOCK + 4 + 1 - 1]


def test_a_string_without_an_end_is_shown_where_it_begins() -> None:
    lines = [told("g", 1), f'<{X}g> {{ <{X}s> <{X}p> """a\n', "b\n", "c\n"]
    with pytest.raises(InputError, match=r"in.trig, line 2: not TriG"):
        list(read_trig(lines, "in.trig", Reading()))


def test_broken_trig_ends_the_stream() -> None:
    lines = [told("g", 1), f"<{X}g> {{ <{X}s> <{X}p> 1 .\n", "  oops }\n", f"<{X}g> {{ <{X}s> <{X}p> 2 }}\n"]
    items = read_trig(lines, "in.trig", Reading())
    assert shown([next(items)]) == ["s=1 [1, 1]"]
    with pytest.raises(InputError, match=r"in.trig:3:\d+: error E402: not TriG"):
        next(items)


TEXT = (
    told("g", 1) + quad("g", 1) + quad("h", 'a \\u00e9 \\" b') + told("h", 2) + told("h", 3, UNTIL) + quad("h", 2)
).encode()
TRIG = f'@prefix : <{X}> .\n:g <{TIME}> 1 .\n:g {{ :s :p "a"@en, [ :q (1 2.5) ] . }}\n'.encode()


@given(st.sampled_from([TEXT, TRIG]), st.integers(0, 400), st.integers(0, 30), st.binary(max_size=6), st.booleans())
@example(TEXT, 0, 0, b"\xff\xfe", False)
@example(TEXT, 0, 0, b"\xef\xbb\xbf", True)
def test_broken_files_are_read_or_refused(data: bytes, at: int, cut: int, put: bytes, as_quads: bool) -> None:
    broken = data[:at] + put + data[at + cut :]
    reader = read_nquads if as_quads else read_trig
    for source in (io.BytesIO(broken), broken.decode(errors="surrogateescape").splitlines(keepends=True)):
        try:
            for item in reader(source, "x", Reading()):
                assert isinstance(item, Row | Bad)
        except EtalisError:
            assert reader is read_trig


# lines of JSON


def _lines(text: str, reading: Reading | None = None) -> list[Item]:
    from etalis.formats.json_lines import read_json_lines

    return list(read_json_lines(text.splitlines(), "in.jsonl", reading or Reading()))


def document(**fields: Any) -> list[str]:
    return shown(_lines(json.dumps(fields)))


def test_a_line_of_json_may_be_turtle() -> None:
    text = f"@prefix : <{X}> . :s :p 1, 2 ."
    assert document(at=5, turtle=text) == ["s=1 [5, 5]", "s=2 [5, 5]"]
    assert document(at=5, until=6.5, turtle=text, graph=X + "g") == ["s=1 [5, 6.5]", "s=2 [5, 6.5]"]
    assert document(start=5, end=6, turtle=text) == ["s=1 [5, 6]", "s=2 [5, 6]"]
    assert document(at=5, turtle="") == []


def test_a_line_of_json_may_be_json_ld() -> None:
    context = {"p": X + "p"}
    nodes = [{"@id": X + "s", "p": [1, 2.5, "x", {"@id": X + "o"}]}]
    assert document(at=5, **{"@context": context, "@graph": nodes}) == [
        "s=1 [5, 5]",
        "s=2.5 [5, 5]",
        "s=x [5, 5]",
        "s=o [5, 5]",
    ]
    assert document(at=5, **{"@graph": [{"@id": X + "s", X + "p": True}]}) == [f's="true"^^<{XSD}boolean [5, 5]']


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"at": 1, "@graph": [], "@context": "http://x/"}, "E402: a context of JSON-LD that would have to be fetched"),
        ({"at": 1, "@graph": [{"@context": {"@import": "http://x/y"}, "@id": X}]}, "would have to be fetched"),
        ({"at": 1, "@graph": [], "@context": ["http://x/y"]}, "would have to be fetched"),
        ({"at": 1, "@graph": [{"@id": X + "g", "@graph": [{"@id": X, X + "p": 1}]}]}, "a graph inside an element: <http://x/g>"),
        ({"at": 1, "turtle": "<a> <b> <c> ."}, "not Turtle, line 1: "),
        ({"at": 1, "turtle": "<a:a> <a:b> ."}, "not Turtle, line 1: "),
        ({"at": 1, "turtle": 7}, "turtle: expected a text"),
        ({"at": 1, "turtle": "", "@graph": []}, "Turtle or JSON-LD, not both"),
        ({"turtle": ""}, "E404: the element has no time"),
        ({"at": "soon", "turtle": ""}, "expected a time, found 'soon'"),
        ({"at": 2, "until": 1, "turtle": ""}, "ends before it starts"),
        ({"at": 1, "turtle": "", "grph": X}, "an element has no field grph"),
        ({"at": 1, "turtle": "", "graph": "a b"}, "is no term"),
        ({"at": 1, "turtle": "<a:a> <a:b> <<( <a:a> <a:b> <a:c> )>> ."}, "a triple inside a triple"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_element_of_a_line_is_said(fields: dict[str, Any], words: str) -> None:
    assert words in problem(_lines(json.dumps(fields)))


def test_events_may_have_an_attribute_named_turtle() -> None:
    (row,) = _lines('{"event": "seen", "at": 1, "args": ["turtle"]}')
    assert isinstance(row, Row)
    assert row.event.args == ("turtle",)
    reading = Reading(schema={"seen": (("turtle", "string"),)})
    (row,) = _lines('{"event": "seen", "at": 1, "turtle": "leatherback"}', reading)
    assert isinstance(row, Row)
    assert row.event.args == ("leatherback",)
    reading = Reading(schema={"seen": (("turtle", "string"),)}, event="seen")
    (row,) = _lines('{"at": 1, "turtle": "leatherback"}', reading)
    assert isinstance(row, Row)
    assert row.event.args == ("leatherback",)


def test_blank_nodes_of_lines_are_apart_and_the_same_again() -> None:
    line = json.dumps({"at": 5, "turtle": f"[] <{X}p> 1 ."})
    later = json.dumps({"at": 6, "turtle": f"[] <{X}p> 1 ."})
    one, two, three = (row.event.args[0] for row in _lines("\n".join([line, later, line])))  # type: ignore[union-attr]
    assert one == three
    assert one != two


KEYS = st.sampled_from(["@id", "@graph", "@context", "@type", "@value", "@list", "@import", X + "p", "p"])
LEAVES = st.none() | st.integers(0, 3) | st.sampled_from([X, "@id", "", "p"])


@given(st.recursive(LEAVES, lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x, max_size=3), max_leaves=8))
def test_any_json_is_an_element_or_bad(value: Any) -> None:
    for item in _lines(json.dumps({"at": 1, "@graph": value})):
        assert isinstance(item, Row | Bad)


# tables

CELLS: dict[str, list[Any]] = {
    "s": [f"<{X}s>", "_:b", "_:b"],
    "p": [f"<{X}p>"] * 3,
    "o": ['"a"@EN', f'"7"^^<{XSD}int>', "_:c"],
    "at": [1, 2, 3],
}


def table_rows(path: Path, **reading: Any) -> list[Any]:
    return [item.event.args if isinstance(item, Row) else str(item.problem) for item in read(path, Reading(**reading))]


def test_tables_of_triples(tmp_path: Path) -> None:
    frame = pd.DataFrame(CELLS)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    pl.DataFrame(CELLS).write_ipc(tmp_path / "t.arrow")
    with gzip.open(tmp_path / "z.csv.gz", "wt", encoding="utf-8") as file:
        frame.to_csv(file, index=False)
    for name in ("t.csv", "t.tsv", "t.parquet", "t.arrow", "z.csv.gz"):
        one, two, three = table_rows(tmp_path / name)
        assert one == (f"<{X}s>", f"<{X}p>", '"a"@en')
        assert two[1:] == (f"<{X}p>", 7)
        assert two[0] == three[0]
        assert two[0].startswith("_:d")
        assert three[2] == two[0][:-1] + "2"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"s": '"x"'}, "the subject of a triple is an IRI or a blank node"),
        ({"p": "_:b"}, "the predicate of a triple is an IRI"),
        ({"o": "http://x/o"}, "'http://x/o' is no term in the N-Triples syntax"),
        ({"o": '"a"b"'}, "is no term in the N-Triples syntax"),
        ({"o": ""}, "o: expected a term, found nothing"),
        ({"at": "soon"}, "at: expected a time, found 'soon'"),
        ({"at": ""}, "the row has no time"),
        ({"until": "0"}, "the event ends before it starts"),
        ({"g": '"x"'}, "the graph of a triple is an IRI or a blank node"),
    ],
)
def test_a_row_that_is_no_triple_is_bad(change: dict[str, str], words: str, tmp_path: Path) -> None:
    row = {"s": f"<{X}s>", "p": f"<{X}p>", "o": f"<{X}o>", "g": "", "at": "1", "until": ""} | change
    path = tmp_path / "t.csv"
    pd.DataFrame([row]).to_csv(path, index=False)
    (found,) = table_rows(path)
    assert words in found


def test_cells_may_be_values_of_the_table(tmp_path: Path) -> None:
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    columns = {"s": [f"<{X}s>"], "p": [f"<{X}p>"], "at": pa.array([moment])}
    for cell, value in (
        (7, 7),
        (2.5, 2.5),
        (True, f'"true"^^<{XSD}boolean>'),
        (moment, f'"2026-03-02T00:00:00Z"^^<{XSD}dateTime>'),
    ):
        path = tmp_path / "t.parquet"
        pyarrow.parquet.write_table(pa.table({**columns, "o": pa.array([cell])}), path)
        assert table_rows(path) == [(f"<{X}s>", f"<{X}p>", value)]


def test_numbers_of_text_files_are_numbers_of_objects_alone(tmp_path: Path) -> None:
    rows = [("<a:s>", "<a:p>", 10), ("<a:s>", "<a:p>", 2.5), ("<a:s>", "<a:p>", '"10"'), ("10", "<a:p>", 1)]
    path = tmp_path / "t.csv"
    pd.DataFrame([{"s": s, "p": p, "o": o, "at": 1} for s, p, o in rows]).to_csv(path, index=False)
    *numbers, text, bad = table_rows(path)
    assert numbers == [("<a:s>", "<a:p>", 10), ("<a:s>", "<a:p>", 2.5)]
    assert text == ("<a:s>", "<a:p>", "10")
    assert "'10' is no term in the N-Triples syntax" in bad
    pd.DataFrame([{"s": "<a:s>", "p": "<a:p>", "o": "10", "at": 1}]).to_parquet(tmp_path / "t.parquet")
    (bad,) = table_rows(tmp_path / "t.parquet")  # a text of a table that has types
    assert "'10' is no term in the N-Triples syntax" in bad


READS = etalis.compile("d(S, O) <- rdf(S, '<a:p>', O).")


def test_records_with_the_parts_of_a_triple_are_rows_of_a_table(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"s": "<a:s>", "p": "<a:p>", "o": 7, "at": 1},
        {"at": 2, "s": "_:b", "p": "<a:p>", "o": '"x"@EN'},
        {"s": "<a:s>", "p": "<a:p>", "o": "x", "at": 3},
        {"s": "<a:s>", "p": "<a:p>", "o": 8, "at": 4, "until": 5},
        {"event": "rdf", "s": "s", "p": "<a:p>", "o": 9, "at": 6},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    letters: list[str] = []
    found = [*READS.engine(on_dead_letter=lambda letter: letters.append(letter.reason)).run(path)]
    assert [(m.args[-1], m.start, m.end) for m in found] == [
        (7, 1, 1), ('"x"@en', 2, 2), (8, 4, 5), (9, 6, 6),
    ]  # fmt: skip
    assert ["is no term in the N-Triples syntax" in letter for letter in letters] == [True]
    table = READS.detect([row for row in rows if row["o"] != "x"])
    assert [row["end"] for row in table.to_pylist()] == [1, 2, 5, 6]
    other = etalis.compile("d(S) <- price(S, P, O).")
    with pytest.raises(InputError, match="names no event"):
        list(other.engine().run(path))


def test_a_graph_of_a_record_is_what_takes_it_back(tmp_path: Path) -> None:
    program = etalis.compile(":- set_flag(revision_flag, on). d(S, O) <- rdf(S, '<a:p>', O).")
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"s": "<a:s>", "p": "<a:p>", "o": 7, "g": "<a:g>", "at": 1}))
    engine = program.engine()
    assert [m.sign for m in [*engine.run(path), *engine.retract("<a:g>")]] == [1, -1]


def test_a_table_that_names_its_events_is_none_of_triples(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("event,s,p,o,at\nmine,1,2,3,4\n", encoding="utf-8")
    assert table_rows(path) == [(1, 2, 3)]
    path.write_text("s,p,o,at\n1,2,3,4\n", encoding="utf-8")
    assert table_rows(path, event="mine") == [(1, 2, 3)]
    path.write_text("s,p,o\n<a:a>,<a:b>,<a:c>\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column of time; columns: s, p, o"):
        table_rows(path)


# streams without an end


def endless(told_first: bool) -> Any:
    for i in range(10**9):
        lines = [told(f"g{i}", i), quad(f"g{i}", i)]
        yield from lines if told_first else reversed(lines)


@pytest.mark.parametrize("told_first", [True, False])
@pytest.mark.parametrize("reader", [read_nquads, read_trig])
def test_a_stream_is_read_as_it_goes(reader: Any, told_first: bool) -> None:
    lines = endless(told_first)
    if reader is read_trig:
        lines = (f"<{X}g> {{ {line.split(f' <{X}g')[0]} }}\n" if line.startswith(f"<{X}s>") else line for line in lines)
        lines = (line.replace(f"<{X}g> {{", f"<{X}g{i // 2}> {{") for i, line in enumerate(lines))
    items = reader(lines, "x", Reading())
    assert shown(next(items) for _ in range(100)) == [f"s={i} [{i}, {i}]" for i in range(100)]


def test_a_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text("".join(told(f"g{i}", i) + quad(f"g{i}", i) for i in range(20_000)), encoding="utf-8")
    with path.open("rb") as file:
        items = read_nquads(file, "x", Reading())
        next(items)
        assert file.tell() < path.stat().st_size / 10


# the doors of users

RULES = "rise(S, X, Y) <- rdf(S, '<http://x/p>', X) seq rdf(S, '<http://x/p>', Y) where Y > X."


def numbers() -> str:
    return "".join(told(f"g{i}", i) + f'<{X}s> <{X}p> "{i % 3}"^^<{XSD}integer> <{X}g{i}> .\n' for i in range(5))


def test_files_are_run_and_detected(tmp_path: Path) -> None:
    nq, table = tmp_path / "s.nq", tmp_path / "s.csv"
    nq.write_text(numbers(), encoding="utf-8")
    pd.DataFrame(
        {"s": f"<{X}s>", "p": f"<{X}p>", "o": [f'"{i % 3}"^^<{XSD}integer>' for i in range(5)], "at": range(5)}
    ).to_csv(table, index=False)
    frame = pd.read_csv(table)
    program = etalis.compile(RULES)
    expected = sorted((x, y, end) for x, y, end in [(0, 1, 1), (0, 2, 2), (1, 2, 2), (0, 1, 4)])
    for file in (nq, table):
        engine = program.engine(policy="unrestricted")
        assert sorted({(e.args[1], e.args[2], e.end) for e in engine.run(file)}) == expected
    for source in (str(nq), str(table), frame, pl.DataFrame(frame), pa.Table.from_pandas(frame)):
        found = program.detect(source, policy="unrestricted").to_pylist()
        assert sorted({(row["X"], row["Y"], row["end"]) for row in found}) == expected, source


def test_a_table_is_of_triples_where_the_program_reads_these(tmp_path: Path) -> None:
    program = etalis.compile(":- event(a(s: string, p: string, o: int)). seen(S, O) <- a(S, _, O).")
    table, path = pa.table({"s": ["x"], "p": ["y"], "o": [3], "at": [1]}), tmp_path / "t.csv"
    path.write_text("s,p,o,at\nx,y,3,1\n", encoding="utf-8")
    for found in (program.detect(table), program.detect({"a": table}), program.detect(path, event="a")):
        assert [(row["S"], row["O"]) for row in found.to_pylist()] == [("x", 3)]
    with pytest.raises(InputError, match="no column names the event"):
        list(program.engine().run(path))


def test_dead_letters_have_reasons(tmp_path: Path) -> None:
    path = tmp_path / "s.nq"
    path.write_text(numbers() + "oops\n" + quad("never", 1), encoding="utf-8")
    letters: list[Any] = []
    engine = etalis.compile(RULES).engine(on_dead_letter=letters.append)
    assert len(list(engine.run(path))) > 0
    assert [letter.reason.replace(str(path), "s.nq").split(": ")[:2] for letter in letters] == [
        ["s.nq, line 11", "not N-Quads"],
        ["s.nq, line 12", "the graph <http://x/never> has no time (1 triple)"],
    ]
    with pytest.raises(InputError, match="not N-Quads"):
        list(etalis.compile(RULES).engine().run(path))


def test_results_are_no_quads(tmp_path: Path) -> None:
    from etalis.formats import write

    with pytest.raises(InputError, match="E407: results are not written as trig"):
        write([], tmp_path / "out.trig")
