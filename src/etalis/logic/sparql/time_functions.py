"""Functions of time: the parts of a dateTime, and the interval of a group, whose two ends come in seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.numbers import number
from etalis.logic.sparql.times import (
    DAY_TIME_DURATION,
    LONGEST_TIME,
    DurationLiteral,
    MomentLiteral,
    as_seconds,
    moment_parts,
    write_duration,
    write_moment,
    zone_text,
)
from etalis.logic.sparql.values import Known


def _moment(known: Known) -> MomentLiteral:
    if isinstance(known, MomentLiteral):
        return known
    raise ExpressionError("no dateTime")


def _part(place: int) -> Callable[[Known], Known]:
    return lambda a: moment_parts(_moment(a))[place]


def _zone(a: Known) -> DurationLiteral:
    zone = _moment(a).zone
    if zone is None:
        raise ExpressionError("no zone")
    return write_duration(Fraction(zone * 60), DAY_TIME_DURATION)


def _end(a: Known) -> Fraction:
    """Return an end of an interval exactly."""
    seconds = number(a)
    if not -LONGEST_TIME < seconds < LONGEST_TIME:
        raise ExpressionError("no moment")
    return as_seconds(seconds)


def _start_time(start: Known, _end_given: Known) -> MomentLiteral:
    return write_moment(_end(start))


def _end_time(_start_given: Known, end: Known) -> MomentLiteral:
    return write_moment(_end(end))


def _length(start: Known, end: Known) -> DurationLiteral:
    return write_duration(_end(end) - _end(start))


PARTS: Mapping[str, Callable[[Known], Known]] = MappingProxyType(
    {
        **{name: _part(i) for i, name in enumerate(("year", "month", "day", "hours", "minutes", "seconds"))},
        "timezone": _zone,
        "tz": lambda a: zone_text(_moment(a)),
    }
)
ENDS: Mapping[str, Callable[[Known, Known], Known]] = MappingProxyType(
    {"getduration": _length, "getstarttime": _start_time, "getendtime": _end_time}
)
