"""How late and how far ahead rows of a stream may be: by arguments, the program's flags, or the DataFrames."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from etalis.language.flags import UNBOUNDED, Settings
from etalis.spark.durations import to_duration
from etalis.spark.stream.marks import Ahead
from etalis.tables.column_types import MOMENTS, STRINGS
from etalis.tables.schema import Frame, refuse

NONE = "none"
HOUR = 3600 * 10**6
_DELAY = "spark.watermarkDelayMs"  # where Spark notes the delay of `withWatermark`, with the column
_LOG = logging.getLogger("etalis.spark")


def find_lateness(settings: Settings, given: Any, frames: Sequence[Any], plans: Sequence[Frame]) -> int:
    """Return how late rows may be, in microseconds: as given, else by `withWatermark`, else by the flag, else 0."""
    own = settings.lateness or 0
    if given is not None:
        own = to_duration("lateness", given)
        if any(found for df in frames for found in _watermarks(df)):
            _LOG.warning("lateness=%r goes before the delay of withWatermark", given)
    else:
        delays = [delay for df, plan in zip(frames, plans, strict=False) for delay in _delays(df, plan)]
        own = max(delays, default=own)
    if own >= UNBOUNDED:
        hint = 'say how late rows may be: lateness="10 minutes", or the flag ooo_window'
        raise refuse("E605", "out_of_order is on, but nothing says how late rows may be", hint)
    return own


def _delays(df: Any, plan: Frame) -> Iterator[int]:
    """Yield the delay of `withWatermark` on a DataFrame, which must be on its column of time."""
    for column, delay in _watermarks(df):
        if column.casefold() not in {name.casefold() for name in plan.times}:
            message = f"withWatermark is on the column {column}, and {plan.times[-1]} is the time"
            hint = f'put it on {plan.times[-1]}, behind the expression that computes it, or say lateness="10 minutes"'
            raise refuse("E605", message, hint)
        yield delay


def _watermarks(df: Any) -> list[tuple[str, int]]:
    """Return the columns that `withWatermark` is on, and the delays in microseconds.

    Spark hands the delay on with the column, also where it is renamed. A column that is gone by now, or was made into
    another, is found in the plan; behind Spark Connect there is no plan to look at.
    """
    found = [(field.name, field.metadata[_DELAY]) for field in df.schema if _DELAY in field.metadata]
    found = found or list(_planned(getattr(df, "_jdf", None)))
    return [(name, int(delay) * 1000) for name, delay in found]


def _planned(jdf: Any) -> Iterator[tuple[str, int]]:
    waiting = [] if jdf is None else [jdf.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        if node.nodeName() == "EventTimeWatermark":
            delay = node.delay()
            days, rest = delay.extractAsPeriod().getDays(), delay.extractAsDuration().toMillis()
            yield node.eventTime().name(), days * 86_400_000 + rest
        children = node.children()
        waiting += [children.apply(i) for i in range(children.size())]


def find_ahead(settings: Settings, given: Any, plans: Sequence[Frame]) -> Ahead | None:
    """Return how far ahead rows may be: as given, else by the flag, else of time stamps an hour past the wall clock."""
    stamps = (*MOMENTS, *STRINGS)
    is_stamped = all(column_type in stamps for frame in plans for column_type in frame.time_types)
    if given is not None:
        return None if given in (NONE, -1) else Ahead(to_duration("ahead", given), of_clock=is_stamped)
    if settings.max_ahead is not None:
        return Ahead(settings.max_ahead, of_clock=False)
    return Ahead(HOUR, of_clock=True) if is_stamped else None
