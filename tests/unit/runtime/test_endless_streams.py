"""What an engine keeps does not grow with its stream, where windows bound it and matches are dropped."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

import etalis

PROGRAMS = {
    "a sequence": ("d(K, X, Y) <- (a(K, X) seq b(K, Y)) within 50.", "unrestricted"),
    "one partner each": ("d(K, X, Y) <- (a(K, X) seq b(K, Y)) within 50.", "chronological"),
    "the last of each key": ("d(K, X, Y) <- a(K, X) seq b(K, Y).", "recent"),
    "keys that never come again": ("d(X) <- (a(_, X) seq b(_, X)) within 50.", "unrestricted"),
    "derived events": (
        "s(K, X, Y) <- (a(K, X) seq a(K, Y)) within 50.\nd(K, X) <- (s(K, X, Y) meets s(K, Y, _)) within 90.",
        "chronological",
    ),
    "a window of time": ("d(K, S) <- aggregate(sum(X), a(K, X), S) within 50.", "unrestricted"),
    "a window of elements": ("d(K, S) <- aggregate(max(X), a(K, X), S) last 20.", "unrestricted"),
    "an absence after": ("d(K) <- a(K, _) seq (not b(K, _) within 20).", "unrestricted"),
    "an absence between": ("d(K) <- ((a(K, X) seq b(K, _)) within 50) cnot c(K, X).", "unrestricted"),
    "a repetition": ("d(K) <- (a(K, _) seq b(K, _) star_times seq c(K, _)) within 50.", "chronological"),
    "no rule that reads it": ("d(K) <- z(K).", "unrestricted"),
}
WITHOUT_MATCHES = ("keys that never come again", "no rule that reads it")
FIRST, MORE = 1_500, 3_000
SLACK = 50_000  # bytes, less than a tenth of what the further events would take


def stream(begin: int, end: int) -> Iterator[tuple[Any, ...]]:
    """Yield events of seven keys, the last attribute of each its own."""
    for i in range(begin, end):
        yield "aabbc"[i * 7 % 5], f"k{i % 7}", i, i


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_does_not_grow_with_the_stream(name: str) -> None:
    text, policy = PROGRAMS[name]
    engine = etalis.compile(text).engine(policy=policy)
    kept = []
    tracemalloc.start()
    try:
        for begin, end in ((0, FIRST), (FIRST, FIRST + MORE)):
            matches = sum(1 for _ in engine.run(stream(begin, end)))
            gc.collect()
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert bool(matches) == (name not in WITHOUT_MATCHES)
    assert kept[1] - kept[0] < SLACK, f"{kept[1] - kept[0]} bytes more after {MORE} events"
