"""An engine goes on from batches over columns as if it had taken the rows one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import run_on
from etalis.engine import Engine
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.plan import algebra as p
from etalis.plan.retention import waits_as_instant
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.operators.gathering import ArrivalStore
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import Newest, Token, members
from etalis.temporal.event import Event
from helpers.programs import Shape, policies, programs, streams
from properties.test_columns import FLAT, RECURSIVE, REPEATED, TEXTS
from properties.test_engine import MOST

pytestmark = pytest.mark.property

PARTS = (
    *["event"] * 4, *["binary"] * 5, "or", "within", "where", "cnot", "cnot", "fnot", "sub_rule", "not_within",
    "not_within", "sliding", "sliding", "opened", "opened", "anchored", "anchored", "repeat", "repeat", "point",
)  # fmt: skip
KEPT = replace(FLAT, kinds=PARTS, alarms=True)
KNOWN = {("a", 1): ("int",), ("b", 1): ("int",), ("c", 2): ("int", "int"), ("n", 0): ()}  # if nothing of it comes
WAYS = ("push", "columns", "restored", "failed")


def pushed(engine: Engine, stream: list[Event]) -> list[Event]:
    """Take events one by one."""
    return [found for e in stream for found in engine.push(e.name, *e.args, at=(e.start, e.end))]


def taken(engine: Engine, stream: list[Event], types: Any) -> list[Event]:
    """Take events as one batch."""
    run = run_on(engine, types)
    run.load()
    try:
        return list(run.process(gather(stream, types)))
    finally:
        run.save()


def fail(engine: Engine, stream: list[Event], types: Any) -> None:
    """Take events as one batch, and be interrupted when all rules over columns have taken them."""
    run = run_on(engine, types)
    run.load()
    if run.components:
        with patch.object(run, "advance_columns", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            list(run.process(gather(stream, types)))
        assert run.atomic.rows == 0
    run.save()


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(), streams(), policies(), st.data())
def test_batches_and_pushes_alternate(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check(print_program(tree), stream, policy, data, {})


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(KEPT), streams(KEPT), policies(), st.data())
def test_integers_alternate(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check(print_program(tree), stream, policy, data, {})


@settings(max_examples=settings.default.max_examples // 8)
@given(programs(REPEATED), streams(REPEATED), policies(), st.data())
def test_repetitions_alternate(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check(print_program(tree), stream, policy, data, {})


@pytest.mark.parametrize("shape", [RECURSIVE, TEXTS], ids=["integers", "texts"])
@settings(max_examples=settings.default.max_examples // 8)
@given(st.data())
def test_recursion_alternates(shape: Shape, data: st.DataObject) -> None:
    tree, stream, policy = (data.draw(drawn(shape)) for drawn in (programs, streams, policies))
    check(print_program(tree), stream, policy, data, {})


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(KEPT), streams(KEPT), policies(), st.data())
def test_late_rows_are_held_by_either(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    bound = data.draw(st.sampled_from((1, 2, 5, -1)))
    shuffled = data.draw(st.permutations(stream)) if data.draw(st.booleans()) else stream
    check(print_program(tree), shuffled, policy, data, {"out_of_order": "on", "ooo_window": bound})


def check(
    text: str, stream: list[Event], policy: str, data: st.DataObject, flags: dict[str, Any], known: Any = KNOWN
) -> tuple[Engine, Engine]:
    """Take a stream by push, and in stretches by push, over columns, and after a restart; compare all that comes.

    Return both engines as they are then. `known` are the types of what may not come.
    """
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(stream) - 1)), max_size=5)))
    ways = data.draw(st.lists(st.sampled_from(WAYS), min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    note(f"{policy} {flags}\n{text}\n{stream}\n{cuts} {ways}")
    program = etalis.compile(text, max_derivations=MOST, **flags)
    one, other = program.engine(policy=policy), program.engine(policy=policy)
    types = {**known, **find_types(stream)}
    mixed = False
    over = False
    try:
        expected = pushed(one, stream)
        found: list[Event] = []
        for way, low, high in zip(ways, [0, *cuts], [*cuts, len(stream)], strict=True):
            if way == "restored":
                other = program.restore(other.snapshot())
            if way == "failed":
                fail(other, stream[low:high], types)
            found += pushed(other, stream[low:high]) if way == "push" else taken(other, stream[low:high], types)
            run = None if other.core.over_columns is None else other.core.over_columns[2]
            mixed = mixed or (run is not None and run.is_mixed)
            over = over or (run is not None and bool(run.components))
        assert (other.now, other.watermark, other.dead_letters) == (one.now, one.watermark, one.dead_letters)
        check_held(other, one)
        expected += one.close()
        found += other.close()
    except LimitError:
        return one, one
    event("mixed" if mixed else "over columns" if over else "event at a time")
    assert Counter(found) == Counter(expected)
    if not mixed:  # in which order two parts report one moment is left open
        assert found == expected
    return one, other


def check_held(found: Engine, expected: Engine) -> None:
    """What waits is what waits in an engine that took all rows by push, less what can match no more."""
    ours, theirs = found.core.rules.memory, expected.core.rules.memory
    assert ours.keys() == theirs.keys()
    assert set_by(found, but=Unmatched) == set_by(expected, but=Unmatched)
    for entry in found.core.rules.wiring.entries:
        if isinstance(entry.node, p.Join) and p.falls_due(entry.node):
            without, wanted = (x[entry.key, "unmatched"] for x in (ours, theirs))
            columns = found.core.rules.compiler.stores.columns(entry, 0 if entry.node.alone == "left" else 1)
            values = sum(not name.startswith("$") for name in columns)
            assert unmatched(without, values) == unmatched(wanted, values)
        if isinstance(entry.node, p.Repetition):
            a, b = (Counter(counted(x[entry.key, "operator"], found.core.state.now)) for x in (ours, theirs))
            assert a == b
        for place in (0, 1) if isinstance(entry.node, p.Join) else ():
            key = (entry.key, f"side{place}")
            mine, wanted = ours.get(key, {}), theirs.get(key, {})
            assert all(held(group) == sorted(held(group), key=rank) for group in mine.values())
            keep = found.core.rules.compiler.stores.retention(entry, place)
            since = None if keep is None else found.core.state.now - keep
            a, b = map(waiting, (mine, wanted))
            instants = waits_as_instant(entry.node.relation, place)
            more = [x for _, x in a - b if not instants or x[-2] == x[-1]]  # the others can meet nothing
            assert not [x for x in more if since is None or x[-1] >= since]  # the others have expired
            if not any(isinstance(test, p.GoalTest) for test in entry.node.tests):  # else some match nothing
                at = -2 if isinstance(p.children(entry.node)[place], p.Repetition) else -1  # by its start, or its end
                assert not [x for _, x in b - a if since is None or x[at] >= since]
            if keep is not None and keep >= 0:
                fifo = ours[entry.key, f"fifo{place}"]
                assert list(fifo) == sorted(fifo, key=lambda pair: pair[0])
                assert not Counter((x[-1], k) for k, x in a.elements()) - Counter(fifo)


def set_by(engine: Engine, but: type) -> Counter[tuple[Any, ...]]:
    """Count the timers of an engine, but for those of some owners."""
    timers = engine.core.state.timers
    return Counter((due, since, payload) for due, since, _, owner, payload, _ in timers if not isinstance(owner, but))


def unmatched(owner: Unmatched, values: int) -> Counter[tuple[Any, ...]]:
    """Count what has no partner yet, with its keys and without marks, which follow so many values."""
    payloads = [timer[4] for timer in owner.timers if timer[3] is owner and owner.awaits(timer[4])]
    return Counter((key, *x[:values], *x[-2:]) for key, x in payloads)


def counted(operator: Any, now: int) -> Iterator[tuple[Any, ...]]:
    """Yield what a repetition counts after and can still use, with what it has counted."""
    if isinstance(operator, Runner):
        since = None if operator.window is None else now - operator.window
        for key, runs in operator.runs.items():
            for run in runs:
                if run.token.alive and (since is None or run.start >= since):
                    yield key, run.start, run.end, run.number
        return
    since = None if operator.keep is None else now - operator.keep
    counts = operator.policy.restricts  # else they say that a match waits already, which what follows knows, too
    for key, lefts in operator.lefts.groups.items():
        assert lefts == sorted(lefts, key=lambda left: (left.end, left.start))
        for left in lefts:
            if left.token.alive and (since is None or left.start >= since):
                values = tuple("token" if isinstance(x, Token) else x for x in left.values)
                yield key, values, left.start, left.end, repr(left.counts if counts else {})


def rank(instance: Any) -> tuple[int, int]:
    """Return what orders the instances of a key."""
    return instance[-1], instance[-2]


def waiting(store: Any) -> Counter[tuple[Any, Any]]:
    """Count the instances of a store, with their keys; the number of an arrival is its engine's own."""
    found = [(key, instance) for key, group in store.items() for instance in held(group)]
    numbered = isinstance(store, ArrivalStore)
    return Counter((key, (*x[:-3], *x[-2:]) if numbered else x) for key, x in found)


def held(group: Any) -> list[Any]:
    """Return the instances that wait under a key."""
    found = group.items[-1:] if isinstance(group, Newest) else members(group)
    return [tuple(map(told, instance)) for instance in found]


def told(value: Any) -> Any:
    """Return a value as any engine has it: what is unbound is null to the head, and nobody else asks."""
    return "token" if isinstance(value, Token) else "null" if value is None else value
