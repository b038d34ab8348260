"""Results that come in again as rows: matches, what is taken back, tables of results."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import etalis
from etalis import DeadLetter, Event, EventError, InputError, Retraction
from etalis.cli import app

NEXT = "e(A, B) <- d(A, B)."
REVISED = NEXT + " :- set_flag(revision_flag, on)."


def test_what_is_taken_back_is_taken_back_where_the_program_revises() -> None:
    event = Event("d", 1, 2, at=3)
    for back in (Retraction.of(event), Retraction.of(event).to_dict(), json.loads(Retraction.of(event).to_json())):
        engine = etalis.compile(REVISED).engine()
        assert [str(match) for match in engine.run([event, back])] == ["e(1, 2) [3, 3]", "-e(1, 2) [3, 3]"]
    engine = etalis.compile(REVISED).engine()
    assert [str(match) for match in (*engine.push(event), *engine.push(Retraction.of(event)))] == [
        "e(1, 2) [3, 3]", "-e(1, 2) [3, 3]",
    ]  # fmt: skip


def test_elsewhere_it_is_refused_by_name() -> None:
    back = Retraction("d", 1, 2, at=3)
    engine = etalis.compile(NEXT).engine()
    for refused in (
        lambda: engine.push(back),
        lambda: list(engine.run([back])),
        lambda: list(engine.run([back.to_dict()])),
    ):
        with pytest.raises(EventError, match="E312: d is retracted"):
            refused()
    letters: list[DeadLetter] = []
    engine = etalis.compile(NEXT).engine(on_dead_letter=letters.append)
    assert list(engine.run([back, Event("d", 1, 2, at=3)])) == [Event("e", 1, 2, at=3)]
    assert [letter.reason for letter in letters] == ["d is retracted (sign -1)"]
    letters.clear()
    assert etalis.compile(NEXT).detect([back.to_dict()], on_dead_letter=letters.append).num_rows == 0
    assert len(letters) == 1
    assert "d is retracted" in letters[0].reason


def test_on_the_command_line(tmp_path: Path) -> None:
    event = Event("d", 1, 2, at=3)
    lines = f"{event.to_json()}\n{Retraction.of(event).to_json()}\n"
    for program, shown in ((REVISED, "e(1, 2) [3, 3]\n-e(1, 2) [3, 3]\n"), (NEXT, "e(1, 2) [3, 3]\n")):
        path = tmp_path / "p.etalis"
        path.write_text(program)
        result = CliRunner().invoke(app, ["run", str(path), "-"], input=lines)
        assert result.stdout == shown
        assert ("E312" in result.stderr) == (program == NEXT)


def test_an_event_brings_all_of_it_along() -> None:
    engine = etalis.compile(NEXT).engine()
    with pytest.raises(EventError, match="d is an event already"):
        engine.push(Event("d", 1, 2, at=3), at=4)
    assert engine.push(Event("d", 1, 2, at=3)) == (Event("e", 1, 2, at=3),)


def test_attributes_by_name_find_their_places() -> None:
    program = etalis.compile(":- event(d(x: int, y: int)). e(A, B) <- d(A, B).")
    wanted = [Event("e", 1, 2, at=3)]
    for row in (Event("d", y=2, x=1, at=3), {"event": "d", "Y": 2, "X": 1, "start": 3, "end": 3, "rule": "r"}):
        assert list(program.engine().run([row])) == wanted
    assert list(program.engine().run([{"event": "d", "a1": 1, "a2": 2, "at": 3}])) == wanted


def test_tables_of_results_are_read_again(tmp_path: Path) -> None:
    found = etalis.compile("d(X, Y) <- a(X, Y).").detect([{"event": "a", "x": 1, "y": "u", "at": 3}], match_id=True)
    assert found.column_names == ["event", "X", "Y", "start", "end", "rule", "match_id"]
    path = tmp_path / "found.parquet"
    pyarrow.parquet.write_table(found, path)
    following = etalis.compile("e(A, B) <- d(A, B).")
    wanted = [{"A": 1, "B": "u"}]
    for source in (found, str(path), found.to_pylist()):
        assert following.detect(source).select(["A", "B"]).to_pylist() == wanted
    assert [match.args for match in following.engine().run(found.to_pylist())] == [(1, "u")]


def test_a_rule_that_is_an_attribute_stays_one() -> None:
    row = {"event": "log", "start": 1, "end": 2, "rule": "x"}
    for program, column in ((":- event(log(rule: string)). e(R) <- log(R).", "R"), ("e(Rule) <- log(Rule).", "Rule_2")):
        assert etalis.compile(program).detect([row])[column].to_pylist() == ["x"]


def test_an_object_without_order_is_refused_as_before() -> None:
    with pytest.raises((EventError, InputError)):
        list(etalis.compile(NEXT).engine().run([{"event": "d", "p": 1, "q": 2, "start": 1, "end": 2}]))
