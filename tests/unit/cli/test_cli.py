"""The command line: what goes where, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import etalis
from etalis.cli import ExitCode, app

PROGRAM = """
:- event(a(x: int)).
pair(X, Y) <- (a(X) seq b(Y)) within 60.
"""
EVENTS = '{"event": "a", "at": 0, "x": 1}\n["a", 2, 1]\n["b", 7, 3]\n'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "e.jsonl"
    path.write_text(EVENTS)
    return path


def call(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def test_run_shows_matches(program: Path, events: Path) -> None:
    result = call("run", program, events, "--policy", "unrestricted")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "pair(1, 7) [0, 3]\npair(2, 7) [1, 3]\n")


def test_run_reads_standard_input(program: Path) -> None:
    assert call("run", program, "-", stdin=EVENTS).stdout == "pair(2, 7) [1, 3]\n"
    assert call("run", program, stdin=EVENTS).stdout == "pair(2, 7) [1, 3]\n"
    csv = "event,at,x\na,0,1\nb,1,2\n"
    assert call("run", program, "-", "--format", "csv", stdin=csv).stdout == "pair(1, 2) [0, 1]\n"


def test_run_json_is_an_input_again(program: Path, events: Path, tmp_path: Path) -> None:
    lines = call("run", program, events, "--output", "json").stdout
    assert json.loads(lines) == {"event": "pair", "X": 2, "Y": 7, "start": 1, "end": 3, "rule": "1"}
    following = tmp_path / "q.etalis"
    following.write_text("twice(Z) <- pair(X, Y) where Z is X * Y.")
    assert call("run", following, stdin=lines).stdout == "twice(14) [1, 3]\n"


def test_run_table_and_timeline(program: Path, events: Path) -> None:
    shown = call("run", program, events, "--output", "table", "--timeline").stdout
    assert [line.split() for line in shown.splitlines()[:2]] == [
        ["event", "attributes", "start", "end", "rule"],
        ["pair", "2,", "7", "1", "3", "1"],
    ]
    assert "a(1) │ ●" in shown
    assert "┣" in shown


def test_run_stores_matches(program: Path, events: Path, tmp_path: Path) -> None:
    result = call("run", program, events, "--to", tmp_path / "out.csv")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "")
    assert (tmp_path / "out.csv").read_text().splitlines() == ["event,start,end,X,Y", "pair,1,3,2,7"]


def test_run_sorts_if_asked(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text('["b", 7, 3]\n["a", 1, 0]\n')
    late = call("run", program, path)
    assert late.exit_code == ExitCode.INPUT
    assert "e.jsonl:2:1: a was rejected: it ends at 0, but time has reached 3" in late.stderr
    assert "--sort" in late.stderr
    assert call("run", program, path, "--sort").stdout == "pair(1, 7) [0, 3]\n"


def test_what_is_too_late_is_stored(program: Path, tmp_path: Path) -> None:
    path, letters = tmp_path / "e.jsonl", tmp_path / "late.jsonl"
    path.write_text('["b", 7, 3]\n["a", 1, 0]\n')
    assert call("run", program, path, "--dead-letters", letters).exit_code == ExitCode.OK
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert (letter["event"], letter["args"], letter["end"]) == ("a", [1], 0)


def test_a_run_goes_on_behind_a_row_that_cannot_be_read(program: Path) -> None:
    result = call("run", program, stdin='{"event": "a", "at": 0, "x": "one"}\n' + EVENTS)
    assert result.exit_code == ExitCode.INPUT
    assert result.stdout == "pair(2, 7) [1, 3]\n"
    assert "<stdin>:1:" in result.stderr
    assert "x should be of type int, not one" in result.stderr
    assert result.stderr.endswith("1 row cannot be read\n")


@pytest.mark.parametrize("command", ["run", "check", "explain"])
def test_a_broken_program(command: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.etalis"
    path.write_text("ok <- a.\npair(X, Z) <- a(X) seq b(Y).\n")
    result = call(command, path)
    assert result.exit_code == ExitCode.PROGRAM
    shown = result.stdout if command == "check" else result.stderr
    assert "broken.etalis:2:" in shown
    assert "hint:" in shown


def test_check_counts_and_describes(program: Path, tmp_path: Path) -> None:
    assert call("check", program).stdout == "1 program: 0 errors, 0 warnings\n"
    unbounded = tmp_path / "u.etalis"
    unbounded.write_text("pair(X, Y) <- a(X) seq b(Y).")
    result = call("check", unbounded, "--output", "json")
    assert result.exit_code == ExitCode.OK
    problem = json.loads(result.stdout)
    assert (problem["code"], problem["file"], problem["line"], problem["column"]) == ("W209", str(unbounded), 1, 1)
    assert call("check", unbounded, "--strict").exit_code == ExitCode.PROGRAM


def test_explain(program: Path, tmp_path: Path) -> None:
    assert "pair" in call("explain", program).stdout
    assert "def " in call("explain", program, "--code").stdout
    files = ("--svg", tmp_path / "p.svg", "--dot", tmp_path / "p.dot", "--html", tmp_path / "p.html")
    drawn = call("explain", program, *files)
    assert (drawn.exit_code, drawn.stdout) == (ExitCode.OK, "")
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    assert (tmp_path / "p.dot").read_text().startswith("digraph")
    assert (tmp_path / "p.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "none.etalis"], ["run", "--policy", "best"], ["fly"], ["check"]], ids=" ".join
)
def test_wrong_calls(arguments: list[str]) -> None:
    assert call(*arguments).exit_code == ExitCode.USAGE


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A program with the tables and RDF it asks for."""
    (tmp_path / "links.csv").write_text("to,from\nsteel,ore\ncars,steel\n")
    (tmp_path / "bare.csv").write_text("ore,steel\n")
    schema = "@prefix : <http://shop.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    (tmp_path / "schema.ttl").write_text(schema + ":Rose rdfs:subClassOf :Flower . :bed :partOf :yard .\n")
    (tmp_path / "data.ttl").write_text(schema + ":rose a :Rose ; :partOf :bed .\n")
    (tmp_path / "broken.ttl").write_text(schema + ":rose a .\n")
    path = tmp_path / "shop.etalis"
    path.write_text("f(X, Y) <- a(X) event_multiply (flower(X), partOf(X, Y)). g(X, Y) <- a(X) where linked(X, Y).")
    return path


