"""Whether cost stays flat: W1 on a stream ten times as long, seconds per event and memory.

Streams are taken in blocks that are read before they are timed, so that memory shows the engine and not the stream.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

import memory
from memory import Memory, windowed
from ratio import WrongAnswerError, new_engine
from streams import Workload, prepare

SETTINGS = (("chronological", ""), ("unrestricted", "1000"))
BLOCK = 100_000


@dataclass(frozen=True)
class Flat:
    """Microseconds per event on the short and on the long stream, and what the long one needs in memory."""

    policy: str
    window: str
    short: float
    long: float
    memory: Memory

    @property
    def ratio(self) -> float:
        return self.long / self.short


def measure(events: int, times: int, repetitions: int) -> list[Flat]:
    """Measure W1 on `events` and on `times` as many."""
    return [_measure(policy, window, events, times, repetitions) for policy, window in SETTINGS]


def _measure(policy: str, window: str, events: int, times: int, repetitions: int) -> Flat:
    short, long = (windowed(prepare("W1", n), policy, window) for n in (events, times * events))
    found = [(time_blocks(short, window), time_blocks(long, window)) for _ in range(repetitions)]
    watched = memory.measure("W1", times * events, policy, window)
    return Flat(
        policy, window, per_event([s for s, _ in found], short), per_event([x for _, x in found], long), watched
    )


def per_event(found: list[list[float]], workload: Workload) -> float:
    """Return the microseconds per event: of every block the best of all repetitions."""
    return sum(map(min, zip(*found, strict=True))) / workload.events * 1e6


def time_blocks(workload: Workload, window: str) -> list[float]:
    """Return the seconds that `push` takes for each block, its matches counted and checked."""
    push = new_engine(workload).push
    seconds = []
    count = wanted = 0
    opened: dict[int, int] = {}
    for block in workload.blocks(BLOCK):
        wanted += expected(block, opened, int(window) if window else workload.events)
        gc.collect()
        started = time.perf_counter()
        for kind, key, value, at in block:
            for _ in push(kind, key, value, at=at):
                count += 1
        seconds.append(time.perf_counter() - started)
    if count != wanted:
        raise WrongAnswerError(f"{workload.name} under {workload.policy}: {count} matches, not {wanted}")
    return seconds


def expected(block: list[tuple[str, int, int, int]], opened: dict[int, int], window: int) -> int:
    """Count the instances that end in a block and are no longer than the window."""
    count = 0
    for kind, key, _, at in block:
        if kind == "a":
            opened[key] = at
        elif kind == "c":
            count += at - opened.pop(key) <= window
    return count
