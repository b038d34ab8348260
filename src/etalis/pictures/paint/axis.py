"""The axis of time lines: where a time falls, and which moments are marked, at round distances that fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from etalis.temporal.interval import CLOCK_FROM, EARLIEST, LATEST, MICROSECONDS, to_datetime, to_iso, to_seconds

_DAY = 86_400 * MICROSECONDS
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200)


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a time falls: `first` in column 0, `last` in the last of `columns`; and whether times are `dates`."""

    first: int
    last: int
    columns: int
    dates: bool = False

    def column(self, time: int) -> int:
        """Return the column of a time.

        >>> [Scale(0, 100, 11).column(t) for t in (0, 49, 100)]
        [0, 5, 10]
        """
        span = self.last - self.first
        return 0 if span == 0 else (2 * (time - self.first) * (self.columns - 1) + span) // (2 * span)

    @property
    def unit(self) -> str:
        """What stands beside the axis: seconds, or the day."""
        if not self.dates:
            return "seconds"
        days = (to_datetime(self.first), to_datetime(self.last))
        return f"{days[0]:%Y-%m-%d} UTC" if days[0].date() == days[1].date() else "UTC"


def are_dates(first: int, last: int, asked: bool | None) -> bool:
    """Tell whether times are written as dates: if nothing is said, those after 1973 are, within the years 1 to 9999."""
    return first >= EARLIEST and last <= LATEST and (first >= CLOCK_FROM if asked is None else asked)


def write_moment(time: int, dates: bool) -> str:
    """Write a time in a text.

    >>> write_moment(1_500_000, False), write_moment(1_500_000, True)
    ('1.5', '1970-01-01T00:00:01.500000Z')
    """
    return to_iso(time) if dates and EARLIEST <= time <= LATEST else str(to_seconds(time))


def write_interval(start: int, end: int, dates: bool) -> str:
    """Write an interval in a text."""
    return f"[{write_moment(start, dates)}, {write_moment(end, dates)}]"


def find_ticks(scale: Scale) -> list[tuple[int, str]]:
    """Return the times to mark, as many as fit."""
    steps = _clock_steps(scale) if scale.dates else _decimal_steps()
    for step in steps:
        start = -(-scale.first // step) * step
        if (scale.last - start) // step > scale.columns:
            continue
        ticks = [(time, _label(time, step, scale)) for time in range(start, scale.last + 1, step)]
        if sum(len(text) + 3 for _, text in ticks) <= scale.columns or len(ticks) < 2:
            return ticks or [(scale.first, _label(scale.first, 1, scale))]
    raise AssertionError("a step longer than the span always fits")


def _decimal_steps() -> Iterable[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def _clock_steps(scale: Scale) -> Iterable[int]:
    if scale.last - scale.first < scale.columns * MICROSECONDS // 10:
        yield from (s for s, _ in zip(_decimal_steps(), range(18), strict=False))
    yield from (step * MICROSECONDS for step in _CLOCK_STEPS)
    yield from (_DAY * step for step in _decimal_steps())


def _label(time: int, step: int, scale: Scale) -> str:
    if not scale.dates:
        return f"{to_seconds(time):g}" if abs(time) < 10**12 else str(to_seconds(time))
    moment = datetime.fromtimestamp(time // MICROSECONDS, UTC)
    if step >= _DAY:
        return f"{moment:%Y-%m-%d}"
    if step < MICROSECONDS:
        return f"{moment:%H:%M:%S}.{time % MICROSECONDS:06d}".rstrip("0").rstrip(".")
    if scale.last - scale.first > _DAY:
        return f"{moment:%m-%d %H:%M}"
    return f"{moment:%H:%M:%S}" if step % (60 * MICROSECONDS) else f"{moment:%H:%M}"
