"""What jobs on Spark count: events by name, of which no rule reads some, and errors of conditions by kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from etalis.errors import Problem
from etalis.runtime.reporting.report import FailedGoals
from etalis.spark.plan.shards import quoted
from etalis.tables.schema import Frame

_VALUES = re.compile(r" with \w+ = .*", re.DOTALL)
_NAMED = "came"
_OTHERS, _FIRST, _LAST = "others", "first", "last"


def count_events(frames: Sequence[Any], plans: Sequence[Frame]) -> tuple[Counter[str], Counter[str]]:
    """Count events by name, those that rules read and the others, by a job for each frame."""
    came: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for df, frame in zip(frames, plans, strict=True):
        tags = {layout.tag for layout in frame.layouts}
        if frame.event is None:
            came.update({tag: df.count() for tag in tags})
            continue
        for name, count in df.groupBy(df[quoted(frame.event)]).count().collect():
            if name is not None:
                (came if name in tags else unread)[name] += count
    return came, unread


def observed_events(frame: Frame) -> list[Any]:
    """Return what is counted while rows pass: all, each event that rules read, the others with two of their names."""
    from pyspark.sql import functions as f

    columns = [f.count(f.lit(1)).alias("rows")]
    if frame.event is None:
        return columns
    named = f.col(quoted(frame.event))
    tags = [layout.tag for layout in frame.layouts]
    columns += [f.count(f.when(named == tag, 1)).alias(f"{_NAMED}{i}") for i, tag in enumerate(tags)]
    other = f.when(~named.isin(tags), named)
    return [*columns, f.count(other).alias(_OTHERS), f.min(other).alias(_FIRST), f.max(other).alias(_LAST)]


def read_observed(found: Mapping[str, Any], frame: Frame) -> tuple[Counter[str], Counter[str]]:
    """Return the events that rules read, by name, and the others; of several names the first and last stand for all."""
    tags = [layout.tag for layout in frame.layouts]
    if frame.event is None:
        return Counter(dict.fromkeys(tags, int(found["rows"] or 0))), Counter()
    came = Counter({tag: int(found[f"{_NAMED}{i}"] or 0) for i, tag in enumerate(tags)})
    first, last = found[_FIRST], found[_LAST]
    name = first if first == last else f"{first} ... {last}"
    return came, Counter({name: int(found[_OTHERS])} if found[_OTHERS] else {})


def count_errors(errors: Any) -> tuple[FailedGoals, ...]:
    """Count the errors of conditions; those that differ in values alone are of one kind."""
    kinds: dict[str, tuple[str, int]] = {}
    for row in errors.groupBy("message").count().collect():
        kind = _VALUES.sub("", row["message"])
        first, count = kinds.get(kind, (row["message"], 0))
        kinds[kind] = first, count + row["count"]
    return tuple(FailedGoals(Problem("E501", _message(first)), count) for first, count in kinds.values())


def _message(text: str) -> str:
    """Return what an error says, without its place and code."""
    return text.splitlines()[0].partition("error E501: ")[2] or text.splitlines()[0]
