"""Reactions follow corrections: what was done and not undone is what the corrected history asks for."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.engine import Engine
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.testing.recorded_effects import RecordedEffects
from helpers.examples import by_day

pytestmark = pytest.mark.property

SECOND = 1_000_000
OF_INPUTS = (
    "a(X, I) seq b(X, J)", "(a(X, I) seq b(X, J)) within 3", "a(X, I) and b(X, J)", "(a(X, I) or b(X, I)) where J = 0",
    "(a(X, I) seq b(X, J)) cnot a(X, _)", "d(X, I) seq b(X, J)", "(a(X, I) seq (not b(X, _) within 2)) where J = 0",
)  # fmt: skip
BEHIND_C = (
    "a(X, I) seq c(X, J)",
    "c(X, I) where J = 0",
    "(a(X, I) seq b(X, J)) cnot c(X, _)",
    "c(X, I) and d(X, J)",
)
BEHIND_E = ("a(X, I) seq e(X, J)", "e(X, I) where J = 0", "c(X, I) and e(X, J)", "(c(X, I) seq b(X, J)) cnot e(X, _)")
RULES = "d(X, p(I, J)) <- a(X, I) seq b(X, J).\n"


def programs(random: Random, flags: str) -> tuple[str, str]:
    """Return a program whose reactions write down their matches, and one whose rules derive these."""
    levels = [
        (random.choice(OF_INPUTS), "c"),
        (random.choice(OF_INPUTS), "c"),
        (random.choice(BEHIND_C), "e"),
        (random.choice(BEHIND_E), ""),
    ]
    head = ":- set_flag(event_consumption_policy, unrestricted).\n"
    reacting, plain = f"{head}{flags}:- state did/3.\n{RULES}", head + RULES
    for number, (pattern, raised) in enumerate(random.sample(levels, random.randint(1, 4))):
        what = f" seq raise({raised}(X, m({number}, I, J)))" if raised else ""
        effect = f" seq effect(tell({number}, I, J))" if random.random() < 0.5 else ""
        action = f"ins(did({number}, I, J)){effect}{what}"
        reacting += f"r{number} rule: on {pattern} do {action} undo del(did({number}, I, J)).\n"
        plain += f"did({number}, I, J) <- {pattern}.\n"
    return reacting, plain


def did(events: list[Event]) -> list[str]:
    return sorted({str(event.atom) for event in events if event.name == "did"})


def facts(engine: Engine) -> list[str]:
    return sorted(str(Event.make("did", (r["K"], r["I"], r["J"]), 1, 1).atom) for r in engine.query("did(K, I, J)"))


def expected(engine: Engine, plain: str, inputs: list[Event], until: int | None) -> list[str]:
    """What the patterns match in the inputs that stand and the events that were raised and stand."""
    raised = [Event.make(*what) for t in engine.core.ledger.all() if t.state == "done" for what in t.raised]
    stream = sorted([*inputs, *raised], key=lambda event: (event.end_time, event.start_time))
    return did(semantics.run(parse(plain), stream, until=until))


def compiled(text: str) -> etalis.Program:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", etalis.ProgramWarning)
        return etalis.compile(text)


def check(engine: Engine, sink: RecordedEffects, plain: str, inputs: list[Event], until: int | None = None) -> None:
    """Facts are the matches that stand, and the effects that stand are those of facts."""
    assert facts(engine) == expected(engine, plain, inputs, until)
    standing: list[str] = []
    for line in sink.lines:
        if line.startswith("-"):
            standing.remove(line[1:])
        else:
            standing.append(line)
    told = {line.removeprefix("tell(").removesuffix(")").replace(" ", "") for line in standing}
    assert len(told) == len(standing)
    known = {fact.removeprefix("did(").removesuffix(")").replace(" ", "") for fact in facts(engine)}
    assert told <= known
    assert all(fact in told for fact in known if any(line.startswith(f"tell({fact[0]},") for line in sink.lines))


def event(random: Random, number: int, at: int) -> tuple[str, tuple[Any, ...], int]:
    return random.choice("aabb"), (random.randint(1, 2), number), at


@by_day(8)
@given(st.integers(0, 1 << 40))
def test_what_is_retracted_is_undone(seed: int) -> None:
    random = Random(seed)
    flags = ":- set_flag(revision_flag, on).\n:- set_flag(revision_window, 1000).\n"
    text, plain = programs(random, flags)
    note(text)
    sink = RecordedEffects()
    program = compiled(text)
    engine, inputs, now = program.engine(effects=sink), list[Event](), 0
    for number in range(random.randint(2, 9)):
        if inputs and random.random() < 0.35:
            gone = inputs.pop(random.randrange(len(inputs)))
            engine.retract(gone.name, *gone.args, at=gone.end_time // SECOND)
        else:
            now += random.choice((0, 1, 1, 2))
            name, args, at = event(random, number, now)
            engine.push(name, *args, at=at)
            inputs.append(Event.make(name, args, at * SECOND, at * SECOND))
        note(str(inputs))
        if random.random() < 0.2:
            engine = program.restore(engine.snapshot(), effects=sink)
    engine.close()
    check(engine, sink, plain, inputs)


@by_day(8)
@given(st.integers(0, 1 << 40))
def test_late_events_are_followed(seed: int) -> None:
    random = Random(seed)
    flags = ":- set_flag(out_of_order, on).\n:- set_flag(reporting, on_arrival).\n:- set_flag(ooo_window, 6).\n"
    text, plain = programs(random, flags)
    note(text)
    sink = RecordedEffects()
    program = compiled(text)
    engine, inputs, now = program.engine(effects=sink), list[Event](), 6
    for number in range(random.randint(2, 9)):
        now += random.choice((0, 1, 1, 2))
        name, args, at = event(random, number, now - random.choice((0, 0, 0, 1, 2, 4)))
        engine.push(name, *args, at=at)
        inputs.append(Event.make(name, args, at * SECOND, at * SECOND))
        note(str(inputs))
        if random.random() < 0.2:
            engine = program.restore(engine.snapshot(), effects=sink)
    engine.close()
    check(engine, sink, plain, inputs)
