"""Plans as diagrams: with an engine, how many instances wait in each place."""

from __future__ import annotations

import pytest

import etalis
from etalis.pictures.scene import Diagram
from helpers.drawn import check_dot, check_svg

TEXT = r"""
pair(X) <- ((a(X) seq b(X)) cnot x) seq d.
late(X) <- a(X) seq (not b(X) within 50).
total(R) <- o seq aggregate(sum(X), p(X), R).
recent(R) <- aggregate(sum(X), p(X), R) within 5.
run <- a(_) seq b(_) star_times seq d.
three <- d ntimes 3.
first(X) <- (a(X) fnot x) where X > 1.
exceptionAlarm(reminder, 5) <- a(_).
"""


def pushed(text: str) -> etalis.Engine:
    engine = etalis.compile(text).engine()
    for at in range(10):
        engine.push("a", at % 3, at=at)
        engine.push("p", 2, at=at + 0.2)
        engine.push("o", at=at + 0.4)
    return engine


def waiting(engine: etalis.Engine) -> dict[str, list[str]]:
    """Return what the boxes of each title say of what waits."""
    scene = engine.picture().scene
    assert isinstance(scene, Diagram)
    found: dict[str, list[str]] = {}
    for box in scene.boxes:
        found.setdefault(box.title, []).extend(line for line in box.lines if line.split(" ")[-1] in ("wait", "waits"))
    return found


def test_an_engine_shows_what_waits_in_each_place() -> None:
    found = waiting(pushed(TEXT))
    assert found["seq (not b(X) within 50)"] == ["10 of a wait", "0 of not wait"]
    assert found["seq aggregate(sum(X), b, R)"] == ["10 of a wait"]
    assert found["seq star_times"] == ["10 of a wait"]
    assert "0 of cnot wait" in found["seq"]
    assert "10 of a wait" in found["seq"]


def test_counts_are_those_of_the_state() -> None:
    engine = pushed(TEXT)
    shown = sum(int(line.split(" ")[0]) for lines in waiting(engine).values() for line in lines)
    assert shown == sum(row.instances for row in engine.state() if row.operator != "alarm")
    assert shown > 40


@pytest.mark.parametrize("level", ["off", "ids", "full"])
def test_a_rule_that_is_inserted_is_drawn_with_its_own_store(level: str) -> None:
    engine = etalis.compile("p(X) <- a(X) seq b(X). q(X) <- a(X) seq b(X).").engine(justification=level)
    engine.push("a", 1, at=1)
    assert waiting(engine)["seq"] == ["1 of a waits"]
    engine.insert_rule("r(X) <- a(X) seq b(X)")
    engine.push("a", 2, at=2)
    assert sorted(waiting(engine)["seq"])[-1] == "2 of a wait"
    assert "1 of a waits" in waiting(engine)["seq"]


def test_before_the_first_event() -> None:
    engine = etalis.compile("p(X) <- a(X) seq b(X).").engine()
    assert engine.picture().scene.title == "plan, before the first event"
    engine.push("a", 1, at=1)
    assert engine.picture().scene.title == "plan, what waits at 1"
    assert repr(engine.picture()) == "<Picture: plan, what waits at 1, 4 parts>"


def test_every_form_is_well_formed() -> None:
    for picture in (etalis.compile(TEXT).picture(), pushed(TEXT).picture()):
        check_svg(picture.to_svg())
        check_dot(picture.to_dot())
        assert picture._repr_html_() == picture.to_svg()
        assert picture.to_html().startswith("<!DOCTYPE html>")


def test_a_time_line_is_no_graph() -> None:
    engine = etalis.compile("p(X) <- a(X) seq b(X).").engine(justification="full")
    with pytest.raises(ValueError, match="no graph"):
        engine.timeline().to_dot()
