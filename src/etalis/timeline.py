"""A time line for the terminal: events received above, matches below, one axis for both.

Few events get a row each, labelled with their atom; many are gathered into one lane per kind, where a column that
holds several shows how many. Nothing is drawn outside the width asked for; an event is in the column of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.cells import cell_len, chop_cells

from etalis.temporal.event import Event
from etalis.temporal.interval import CLOCK_FROM, EARLIEST, LATEST, MICROSECONDS, to_datetime, to_seconds

ROWS = 20
NARROWEST = 40
_DAY = 86_400 * MICROSECONDS
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200)


@dataclass(frozen=True, slots=True)
class Marks:
    """How one sort of event is drawn: an instant, and an interval from left to right."""

    kind: str
    instant: str
    left: str
    line: str
    right: str


RECEIVED = Marks("received", "●", "├", "─", "┤")
MATCHED = Marks("match", "◆", "┣", "━", "┫")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the picture; kind is `axis`, `received` or `match`, for whoever colours it."""

    kind: str
    text: str


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


def draw_timeline(
    received: Iterable[Event], matches: Iterable[Event], *, width: int = 100, dates: bool | None = None
) -> list[Line]:
    """Draw events and matches over one axis; if nothing is said of times, those after 1973 are `dates`.

    >>> inputs = [Event.make("a", (1,), 0, 0), Event.make("b", (1,), 4_000_000, 4_000_000)]
    >>> for line in draw_timeline(inputs, [Event.make("c", (1,), 0, 4_000_000)], width=40):
    ...     print(line.text)
    seconds │ 0      1       2      3      4
            └─┴──────┴───────┴──────┴──────┴
       a(1) │ ●
       b(1) │                              ●
            │
       c(1) │ ┣━━━━━━━━━━━━━━━━━━━━━━━━━━━━┫
    """
    above, below = _rows(list(received), RECEIVED), _rows(list(matches), MATCHED)
    events = [event for _, members, _ in above + below for event in members]
    if not events:
        return [Line("axis", "no events")]
    first, last = min(e.start_time for e in events), max(e.end_time for e in events)
    width = max(width, NARROWEST)
    dates = first >= CLOCK_FROM if dates is None else dates and first >= EARLIEST and last <= LATEST
    unit = _unit(first, last) if dates else "seconds"
    gutter = max(cell_len(unit), *(min(cell_len(label), width * 2 // 5) for label, _, _ in above + below))
    scale = Scale(first, last, width - gutter - 3, dates)
    lines = _axis(scale, unit, gutter)
    lines += [_draw_row(row, scale, gutter) for row in above]
    if above and below:
        lines.append(Line("axis", " " * gutter + " │"))
    return lines + [_draw_row(row, scale, gutter) for row in below]


_Row = tuple[str, Sequence[Event], Marks]


def _rows(events: Sequence[Event], marks: Marks) -> list[_Row]:
    """Give each event a row, or each kind of event if there are too many."""
    if len(events) <= ROWS:
        return [(event.atom, (event,), marks) for event in events]
    lanes: dict[str, list[Event]] = {}
    for event in events:
        lanes.setdefault(f"{event.name}/{len(event.args)}", []).append(event)
    named: list[_Row] = [(f"{name} × {len(lane)}", lane, marks) for name, lane in lanes.items()]
    rest = [event for _, lane, _ in named[ROWS - 1 :] for event in lane]
    if len(named) <= ROWS:
        return named
    return [*named[: ROWS - 1], (f"{len(named) - ROWS + 1} more kinds × {len(rest)}", rest, marks)]


def _draw_row(row: _Row, scale: Scale, gutter: int) -> Line:
    label, events, marks = row
    cells = [" "] * scale.columns
    counts: dict[int, int] = {}
    for event in events:
        start, end = scale.column(event.start_time), scale.column(event.end_time)
        if start < end:
            cells[start : end + 1] = [marks.left, *[marks.line] * (end - start - 1), marks.right]
        else:
            counts[end] = counts.get(end, 0) + 1
    for column, count in counts.items():
        cells[column] = marks.instant if count == 1 else str(count) if count < 10 else "+"
    return Line(marks.kind, f"{_fit(label, gutter)} │ {''.join(cells)}".rstrip())


def _fit(label: str, width: int) -> str:
    """Return a label of exactly `width` cells, set right, cut with an ellipsis."""
    if cell_len(label) > width:
        label = chop_cells(label, width - 1)[0] + "…"
    return " " * (width - cell_len(label)) + label


def _axis(scale: Scale, unit: str, gutter: int) -> list[Line]:
    labels, ruler = [" "] * scale.columns, ["─"] * scale.columns
    free = 0
    for time, text in _ticks(scale):
        column = scale.column(time)
        ruler[column] = "┴"
        start = min(column, scale.columns - len(text))
        if start >= free:
            labels[start : start + len(text)] = text
            free = start + len(text) + 1
    head, blank = " " * (gutter - cell_len(unit)) + unit, " " * gutter
    return [
        Line("axis", f"{head} │ {''.join(labels)}".rstrip()),
        Line("axis", f"{blank} └─{''.join(ruler)}"),
    ]


def _unit(first: int, last: int) -> str:
    days = (to_datetime(first), to_datetime(last))
    return f"{days[0]:%Y-%m-%d} UTC" if days[0].date() == days[1].date() else "UTC"


def _ticks(scale: Scale) -> list[tuple[int, str]]:
    """Return the times to mark, as many as fit, at round distances."""
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
