"""W9: a chain of rules e2(Id) <- e1(Id), e3(Id) <- e2(Id), ...: time to compile, to derive, and to take back."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from ratio import WrongAnswerError
from streams import chain_of

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


def take_back(lengths: tuple[int, ...], rounds: int) -> dict[int, float]:
    """Retract the event that starts a chain; return the best seconds by the number of events derived from it."""
    engines = {length: etalis.compile(chain_of(length), revision_flag="on").engine() for length in lengths}
    best = dict.fromkeys(lengths, float("inf"))
    for at in range(rounds):
        for length, engine in engines.items():
            made = len(engine.push("e1", at, at=at))
            gc.collect()
            began = time.process_time()
            gone = engine.retract("e1", at, at=at)
            best[length] = min(best[length], time.process_time() - began)
            if made != length or sum(change.sign for change in gone) != -length:
                raise WrongAnswerError(f"W9: {made} made and {len(gone)} taken back, not {length}")
    return best


def measure(rules: int, starts: int) -> Chain:
    """Compile a chain and push the events that start it."""
    text = chain_of(rules)
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
