"""How much one event looks at: the lines of generated code that it runs, which no machine makes more or fewer."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

import etalis


def lines_run(engine: etalis.Engine, *event: Any, at: int) -> int:
    """Return how many lines of generated code one event runs through."""
    count = 0

    def watch(frame: FrameType, what: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != "<etalis plan>":
            return None
        count += what == "line"
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        engine.push(*event, at=at)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("parts", ["a(K, X) seq b(K, Y)", "a(K, X) seq b(K, Y) seq c(K, Z)"])
def test_what_a_blocker_has_ended_is_not_looked_at_again(parts: str) -> None:
    def work(pairs: int) -> int:
        program = etalis.compile(f"found(K) <- (({parts} seq last(K, _)) within 1 d) cnot stop(K).")
        engine = program.engine(policy="unrestricted")
        for i in range(pairs):
            for part in range(parts.count("(")):
                engine.push("abc"[part], "k", i, at=5 * i + part + 1)
        engine.push("stop", "k", at=5 * pairs)
        engine.push("last", "k", 1, at=5 * pairs + 1)
        return lines_run(engine, "last", "k", 2, at=5 * pairs + 2)

    assert 0 < work(12) <= work(6) + 2
