"""Absence and alarms under lateness: at every watermark exactly what is settled by then, not one more, not one less."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.traversal import postorder
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event, sort_key
from helpers.programs import policies, programs, streams
from helpers.treatments import standing
from properties.test_engine import MOST, moment

pytestmark = pytest.mark.property

WAITING = (s.NotWithin, s.TimePoint)


def waits(tree: s.Tree) -> bool:
    """Tell whether a program has a deadline, an alarm or a time point."""
    rules = [item for item in tree.items if isinstance(item, s.Rule)]
    return any(rule.alarm is not None or any(isinstance(x, WAITING) for x in postorder(rule.pattern)) for rule in rules)


def settled(text: str, stream: list[Event], policy: str, until: int) -> list[Event] | None:
    """Return what is settled at a moment; None if one input causes too much."""
    past = [event for event in stream if event.end_time <= until]
    try:
        model = semantics.run(parse(text), past, policy=policy, max_derivations=MOST, until=until)
    except LimitError:
        return None
    return sorted(model, key=sort_key)


@settings(max_examples=settings.default.max_examples // 10)
@given(programs().filter(waits), streams().filter(bool), policies(), st.randoms(use_true_random=False))
def test_at_every_watermark_what_is_settled_is_reported(
    tree: s.Tree, stream: list[Event], policy: str, random: Random
) -> None:
    """Shows definition 19.7."""
    text = print_program(tree)
    order = list(range(len(stream)))
    random.shuffle(order)
    note(f"{policy}\n{text}\n{[stream[i] for i in order]}")
    first, last = min(e.end_time for e in stream), max(e.end_time for e in stream)
    moments = range(first - 1_000_000, last + 4_000_000, 500_000)
    expected = {until: settled(text, stream, policy, until) for until in moments}
    assume(None not in expected.values())
    for reporting in ("on_watermark", "on_arrival"):
        flags = {"out_of_order": "on", "reporting": reporting}
        engine = etalis.compile(text, max_derivations=MOST, **flags).engine(policy=policy)
        rows = [(stream[i].name, *stream[i].args, Stamp(moment(stream[i]), rank=i)) for i in order]
        found = list(engine.run(rows))
        for until in moments:
            found += engine.advance(to=until / 1_000_000)
            told = [event for event in standing(found) if event.end_time <= until]
            assert sorted(told, key=sort_key) == expected[until], (reporting, until)
