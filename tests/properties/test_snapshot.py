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
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.rules import event_rules
from etalis.language.same_rule import fits
from etalis.temporal.event import Event
from helpers.programs import policies, programs, streams
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


ADDED = [
    "later: z(X) <- a(X) seq b(X).",
    "z <- a(_) and (c or b(_)) within 3.",
    "z(N) <- a(X) seq aggregate(count, c, N).",
]


def steps(stream: list[Event], order: list[int], others: dict[int, list[Step]]) -> Iterator[Step]:
    """Yield what is done with an engine: events as they come, and what else is done after the n-th of them."""
    for when, place in enumerate(order):
        yield "push", (stream[place], place)
        yield from others.get(when, [])


def drive(engine: etalis.Engine, todo: Iterable[Step]) -> list[Event]:
    """Do some steps; return what they give."""
    found: list[Event] = []
    for what, subject in todo:
        match what:
            case "push":
                event, place = subject
                found += engine.push(event.name, *event.args, at=Stamp(moment(event), id=place, rank=place))
            case "retract":
                found += engine.retract(subject)
            case "advance":
                found += engine.advance(to=subject)
            case "insert":
                engine.insert_rule(subject)
            case "delete":
                engine.delete_rule(subject)
    return found


@st.composite
def doings(
    draw: st.DrawFn, stream: list[Event], order: list[int], label: str, flags: dict[str, Any]
) -> dict[int, list[Step]]:
    """Draw what else is done: time that passes, events taken back, rules that come and go."""
    kinds = ["advance", *(["retract"] if "revision_flag" in flags else []), *([] if flags else ["insert", "delete"])]
    found: dict[int, list[Step]] = {}
    for when in sorted(draw(st.lists(st.integers(0, len(order) - 1), max_size=4))):
        what = draw(st.sampled_from(kinds))
        latest = max(stream[place].end for place in order[: when + 1])
        subject = {
            "advance": st.sampled_from([latest, latest + 0.5]),
            "retract": st.sampled_from(order[: when + 1]),
            "insert": st.sampled_from(ADDED),
            "delete": st.just(label),
        }[what]
        found.setdefault(when, []).append((what, draw(subject)))
        if what == "delete":
            kinds.remove("delete")
    return found


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(), streams().filter(bool), policies(), st.sampled_from(list(WAYS)), st.booleans(), st.data())
def test_a_restored_engine_goes_on_as_the_original(tree, stream, policy, way, parts, data) -> None:
    text = print_program(tree)
    order = data.draw(st.permutations(range(len(stream)))) if "out_of_order" in WAYS[way] else list(range(len(stream)))
    todo = list(steps(stream, order, data.draw(doings(stream, order, event_rules(tree)[0].label or "1", WAYS[way]))))
    first = data.draw(st.integers(0, len(todo)))
    second = data.draw(st.integers(first, len(todo)))
    forgets = data.draw(st.booleans())
    note(f"{way} {policy} {parts}\n{text}\n{todo}\n{first} {second} {forgets}")
    bound = {"ooo_window": (lateness(stream, order) + 1) / 1_000_000} if "out_of_order" in WAYS[way] else {}
    program = etalis.compile(text, max_derivations=MOST, **WAYS[way], **bound)
    engine = program.engine(policy=policy, parts=parts)
    try:
        drive(engine, todo[:first])
        if forgets and engine.core.disorder is not None and engine.core.disorder.revision is not None:
            engine.core.disorder.revision.forget()
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


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(), streams().filter(bool), policies(), st.data())
def test_fewer_rules_go_on_as_if_one_had_been_deleted(tree, stream, policy, data) -> None:
    rules = [item for item in tree.items if isinstance(item, s.Rule)]
    gone = data.draw(st.sampled_from(rules))
    rest = s.Tree(tuple(x for x in tree.items if not isinstance(x, s.Rule) or not fits(x, x.label or "", gone)))
    point = data.draw(st.integers(0, len(stream)))
    note(f"{policy}\n{print_program(tree)}\nwithout {gone}\n{stream} {point}")
    within = len(event_rules(s.Tree((gone,)))) > 1 or any(fits(x, x.label or "", gone) for x in event_rules(rest))
    if not event_rules(rest) or within:  # of rules within rules, those at run time stand apart
        return
    todo = list(steps(stream, list(range(len(stream))), {}))
    engine = etalis.compile(print_program(tree), max_derivations=MOST).engine(policy=policy)
    try:
        drive(engine, todo[:point])
        again = etalis.compile(print_program(rest), max_derivations=MOST).restore(engine.snapshot(), policy=policy)
        engine.delete_rule(gone)
        expected = [*drive(engine, todo[point:]), *engine.close()]
    except LimitError:
        return
    assert [*drive(again, todo[point:]), *again.close()] == expected
