"""Limits: what is shed loses matches and makes none; what is refused is as if it had never come."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import LimitError
from etalis.language.printer import print_program
from etalis.temporal.event import sort_key
from helpers.programs import Shape, policies, programs, streams
from properties.test_engine import MOST, meaning, moment

pytestmark = pytest.mark.property

UNRESTRICTED = Shape(policies=("unrestricted",))


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(UNRESTRICTED), streams().filter(bool), st.integers(1, 12))
def test_what_is_shed_makes_nothing_come_about(tree, stream, hard) -> None:
    """Shows definition 22.5."""
    text = print_program(tree)
    note(f"{hard}\n{text}\n{stream}")
    expected = meaning(text, stream, "unrestricted")
    if expected is None:
        return
    program = etalis.compile(text, max_derivations=MOST, hard_limit=hard, shedding="oldest")
    engine = program.engine(policy="unrestricted")
    found = []
    try:
        for event in stream:
            found += engine.push(event.name, *event.args, at=moment(event))
    except LimitError:
        pass
    else:
        found += engine.close()
    assert not Counter(found) - Counter(expected)
    if not engine.limits().shed:
        assert Counter(found) <= Counter(expected)


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(), streams().filter(bool), policies(), st.integers(1, 12))
def test_what_is_refused_is_as_if_it_had_never_come(tree, stream, policy, hard) -> None:
    text = print_program(tree)
    program = etalis.compile(text, max_derivations=MOST, hard_limit=hard, shedding="newest")
    engine = program.engine(policy=policy)
    found, taken = [], []
    note(f"{hard} {policy}\n{text}\n{stream}")
    try:
        for event in stream:
            before = engine.dead_letter_count
            found += engine.push(event.name, *event.args, at=moment(event))
            taken += [event] if engine.dead_letter_count == before else []
        found += engine.close()
    except LimitError:
        return
    expected = meaning(text, taken, policy)
    if expected is not None:
        assert sorted(found, key=sort_key) == sorted(expected, key=sort_key)
