"""W9: a chain of rules e2(Id) <- e1(Id), e3(Id) <- e2(Id), ...: time to compile, and derived events per second."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from ratio import WrongAnswerError

import etalis


@dataclass(frozen=True)
class Chain:
    """Seconds until an engine stands, and how fast it derives."""

    rules: int
    compile: float
    engine: float
    derived: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.derived / self.seconds


def measure(rules: int, starts: int) -> Chain:
    """Compile a chain and push the events that start it."""
    text = "\n".join(f"e{k + 1}(Id) <- e{k}(Id)." for k in range(1, rules + 1))
    gc.collect()
    began = time.perf_counter()
    program = etalis.compile(text)
    compiled = time.perf_counter()
    engine = program.engine()
    ready = time.perf_counter()
    count = 0
    for number in range(starts):
        matches = engine.push("e1", number, at=number)
        count += len(matches)
        if matches[-1].atom != f"e{rules + 1}({number})":
            raise WrongAnswerError(f"W9: the chain ends with {matches[-1]!r}")
    seconds = time.perf_counter() - ready
    if count != rules * starts:
        raise WrongAnswerError(f"W9: {count} derived events, not {rules * starts}")
    return Chain(rules, compiled - began, ready - compiled, count, seconds)
