"""Which files a program may import: none from a text, those below its own folder from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import etalis
from etalis.cli import app
from etalis.errors import InputError, ProgramError
from etalis.language.read.modules import load
from etalis.pipeline import check_pipeline

MODULE = ":- export x/0. x <- a."
SECRET = "root:hunter2:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module below it, a secret beside it, and links that lead out."""
    inside = tmp_path / "rules"
    (inside / "sub").mkdir(parents=True)
    (inside / "m.etalis").write_text(MODULE)
    (inside / "sub" / "n.etalis").write_text(":- import x/0 from '../m'. :- export y/0. y <- x.")
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "m.etalis").write_text(MODULE)
    (inside / "link.etalis").symlink_to(tmp_path / "secret.txt")
    (inside / "out").symlink_to(tmp_path)
    (inside / "circle").symlink_to(inside / "circle")
    return inside


def importing(file: object, name: str = "x/0") -> str:
    return f":- import {name} from '{file}'.\nd <- {name.split('/')[0]}."


def refusal(source: str | Path, **options: object) -> str:
    with pytest.raises(ProgramError) as caught:
        etalis.compile_file(source, **options) if isinstance(source, Path) else etalis.compile(source, **options)
    text = str(caught.value)
    assert "hunter2" not in text
    return text


def test_a_text_imports_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows definition 21.6."""
    monkeypatch.chdir(folder)
    assert refusal(importing("../secret.txt", "f/1").replace("d <- f", "d <- a")) == (
        "<program>:1:1: error E240: a program compiled from a string imports no files\n"
        "    1 | :- import f/1 from '../secret.txt'.\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: name the folder that it may import from: etalis.compile(text, imports=FOLDER), "
        "or use compile_file(PATH)"
    )
    assert "E240" in refusal(importing("m"))
    assert "E240" in refusal(importing("no_such_file"))
    assert "E240" in refusal(importing("m"), name=str(folder / "p.etalis"))
    with pytest.raises(ProgramError, match="E240"):
        load(importing("m"))


def test_a_text_imports_from_the_folder_that_is_named(folder: Path) -> None:
    for file in ("m", "sub/../m.etalis", folder / "m"):
        engine = etalis.compile(importing(file), imports=folder).engine()
        assert [e.name for e in engine.push("m:a", at=1)] == ["x", "d"]
    assert etalis.compile(importing("sub/n", "y/0"), imports=str(folder), name="other/p.etalis").compiled.rules


OUTSIDE = ["../m", "../secret.txt", "link", "link.etalis", "out/m", "out/secret.txt", "../no_such_file", "/etc/passwd"]


@pytest.mark.parametrize("file", OUTSIDE)
def test_nothing_outside_the_folder_is_read(folder: Path, file: str) -> None:
    program = folder / "p.etalis"
    program.write_text(importing(file))
    for text in (refusal(program), refusal(importing(file), imports=folder)):
        assert "error E240:" in text
        assert f"lies outside {folder}, the folder that this program may import from" in text
        assert "hint: move the file below it, or name a folder that holds both" in text
    with pytest.raises(ProgramError, match="E240"):
        load(program)


def test_a_file_imports_below_its_own_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "p.etalis").write_text(importing("sub/n", "y/0"))
    monkeypatch.chdir(folder.parent)
    for path in (folder / "p.etalis", Path("rules/p.etalis")):
        assert {rule.head.name for rule in etalis.compile_file(path).compiled.rules} == {"m:x", "y", "d"}
    monkeypatch.chdir(folder)
    assert etalis.compile_file("p.etalis").compiled.rules


def test_a_wider_folder_may_be_named(folder: Path) -> None:
    (folder / "p.etalis").write_text(importing("../m"))
    assert etalis.compile_file(folder / "p.etalis", imports=folder.parent).compiled.rules
    assert "E240" in refusal(folder / "p.etalis", imports=folder / "sub")


@pytest.mark.parametrize("file", ["circle", "a\\0\\b", "sub", "a" * 300])
def test_names_that_cannot_be_opened(folder: Path, file: str) -> None:
    assert "error E220:" in refusal(importing(file), imports=folder)


def test_a_rule_at_run_time_imports_nothing(folder: Path) -> None:
    engine = etalis.compile(importing("m"), imports=folder).engine()
    with pytest.raises(ProgramError) as caught:
        engine.insert_rule(":- import f/1 from '../secret.txt'.")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("command", ["run", "check", "explain", "detect", "compare"])
def test_commands_read_nothing_outside(folder: Path, command: str) -> None:
    program, events = folder / "p.etalis", folder / "events.jsonl"
    program.write_text(importing("../secret.txt"))
    events.write_text("")
    given = {"check": [program], "explain": [program], "compare": [program, program, events]}
    result = CliRunner().invoke(app, [command, *map(str, given.get(command, [program, events]))])
    assert result.exit_code == 1
    assert "error E240:" in result.output + result.stderr
    assert "hunter2" not in result.output + result.stderr


@pytest.mark.parametrize(("flags", "code"), [("{}", "E240"), ('{imports = "/"}', "E205"), ('{name = "x"}', "E205")])
def test_pipelines_read_nothing_outside(folder: Path, flags: str, code: str) -> None:
    (folder / "p.etalis").write_text(importing("../secret.txt"))
    spec = folder / "pipeline.toml"
    spec.write_text(f'[program]\nfiles = ["p.etalis"]\nflags = {flags}\n[[source]]\n[[sink]]\n')
    with pytest.raises(InputError) as caught:
        check_pipeline(spec)
    assert code in {problem.code for problem in caught.value.problems}
    assert "hunter2" not in str(caught.value)


GOALS = [
    "consult('secret.txt')", "['secret.txt']", "load_files(['secret.txt'], [])", "ensure_loaded('secret.txt')",
    "include('secret.txt')", "use_module('secret.txt')", "open('secret.txt', read, S)", "see('secret.txt')",
    "tell('secret.txt')", "append('secret.txt')", "load_facts(f, 'secret.csv')", "load_rdf('secret.ttl')",
    "load_database('secret.db')", "compile_event_file('secret.txt')", "execute_event_stream_file('secret.txt')",
    "exists_file('secret.txt')", "delete_file('secret.txt')", "shell('cat secret.txt')", "getenv('HOME', V)",
    "read_file_to_terms('secret.txt', T, [])", "load_rows('secret.csv')", "csv_read_file('secret.csv', R)",
    "logging_binary_file('a', 'b')", "write_log(a, b)", "initialization(consult('secret.txt'))",
]  # fmt: skip


def attempt(text: str) -> str:
    """Return how a program is refused, or what its condition raises."""
    try:
        engine = etalis.compile(text).engine(output=lambda _: None)
    except etalis.EtalisError as error:
        return str(error)
    engine.push("a", at=1)
    return "".join(map(str, engine.errors))


@pytest.mark.parametrize("goal", GOALS)
def test_goals_reach_no_files(folder: Path, goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A goal that would read or write a file is refused with the program, or raises when it is run."""
    monkeypatch.chdir(folder.parent)
    before = sorted(folder.parent.iterdir())
    for text in (f"d <- a where {goal}.", f":- {goal}.\nd <- a.", f"d <- a do {goal}.", f"d <- a where call({goal})."):
        said = attempt(text)
        assert said
        assert "hunter2" not in said
    assert sorted(folder.parent.iterdir()) == before
    assert (folder.parent / "secret.txt").read_text() == SECRET
