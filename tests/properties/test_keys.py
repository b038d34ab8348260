"""What the partition analysis allows is true: a stream parted by its keys gives what the whole stream gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.data.values import Value, real
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.traversal import rewrite
from etalis.plan.keys import Partitioning, find_partitioning
from etalis.plan.rules import plan_rules
from etalis.temporal.event import Event, sort_key
from helpers.examples import by_day
from helpers.programs import KINDS, Shape, policies, programs, streams

pytestmark = pytest.mark.property

KEYS: tuple[Value, ...] = (0, 1, real(1.0), "k")
PARTABLE = Shape(kinds=tuple(kind for kind in KINDS if kind not in ("iso", "point")))
MOST = 40


@st.composite
def keyed_programs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> s.Tree:
    """Programs whose events all carry a key K; once in a while one carries something else, or it is left out."""
    tree = draw(programs(PARTABLE))
    odd = st.sampled_from((s.Var("K"),) * 30 + (s.Var("X"), s.Const(1), s.Var("_#9"), None))

    def key(event: s.EventPattern, more: s.Term) -> s.EventPattern:
        return s.EventPattern(event.name, (*event.args, more))

    def with_key(pattern: s.Pattern) -> s.Pattern:
        return key(pattern, draw(odd) or s.Var("K")) if isinstance(pattern, s.EventPattern) else pattern

    def rule(item: s.Rule) -> s.Rule:
        head = key(item.head, draw(odd) or s.Const(0))
        return s.Rule(head, rewrite(item.pattern, with_key), item.label, item.properties, item.alarm)

    return s.Tree(tuple(rule(item) if isinstance(item, s.Rule) else item for item in tree.items))


@st.composite
def keyed_streams(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Event]:
    events = [
        Event.make(e.name, (*e.args, draw(st.sampled_from(KEYS))), e.start_time, e.end_time)
        for e in draw(streams(PARTABLE))
    ]
    return sorted(events, key=sort_key)


def shard_of(found: Partitioning, event: Event) -> Any:
    """The values that part an event from others."""
    group = found.group_of((event.name, len(event.args)))
    if group is None or found.obstacles:
        return ()
    return tuple(event.args[key.positions[event.name, len(event.args)]] for key in group.keys)


def run(program: etalis.Program, events: list[Event], policy: str) -> list[tuple[Event, str | None]]:
    engine = program.engine(policy=policy)
    return [(e, e.rule) for e in [*engine.run(events), *engine.close()]]


@by_day(2)
@given(keyed_programs(), keyed_streams(), policies(), st.integers(1, 3))
def test_parts_give_the_whole(tree: s.Tree, stream: list[Event], policy: str, shards: int) -> None:
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    try:
        program = etalis.compile(text, max_derivations=MOST)
    except etalis.ProgramError:
        return
    found = find_partitioning(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)
    note(str(found))
    values = sorted({shard_of(found, e) for e in stream}, key=repr)
    parts = [[e for e in stream if values.index(shard_of(found, e)) % shards == i] for i in range(shards)]
    loose = {kind for group in found.groups for key in group.keys for kind in key.loose}
    try:
        whole = run(program, stream, policy)
    except LimitError:
        return
    united = [pair for part in parts for pair in run(program, part, policy)]
    twice = [e for i, (e, _) in enumerate(united) if any(e == x for x, _ in united[:i])]
    assert all((e.name, len(e.args)) in loose for e in twice)
    assert sorted(set(united), key=repr) == sorted(set(whole), key=repr)


def test_most_random_programs_can_be_parted() -> None:
    """The law above is tried on programs that have keys."""
    trees: list[bool] = []

    @settings(max_examples=500)  # enough to tell a share
    @given(keyed_programs())
    def collect(tree: s.Tree) -> None:
        try:
            program = etalis.compile(print_program(tree))
        except etalis.ProgramError:
            return
        found = find_partitioning(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)
        trees.append(any(group.keys for group in found.groups))

    collect()
    assert sum(trees) > len(trees) / 2
