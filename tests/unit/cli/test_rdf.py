"""Streams of RDF on the command line: `run` and `detect` over N-Quads and TriG, from files and standard input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from etalis.cli import ExitCode, app

XSD = "http://www.w3.org/2001/XMLSchema#"
RULES = "rise(S, X, Y) <- (rdf(S, '<a:price>', X) seq rdf(S, '<a:price>', Y)) within 60 where Y > X."
TRIG = """@prefix : <a:> . @prefix prov: <http://www.w3.org/ns/prov#> .
:g1 prov:generatedAtTime 1 . :g1 { :acme :price 10 }
:g2 prov:generatedAtTime 2 . :g2 { :acme :price 12.5 ; :volume 3 }
"""


def call(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(RULES, encoding="utf-8")
    return path


def test_a_file_of_trig_is_run_and_detected(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.trig"
    path.write_text(TRIG, encoding="utf-8")
    result = call("run", program, path, "--policy", "unrestricted")
    assert result.stdout.splitlines() == ["rise('<a:acme>', 10, 12.5) [1, 2]"]
    assert result.exit_code == ExitCode.OK
    result = call("detect", program, path, "--policy", "unrestricted")
    assert [(row["S"], row["start"], row["end"]) for row in map(json.loads, result.stdout.splitlines())] == [
        ("<a:acme>", 1, 2)
    ]


def test_knowledge_is_named_as_the_stream_is(tmp_path: Path) -> None:
    program, path, knowledge = tmp_path / "p.etalis", tmp_path / "s.trig", tmp_path / "k.ttl"
    program.write_text("tech(S) <- rdf(S, '<a:price>', _) where rdf(S, '<a:sector>', '<a:tech>').", encoding="utf-8")
    path.write_text(TRIG, encoding="utf-8")
    knowledge.write_text("<a:acme> <a:sector> <a:tech> .", encoding="utf-8")
    result = call("run", program, path, "--rdf", knowledge, "--terms", "exact")
    assert result.stdout.splitlines() == ["tech('<a:acme>') [1, 1]", "tech('<a:acme>') [2, 2]"]
    result = call("run", program, path, "--terms", "exact")
    assert "--terms need --rdf" in " ".join(result.stderr.replace("│", "").split())


def test_standard_input_may_be_quads(program: Path) -> None:
    text = "".join(
        f'<a:g{i}> <a:at> "{i}" .\n<a:g{i}> <a:to> "{i + 1}" .\n<a:acme> <a:price> "{i}"^^<{XSD}integer> <a:g{i}> .\n'
        for i in (1, 5)
    )
    result = call(
        "run", program, "-", "--format", "nquads", "--time", "a:at", "--until", "a:to", "--policy", "unrestricted",
        stdin=text,
    )  # fmt: skip
    assert result.stdout.splitlines() == ["rise('<a:acme>', 1, 5) [1, 6]"]


def test_standard_input_may_be_trig(program: Path) -> None:
    for options in ((), ("--sort",)):
        result = call("run", program, "-", "--format", "trig", "--policy", "unrestricted", *options, stdin=TRIG)
        assert result.stdout.splitlines() == ["rise('<a:acme>', 10, 12.5) [1, 2]"]


def test_bad_lines_are_dead_letters(program: Path, tmp_path: Path) -> None:
    path, letters = tmp_path / "s.nq", tmp_path / "dead.jsonl"
    path.write_text('<a:s> <a:p> "x" <a:g> .\noops\n<a:s> <a:b> <a:c> .\n', encoding="utf-8")
    result = call("run", program, path, "--dead-letters", letters)
    assert [(row["line"], row["code"]) for row in map(json.loads, letters.read_text().splitlines())] == [
        (2, "E402"),
        (1, "E404"),
    ]
    assert "note: 1 triple of the default graph is no event: only graphs with a time are" in result.stderr
    assert result.exit_code == ExitCode.INPUT


def test_broken_trig_is_an_error_with_its_place(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.trig"
    path.write_text(TRIG + ":g3 { :acme :price }\n", encoding="utf-8")
    result = call("run", program, path, "--policy", "unrestricted")
    assert result.stdout.splitlines() == ["rise('<a:acme>', 10, 12.5) [1, 2]"]
    assert f"{path}:4:20: error E402: not TriG" in result.stderr.replace("\n", "")


@pytest.mark.parametrize("name", ["s.nq", "s.trig"])
def test_streams_of_graphs_are_not_followed(name: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_text("", encoding="utf-8")
    result = call("run", program, tmp_path / name, "--follow")
    assert "cannot be followed" in result.stderr
    assert result.exit_code == ExitCode.INPUT
