"""What matches are made of is the same over columns as event at a time, and asking for it changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.errors import EventError, LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.semantics.matches import RunNotes
from etalis.temporal.event import Event
from helpers.programs import Shape, policies, programs, streams
from properties.test_columns import FLAT
from properties.test_engine import MOST

pytestmark = pytest.mark.property

JOINED = replace(
    FLAT, rules=4, moments=4,
    kinds=(
        *["event"] * 5, *["binary"] * 6, "or", "or", "within", "where", "check", "event_multiply", "cnot", "fnot",
        "not_within", "point", "any", "sub_rule",
    ),
)  # fmt: skip


def told(events: list[Event]) -> Counter[tuple[Event, tuple[int, ...], str | None]]:
    return Counter((each, each.parts, each.rule) for each in events)


def noted(text: str, stream: list[Event], policy: str) -> Counter[tuple[Event, tuple[int, ...]]]:
    """What events are made of by their meaning."""
    notes = RunNotes()
    semantics.run(parse(text), stream, policy=policy, max_derivations=MOST, notes=notes)
    return Counter((r.event, tuple(sorted(r.contributors))) for r in notes.record if r.number is None)


def taken(run: ColumnRun, stream: list[Event], cut: int) -> list[Event]:
    """What a run finds in a stream, so many rows at a time; rows are numbered as an engine numbers inputs."""
    found: list[Event] = []
    types = find_types(stream)
    for low in range(0, len(stream), cut):
        part = stream[low : low + cut]
        found += run.process(replace(gather(part, types), numbers=np.arange(low + 1, low + 1 + len(part))))
    return [*found, *run.close()]


@pytest.mark.parametrize("shape", [JOINED, FLAT], ids=["joins", "everything"])
@settings(max_examples=settings.default.max_examples // 4)
@given(st.data())
def test_columns_tell_what_an_engine_tells(shape: Shape, data: st.DataObject) -> None:
    tree, stream, policy = (data.draw(drawn(shape)) for drawn in (programs, streams, policies))
    check_contributors(tree, stream, policy, data.draw(st.integers(1, max(1, len(stream)))))


def check_contributors(tree: s.Tree, stream: list[Event], policy: str, cut: int) -> None:
    """Compare what columns, an engine and the meaning tell, so many rows at a time."""
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    program = etalis.compile(text, max_derivations=MOST)
    expected: list[Event] = []
    engine = program.engine(policy=policy, parts=True)
    try:
        for each in stream:
            expected += engine.push(each.name, *each.args, at=(each.start, each.end))
        expected += engine.close()
    except LimitError:
        return
    run, plain = (
        ColumnRun(program.compiled, find_types(stream), policy=policy, contributors=on) for on in (True, False)
    )
    try:
        found = taken(run, stream, cut)
    except (EventError, LimitError) as error:
        with pytest.raises(type(error)):
            taken(plain, stream, cut)
        return
    event("mixed" if run.is_mixed else "over columns" if run.components else "event at a time")
    assert told(found) == told(expected)
    assert Counter((each, each.parts) for each in found) == noted(text, stream, policy)
    if not (run.is_mixed or plain.is_mixed):  # in which order two parts report one moment is left open
        assert found == taken(plain, stream, cut)
