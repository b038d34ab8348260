"""Events that are spied upon: what is written."""

from __future__ import annotations

from etalis.runtime.reporting.spying import show_first
from etalis.temporal.event import EventKind


def test_an_event_is_written_before_it_is_processed() -> None:
    done: list[str] = []
    raw = (5_000_000, 5_000_000, EventKind("seen", 2), "ann", 3, "what it is made of")
    show_first(("seen", 2), done.append, lambda raw: done.append("processed"))(raw)
    assert done == ["seen(ann, 3) [5, 5]\n", "processed"]
