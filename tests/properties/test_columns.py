"""Columns give what programs mean, wherever the batches are cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import real
from etalis.errors import EventError, LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.temporal.event import Event
from helpers.programs import WHOLE, Shape, policies, programs, streams
from properties.test_engine import MOST, meaning

pytestmark = pytest.mark.property

KNOWN = (
    *["event"] * 4, *["binary"] * 4, "or", "within", "where", "check", "event_multiply", "cnot", "cnot", "fnot",
    "sliding", "sliding", "opened", "opened", "opened", "anchored", "anchored", "repeat", "not_within", "not_within",
    "point", "any", "sub_rule", "chain", "iso",
)  # fmt: skip
FLAT = replace(WHOLE, rules=3, kinds=KNOWN, values=(*[0] * 6, *[1] * 4, 2, 3))
REPEATED = replace(
    FLAT, rules=2, depth=3, alarms=False,
    kinds=(
        *["event"] * 6, *["anchored"] * 4, *["repeat"] * 2, "chain", "chain", *["binary"] * 2, "within", "cnot",
        "where", "check",
    ),
)  # fmt: skip
FAR = 1e16  # as the seconds of an alarm: too far away for columns
REALS = replace(FLAT, values=tuple(map(real, (0.0, 0.0, 1.0, 1.0, 0.1, 0.2, 0.3, FAR))))
RECURSIVE = replace(
    WHOLE, rules=4, values=(*[0] * 6, *[1] * 4, 2, 3), alarms=False,
    kinds=(*["event"] * 6, *["binary"] * 6, "or", "within", "where", "where", "check", "cnot", "fnot"),
    policies=tuple(name for name in WHOLE.policies if name != "cumulative"),
)  # fmt: skip
TEXTS = replace(RECURSIVE, values=("x", "x", "null", "zu", "ä", "B"))


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(), streams(), policies(), st.data())
def test_columns_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    """Shows definition 22.1."""
    check_meaning(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(FLAT), streams(FLAT), policies(), st.data())
def test_columns_of_integers(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(REPEATED), streams(REPEATED), policies(), st.data())
def test_columns_of_repetitions(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 8)
@given(programs(REALS), streams(REALS), policies(), st.data())
def test_columns_of_floats(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@pytest.mark.parametrize("shape", [RECURSIVE, TEXTS], ids=["integers", "texts"])
@settings(max_examples=settings.default.max_examples // 8)
@given(st.data())
def test_recursion_over_columns(shape: Shape, data: st.DataObject) -> None:
    tree, stream, policy = (data.draw(drawn(shape)) for drawn in (programs, streams, policies))
    check_meaning(tree, stream, policy, data)


def check_meaning(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    """Run a stream in batches cut anywhere, and compare."""
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    expected = meaning(text, stream, policy)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(stream) - 1)), max_size=3)))
    types = find_types(stream)
    try:
        points = all(event.start_time == event.end_time for event in stream)
        run = ColumnRun(etalis.compile(text, max_derivations=MOST).compiled, types, policy=policy, only_points=points)
        found = [
            each
            for low, high in zip([0, *cuts], [*cuts, len(stream)], strict=True)
            for each in run.process(gather(stream[low:high], types))
        ]
        found.extend(run.close())
    except LimitError:
        assert expected is None
        return
    except EventError as error:
        if "alarm is set for a time too far away" not in str(error) or not any(FAR in each.args for each in stream):
            raise
        event("refused")
        return
    event("mixed" if run.is_mixed else "over columns" if run.components else "event at a time")
    if expected is None:
        assert run.is_mixed or not stops(text, stream, policy)  # of a mixed program, both parts count for themselves
        return
    if run.is_mixed:  # in which order two parts report one moment is left open
        assert Counter(found) == Counter(expected)
    else:
        assert found == expected


def stops(text: str, stream: list[Event], policy: str) -> bool:
    """Tell whether one input causes too much in an engine."""
    engine = etalis.compile(text, max_derivations=MOST).engine(policy=policy)
    try:
        for each in stream:
            engine.push(each.name, *each.args, at=(each.start, each.end))
        engine.close()
    except LimitError:
        return True
    return False
