"""Rules in stages make what they make in one engine: shards, rounds and steps that others took, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.data.values import Value, order_key, real
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.traversal import rewrite
from etalis.plan.rules import plan_rules
from etalis.plan.stages import Stage, Stages, find_stages
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.stage_engine import Derived, Relay, Step
from etalis.runtime.state import HeadKind
from etalis.runtime.step_keys import input_key
from etalis.temporal.event import Event, new_event, sort_key
from helpers.programs import KINDS, VALUES, Shape, policies, programs, streams

pytestmark = pytest.mark.property

KEYS: tuple[Value, ...] = (0, 1, real(1.0), "k")
PARTABLE = Shape(kinds=tuple(kind for kind in KINDS if kind not in ("iso", "point", "do")))
MOST = 40


@st.composite
def staged_programs(draw: Callable[[st.SearchStrategy[Any]], Any], shape: Shape = PARTABLE) -> s.Tree:
    """Programs whose events carry two more attributes; each rule joins by the first, by the second, or by neither."""
    tree = draw(programs(shape))

    def more(event: s.EventPattern, joined: int) -> s.EventPattern:
        free = draw(st.sampled_from((s.Var("_#8"),) * 8 + (s.Var("X"), s.Const(1))))
        keys = [free, free]
        if joined < 2:
            keys[joined] = s.Var("K")
        return s.EventPattern(event.name, (*event.args, *keys))

    def rule(item: s.Rule) -> s.Rule:
        joined = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))
        pattern = rewrite(item.pattern, lambda x: more(x, joined) if isinstance(x, s.EventPattern) else x)
        carried = s.Var("K") if joined < 2 and draw(st.integers(0, 7)) else s.Const(0)
        other = draw(st.sampled_from((s.Const(0), s.Const(1), carried)))
        keys = (carried, other) if draw(st.booleans()) else (other, carried)
        head = s.EventPattern(item.head.name, (*item.head.args, *keys))
        return s.Rule(head, pattern, item.label, item.properties, item.alarm)

    return s.Tree(tuple(rule(item) if isinstance(item, s.Rule) else item for item in tree.items))


@st.composite
def keyed_streams(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Event]:
    keys = st.sampled_from(KEYS)
    events = [
        Event.make(e.name, (*e.args, draw(keys), draw(keys)), e.start_time, e.end_time) for e in draw(streams(PARTABLE))
    ]
    return sorted(events, key=sort_key)


def shard_of(stage: Stage, found: Stages, kind: tuple[str, int], args: tuple[Any, ...], shards: int) -> int:
    """The shard of an event: by the values of all keys of its group."""
    group = stage.group_of(kind)
    if group is None or found.obstacles:
        return 0
    values = [repr(order_key(args[key.positions[kind]])) for key in group.keys]
    return sum(map(ord, "".join(values))) % shards


def steps_of(
    stage: Stage, found: Stages, events: list[Event], earlier: list[Derived], shard: int, shards: int
) -> list[Step]:
    """What comes to one shard of one stage, in order."""
    steps: dict[bytes, Step] = {}
    seen: dict[Event, int] = {}
    for event in events:
        kind = (event.name, len(event.args))
        if kind in stage.read and shard_of(stage, found, kind, event.args, shards) == shard:
            number = seen[event] = seen.get(event, -1) + 1
            key = input_key(event.end_time, event.start_time, None, event.name, event.args, number)
            found_event = (event.name, event.args, event.start_time, event.end_time)
            steps[key] = Step(lambda key=key: key, found_event)  # type: ignore[misc]
    for step, number, raw in earlier:
        kind = (raw[2].name, raw[2].arity)
        if kind in stage.read and shard_of(stage, found, kind, raw[3 : 3 + kind[1]], shards) == shard:
            steps.setdefault(step.key, Step.of(step.key)).derived.append((number, raw))
    return [steps[key] for key in sorted(steps)]


def run_stages(
    program: etalis.Program, found: Stages, events: list[Event], policy: str, shards: int
) -> list[tuple[Event, str | None]]:
    """Everything that is reported, by all shards of all stages."""
    derived: list[Derived] = []
    for stage in found.stages:
        part = program.compiled.taking(stage.rules)
        new: list[Derived] = []
        for shard in range(1 if found.obstacles else shards):
            relay = Relay(RuntimeEngine(part, EngineOptions(policy)))
            for step in steps_of(stage, found, events, derived, shard, shards):
                new += relay.take(step)
            new += relay.close()
        derived += new
    reported = [raw for _, _, raw in derived if isinstance(raw[2], HeadKind) and raw[2].reported]
    return [(new_event(Event, raw), raw[2].rule) for raw in reported]


@settings(max_examples=settings.default.max_examples // 4)
@given(staged_programs(), keyed_streams(), policies(), st.sampled_from((1, 2, 7)))
def test_stages_give_the_whole(tree: s.Tree, stream: list[Event], policy: str, shards: int) -> None:
    """Shows definition 22.1."""
    agree_in_stages(tree, stream, policy, shards)


def agree_in_stages(tree: s.Tree, stream: list[Event], policy: str, shards: int) -> None:
    """Compare what rules make in stages with what they make in one engine."""
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    try:
        program = etalis.compile(text, max_derivations=MOST)
    except etalis.ProgramError:
        return
    found = find_stages(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)
    note("\n".join(map(str, found.stages)))
    engine = program.engine(policy=policy)
    try:
        whole = [(e, e.rule) for e in [*engine.run(stream), *engine.close()]]
    except LimitError:
        return
    united = run_stages(program, found, stream, policy, shards)
    loose = {kind for stage in found.stages for group in stage.groups for key in group.keys for kind in key.loose}
    twice = [e for i, (e, _) in enumerate(united) if any(e == x for x, _ in united[:i])]
    assert all((e.name, len(e.args)) in loose for e in twice)
    assert sorted(set(united), key=repr) == sorted(set(whole), key=repr)


def test_many_random_programs_have_stages() -> None:
    """The law above is tried on programs of several stages, with keys."""
    counts: list[int] = []

    @settings(max_examples=500)  # enough to tell a share
    @given(staged_programs())
    def collect(tree: s.Tree) -> None:
        try:
            program = etalis.compile(print_program(tree))
        except etalis.ProgramError:
            return
        found = find_stages(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)
        counts.append(len(found.stages))

    collect()
    assert sum(count > 1 for count in counts) > len(counts) / 8


MORE = (-0.0, 1 << 60, (1 << 60) + 1, float(1 << 60), -1, real(-1.0), (), "[]", "", "\0", "é", -2.5, (0,), ((), 1))
ATOMS = st.tuples(st.sampled_from(("a", "b", "a\0", "\0")), st.lists(st.sampled_from((*VALUES, *MORE)), max_size=2))


@given(st.lists(ATOMS, max_size=20))
def test_keys_of_inputs_are_in_the_standard_order(atoms: list[tuple[str, list[Value]]]) -> None:
    events = [Event.make(name, tuple(values), 0, 5) for name, values in atoms]
    keys = [input_key(5, 0, None, e.name, e.args, 0) for e in events]
    by_key = [e for _, e in sorted(zip(keys, events, strict=True), key=lambda pair: pair[0])]
    assert [sort_key(e) for e in by_key] == sorted(map(sort_key, events))
