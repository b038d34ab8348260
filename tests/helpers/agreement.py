"""One program over one stream: columns against the engine, for several cuts into batches."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun, run_on
from etalis.engine import Engine
from etalis.plan.types import Types
from etalis.temporal.event import Event

compiled = lru_cache(8)(etalis.compile)  # for several streams


def check(text: str, events: list[Event], policy: str | None = None) -> bool:
    """Compare what both give, errors too, and tell whether all rules ran over columns."""
    program = compiled(text)
    engine = program.engine(policy=policy)
    pushed = [e for event in events for e in engine.push(event.name, *event.args, at=(event.start, event.end))]
    pushed.extend(engine.close())
    types = find_types([event for event in events if "null" not in event.args])
    for size in (3, len(events)):
        run = ColumnRun(program.compiled, types, policy=policy)
        found = [e for low in range(0, len(events), size) for e in run.process(gather(events[low : low + size], types))]
        found.extend(run.close())
        assert found == pushed, f"{text} under {policy}, {size} rows at a time"
        assert Counter(map(str, run.errors)) == Counter(map(str, engine.errors))
    check_carried(program.engine(policy=policy), events, types, pushed)
    return not run.at_a_time


def check_carried(engine: Engine, events: list[Event], types: Types, expected: list[Event]) -> None:
    """Take some stretches over columns and the others by push, with one engine or one restored from it, and compare."""
    found: list[Event] = []
    size = max(5, len(events) // 6)
    for number, low in enumerate(range(0, len(events), size)):
        part = events[low : low + size]
        if number % 4 == 3:
            engine = engine.program.restore(engine.snapshot())
        if number % 3 == 1:
            found += [e for event in part for e in engine.push(event.name, *event.args, at=(event.start, event.end))]
            continue
        run = run_on(engine, types)
        run.load()
        found += run.process(gather(part, types))
        run.save()
    found += engine.close()
    assert Counter(found) == Counter(expected), f"{engine.program.compiled.rules} go on from columns"
