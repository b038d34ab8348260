"""Random programs at level full: it changes no result, its numbers are the meaning's, and every tree is right."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import LimitError
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.why import justification as j
from helpers.justifications import checker_of, recorded
from helpers.mutations import mutate
from helpers.programs import policies, programs, streams
from properties.test_engine import MOST, moment

pytestmark = pytest.mark.property

MUTATIONS = 3  # of each tree


def run(program: etalis.Program, stream: list[Event], policy: str, level: str) -> tuple[etalis.Engine, list[Event]]:
    engine = program.engine(policy=policy, justification=level)
    found = [event for each in stream for event in engine.push(each.name, *each.args, at=moment(each))]
    return engine, [*found, *engine.close()]


def inputs_of(stream: list[Event]) -> list[j.Received]:
    return [j.Received(x.name, x.args, x.start_time, x.end_time, number) for number, x in enumerate(stream, 1)]


def follows(text: str, stream: list[Event], root: j.Derived) -> bool:
    """Tell whether an event follows from the inputs alone that are said to have made it."""
    numbers = sorted({node.number for node in j.nodes(root) if isinstance(node, j.Received)})
    some = [stream[number - 1] for number in numbers]
    made = semantics.run(parse(text), some, policy="unrestricted", max_derivations=MOST)
    return Event.make(root.name or "", root.args, root.start, root.end) in made


@settings(max_examples=settings.default.max_examples // 4)
@given(st.data(), st.integers(0, 1 << 30))
def test_justifications_are_right(data: st.DataObject, seed: int) -> None:
    tree, stream, policy = data.draw(programs()), data.draw(streams()), data.draw(policies())
    text, random = print_program(tree), Random(seed)
    note(f"{policy}\n{text}\n{stream}")
    program = etalis.compile(text, max_derivations=MOST)
    try:
        engine, found = run(program, stream, policy, "full")
    except LimitError:
        with pytest.raises(LimitError):
            run(program, stream, policy, "off")
        return
    assert found == run(program, stream, policy, "off")[1]
    notes = recorded(parse(text), stream, policy, max_derivations=MOST)
    told = Counter((made.event, tuple(sorted(made.contributors))) for made in notes.record if made.number is None)
    assert Counter((made, made.parts) for made in found) == told
    event(f"{min(len(found), 5)} events")
    checker, inputs = checker_of(parse(text), notes, policy), inputs_of(stream)
    for made in found:
        answer = engine.justify(made)
        assert answer.complete
        wrong = checker.check(answer)
        assert wrong is None, f"{made}: {wrong.reason}\n{answer}"
        numbers = {node.number for node in _own(answer.root) if isinstance(node, j.Received)}
        assert numbers == set(made.parts)
        for _ in range(MUTATIONS):
            assert isinstance(answer.root, j.Derived)
            mutated = mutate(answer.root, inputs, random)
            if mutated is not None and checker.check(j.Justification(mutated[1], "")) is None:
                event(f"right too: {mutated[0]}")
                assert policy == "cumulative" or follows(text, stream, mutated[1]), f"{made}: {mutated[0]}\n{answer}"


def _own(root: j.Node) -> list[j.Node]:
    """Return the nodes of a tree but for those that only told facts."""
    found = list(j.nodes(root, lambda node: not isinstance(node, j.KnownFact)))
    return [node for node in found if not isinstance(node, j.KnownFact)]
