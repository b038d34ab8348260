"""What is written down as JSON is the same event again, at whatever door it comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import etalis
from etalis import Event, Retraction, Struct
from etalis.cli import app
from etalis.formats import Row
from etalis.formats.json_lines import read_json_lines
from etalis.formats.row import Reading, reading_of
from etalis.temporal.event import EventKind, new_event
from etalis.temporal.interval import EARLIEST, LATEST

NAMES = st.sampled_from(
    [
        "Card",
        "card",
        "x",
        "start",
        "end",
        "rule",
        "event",
        "at",
        "args",
        "attributes",
        "sign",
        "match_id",
        "a2",
        "é",
        "name",
    ]
)
TEXT = st.text(max_size=4) | st.sampled_from(["null", "true", "\ud800", "f(x)", "1", "2026-01-01", "\0", "é"])
SCALARS = (
    st.none() | st.booleans() | TEXT | st.integers(-(1 << 70), 1 << 70) | st.sampled_from([10**4000, -(10**100)])
    | st.floats(allow_nan=False) | st.sampled_from([1.0, -0.0, 1e22])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(Struct, st.sampled_from(["f", "-", "name", "."]), st.lists(inner, min_size=1, max_size=2))
    ),
    max_leaves=6,
)
MOMENTS = st.integers(0, 10**10) | st.integers(EARLIEST, LATEST)


@st.composite
def events(draw: st.DrawFn) -> Event:
    """An event by position, or with names, which has been received or made by a rule, or is taken back."""
    start, end = sorted((draw(MOMENTS), draw(MOMENTS)))
    values = draw(st.lists(VALUES, max_size=4))
    plain = Event(draw(st.sampled_from(["a", "b c", "é"])), *values, at=0)
    names = draw(st.just(()) | st.lists(NAMES, min_size=len(values), max_size=len(values), unique=True).map(tuple))
    kind = EventKind(plain.name, len(values), draw(st.sampled_from([None, "1", "r"])), names)
    event = new_event(Event, (end, start, kind, *plain.args))
    return draw(st.sampled_from([event, event, Retraction.of(event)]))


@given(events())
def test_an_event_that_is_written_is_read(event: Event) -> None:
    again = Event.from_dict(json.loads(event.to_json()))
    assert (again, again.rule, again.sign) == (event, event.rule, event.sign)
    assert again.to_json() == event.to_json()
    assert Event.from_dict(event.to_dict()) == event
    rows = list(read_json_lines([event.to_json() + "\n"], "x", Reading(retracts=True)))
    assert [row.event for row in rows if isinstance(row, Row)] == [event]


PAIR = "d(X, f(Y), 5) <- a(X, Y)."
NEXT = "e(A, B, C) <- d(A, B, C)."
DECLARED = ":- event(d(x: any, start: any, third: any)). " + NEXT


@given(VALUES, VALUES, st.integers(0, 10**6))
def test_a_match_is_an_event_of_the_next_program(x: Any, y: Any, at: int) -> None:
    (match,) = etalis.compile(PAIR).engine().push("a", x, y, at=at)
    following = etalis.compile(NEXT)
    wanted = following.engine().push(match)
    assert [event.args for event in wanted] == [match.args]
    assert tuple(following.engine().run([match])) == wanted
    assert tuple(following.engine().run([match.to_dict()])) == wanted
    assert tuple(following.engine().run([json.loads(match.to_json())])) == wanted
    rows = list(read_json_lines([match.to_json()], "x", reading_of(following.compiled)))
    assert [row.event.args for row in rows if isinstance(row, Row)] == [match.args]


@given(VALUES, VALUES)
def test_names_that_readers_use_come_back(x: Any, y: Any) -> None:
    declared = ":- event(d(at: any, start: any, args: any, sign: any)). "
    (match,) = etalis.compile(declared + "d(X, Y, X, Y) <- a(X, Y).").engine().push("a", x, y, at=3)
    following = etalis.compile(declared + "e(A, B, C, D) <- d(A, B, C, D).")
    wanted = following.engine().push(match)
    assert [event.args for event in wanted] == [match.args]
    assert tuple(following.engine().run([match.to_dict()])) == wanted
    rows = list(read_json_lines([match.to_json()], "x", reading_of(following.compiled)))
    assert [row.event.args for row in rows if isinstance(row, Row)] == [match.args]


def test_through_the_command_line(tmp_path: Path) -> None:
    first, following, rows = (tmp_path / name for name in ("a.etalis", "b.etalis", "x.jsonl"))
    first.write_text(PAIR)
    values = [1, 1.0, 1e300, 10**40, "x", "null", None, True, "é", "\ud800", [1, [2.5]], {"name": "g", "args": [1, []]}]
    rows.write_text("\n".join(json.dumps(["a", value, value, i / 4]) for i, value in enumerate(values)))
    matches = list(etalis.compile(PAIR).engine().run(read_rows(rows)))
    lines = CliRunner().invoke(app, ["run", str(first), str(rows), "--output", "json"]).stdout
    for program in (NEXT, DECLARED):
        following.write_text(program)
        given = lines if program == NEXT else lines.replace('"a2"', '"start_2"').replace('"a3"', '"third"')
        result = CliRunner().invoke(app, ["run", str(following), "-", "--output", "json"], input=given)
        found = [Event.from_dict(json.loads(line)) for line in result.stdout.splitlines()]
        assert [event.args for event in found] == [match.args for match in matches], result.stderr
        assert [event.end_time for event in found] == [match.end_time for match in matches]


def read_rows(path: Path) -> list[Event]:
    reading = reading_of(etalis.compile(PAIR).compiled)
    return [row.event for row in read_json_lines(path.read_text().splitlines(), "x", reading) if isinstance(row, Row)]
