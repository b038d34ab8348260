"""Late events and corrections: what is reported comes to the result of the sorted, corrected history."""

from __future__ import annotations

from collections.abc import Iterable
from unittest.mock import patch

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.runtime import history
from etalis.temporal.event import Event, Retraction, sort_key
from properties.programs import policies, programs, streams
from properties.test_engine import MOST, meaning, moment
from treatments import standing

pytestmark = pytest.mark.property


def net(changes: Iterable[Event]) -> list[Event]:
    """Return what stands at the end of a changelog, sorted."""
    return sorted(standing(changes), key=sort_key)


def lateness(stream: list[Event], order: list[int]) -> int:
    """Return how late the latest of all arrives, in microseconds."""
    latest, most = stream[order[0]].end_time, 0
    for place in order:
        latest = max(latest, stream[place].end_time)
        most = max(most, latest - stream[place].end_time)
    return most


def late_engine(tree: s.Program, policy: str, bound: int, reporting: str) -> etalis.Engine:
    flags = {"out_of_order": "on", "ooo_window": (bound + 1) / 1_000_000, "reporting": reporting}
    return etalis.compile(print_program(tree), max_derivations=MOST, **flags).engine(policy=policy)


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.randoms(use_true_random=False))
def test_late_events_give_the_meaning_of_the_sorted_stream(tree, stream, policy, random) -> None:
    text = print_program(tree)
    order = list(range(len(stream)))
    random.shuffle(order)
    note(f"{policy}\n{text}\n{[stream[i] for i in order]}")
    expected = meaning(text, stream, policy)
    if expected is None:
        return
    for reporting in ("on_watermark", "on_arrival"):
        with patch.object(history, "LEAST_TRIM", 2):  # old rows go at once, not by the thousand
            engine = late_engine(tree, policy, lateness(stream, order), reporting)
            rows = ((stream[i].name, *stream[i].args, Stamp(moment(stream[i]), rank=i)) for i in order)
            found = [*engine.run(rows), *engine.close()]
        assert not engine.dead_letters
        if reporting == "on_watermark":
            assert not any(isinstance(change, Retraction) for change in found)
        assert net(found) == sorted(expected, key=sort_key), reporting


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.data())
def test_corrections_give_the_meaning_of_the_corrected_history(tree, stream, policy, data) -> None:
    text = print_program(tree)
    wrong = data.draw(st.lists(st.sampled_from(range(len(stream))), unique=True, max_size=4))
    moments = {i: data.draw(st.integers(i, len(stream) - 1)) for i in wrong}
    note(f"{policy}\n{text}\n{stream}\n{moments}")
    right = [event for i, event in enumerate(stream) if i not in moments]
    expected = meaning(text, right, policy)
    if expected is None or meaning(text, stream, policy) is None:
        return
    engine = etalis.compile(text, max_derivations=MOST, revision_flag="on").engine(policy=policy)
    found: list[Event] = []
    try:
        for i, event in enumerate(stream):
            found += engine.push(event.name, *event.args, at=Stamp(moment(event), id=i))
            for wanted in [x for x, when in moments.items() if when == i]:
                found += engine.retract(wanted)
        found += engine.close()
    except LimitError:
        return
    assert net(found) == sorted(expected, key=sort_key)
