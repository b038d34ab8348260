"""Events as objects: made from what users have, with their attributes by name, written down and read again."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime

import pytest

import etalis
from etalis import Event, EventError, Retraction, Struct

FRAUD = "fraud(Card, Total, 5) <- w(Card, Total)."


def made(program: str, *args: object) -> Event:
    (match,) = etalis.compile(program).engine().push("w", *args, at=3)
    return match


def test_an_event_is_made_in_seconds_datetimes_and_text() -> None:
    wanted = Event.make("a", (1,), 5_000_000, 6_500_000)
    start = datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert Event("a", 1, at=(5, 6.5)) == wanted
    assert Event("a", 1, start=start, end="1970-01-01T00:00:06.5Z") == wanted
    assert Event("a", x=1, start=5, end=6.5) == wanted
    assert Event("a", [1, None], at="2").args == ((1, "null"),)
    assert str(Retraction("a", 1, at=0)) == "-a(1) [0, 0]"


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda: Event("a", 1), "no time is given for a"),
        (lambda: Event("a", 1, at=0, end=1), "not one time is given"),
        (lambda: Event("a", 1, start=1), "not one time is given"),
        (lambda: Event("a", 1, y=2, at=0), "some attributes have names"),
        (lambda: Event("a", at=(2, 1)), "ends before it starts"),
        (lambda: Event("a", object(), at=0), "cannot be an attribute"),
        (lambda: Event(("a", 1), at=0), "not the name of an event"),  # type: ignore[arg-type]
        (lambda: Event("a", at="soon"), "not a time"),
    ],
)
def test_what_is_no_event_is_refused(make: object, refusal: str) -> None:
    with pytest.raises(EventError, match=refusal):
        make()  # type: ignore[operator]


def test_attributes_by_name() -> None:
    match = made(FRAUD, "c7", 15.0)
    assert (match["Card"], match["Total"], match["a3"]) == ("c7", 15.0, 5)
    assert (match.Card, match.card, match.a3) == ("c7", "c7", 5)
    assert match.attributes == {"Card": "c7", "Total": 15.0, "a3": 5}
    assert (match.get("Card"), match.get("City"), match.get("City", "?")) == ("c7", None, "?")
    assert {"Card", "Total", "a3", "start"} <= set(dir(match))
    assert match[:2] == ("fraud", ("c7", 15.0, 5))


def test_a_name_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    match = made(FRAUD, "c7", 15.0)
    with pytest.raises(KeyError, match="fraud has no attribute Crad: did you mean Card\\? It has Card, Total, a3"):
        match["Crad"]
    with pytest.raises(AttributeError, match="fraud has no attribute city; it has Card, Total, a3"):
        match.city  # noqa: B018
    with pytest.raises(AttributeError, match="it has no attributes"):
        Event("a", at=0).x  # noqa: B018
    assert not hasattr(match, "__array_interface__")


def test_members_win_and_brackets_do_not() -> None:
    declared = ":- event(d(start: any, count: int, name: any, at: any)). d(A, B, 'x', B) <- w(A, B)."
    match = made(declared, "begin", 7)
    assert (match.start, match.name, match.count) == (3, "d", 7)
    assert (match["start"], match["start_2"], match["name"], match["at"]) == ("begin", "begin", "x", 7)
    assert match.to_dict() == {
        "event": "d", "start_2": "begin", "count": 7, "name": "x", "at_2": 7, "start": 3, "end": 3, "rule": "1",
    }  # fmt: skip


def test_names_are_the_columns_of_detect() -> None:
    program = etalis.compile("""
        :- event(e(sum: int, end: int)).
        d(X, X, f(Y), Y) <- w(X, Y).
        d(A, B, C, D) <- v(A, B, C, D).
        e(X, Y) <- w(X, Y).
    """)
    table = program.detect([{"event": "w", "x": 1, "y": 2, "at": 0}])
    matches = sorted(program.engine().push("w", 1, 2, at=0), key=lambda match: match.name)
    assert [match.kind.columns for match in matches] == [("X", "X_2", "C", "Y"), ("sum", "end_2")]
    names = [name for match in matches for name in match.attributes]
    assert [name for name in table.column_names if name not in ("event", "start", "end", "rule")] == names


def test_rules_that_come_later_have_names_too() -> None:
    engine = etalis.compile(FRAUD).engine()
    engine.insert_rule("late(When, Who) <- x(Who, When).")
    (match,) = engine.push("x", "ann", 5, at=0)
    assert (match["Who"], match.when) == ("ann", 5)


def test_events_are_pickled_without_their_engine_and_copied() -> None:
    match = made(FRAUD, "c7", 15.0)
    for again in (pickle.loads(pickle.dumps(match)), copy.copy(match), copy.deepcopy(match)):  # noqa: S301
        assert (again, again.rule, again["Card"]) == (match, "1", "c7")
    assert len(pickle.dumps(match)) < 400
    back = Retraction.of(match)
    assert pickle.loads(pickle.dumps(back)) == back  # noqa: S301


def test_a_duration_and_dates() -> None:
    event = Event("a", start=0, end=2.5)
    assert event.duration == 2.5
    assert f"{event:iso}" == "a [1970-01-01T00:00:00Z, 1970-01-01T00:00:02.500000Z]"
    assert f"{Retraction.of(event):iso}".startswith("-a [1970")
    assert f"{event:>14}" == "    a [0, 2.5]"


def test_a_time_that_no_float_holds_is_written_as_a_date() -> None:
    event = Event("a", at="9999-12-31T23:59:59.999999Z")
    assert event.to_dict()["end"] == "9999-12-31T23:59:59.999999Z"
    assert Event.from_dict(json.loads(event.to_json())) == event


@pytest.mark.parametrize(
    "record",
    [
        {"event": "d", "X": 1, "Y": {"name": "f", "args": ["x"]}, "start": 1, "end": 1, "rule": "r"},
        {"event": "d", "args": [1, {"name": "f", "args": ["x"]}], "start": 1, "end": 1, "rule": "r"},
        {"event": "d", "attributes": {"X": 1, "Y": {"name": "f", "args": ["x"]}}, "start": 1, "end": 1, "rule": "r"},
        {"event": "d", "a1": 1, "a2": {"name": "f", "args": ["x"]}, "at": 1},
    ],
)
def test_all_shapes_that_were_written_are_read(record: dict[str, object]) -> None:
    assert Event.from_dict(record) == Event("d", 1, Struct("f", ["x"]), at=1)
    program = etalis.compile("e(X, Y) <- d(X, Y).")
    assert [str(found) for found in program.engine().run([record])] == ["e(1, f(x)) [1, 1]"]


@pytest.mark.parametrize(
    ("record", "refusal"),
    [
        ({"at": 1}, "not an event"),
        ({"event": "d", "start": 1}, "no time is given for d"),
        ({"event": "d", "args": [1], "x": 2, "at": 1}, "attributes besides its `args`: x"),
        ({"event": "d", "at": "soon"}, "not a time"),
    ],
)
def test_what_is_no_record_is_refused(record: dict[str, object], refusal: str) -> None:
    with pytest.raises(EventError, match=refusal):
        Event.from_dict(record)


def test_an_event_that_is_taken_back_comes_back_as_such() -> None:
    back = Retraction("d", 1, at=1)
    assert back.to_dict()["sign"] == -1
    assert Event.from_dict(back.to_dict()) == back
    assert Event.from_dict(back.to_dict()) != back.reported


def test_times_are_written_as_they_came() -> None:
    engine = etalis.compile("d(X) <- (a(X) seq b(X)) within 1 min.").engine(policy="unrestricted")
    engine.push("a", 1, at=0)
    assert str(engine.push("b", 1, at=5)[0]) == "d(1) [0, 5]"
    engine.push("a", 2, at=10)
    (dated,) = engine.push("b", 2, at=datetime(1970, 1, 1, 0, 0, 15, tzinfo=UTC))
    assert str(dated) == "d(2) [1970-01-01T00:00:10Z, 1970-01-01T00:00:15Z]"
    assert dated.to_dict()["end"] == 15
    other = etalis.compile("d(X) <- a(X).").engine()
    assert (
        str(*other.push(Event("a", 1, at="1970-01-01T00:00:01Z")))
        == "d(1) [1970-01-01T00:00:01Z, 1970-01-01T00:00:01Z]"
    )
    assert str(*etalis.compile("d(X) <- a(X).").engine().push("a", 1, at=(1, 2.5))) == "d(1) [1, 2.5]"
