"""The history run again gives what the engine made, and says of every event that a policy withheld which pair it was.

The law of withholding is stated for rules without absences, isolation and aggregates: there an event that is made under
`unrestricted` alone has parts that all occurred, and an operator whose policy passed them over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event as tell
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.engine import Engine
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from etalis.why import justification as j
from etalis.why.justify import justify_raw
from etalis.why.selection import InstanceKey, Selection, replay
from helpers.programs import WHOLE, policies, programs, streams
from properties.test_engine import MOST, moment

pytestmark = pytest.mark.property

ALIKE = replace(WHOLE, policies=tuple(name for name in POLICIES if name != "unrestricted"))
OPERATORS = ("seq", "seq", "seq", "and", "par", "meets", "during", "equals", "starts", "finishes", "forall_seq")
LEAVES = ("a(X)", "a(Y)", "b(X)", "b(Y)", "b(X)", "a(0)", "n", "d(X)", "a(_)")
Identity = tuple[str, tuple[Any, ...], int, int]


def run(tree: s.Tree, stream: list[Event], policy: str) -> Engine:
    engine = etalis.compile(print_program(tree), max_derivations=MOST).engine(policy=policy, justification="full")
    for each in stream:
        engine.push(each.name, *each.args, at=moment(each))
    engine.close()
    return engine


def made(engine: Engine) -> dict[Identity, Any]:
    record = engine.core.record
    assert record is not None
    found = [raw for kind in record.made for raw in record.made_of(kind)]
    return {(raw[2].name, raw[3 : 3 + raw[2].arity], raw[1], raw[0]): raw for raw in reversed(found)}


def given_in(stream: list[Event]) -> set[Identity]:
    return {(e.name, tuple(e.args), e.start_time, e.end_time) for e in stream}


@given(programs(ALIKE), streams(ALIKE), policies(ALIKE))
def test_the_history_run_again_gives_what_was_made(tree: s.Tree, stream: list[Event], policy: str) -> None:
    note(f"{policy}\n{print_program(tree)}\n{stream}")
    try:
        engine = run(tree, stream, policy)
    except LimitError:
        return
    selection = replay(engine.core)
    again = [(e.name, e.args, e.start, e.end) for e in selection.model[len(list(selection.past())) :]]
    assert sorted(map(repr, again)) == sorted(map(repr, made(engine)))


def places(pattern: s.Pattern, body: Any) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Yield the operators of a derivation: path, left and right."""
    waiting: list[tuple[s.Pattern, Any, tuple[int, ...]]] = [(pattern, body, ())]
    while waiting:
        node, part, path = waiting.pop()
        while isinstance(node, s.Modifier):
            node, path = node.pattern, (*path, 0)
        part = part.body if isinstance(part, j.Tested) else part
        match node, part:
            case s.Binary(right=s.Repeat(), left=left), j.RepeatedRun(left=opener, elements=elements):
                yield path, key_of(opener), key_of_several(elements)
                waiting.append((left, opener, (*path, 0)))
            case s.Binary(left=left, right=right), j.PairOf(left=a, right=b):
                yield path, key_of(a), key_of(b)
                waiting += [(left, a, (*path, 0)), (right, b, (*path, 1))]
            case s.Or(left=left, right=right), j.ChosenBranch(which=which, body=inner):
                waiting.append((left if which == 1 else right, inner, (*path, which - 1)))
            case s.Repeat(), j.RepeatedRun(left=None, elements=elements):
                yield path, key_of(elements[0]), key_of(elements[-1])


def leaves(body: Any) -> list[j.Occurred]:
    return [node for node in j.nodes(body, lambda n: not isinstance(n, j.Derived)) if isinstance(node, j.Occurred)]


def key_of(body: Any) -> InstanceKey:
    if isinstance(body, j.Occurred):
        assert body.name is not None
        return InstanceKey(body.name, body.args, body.start, body.end)
    return key_of_several(leaves(body))