def test_run_takes_tables_and_rdf(shop: Path) -> None:
    folder = shop.parent
    rdf = ("--rdf", folder / "data.ttl", "--rdf", folder / "schema.ttl", "--entailment", "rdfs")
    facts = ("--facts", f"linked(from, to)={folder / 'links.csv'}")
    events = '["a", "rose", 1]\n["a", "ore", 2]\n'
    result = call("run", shop, *rdf, *facts, "--relation", "all", "--transitive", "partOf", stdin=events)
    assert result.stdout == "f(rose, bed) [1, 1]\nf(rose, yard) [1, 1]\ng(ore, steel) [2, 2]\n"
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "")
    named = ("--prefix", "=http://shop.example/", "--relation", "flower=Flower", "--relation", "partOf=partOf")
    bare = ("--facts", f"linked(0,1)={folder / 'bare.csv'}")
    result = call("run", shop, *rdf, *bare, *named, stdin=events)
    assert result.stdout == "f(rose, bed) [1, 1]\ng(ore, steel) [2, 2]\n"


def test_check_knows_what_a_program_is_given(shop: Path) -> None:
    folder = shop.parent
    assert call("check", shop).stdout.count("W207") == 3
    facts = ("--facts", f"linked={folder / 'links.csv'}")
    result = call("check", shop, *facts, "--rdf", folder / "schema.ttl", "--relation", "all", "--strict")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "1 program: 0 errors, 0 warnings\n")


def test_bad_knowledge_is_told_with_file_and_line(shop: Path) -> None:
    folder = shop.parent
    for command in ("run", "check"):
        result = call(command, shop, "--rdf", folder / "broken.ttl")
        assert result.exit_code == ExitCode.INPUT
        assert f"{folder / 'broken.ttl'}, line 2: not Turtle" in result.stderr
    result = call("run", shop, "--facts", f"linked={folder / 'none.csv'}")
    assert (result.exit_code, "E401" in result.stderr) == (ExitCode.INPUT, True)


@pytest.mark.parametrize(
    "options",
    [
        ["--facts", "linked"],
        ["--facts", "=x.csv"],
        ["--prefix", "geo"],
        ["--relation", "some"],
        ["--entailment", "owl", "--rdf", "x.ttl"],
        ["--entailment", "rdfs"],
        ["--relation", "all", "--relation", "a=b", "--rdf", "x.ttl"],
    ],
)
def test_knowledge_given_in_a_wrong_way(options: list[str], shop: Path) -> None:
    assert call("run", shop, *options, stdin="").exit_code == ExitCode.USAGE


def test_errors_of_conditions_are_told_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text("half(Y) <- a(X) where Y is 1 / X.")
    result = call("run", path, stdin='["a", 0, 1]\n["a", 2, 2]\n')
    assert result.exit_code == ExitCode.CONDITIONS
    assert result.stdout == "half(0.5) [2, 2]\n"
    assert "half" in result.stderr


def test_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text(":- set_flag(max_derivations, 100).\nn(X) <- a(X).\nn(Y) <- n(X) where Y is X + 1.\n")
    result = call("run", path, stdin='["a", 0, 1]\n')
    assert result.exit_code == ExitCode.LIMIT
    assert "more than 100 events" in result.stderr


def test_a_closed_pipe_is_no_error(program: Path) -> None:
    rows = "".join(f'["a", {i}, {2 * i}]\n["b", {i}, {2 * i + 1}]\n' for i in range(3_000))
    environment = os.environ | {"PYTHONPATH": str(Path(etalis.__file__).parents[1])}
    command = [sys.executable, "-c", "from etalis.cli import main; main()", "run", str(program), "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        process.stdin.write(rows[:100])
        process.stdin.flush()
        assert process.stdout.readline() == "pair(0, 0) [0, 1]\n"
        process.stdout.close()
        try:
            process.stdin.write(rows[100:])
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert (process.stderr.read(), process.wait()) == ("", ExitCode.OK)


def test_compare(program: Path, events: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.etalis"
    new.write_text(":- event(a(x: int)). pair(X, Y) <- (a(X) seq b(Y)) within 2. single(Y) <- b(Y).")
    result = call("compare", program, new, events, "--policy", "unrestricted")
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "1 gained, 1 lost\n")
    assert result.stdout == "lost pair(1, 7) [0, 3]\ngained single(7) [3, 3]\n"
    first = json.loads(call("compare", program, new, events, "--json").stdout.splitlines()[0])
    assert (first["change"], first["event"], first["Y"]) == ("gained", "single", 7)


def test_compare_tells_what_went_wrong(program: Path, tmp_path: Path) -> None:
    path, broken = tmp_path / "e.jsonl", tmp_path / "broken.etalis"
    path.write_text('["b", 7, 3]\n["a", 1, 0]\n')
    broken.write_text("pair(X, Y) <- a(X) seq b(Y) where X > none.")
    assert call("compare", program, program, path).exit_code == ExitCode.INPUT
    result = call("compare", program, broken, path, "--sort")
    assert (result.exit_code, result.stdout) == (ExitCode.CONDITIONS, "lost pair(1, 7) [0, 3]\n")
    assert "E501" in result.stderr
