"""The worked examples of actions as what a reaction does: in an engine, one that goes on, and in a shard of Spark."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.engine import Engine
from etalis.temporal.event import Event
from etalis.testing.recorded_effects import RecordedEffects
from helpers.spark_shuffle import plan_events, run_shuffled

DATA = tomllib.loads((Path(__file__).parent / "executions.toml").read_text())
EXAMPLES = DATA["example"]
IDS = [f"{example['number']}-{example['action']}" for example in EXAMPLES]


def text_of(example: dict[str, Any]) -> str:
    given = [DATA["programs"][name] for name in example.get("with", ())]
    action = f"r rule: on go do ({example['action']}) seq raise(gone). done <- gone."
    return "\n".join((*given, example.get("program", ""), action))


def compiled(example: dict[str, Any]) -> etalis.Program:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", etalis.ProgramWarning)
        return etalis.compile(text_of(example), name="example")


def facts(engine: Engine) -> list[str]:
    from etalis.testing.backends import facts_in

    return [fact.replace(", ", ",") for fact in map(str, facts_in(engine.core.rules.solver.database.state.facts()))]


def effects_of(path: list[str]) -> list[str]:
    return [step.removeprefix("effect(").removesuffix(")") for step in path if step.startswith("effect(")]


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_an_engine_does_it(example: dict[str, Any], restored: bool) -> None:
    program, sink = compiled(example), RecordedEffects()
    engine = program.engine(effects=sink)
    if restored:
        engine = program.restore(engine.snapshot(), effects=sink)
    found = engine.push("go", at=1)
    if restored:
        engine = program.restore(engine.snapshot(), effects=sink)
    assert facts(engine) == example["state"]
    if "failed" not in example:
        assert [event.name for event in found] == ["done"]
        assert sink.lines == effects_of(example["path"])
        return
    assert found == ()
    assert sink.lines == []
    if not restored:
        (failure,) = engine.errors
        assert isinstance(failure, etalis.errors.Failure)
        assert (failure.failed, list(failure.reached)) == (example["failed"], example["reached"])
        assert failure.why == example.get("why", "no execution")


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_a_shard_does_it(example: dict[str, Any]) -> None:
    program, events = compiled(example), [Event.make("go", (), 1, 1)]
    plan = plan_events(program, events, policy=None, shards=1, ordered=True, staged=True)
    assert plan is not None
    found = run_shuffled(plan, events, ordered=True)
    assert [row[0] for row in found] == ([] if "failed" in example else ["done"])
