"""Late events and corrections: what is reported comes to the result of the sorted, corrected history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import Stamp, Struct
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.runtime.revision import checkpoint, history, replay, revision, row_log
from etalis.temporal.event import Event, Retraction, sort_key
from helpers.programs import policies, programs, streams
from helpers.treatments import standing
from properties.test_engine import MOST, meaning, moment

pytestmark = pytest.mark.property


PARTED = (  # rules of which each stands apart from the others, with keys of their own that have equal values
    "d(X) <- a(X) seq b(X).",
    "d(X) <- (a(X) seq b(X)) within 3.",
    "d(X) <- a(X) and b(X).",
    "e(X) <- c(X, _).",
    "e(X, Y) <- c(X, Y) seq c(X, _).",
    "e(X) <- c(X, _) fnot c(X, _).",
    "f(X) <- n(X).",
    "f(X) <- n(X) and n(X).",
)
TIMED = ("f(X) <- n(X) seq (not n(X) within 2).", "f(X, N) <- aggregate(count, n(X), N) within 3.")


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


@contextmanager
def short_histories() -> Iterator[None]:
    """Let old rows go at once, not by the thousand, lie in blocks of two, and leave a checkpoint after every second."""
    with ExitStack() as stack:
        for module in (history, row_log, replay, checkpoint, revision):
            for name, value in (("LEAST_TRIM", 2), ("BLOCK", 2), ("_SHIFT", 1), ("EVERY", 2)):
                if hasattr(module, name):
                    stack.enter_context(patch.object(module, name, value))
        yield


def late_engine(tree: s.Tree, policy: str, bound: int, reporting: str) -> etalis.Engine:
    flags = {"out_of_order": "on", "ooo_window": (bound + 1) / 1_000_000, "reporting": reporting}
    return etalis.compile(print_program(tree), max_derivations=MOST, **flags).engine(policy=policy)


def agree_when_late(tree: s.Tree, stream: list[Event], policy: str, random: Random) -> None:
    """Check that events in a disorder of their own come to the meaning of the sorted stream."""
    text = print_program(tree)
    order = list(range(len(stream)))
    random.shuffle(order)
    note(f"{policy}\n{text}\n{[stream[i] for i in order]}")
    expected = meaning(text, stream, policy)
    if expected is None:
        return
    for reporting in ("on_watermark", "on_arrival"):
        with short_histories():
            engine = late_engine(tree, policy, lateness(stream, order), reporting)
            rows = ((stream[i].name, *stream[i].args, Stamp(moment(stream[i]), rank=i)) for i in order)
            found = [*engine.run(rows), *engine.close()]
        assert not engine.dead_letters
        if reporting == "on_watermark":
            assert not any(isinstance(change, Retraction) for change in found)
        assert net(found) == sorted(expected, key=sort_key), reporting


def agree_when_corrected(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    """Check that a stream of which some events are taken back comes to the meaning of the others."""
    text = print_program(tree)
    wrong = data.draw(st.lists(st.sampled_from(range(len(stream))), unique=True, max_size=4))
    moments = {i: data.draw(st.integers(i, len(stream) - 1)) for i in wrong}
    note(f"{policy}\n{text}\n{stream}\n{moments}")
    right = [event for i, event in enumerate(stream) if i not in moments]
    expected = meaning(text, right, policy)
    if expected is None or meaning(text, stream, policy) is None:
        return
    with short_histories():
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


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.randoms(use_true_random=False))
def test_late_events_give_the_meaning_of_the_sorted_stream(
    tree: s.Tree, stream: list[Event], policy: str, random: Random
) -> None:
    """Shows definition 19.2."""
    agree_when_late(tree, stream, policy, random)


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.data())
def test_corrections_give_the_meaning_of_the_corrected_history(
    tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject
) -> None:
    """Shows definition 20.2 and 20.3."""
    agree_when_corrected(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.randoms(use_true_random=False))
def test_late_events_without_stamps_are_ranked_by_arrival(tree, stream, policy, random) -> None:
    """Plain rows take the generated ways in, `push` and `run` in turn."""
    text = print_program(tree)
    arriving = random.sample(stream, len(stream))
    note(f"{policy}\n{text}\n{arriving}")
    expected = meaning(text, sorted(arriving, key=lambda e: (e.end_time, e.start_time)), policy)
    if expected is None:
        return
    for reporting in ("on_watermark", "on_arrival"):
        with short_histories():
            engine = late_engine(tree, policy, lateness(arriving, list(range(len(arriving)))), reporting)
            found: list[Event] = []
            for place in range(0, len(arriving), 4):
                rows = [(event.name, *event.args, moment(event)) for event in arriving[place : place + 4]]
                found += [change for row in rows[:2] for change in engine.push(*row[:-1], at=row[-1])]
                found += engine.run(rows[2:])
            found += engine.close()
        assert not engine.dead_letters
        assert net(found) == sorted(expected, key=sort_key), reporting


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(), streams().filter(bool), policies(), st.data())
def test_events_are_taken_back_by_name(tree, stream, policy, data) -> None:
    """What `rev(Atom)` takes back is the latest of its time."""
    text = print_program(tree)
    instants = [event for event in stream if event.start == event.end and event.args]
    places = data.draw(st.lists(st.sampled_from(range(len(instants))), unique=True, max_size=3)) if instants else []
    wrong = [instants[place] for place in places]
    note(f"{policy}\n{text}\n{stream}\n{wrong}")
    right = stream[::-1]
    for event in wrong:
        right.remove(event)
    expected = meaning(text, right[::-1], policy)
    if expected is None or meaning(text, stream, policy) is None:
        return
    with short_histories():
        engine = etalis.compile(text, max_derivations=MOST, revision_flag="on").engine(policy=policy)
        try:
            rows = [(event.name, *event.args, moment(event)) for event in stream]
            rows += [("rev", Struct(event.name, event.args), event.end) for event in wrong]
            found = [*engine.run(rows), *engine.close()]
        except LimitError:
            return
    assert net(found) == sorted(expected, key=sort_key)


@st.composite
def parted(draw: st.DrawFn) -> tuple[str, list[Event]]:
    """Draw rules that stand apart, and a stream in which keys come in all of them."""
    rules = draw(st.lists(st.sampled_from(PARTED), min_size=2, max_size=4, unique=True))
    text = "\n".join([*rules, *draw(st.sampled_from(((), (), (), TIMED[:1], TIMED[1:])))])
    kinds = st.sampled_from((("a", 1), ("b", 1), ("c", 2), ("n", 1)))
    found, at = [], 0
    several = st.lists(st.tuples(kinds, st.integers(0, 1), st.integers(0, 2)), min_size=4, max_size=20)
    for (name, arity), key, step in draw(several):
        at += step * 1_000_000
        found.append(Event.make(name, (key,) * arity, at, at))
    return text, found


@given(parted(), policies(), st.randoms(use_true_random=False))
def test_what_stands_apart_is_corrected_apart(drawn: tuple[str, list[Event]], policy: str, random: Random) -> None:
    """Shows definition 19.2, where partitions of several rules have equal keys."""
    text, stream = drawn
    order = sorted(range(len(stream)), key=lambda place: place + 5 * random.random())
    note(f"{policy}\n{text}\n{[stream[i] for i in order]}")
    flags = {"out_of_order": "on", "ooo_window": (lateness(stream, order) + 1) / 1_000_000, "reporting": "on_arrival"}
    engine = etalis.compile(text, **flags).engine(policy=policy)
    found = [*engine.run((stream[i].name, *stream[i].args, Stamp(moment(stream[i]), rank=i)) for i in order)]
    assert net([*found, *engine.close()]) == sorted(meaning(text, stream, policy) or [], key=sort_key)
