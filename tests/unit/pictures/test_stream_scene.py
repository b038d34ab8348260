"""Streams as time lines: a lane for each kind, forms by rule, and what each event is made of."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import EventError
from etalis.pictures.scene import LaneMark, Timeline
from etalis.pictures.scenes.stream import draw_stream
from helpers.drawn import check_timeline
from helpers.pages import run_of

TEXT = "c(X) <- a(X) seq b(X). r rule: d <- c(_) seq a(_)."


def run(level: str, rows: list[tuple[str, int, float]], text: str = TEXT) -> tuple[etalis.Engine, list[etalis.Event]]:
    engine = etalis.compile(text).engine(justification=level)
    return engine, [event for name, value, at in rows for event in engine.push(name, value, at=at)]


ROWS = [("a", 1, 1), ("b", 1, 2), ("a", 2, 4)]


def named(timeline: Timeline) -> dict[str, LaneMark]:
    return {mark.label: mark for mark in timeline.marks}


def test_lanes_are_kinds_and_rules_have_forms_of_their_own() -> None:
    engine, _ = run("full", ROWS)
    timeline = engine.timeline(title="three").scene
    assert isinstance(timeline, Timeline)
    assert timeline.title == "three"
    assert [(lane.label, lane.heading) for lane in timeline.lanes] == [
        ("a/1", ("received",)), ("b/1", ()), ("c/1", ("derived",)), ("d/0", ()),
    ]  # fmt: skip
    assert timeline.legend == [
        ("received", "received"),
        ("rule 0", "rule 1: c(X) <- a(X) seq b(X)."),
        ("rule 1", "rule r: d <- c(_) seq a(_)."),
    ]
    check_timeline(engine.timeline().to_svg())


def test_an_event_is_made_of_what_its_rule_took() -> None:
    timeline = run("full", ROWS)[0].timeline().scene
    assert isinstance(timeline, Timeline)
    found = named(timeline)
    assert [timeline.marks[part].label for part in found["d"].parts] == ["c(1)", "a(2)"]
    assert [timeline.marks[part].label for part in found["c(1)"].parts] == ["a(1)", "b(1)"]
    assert found["d"].why == ("rule r: d <- c(_) seq a(_).",)
    assert found["c(1)"].details == ("[1, 2]", "X: 1")
    assert (found["c(1)"].start, found["c(1)"].end) == (1_000_000, 2_000_000)


def test_tests_are_told() -> None:
    text = "c(X) <- ((a(X) seq b(X)) cnot x(_)) within 10 where X > 0."
    timeline = run("full", ROWS, text)[0].timeline().scene
    assert isinstance(timeline, Timeline)
    assert named(timeline)["c(1)"].why[1:] == (
        "no x(_), after 1, before 2", "within 10, took 1", "where X > 0, 1 > 0, built in",
    )  # fmt: skip


def test_at_level_ids_an_event_is_made_of_its_inputs() -> None:
    engine, found = run("ids", ROWS)
    inputs = [etalis.Event(name, value, at=at) for name, value, at in ROWS]
    timeline = draw_stream(inputs, found)
    assert [timeline.marks[part].label for part in named(timeline)["d"].parts] == ["a(1)", "b(1)", "a(2)"]
    with pytest.raises(EventError) as error:
        engine.timeline()
    assert error.value.problems[0].code == "E340"


def test_raised_events_are_in_the_legend() -> None:
    text = "r <- a(X) do event(x(X)). y(Z) <- x(Z)."
    timeline = run("full", ROWS[:1], text)[0].timeline().scene
    assert isinstance(timeline, Timeline)
    found = named(timeline)
    assert [timeline.marks[part].label for part in found["y(1)"].parts] == ["x(1)"]
    assert [timeline.marks[part].label for part in found["x(1)"].parts] == ["r"]
    assert ("match", "raised by an action") in timeline.legend


def test_what_a_correction_took_away_has_a_form_of_its_own() -> None:
    engine, _ = run("full", ROWS[:2], f":- set_flag(revision_flag, on). {TEXT}")
    engine.correct("a", 1, at=1, to=("a", 9, 1))
    timeline = engine.timeline().scene
    assert isinstance(timeline, Timeline)
    assert sorted((mark.label, mark.form) for mark in timeline.marks) == [
        ("a(9)", "received"), ("b(1)", "received"), ("c(1)", "taken back"),
    ]  # fmt: skip
    assert named(timeline)["c(1)"].why[1] == "taken back by the correction of input 1"
    assert ("taken back", "taken back") in timeline.legend
    engine.correct("a", 9, at=1, to=("a", 1, 1))
    again = engine.timeline().scene
    assert isinstance(again, Timeline)
    assert [(mark.label, mark.form) for mark in again.marks][-1] == ("c(1)", "rule 0")
    assert len(again.marks) == 3


def test_times_are_dates_where_they_are_of_a_clock_or_asked_to_be() -> None:
    dated = run("full", [("a", 1, 1_700_000_000), ("b", 1, 1_700_000_060)])[0]
    timeline = dated.timeline().scene
    assert isinstance(timeline, Timeline)
    assert timeline.dates
    assert named(timeline)["c(1)"].details[0] == "[2023-11-14T22:13:20Z, 2023-11-14T22:14:20Z]"
    check_timeline(dated.timeline().to_svg())
    plain = dated.timeline(dates=False).scene
    assert isinstance(plain, Timeline)
    assert not plain.dates


def test_what_lies_before_the_horizon_is_not_drawn() -> None:
    text = ":- set_flag(justification_horizon, 100). c(X) <- (a(X) seq b(X)) within 5."
    rows = [(name, place % 7, float(place)) for place in range(20_000) for name in ("a",)]
    timeline = run("full", rows, text)[0].timeline().scene
    assert isinstance(timeline, Timeline)
    assert 100 <= len(timeline.marks) < 15_000


def test_ten_thousand_events_are_less_than_three_megabytes() -> None:
    picture = run_of(10_000).timeline()
    assert len(picture.to_html().encode()) < 3_000_000
    svg = picture.to_svg()
    assert len(svg.encode()) < 300_000
    check_timeline(svg)


def test_an_empty_stream_is_drawn() -> None:
    check_timeline(run("full", [])[0].timeline().to_svg())
