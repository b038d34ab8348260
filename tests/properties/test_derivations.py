"""All derivations of events of small random streams: each passes the checker, the first is the one that is told."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.language.read.modules import load
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.justifications import checker_of, recorded

PROGRAMS = (
    "c <- a seq b. c <- x seq b.",
    "c <- a and b. c <- b seq d.",
    "m <- a. m <- b. c <- m seq d. c <- a seq m.",
    "c <- a seq b star_times seq d. c <- a or d.",
    "c <- (a seq b) cnot x. c <- a seq x.",
    "c <- a seq (not b within 3). c <- d.",
    "c(N) <- a seq aggregate(count, b, N). c(1) <- d.",
    "exceptionAlarm(c, 2) <- a. c <- b.",
    "c <- any(2, [a, b, d]). c <- iso(a seq b).",
    "r <- a do event(x). c <- x seq b. c <- r seq b.",
)
LATER = "it came before a part of it"  # as a derivation may that is not the first


@pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", PROGRAMS)
def test_derivations_are_right(text: str, policy: str) -> None:
    generator = random.Random(f"{text} {policy}")
    tree, program = load(text), etalis.compile(text)
    for _ in range(12):
        time, events = 0, []
        for _ in range(generator.randint(2, 8)):
            time += generator.choice([0, 0, 1, 1, 2])
            events.append(Event.make(generator.choice("abdx"), (), time * 1_000_000, time * 1_000_000))
        engine = program.engine(policy=policy, justification="full")
        found = [*engine.run(events), *engine.close()]
        checker = checker_of(tree, recorded(tree, events, policy), policy)
        for event in found:
            first, *others = engine.justify(event, all=True)
            assert str(first) == str(engine.justify(event))
            assert checker.check(first) is None
            assert {None if (wrong := checker.check(one)) is None else wrong.reason for one in others} <= {None, LATER}
            assert len({str(one) for one in others}) == len(others)
