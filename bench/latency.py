"""How long one `push` takes on W1: alone, while many instances open, and with them open; what the longest waited for.

Every push is timed alone. Causes are looked up, not guessed: garbage collections report themselves, the system counts
how often it took the processor away and gave memory, and a second run over the same stream looks at the sizes of the
stores around the slowest pushes.
"""

from __future__ import annotations

import gc
import sys
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from resource import RUSAGE_SELF, getrusage

from ratio import new_engine
from streams import Row, Workload

import etalis

SLOW = 60_000  # nanoseconds
WORST = 5
TAKEN_AWAY = "the processor was taken away"
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class Pause:
    """One slow push: its microseconds and what it waited for."""

    microseconds: float
    cause: str


@dataclass
class Latency:
    """Microseconds at some shares of all pushes, the slowest, and how many slow ones have which cause.

    `worst` are the slowest but for those that only lost the processor to others.
    """

    title: str
    shares: dict[str, float]
    worst: list[Pause]
    slow: Counter[str] = field(default_factory=Counter)


@dataclass
class Record:
    """Per push: nanoseconds, how often the processor was taken away, pages of memory given; and the collections."""

    taken: array[int]
    switches: array[int]
    pages: array[int]
    collections: dict[int, tuple[int, int]]


def measure(workload: Workload, opened: int) -> list[Latency]:
    """Time every push of the stream, of `opened` instances that stay open, and of the stream after these."""
    opening = [("a", -1 - number, 0, number) for number in range(opened)]
    rows = list(workload.rows())
    later = [(kind, key, value, at + opened) for kind, key, value, at in rows]
    return [
        watch(f"{0:,}", workload, (), rows),
        watch(f"{0:,} to {opened:,}", workload, (), opening),
        watch(f"{opened:,}", workload, opening, later),
    ]


def watch(title: str, workload: Workload, before: Sequence[Row], rows: Sequence[Row]) -> Latency:
    """Time every push of some rows, after others, and look up what the slow ones waited for."""
    record = time_each(filled(workload, before), rows)
    taken = record.taken
    order = sorted(range(len(rows)), key=taken.__getitem__)
    slow = [i for i in order if taken[i] > SLOW]
    looked = {*slow, *[i for i in order if not record.switches[i]][-WORST:]}
    resized = find_resizes(filled(workload, before), rows, looked)
    causes = {i: name_cause(i, record, resized) for i in looked}
    own = [i for i in order if i in causes and causes[i] != TAKEN_AWAY][-WORST:]
    shares = {name: taken[order[int(share * len(rows))]] / 1e3 for name, share in SHARES.items()}
    shares["max"] = taken[order[-1]] / 1e3
    worst = [Pause(taken[i] / 1e3, causes[i]) for i in reversed(own)]
    return Latency(title, shares, worst, Counter(causes[i].split(",")[0] for i in slow))


def filled(workload: Workload, before: Sequence[Row]) -> etalis.Engine:
    """Return an engine that has taken some rows."""
    engine = new_engine(workload)
    for kind, key, value, at in before:
        engine.push(kind, key, value, at=at)
    gc.collect()
    return engine


def time_each(engine: etalis.Engine, rows: Sequence[Row]) -> Record:
    """Time every push alone."""
    push, clock = engine.push, time.perf_counter_ns
    zeros = bytes(8 * len(rows))
    record = Record(array("q", zeros), array("q", zeros), array("q", zeros), {})
    number = began = 0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = clock()
        else:
            record.collections[number] = (info["generation"], clock() - began)

    before = getrusage(RUSAGE_SELF)
    gc.callbacks.append(note)
    try:
        for number, (kind, key, value, at) in enumerate(rows):
            started = clock()
            push(kind, key, value, at=at)
            record.taken[number] = clock() - started
            now = getrusage(RUSAGE_SELF)
            record.switches[number] = now.ru_nivcsw - before.ru_nivcsw
            record.pages[number] = now.ru_minflt - before.ru_minflt
            before = now
    finally:
        gc.callbacks.remove(note)
    return record


def find_resizes(engine: etalis.Engine, rows: Sequence[Row], looked: set[int]) -> dict[int, str]:
    """Return which of some pushes made a store grow, by doing them again."""
    stores = [store for store in engine.core.rules.memory.values() if isinstance(store, dict)]
    push = engine.push
    found = {}
    for number, (kind, key, value, at) in enumerate(rows):
        if number not in looked:
            push(kind, key, value, at=at)
            continue
        before = [sys.getsizeof(store) for store in stores]
        push(kind, key, value, at=at)
        after = [sys.getsizeof(store) for store in stores]
        changed = [f"{a / 1e6:.1f} to {b / 1e6:.1f} MB" for a, b in zip(before, after, strict=True) if a != b]
        if changed:
            found[number] = changed[0]
    return found


def name_cause(number: int, record: Record, resized: dict[int, str]) -> str:
    """Say what a slow push waited for."""
    generation, spent = record.collections.get(number, (None, 0))
    if generation is not None and spent > record.taken[number] / 2:
        return f"collection of generation {generation}, {spent / 1e3:.0f} us of it"
    if number in resized:
        return f"a store was resized, {resized[number]}"
    if record.switches[number]:
        return TAKEN_AWAY
    if record.pages[number]:
        return f"the system gave memory, {record.pages[number]} pages"
    return "not seen from inside"
