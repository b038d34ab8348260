"""`etalis run`: dead letters, live streams, runs that are stopped and go on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

import etalis
from etalis.cli import ExitCode, app
from etalis.cli.dead_letters import FIRST

PROGRAM = ":- event(a(x: int)). pair(X, Y) <- (a(X) seq b(Y)) within 60. late(X) <- a(X) seq (not b(_) within 10)."
PAIRED = ["pair(1, 2) [0, 1]"]
ALONE = "warning W331: rule 2 never fired: b/1 came within 10 s each time, or the stream ended before\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.etalis"
    path.write_text(PROGRAM)
    return path


def call(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)], input=stdin)


def letters_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


BAD_LINES = {
    "jsonl": ['{"event": "a", "at": 0, "x": 1}', "{", '["b", 2, 1]', '{"event": "a"}', '["b", 1, 0]'],
    "csv": ["event,at,x", "a,0,1", "a,0", "b,1,2", "a,,1", "b,0,1"],
}


@pytest.mark.parametrize("times", ["seconds", "iso"])
def test_a_run_is_drawn_into_a_page_in_which_events_are_explained(program: Path, tmp_path: Path, times: str) -> None:
    path, page = tmp_path / "e.csv", tmp_path / "run.html"
    path.write_text("event,at,x\na,0,1\nb,1,2\n")
    result = call(program, path, "--html", page, "--times", times)
    assert result.exit_code == ExitCode.OK
    drawn = page.read_text()
    assert "<h1>p.etalis</h1>" in drawn
    assert "rule 1: pair(X, Y)" in drawn
    assert ("1970-01-01T00:00:01Z" in drawn) == (times == "iso")
    lost = call(program, path, "--html", tmp_path / "none" / "run.html")
    assert (lost.exit_code, "E401" in lost.stderr) == (ExitCode.INPUT, True)


@pytest.mark.parametrize("form", BAD_LINES)
def test_what_cannot_be_read_or_taken_is_a_dead_letter(form: str, program: Path, tmp_path: Path) -> None:
    lines, path, out = BAD_LINES[form], tmp_path / f"e.{form}", tmp_path / "dead.jsonl"
    path.write_text("\n".join(lines) + "\n")
    result = call(program, path, "--dead-letters", out)
    assert (result.exit_code, result.stdout.splitlines(), result.stderr) == (ExitCode.OK, PAIRED, ALONE)
    numbers = [number for number in range(1, len(lines) + 1) if number in ((2, 4, 5) if form == "jsonl" else (3, 5, 6))]
    found = letters_in(out)
    assert [letter["line"] for letter in found] == numbers
    assert {letter["source"] for letter in found} == {str(path)}
    assert [letter["text"] for letter in found] == [lines[number - 1] for number in numbers]
    assert [letter.get("code") for letter in found] == ["E402" if form == "jsonl" else "E406", "E404", None]
    assert (found[2]["event"], found[2]["end"]) == ("b", 0)
    assert found[2]["reason"] == "it ends at 0, but time has reached 1"


def test_rows_of_parquet_are_dead_letters_too(program: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "e.parquet", tmp_path / "dead.jsonl"
    rows = {"event": ["a", "a", "b"], "at": [0, None, 1], "x": [1.0, 1.0, float("nan")]}
    pyarrow.parquet.write_table(pa.table(rows), path)
    assert call(program, path, "--dead-letters", out).exit_code == ExitCode.OK
    assert [(letter["line"], letter["code"]) for letter in letters_in(out)] == [(2, "E404"), (3, "E301")]


def test_without_a_file_the_first_ten_are_shown(program: Path) -> None:
    result = call(program, stdin='["a", 1, 0]\n' + "no\n" * 12 + '["b", 2, 1]\n["a", 1, 0]\n')
    assert (result.exit_code, result.stdout.splitlines()) == (ExitCode.INPUT, PAIRED)
    assert [f"<stdin>:{line}:1: error E402" in result.stderr for line in (2, 11, 12)] == [True, True, False]
    assert "12 rows cannot be read\n" in result.stderr
    assert "<stdin>:15:1: a was rejected: it ends at 0, but time has reached 1\n" in result.stderr
    assert "1 event came too late, or cannot be used\n  hint: use --sort" in result.stderr


def test_too_many_bad_rows_end_the_run(program: Path, tmp_path: Path) -> None:
    stdin = '["a", 1, 0]\n["b", 2, 1]\nno\n["a", 1, 2]\nno\nno\n["b", 2, 3]\n'
    result = call(program, "--max-bad", 1, "--dead-letters", tmp_path / "dead.jsonl", stdin=stdin)
    assert (result.exit_code, result.stdout.splitlines()) == (ExitCode.INPUT, PAIRED)
    assert "error E414: 2 rows cannot be read, 1 may" in result.stderr
    assert len(letters_in(tmp_path / "dead.jsonl")) == 2
    assert call(program, "--max-bad", 3, "--dead-letters", tmp_path / "d", stdin=stdin).exit_code == ExitCode.OK


def test_a_run_that_can_read_nothing_fails(program: Path, tmp_path: Path) -> None:
    result = call(program, "--dead-letters", tmp_path / "dead.jsonl", stdin="no\nno\n")
    assert (result.exit_code, result.stderr) == (ExitCode.INPUT, "2 rows cannot be read, and no other\n")
    (tmp_path / "e.jsonl").write_text("no\n" * (2 * FIRST))
    result = call(program, tmp_path / "e.jsonl")
    assert (result.exit_code, "the first 1,000 rows cannot be read" in result.stderr) == (ExitCode.INPUT, True)


def test_compare_goes_on_behind_bad_rows(program: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('["a", 1, 0]\nno\n["b", 2, 1]\n')
    (tmp_path / "q.etalis").write_text("pair(X, Y) <- a(X) seq b(Y). b2(X) <- b(X).")
    result = CliRunner().invoke(app, ["compare", str(program), str(tmp_path / "q.etalis"), str(tmp_path / "e.jsonl")])
    assert (result.exit_code, result.stdout) == (ExitCode.INPUT, "gained b2(2) [1, 1]\n")
    assert result.stderr.count("1 row cannot be read\n") == 1


# rows from the future


def test_ahead(program: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "e.jsonl", tmp_path / "dead.jsonl"
    path.write_text('["a", 1, 0]\n["a", 2, 5000]\n["b", 2, 1]\n')
    assert call(program, path, "--dead-letters", out).stdout.splitlines() == ["late(1) [0, 10]", "late(2) [5000, 5010]"]
    for given in ([path], ["-"]):
        stdin = path.read_text() if given == ["-"] else None
        result = call(program, *given, "--dead-letters", out, "--ahead", "1h", stdin=stdin)
        assert (result.exit_code, result.stdout.splitlines()) == (ExitCode.OK, PAIRED)
        (letter,) = letters_in(out)
        assert (letter["line"], letter["reason"]) == (2, "it ends at 5000, more than 3600 s after the latest time, 0")


def test_time_stamps_of_a_live_stream_are_held_against_the_clock(program: Path, tmp_path: Path) -> None:
    out = tmp_path / "dead.jsonl"
    stdin = '["a", 1, "9999-01-01"]\n["a", 1, "2020-01-01"]\n["b", 2, "2020-01-01T00:00:01"]\n'
    result = call(program, "--dead-letters", out, stdin=stdin)
    assert (result.exit_code, result.stdout) == (
        ExitCode.OK,
        "pair(1, 2) [2020-01-01T00:00:00Z, 2020-01-01T00:00:01Z]\n",
    )
    assert [letter["line"] for letter in letters_in(out)] == [1]
    assert "more than 3600 s after the wall clock" in letters_in(out)[0]["reason"]
    assert call(program, "--dead-letters", out, "--ahead", "none", stdin=stdin).exit_code == ExitCode.OK
    assert [letter["line"] for letter in letters_in(out)] == [2, 3]


@pytest.mark.parametrize(
    "options",
    [
        ["--ahead", "soon"], ["--ahead", "0"], ["--follow"], ["--follow", "--sort", "e.jsonl"], ["--max-bad", "-1"],
        ["--clock", "wall", "e.jsonl"], ["--clock", "wall", "--sort"], ["--clock", "moon"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_does_not_go_together(options: list[str], program: Path) -> None:
    assert call(program, *options, stdin="").exit_code == ExitCode.USAGE


def test_what_cannot_be_followed(program: Path, tmp_path: Path) -> None:
    (tmp_path / "e.events").write_text("event(a(1)).\n")
    result = call(program, "--follow", tmp_path / "e.events")
    assert (result.exit_code, "e.events cannot be followed" in result.stderr) == (ExitCode.INPUT, True)
    assert "no such file" in call(program, "--follow", tmp_path / "none.jsonl").stderr


def test_the_wall_clock_needs_a_bound_on_lateness(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text(":- set_flag(out_of_order, on). d <- a.")
    assert "ooo_window" in call(path, "--clock", "wall", stdin="").stderr


# going on


def test_a_run_goes_on_where_the_last_one_ended(program: Path, tmp_path: Path) -> None:
    state, out, dead = tmp_path / "state", tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    keep = ("--state", state, "--to", out, "--dead-letters", dead)
    assert call(program, "-", *keep, stdin='["a", 1, 0]\nno\n').exit_code == ExitCode.OK
    assert out.read_text() == ""  # the absence is not reported: the stream is not over
    assert call(program, "-", *keep, stdin='["b", 2, 1]\nno\n["a", 3, 2]\n').exit_code == ExitCode.OK
    assert [(row["X"], row["Y"]) for row in map(json.loads, out.read_text().splitlines())] == [(1, 2)]
    assert len(letters_in(dead)) == 2
    assert call(program, "-", *keep, "--close", stdin="").exit_code == ExitCode.OK
    assert [json.loads(line)["event"] for line in out.read_text().splitlines()] == ["pair", "late"]
    assert not state.exists()


def test_a_state_has_its_policy(program: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    call(program, "--state", state, "--policy", "unrestricted", stdin='["a", 1, 0]\n')
    assert call(program, "--state", state, "--policy", "recent", stdin="").exit_code == ExitCode.USAGE


# with a process of its own, which is waited for by what it writes


@contextmanager
def running(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": str(Path(etalis.__file__).parents[1])}
    command = [sys.executable, "-c", "from etalis.cli import main; main()", "run", *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def rest_of(process: subprocess.Popen[str]) -> str:
    """Return what a process says on standard error until it ends; its standard input stays open."""
    assert process.stderr is not None
    return process.stderr.read()


@pytest.mark.parametrize(("form", "header"), [("jsonl", ""), ("csv", "event,at,x\n")], ids=["jsonl", "csv"])
def test_a_match_comes_with_the_row_that_completes_it(form: str, header: str, program: Path) -> None:
    row = '["{}", {}, {}]\n' if form == "jsonl" else "{0},{2},{1}\n"
    with running(program, "-", "--format", form) as process:
        send(process, header)
        for i in range(0, 6, 2):
            send(process, row.format("a", i, i) + row.format("b", i, i + 1))
            assert line_of(process) == f"pair({i}, {i}) [{i}, {i + 1}]"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_loses_nothing(number: signal.Signals, program: Path, tmp_path: Path) -> None:
    state, out = tmp_path / "state", tmp_path / "dead.jsonl"
    with running(program, "-", "--state", state, "--dead-letters", out) as process:
        send(process, '["a", 1, 0]\n["b", 2, 1]\n["a", 3, 2]\n["b", 4')
        assert line_of(process) == "pair(1, 2) [0, 1]"
        process.send_signal(number)
        assert process.wait() == 128 + number
        assert line_of(process) == ""
        assert rest_of(process).startswith(f"stopped by {number.name}: 3 events, 1 match, ")
    (letter,) = letters_in(out)
    assert (letter["line"], letter["text"]) == (4, '["b", 4')
    assert letter["reason"] == "the line was not complete when the run was stopped"
    assert call(program, "--state", state, stdin='["b", 4, 3]\n').stdout == "pair(3, 4) [2, 3]\n"


def test_matches_in_a_file_are_there_when_a_run_is_stopped(program: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('["a", 1, 0]\n["b", 2, 1]\nno\n')
    out, dead = tmp_path / "out.csv", tmp_path / "dead"
    os.mkfifo(dead)
    follow = running(program, "--follow", tmp_path / "e.jsonl", "--to", out, "--dead-letters", dead)
    with follow as process, dead.open() as letters:
        assert json.loads(letters.readline())["line"] == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 143
    assert out.read_text().splitlines()[1:] == ["pair,0,1,1,2"]


def test_a_file_is_followed_through_rotation_and_restart(program: Path, tmp_path: Path) -> None:
    path, state = tmp_path / "e.csv", tmp_path / "state"
    path.write_text("event,at,x\na,0,1\nb,1,2\na,2,3\n")
    with running(program, "--follow", path, "--state", state) as process:
        assert line_of(process) == "pair(1, 2) [0, 1]"
        with path.open("a") as file:
            file.write("b,3,4\n")
        assert line_of(process) == "pair(3, 4) [2, 3]"
        path.rename(tmp_path / "e.csv.1")
        path.write_text("event,x,at\na,5,4\nb,6,5\n" + "\n" * 100)
        assert line_of(process) == "pair(5, 6) [4, 5]"
        path.write_text("event,at,x\na,6,7\nb,7,8\na,8,9\n")  # it is cut, and shorter from then on
        assert line_of(process) == "pair(7, 8) [6, 7]"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    with path.open("a") as file:
        file.write("b,9,10\n")
    with running(program, "--follow", path, "--state", state) as process:
        assert line_of(process) == "pair(9, 10) [8, 9]"
        process.send_signal(signal.SIGTERM)
        assert rest_of(process).startswith("stopped by SIGTERM: 1 event, 1 match, ")


def test_an_absence_comes_by_the_wall_clock(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text("late(X) <- a(X) seq (not b(X) within 0.01).")
    with running(path, "-", "--clock", "wall") as process:
        send(process, '{"event": "a", "args": [1]}\n')
        assert line_of(process).startswith("late(1) [")


def test_a_run_over_a_file_goes_on_behind_the_rows_it_has_taken(program: Path, tmp_path: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "e.jsonl"
    path.write_text("".join(f'["a", {i}, {2 * i}]\n["b", {i}, {2 * i + 1}]\n' for i in range(20_000)))
    with running(program, path, "--state", state) as process:
        first = [line_of(process)]
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        first += process.stdout.read().splitlines()
        assert process.wait() == 143
    again = call(program, path, "--state", state)
    assert again.exit_code == ExitCode.OK
    assert len(first) + len(again.stdout.splitlines()) == 20_000


def test_undeclared_attributes_of_several_types_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text("d(X) <- c(X).")
    result = call(path, "--format", "csv", stdin="event,at,x\nc,0,1\nc,1,one\n")
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "d(1) [0, 0]\nd(one) [1, 1]\n")
    assert "note: c: x holds integers and text" in result.stderr


POISON = [
    "no json", '{"event": "a"', '{"event": "a", "at": %d, "x": "one"}', '{"event": "a", "at": %d, "x": NaN}', '["a"]',
    '{"event": "a", "at": null, "x": 1}', '{"event": "a", "x": 1}', '{"event": "a", "start": %d, "end": 0, "x": 1}',
    '{"event": null, "at": %d}', '["a", 1, 4136000000000]', '["a", 1, "131000-01-01"]', '["b", 1, %d00000]', "\udcff",
    '["a", 1, 1]',
]  # fmt: skip


def test_a_poisoned_stream_has_the_matches_of_its_clean_rows(program: Path, tmp_path: Path) -> None:
    chance = random.Random(15)
    clean = [f'["{chance.choice("ab")}", {i % 7}, {1_000 + i}]' for i in range(2_000)]
    rows = [(line, False) for line in clean]
    for kind, place in enumerate(sorted(chance.sample(range(1, len(rows)), 280), reverse=True)):
        text = POISON[kind % len(POISON)]
        rows.insert(place, (text % (1_000 + place) if "%d" in text else text, True))
    for name, lines in (("clean", clean), ("poisoned", [line for line, _ in rows])):
        (tmp_path / f"{name}.jsonl").write_bytes(("\n".join(lines) + "\n").encode(errors="surrogateescape"))
    expected = call(program, tmp_path / "clean.jsonl").stdout
    assert expected.count("pair") > 100
    bad = [number for number, (_, is_bad) in enumerate(rows, 1) if is_bad]
    for given in ("poisoned.jsonl", "-"):
        source = (tmp_path / "poisoned.jsonl").read_bytes() if given == "-" else None
        options = ["run", str(program), given if given == "-" else str(tmp_path / given), "--ahead", "1h"]
        result = CliRunner().invoke(app, [*options, "--dead-letters", str(tmp_path / "dead")], input=source)
        assert (result.exit_code, result.stdout) == (ExitCode.OK, expected)
        found = letters_in(tmp_path / "dead")
        assert [letter["line"] for letter in found] == bad
        assert all(letter["reason"] for letter in found)


def test_broken_rules_are_left_out_if_asked_for(tmp_path: Path) -> None:
    program, stream = tmp_path / "p.event", tmp_path / "e.stream"
    program.write_text("d(X) <- a(X).\nbad(X) <- a(Y).\n")
    stream.write_text("event(a(1)).\nsleep(2).\nevent(a(2)).\nhalt.\n")
    refused = call(program, stream)
    assert refused.exit_code == ExitCode.PROGRAM
    assert "E204" in refused.stderr
    result = call(program, stream, "--skip-broken")
    assert (result.exit_code, result.stdout.splitlines()) == (ExitCode.OK, ["d(1) [0, 0]", "d(2) [2, 2]"])
    assert f"{program}:2:1: warning W240: this rule is left out: unsafe: X" in result.stderr


def test_files_in_another_encoding_are_read_if_it_is_said(tmp_path: Path) -> None:
    program, stream = tmp_path / "p.event", tmp_path / "e.stream"
    program.write_text("d(X, 'gr\u00fcn') <- a(X).\n", encoding="latin-1")
    stream.write_text("event(a('\u00fc')).\n", encoding="latin-1")
    refused = call(program, stream)
    assert refused.exit_code == ExitCode.INPUT
    assert f"{program}:1:9: error E402: {program} is not UTF-8 text: byte 0xfc" in refused.stderr
    assert "--encoding latin-1" in refused.stderr
    assert call(program, stream, "--encoding", "latin-1").stdout.splitlines() == ["d(\u00fc, gr\u00fcn) [0, 0]"]
    assert call(program, "-", "--encoding", "latin-1").exit_code == ExitCode.USAGE
    checked = CliRunner().invoke(app, ["check", str(program), "--encoding", "latin-1"])
    assert checked.exit_code == ExitCode.OK


FRAUD = "fraud(C) <- (login(C) seq pay(C, A)) within 3600 where A > 10. lost(C) <- (login(C) seq lose(C)) within 3600."
UNREAD = "W330: logn/1 came once, and no rule reads it (rules read login/1: is it meant?)"
SILENT = "W331: rule 2 never fired: no lose/1 came"


@pytest.fixture
def fraud(tmp_path: Path) -> Path:
    path = tmp_path / "fraud.etalis"
    path.write_text(FRAUD)
    return path


def events(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "e.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def test_a_run_says_what_no_rule_read_and_which_rules_never_fired(fraud: Path, tmp_path: Path) -> None:
    rows = events(tmp_path, ["logn", "c2", 0], ["login", "c1", 1], ["pay", "c1", 20, 2])
    result = call(fraud, rows)
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "fraud(c1) [1, 2]\n")
    assert result.stderr.splitlines() == [f"warning {UNREAD}", f"warning {SILENT}"]
    strict = call(fraud, rows, "--strict")
    assert (strict.exit_code, strict.stdout) == (ExitCode.FINDINGS, "fraud(c1) [1, 2]\n")
    assert strict.stderr.splitlines() == [f"error E{UNREAD[1:]}", f"error E{SILENT[1:]}"]


def test_a_run_that_goes_on_says_nothing_of_rules(fraud: Path, tmp_path: Path) -> None:
    rows, state = events(tmp_path, ["login", "c1", 1]), tmp_path / "state"
    assert call(fraud, rows, "--state", state, "--strict").exit_code == ExitCode.OK
    ended = call(fraud, rows, "--state", state, "--strict", "--close")
    assert "error E331" in ended.stderr


@pytest.mark.parametrize("live", [False, True])
def test_conditions_that_fail_are_told_once_with_their_number(fraud: Path, tmp_path: Path, live: bool) -> None:
    rows = events(tmp_path, ["login", "c1", 1], *(["pay", "c1", f"x{i}", 2 + i] for i in range(3_000)))
    result = call(fraud, stdin=rows.read_text()) if live else call(fraud, rows)
    assert result.exit_code == ExitCode.CONDITIONS
    assert result.stderr.count("error E501") == 1
    assert result.stderr.count("3,000 times like this") == 1
    assert len(result.stderr.splitlines()) <= 10


def test_an_empty_stream_is_said_to_be_empty(fraud: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("event,card,time\n")
    result = call(fraud, path)
    assert (result.exit_code, result.stderr.splitlines()[0][:41]) == (0, "warning W334: no event came that a rule r")
    assert call(fraud, path, "--strict").exit_code == ExitCode.FINDINGS


def test_names_that_nothing_answers_to_are_refused(fraud: Path, tmp_path: Path) -> None:
    rows = events(tmp_path, ["login", "c1", 1])
    assert "event='zzz' is neither a column nor an event" in call(fraud, rows, "--event", "zzz").stderr
    assert "error E336: facts vip/1 are called by no goal" in call(fraud, rows, "--facts", f"vip(0)={rows}").stderr


def test_a_state_that_could_not_be_stored_is_refused_before_the_run(fraud: Path, tmp_path: Path) -> None:
    result = call(fraud, events(tmp_path, ["login", "c1", 1]), "--state", tmp_path / "none" / "state")
    assert (result.exit_code, result.stdout) == (ExitCode.INPUT, "")
    assert "no such folder" in result.stderr


def test_a_field_of_json_lines_may_name_the_event(fraud: Path, tmp_path: Path) -> None:
    login = {"kind": "login", "user": "c1", "at": 1}
    pay = {"kind": "pay", "user": "c1", "amount": 20, "at": 2}
    rows = events(tmp_path, login, pay)
    assert call(fraud, rows, "--event", "kind").stdout == "fraud(c1) [1, 2]\n"
    refused = call(fraud, rows, "--event", "knd")
    assert (refused.exit_code, refused.stdout) == (ExitCode.INPUT, "")
    assert "event='knd' is neither a column nor an event of the program\n  hint: did you mean kind?" in refused.stderr
    assert refused.stderr.count("E602") == 1
