"""Events that change facts: what is done first."""

from __future__ import annotations

from typing import Any

from etalis.runtime.record.learning import learn_first, record_first

RAW = (5_000_000, 5_000_000, None, "ann", 3)


def test_facts_change_before_the_event_is_processed() -> None:
    done: list[Any] = []
    learn_first(2, lambda row: done.append(("changed", row)), lambda raw: done.append(("processed", raw)))(RAW)
    assert done == [("changed", ("ann", 3)), ("processed", RAW)]


def test_a_change_is_recorded_before_it_is_made() -> None:
    done: list[Any] = []
    learn = learn_first(1, lambda row: done.append(("changed", row)), lambda raw: None)
    record_first(1, lambda raw, row: done.append(("recorded", len(row))), learn)(RAW)
    assert done == [("recorded", 1), ("changed", ("ann",))]
