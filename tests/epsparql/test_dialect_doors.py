"""Streams of plain names, and of RDF whose vocabulary has them, at every door of the original's dialect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app
from etalis.sparql import SparqlProgram

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")

SPACE = "http://shop.example/"
QUERY = "SELECT ?c ?d WHERE { ?c price ?x } SEQ { ?c price ?y } FILTER ( ?d is ?y - ?x ) WITHIN 10"
NAMED = "SELECT ?c ?x WHERE { STREAM shop { ?c price ?x } }"
RISE = "select_1(acme, 3) [1, 3]"
ROWS = [("acme", "price", 1, 1), ("Big Co", "price", 3, 2), ("acme", "price", 4, 3)]
DICTS = [dict(zip(("s", "p", "o", "at"), row, strict=True)) for row in ROWS]
TIME = "http://www.w3.org/ns/prov#generatedAtTime"


def turtle(value: int) -> str:
    return f"@prefix : <{SPACE}> . :acme :price {value} ."


def write_plain(folder: Path) -> dict[str, Path]:
    """Write a stream of plain names to files of every form."""
    frame = pd.DataFrame(DICTS)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "t.parquet")
    pl.DataFrame(DICTS).write_ipc(folder / "t.arrow")
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    clauses = (f"event(rdf('{s}', {p}, {o}), [{t}, {t}]).\n" for s, p, o, t in ROWS)
    (folder / "t.P").write_text("".join(clauses))
    return {path.name: path for path in folder.iterdir()}


def write_rdf(folder: Path) -> dict[str, Path]:
    """Write the same rise as RDF."""
    lines = ({"at": at, "turtle": turtle(value)} for at, value in ((1, 1), (3, 4)))
    (folder / "turtle.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    terms = {"@context": {"@vocab": SPACE, "@base": SPACE}}
    graphs = ({"at": at, "@graph": [{"@id": "acme", "price": value}], **terms} for at, value in ((1, 1), (3, 4)))
    (folder / "graph.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in graphs))
    number = "<http://www.w3.org/2001/XMLSchema#integer>"
    quads = [
        f'<urn:g{at}> <{TIME}> "{at}"^^{number} .\n<{SPACE}acme> <{SPACE}price> "{value}"^^{number} <urn:g{at}> .\n'
        for at, value in ((1, 1), (3, 4))
    ]
    (folder / "t.nq").write_text("".join(quads))
    trig = [
        f"<urn:g{at}> <{TIME}> {at} . <urn:g{at}> {{ <{SPACE}acme> <{SPACE}price> {n} }}\n"
        for at, n in ((1, 1), (3, 4))
    ]
    (folder / "t.trig").write_text("".join(trig))
    return {path.name: path for path in folder.iterdir()}


def program(**options: Any) -> SparqlProgram:
    return etalis.compile_sparql(QUERY, dialect="etalis", **options)


def rises(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(r["c"], str(r["d"]), r["start"], r["end"]) for r in table.to_pylist() if r["event"] == "select_1"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl", "t.P"])
def test_files_of_plain_names(name: str, tmp_path: Path) -> None:
    path = write_plain(tmp_path)[name]
    assert [str(m) for m in program().engine().run(path) if m.name == "select_1"] == [RISE]
    assert rises(program().detect(path)) == [("acme", "3", 1, 3)]


@pytest.mark.parametrize("name", ["turtle.jsonl", "graph.jsonl", "t.nq", "t.trig"])
def test_files_of_rdf_in_the_vocabulary(name: str, tmp_path: Path) -> None:
    path = write_rdf(tmp_path)[name]
    assert [str(m) for m in program(vocabulary=SPACE).engine().run(path) if m.name == "select_1"] == [RISE]
    assert rises(program(vocabulary=SPACE).detect(path)) == [("acme", "3", 1, 3)]
    assert list(program().engine().run(path)) == []  # without a vocabulary its terms are IRIs


FRAMES: MappingProxyType[str, Callable[[], Any]] = MappingProxyType(
    {
        "pandas": lambda: pd.DataFrame(DICTS),
        "polars": lambda: pl.DataFrame(DICTS),
        "polars, lazy": lambda: pl.LazyFrame(DICTS),
        "arrow": lambda: pa.Table.from_pylist(DICTS),
        "records": lambda: DICTS,
    }
)


@pytest.mark.parametrize("source", FRAMES)
def test_frames_of_plain_names(source: str) -> None:
    assert rises(program().detect(FRAMES[source]())) == [("acme", "3", 1, 3)]


def test_triples_and_graphs_are_pushed_by_plain_names_or_as_rdf() -> None:
    engine = program(vocabulary=SPACE).engine()
    found = [
        *engine.push_triple("acme", "price", 1, at=1),
        *engine.push_triple(f"<{SPACE}acme>", f"<{SPACE}price>", 4, at=2),
        *engine.push_graph(turtle(9), at=3),
    ]
    assert [m.args for m in found if m.name == "select_1"] == [("acme", 3), ("acme", 8), ("acme", 5)]


def test_streams_are_named_plainly_too(tmp_path: Path) -> None:
    path = write_plain(tmp_path)["t.csv"]
    options: dict[str, Any] = {"dialect": "etalis", "vocabulary": SPACE}
    for name in ("shop", f"{SPACE}shop"):
        named = etalis.compile_sparql(NAMED, streams={name: path}, **options)
        assert len([m for m in named.run_streams() if m.name == "select_1"]) == 3
        assert len([m for m in named.engine().run(path, stream=name) if m.name == "select_1"]) == 3
        assert named.engine().push_triple("acme", "price", 1, at=1, stream=name)
    assert not named.engine().push_triple("acme", "price", 1, at=1, stream="other")


@pytest.mark.parametrize("word", ["in", f"{SPACE}in"])
def test_predicates_are_named_plainly_or_by_their_iris(word: str, tmp_path: Path) -> None:
    path = tmp_path / "places.ttl"
    path.write_text(f"@prefix : <{SPACE}> . :acme :in :lab . :lab :in :hall .")
    query = "SELECT ?w WHERE { ?c price ?x . ?c in ?w }"
    for background in (path, [("acme", "in", "lab"), ("lab", "in", "hall")]):
        options: dict[str, Any] = {"dialect": "etalis", "vocabulary": SPACE, "background": background}
        engine = etalis.compile_sparql(query, transitive=[word], **options).engine()
        assert {m.args for m in engine.push("rdf", "acme", "price", 1, at=1) if m.name == "select_1"} == {
            ("lab",), ("hall",)
        }  # fmt: skip
        engine = etalis.compile_sparql(query, streamed=[word], **options).engine()
        engine.push("rdf", "acme", "in", "cellar", at=1)
        assert {m.args for m in engine.push("rdf", "acme", "price", 1, at=1) if m.name == "select_1"} == {
            ("lab",), ("cellar",)
        }  # fmt: skip


def test_classes_of_plain_triples_entail() -> None:
    above = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    known = [("truck", above, "vehicle"), ("vehicle", above, "thing")]
    engine = etalis.compile_sparql("SELECT ?x WHERE { ?x a thing }", dialect="etalis", background=known).engine()
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    assert [m.args for m in engine.push("rdf", "t1", kind, "truck", at=1) if m.name == "select_1"] == [("t1",)]


def test_a_stream_with_an_iri_that_has_no_plain_name_has_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "t.nq"
    path.write_text(f'<urn:g> <{TIME}> "1" .\n<{SPACE}null> <{SPACE}price> "1" <urn:g> .\n')
    with pytest.raises(etalis.InputError, match=r"E410: .*t\.nq, row 2: <http://shop.example/null> has no plain name"):
        list(program(vocabulary=SPACE).engine().run(path))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_plain_names_on_the_command_line(name: str, tmp_path: Path) -> None:
    path, query = write_plain(tmp_path)[name], tmp_path / "q.rq"
    query.write_text(QUERY)
    result = CliRunner().invoke(app, ["run", str(query), str(path), "--dialect", "etalis"])
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, RISE)
    explained = CliRunner().invoke(app, ["explain", str(query), "--dialect", "etalis"])
    assert "rdf(C, price, X)" in explained.stdout


def test_rdf_on_the_command_line(tmp_path: Path) -> None:
    path, query = write_rdf(tmp_path)["t.trig"], tmp_path / "q.rq"
    query.write_text(QUERY)
    words = ["run", str(query), str(path), "--dialect", "etalis", "--vocabulary", SPACE]
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, RISE)
