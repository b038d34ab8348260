"""The worked examples of SNOOP-R in process: in every notation, restored after every step, in every order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from etalis.errors import EtalisError
from etalis.snoop import (
    Detector,
    Expression,
    Registration,
    Result,
    checked,
    read_json,
    read_text,
    read_xml,
    write_json,
    write_text,
    write_xml,
)
from etalis.snoop.detection.graph import draw_graph
from etalis.snoop.expression import read_path
from helpers.snoop_examples import (
    SHOP,
    GraphStep,
    LeafStep,
    PartStep,
    SnoopExample,
    Step,
    TypedStep,
    show_notice,
    show_occurrence,
    snoop_examples,
)

EXAMPLES = list(snoop_examples())
GOOD = [example for example in EXAMPLES if example.error is None]
NOTATIONS: dict[str, Callable[[Expression], Expression]] = {
    "xml": lambda e: read_xml(write_xml(e)),
    "json": lambda e: read_json(write_json(e)),
    "text": lambda e: read_text(write_text(e)),
}


class Run:
    """One example against a detector; `turn` is what happens to a registration after each step."""

    def __init__(self, example: SnoopExample, turn: Callable[[Registration], Registration] | None = None) -> None:
        self.example = example
        self.turn = turn
        self.detector = Detector(time="clock" if example.time == "clock" else "events", provided=example.provided)
        self.numbers: dict[str, int] = {}
        self.told: list[str] = []
        self.events: list[str] = []
        for name in example.expressions:
            if name not in example.later:
                self.register(name, example.read(name))

    def register(self, name: str, expression: Expression) -> None:
        made = self.detector.register(expression)
        self.numbers[name] = made.number
        self.tell([(made, notice) for notice in made.opening])

    def tell(self, told) -> None:
        names = {number: name for name, number in self.numbers.items()}
        for registration, notice in told:
            self.told.append(show_notice(names[registration.number], notice))
            if isinstance(notice, Result) and notice.events is not None:
                self.events.append(show_occurrence(notice.events))

    def take(self, step: Step) -> None:
        times = {"at": None, "clock": 0}
        if self.example.time == "events":
            times = {"at": None if getattr(step, "at", None) is None else step.at * 1_000_000, "clock": None}
        match step:
            case TypedStep(operator=operator, parameters=parameters):
                found = self.detector.signal(operator, SHOP, parameters, **times)
                assert found.late == step.late
                assert step.matched in (None, found.matched), step
                self.tell(found.told)
            case LeafStep(name=name, path=path, tuples=tuples):
                registration = self.detector.registrations[self.numbers[name]]
                found = self.detector.signal_leaf(registration, read_path(path), tuples, **times)
                assert found.discarded == (() if step.discarded is None else (step.discarded,))
                self.tell(found.told)
            case PartStep(verb="register", name=name):
                self.register(name, self.example.read(name))
            case PartStep(verb="unregister", name=name):
                assert self.detector.unregister(self.numbers[name])
            case PartStep(verb=verb, name=name, path=path):
                registration = self.detector.registrations[self.numbers[name]]
                if verb == "end":
                    self.tell(self.detector.end(registration, read_path(path)))
                else:
                    self.tell(self.detector.fail(registration, read_path(path), "E897", "provider"))
            case GraphStep(kind=kind, labels=labels):
                graph = draw_graph(self.detector.registrations.values())
                nodes = [node for node in graph.nodes if (node.kind == "composite") == (kind == "nodes")]
                shown = (f"{n.label}/{len(n.definitions)}" if len(n.definitions) > 1 else n.label for n in nodes)
                assert tuple(sorted(shown)) == labels
        if self.turn is not None:
            for registration in list(self.detector.registrations.values()):
                self.detector.unregister(registration.number)
                self.detector.add(self.turn(registration))

    def finish(self, steps=None) -> None:
        for step in self.example.steps if steps is None else steps:
            self.take(step)
        assert self.told == list(self.example.expect)
        if self.example.events:
            assert self.events == list(self.example.events)


def name(example: SnoopExample) -> str:
    return example.number


@pytest.mark.parametrize("example", GOOD, ids=name)
def test_an_example_in_process(example: SnoopExample) -> None:
    Run(example).finish()


@pytest.mark.parametrize("example", GOOD, ids=name)
def test_an_example_restored_after_every_step(example: SnoopExample) -> None:
    Run(example, lambda registration: Registration.restore(registration.snapshot())).finish()


@pytest.mark.parametrize("example", [e for e in GOOD if e.permute], ids=name)
def test_an_example_in_every_order(example: SnoopExample) -> None:
    for steps in permutations(example.steps):
        Run(example).finish(steps)


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("example", GOOD, ids=name)
def test_expressions_of_examples_in_every_notation(example: SnoopExample, notation: str) -> None:
    for each in example.expressions:
        expression = checked(example.read(each))
        assert checked(NOTATIONS[notation](expression)) == expression


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.error], ids=name)
def test_an_example_that_is_refused(example: SnoopExample) -> None:
    detector = Detector(time="events")
    with pytest.raises(EtalisError) as found:
        detector.register(example.read("A"))
    assert {problem.code for problem in found.value.problems} == set(example.error.split())
    assert example.says in str(found.value)
    assert not detector.registrations
    assert len(detector.index) == 0


def test_the_examples_are_those_of_the_service() -> None:
    numbers = {int("".join(c for c in example.number if c.isdigit())) for example in EXAMPLES}
    assert numbers >= set(range(1, 22)) | {26, 27}
