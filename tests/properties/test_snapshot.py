"""Snapshots: an engine put down at any point and taken up again reports what it would have reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.errors import LimitError
from etalis.language.printer import print_program
from etalis.temporal.event import Event
from properties.programs import policies, programs, streams
from properties.test_disorder import lateness
from properties.test_engine import MOST, moment

pytestmark = pytest.mark.property

WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "revision": {"revision_flag": "on"},
    "on_watermark": {"out_of_order": "on", "reporting": "on_watermark"},
    "on_arrival": {"out_of_order": "on", "reporting": "on_arrival"},
    "both": {"out_of_order": "on", "reporting": "on_arrival", "revision_flag": "on"},
}

Step = tuple[str, Any]


def steps(stream: list[Event], order: list[int], gone: dict[int, int]) -> Iterator[Step]:
    """Yield what is done with an engine: events as they come, and those that are taken back."""
    for when, place in enumerate(order):
        yield "push", (stream[place], place)
        yield from [("retract", wanted) for wanted, at in gone.items() if at == when]


def drive(engine: etalis.Engine, todo: Iterable[Step]) -> list[Event]:
    """Do some steps; return what they give."""
    found: list[Event] = []
    for what, subject in todo:
        if what == "push":
            event, place = subject
            found += engine.push(event.name, *event.args, at=Stamp(moment(event), id=place, rank=place))
        else:
            found += engine.retract(subject)
    return found


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(), streams().filter(bool), policies(), st.sampled_from(list(WAYS)), st.booleans(), st.data())
def test_a_restored_engine_goes_on_as_the_original(tree, stream, policy, way, parts, data) -> None:
    text = print_program(tree)
    order = data.draw(st.permutations(range(len(stream)))) if "out_of_order" in WAYS[way] else list(range(len(stream)))
    gone = {}
    if "revision_flag" in WAYS[way]:
        wrong = data.draw(st.lists(st.sampled_from(order), unique=True, max_size=3))
        gone = {x: data.draw(st.integers(order.index(x), len(order) - 1)) for x in wrong}
    todo = list(steps(stream, order, gone))
    first = data.draw(st.integers(0, len(todo)))
    second = data.draw(st.integers(first, len(todo)))
    forgets = data.draw(st.booleans())
    note(f"{way} {policy} {parts}\n{text}\n{todo}\n{first} {second} {forgets}")
    bound = {"ooo_window": (lateness(stream, order) + 1) / 1_000_000} if "out_of_order" in WAYS[way] else {}
    program = etalis.compile(text, max_derivations=MOST, **WAYS[way], **bound)
    engine = program.engine(policy=policy, parts=parts)
    try:
        drive(engine, todo[:first])
        if forgets and engine._disorder is not None and engine._disorder.history is not None:
            engine._disorder.forget()
        base = engine.snapshot()
        middle = drive(engine, todo[first:second])
        delta = engine.snapshot(since=base)
        expected = [*drive(engine, todo[second:]), *engine.close()]
    except LimitError:
        return
    again = program.restore(base, delta)
    assert [*drive(again, todo[second:]), *again.close()] == expected
    once = program.restore(base)
    assert [*drive(once, todo[first:]), *once.close()] == middle + expected