def key_of_several(bodies: Any) -> InstanceKey:
    events = tuple(key_of(each) for body in bodies for each in leaves(body))
    return InstanceKey(None, (), min(e.start for e in events), max(e.end for e in events), events)


def withheld(selection: Selection, engine: Engine, why: j.Derived) -> Any:
    (life,) = [life for life in engine.core.rules.lives.values() if life.label == why.rule]
    found = (selection.withheld(why.rule, *place) for place in places(life.rule.pattern, why.body))
    return next((each for each in found if each is not None), None)


def every_withheld_event_is_explained(tree: s.Tree, stream: list[Event], policy: str) -> None:
    note(f"{policy}\n{print_program(tree)}\n{stream}")
    try:
        free, engine = run(tree, stream, "unrestricted"), run(tree, stream, policy)
    except LimitError:
        return
    occurred = {*map(repr, made(engine)), *map(repr, given_in(stream))}
    selection = replay(engine.core)
    for identity, raw in made(free).items():
        why = justify_raw(free.core, raw).root
        assert isinstance(why, j.Derived)
        parts = {repr((e.name, e.args, e.start, e.end)) for e in leaves(why.body)}
        if repr(identity) not in occurred and parts <= occurred:
            found = withheld(selection, engine, why)
            assert found is not None, identity
            assert found.by
            tell(found.kind)


@st.composite
def dense_patterns(draw: Any, leaves: tuple[str, ...], repeats: bool) -> str:
    """A pattern of two to four parts, over few kinds and values, so that candidates vie with each other."""
    parts = [draw(st.sampled_from(leaves)) for _ in range(draw(st.integers(2, 4)))]
    if repeats:
        place = draw(st.integers(0, len(parts) - 1))
        parts[place] += draw(st.sampled_from((" ntimes 2", " ntimes (1, 2)", " star_times", " ntimes (2, 3)")))
    while len(parts) > 1:
        place = draw(st.integers(0, len(parts) - 2))
        operator = "seq" if repeats else draw(st.sampled_from(OPERATORS))
        joined = f"({parts[place]} {operator} {parts[place + 1]})"
        if draw(st.integers(0, 4)) == 0:
            joined = f"({joined} within {draw(st.integers(1, 4))})"
        parts[place : place + 2] = [joined]
    return parts[0]


@st.composite
def dense_programs(draw: Any, repeats: bool) -> str:
    """A rule, and perhaps one that makes a part of it."""
    rules = [f"d(0) <- {draw(dense_patterns(LEAVES[:6], repeats=False))}."] if draw(st.booleans()) else []
    pattern = draw(dense_patterns(LEAVES, repeats))
    if not repeats and draw(st.integers(0, 3)) == 0:
        pattern = f"({pattern} or {draw(dense_patterns(LEAVES, repeats))})"
    return "\n".join([*rules, f"m <- {pattern}{draw(st.sampled_from(('', '', ' where 1 < 2')))}."])


@st.composite
def dense_streams(draw: Any) -> list[Event]:
    found = []
    for _ in range(draw(st.integers(3, 9))):
        end = draw(st.integers(1, 7))
        start = end - draw(st.sampled_from((0, 0, 0, 1, 2)))
        name, *args = draw(st.sampled_from((("a", 0), ("a", 1), ("b", 0), ("b", 0), ("b", 1), ("n",))))
        found.append(Event.make(name, tuple(args), start * 1_000_000, end * 1_000_000))
    return sorted(found, key=lambda e: (e.end_time, e.start_time))


@pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")
@pytest.mark.parametrize("repeats", [False, True], ids=["joins", "repetitions"])
@given(st.data())
def test_every_event_that_a_policy_withheld_has_a_pair_that_tells_why(repeats: bool, data: st.DataObject) -> None:
    program, stream = data.draw(dense_programs(repeats)), data.draw(dense_streams())
    every_withheld_event_is_explained(parse(program), stream, data.draw(policies(ALIKE)))
