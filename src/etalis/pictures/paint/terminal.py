"""A time line for the terminal, one axis for all its lanes.

Few events get a row each, labelled with their atom; many are gathered into one lane per kind, where a column that
holds several shows how many. Nothing is drawn outside the width asked for; an event is in the column of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells

from etalis.pictures.paint.axis import Scale, find_ticks
from etalis.pictures.paint.lanes import find_span, sections_of
from etalis.pictures.scene import LaneMark, Timeline

ROWS = 20
NARROWEST = 40


@dataclass(frozen=True, slots=True)
class LineSigns:
    """How one sort of event is drawn: an instant, and an interval from left to right."""

    kind: str
    instant: str
    left: str
    line: str
    right: str


RECEIVED = LineSigns("received", "●", "├", "─", "┤")
MATCHED = LineSigns("match", "◆", "┣", "━", "┫")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the picture; kind is `axis`, `received` or `match`, for whoever colours it."""

    kind: str
    text: str


def paint_lines(timeline: Timeline, *, width: int = 100) -> list[Line]:
    """Paint a time line as lines of text.

    >>> from etalis.pictures.scene import Lane
    >>> scene = Timeline("two", lanes=[Lane("a"), Lane("c", ("derived",))])
    >>> scene.marks = [LaneMark(0, 0, 0, "received", "a(1)"), LaneMark(1, 0, 4_000_000, "match", "c(1)")]
    >>> for line in paint_lines(scene, width=40):
    ...     print(line.text)
    seconds │ 0      1       2      3      4
            └─┴──────┴───────┴──────┴──────┴
       a(1) │ ●
            │
       c(1) │ ┣━━━━━━━━━━━━━━━━━━━━━━━━━━━━┫
    """
    sections = [_rows(timeline, lanes) for lanes in sections_of(timeline)]
    rows = [row for section in sections for row in section]
    if not rows:
        return [Line("axis", "no events")]
    width = max(width, NARROWEST)
    first, last = find_span(timeline)
    unit = Scale(first, last, 1, timeline.dates).unit
    gutter = max(cell_len(unit), *(min(cell_len(label), width * 2 // 5) for label, _ in rows))
    scale = Scale(first, last, width - gutter - 3, timeline.dates)
    lines = _axis(scale, unit, gutter)
    for place, section in enumerate(sections):
        lines += [Line("axis", " " * gutter + " │")] if place else []
        lines += [_draw_row(row, scale, gutter) for row in section]
    return lines


_Row = tuple[str, Sequence[LaneMark]]


def _rows(timeline: Timeline, lanes: Sequence[int]) -> list[_Row]:
    """Give each mark a row, or each lane if there are too many."""
    marks = [mark for mark in timeline.marks if mark.lane in lanes]
    if len(marks) <= ROWS:
        return [(mark.label, (mark,)) for mark in marks]
    by_lane: dict[int, list[LaneMark]] = {}
    for mark in marks:
        by_lane.setdefault(mark.lane, []).append(mark)
    named: list[_Row] = [(f"{timeline.lanes[lane].label} × {len(held)}", held) for lane, held in by_lane.items()]
    if len(named) <= ROWS:
        return named
    rest = [mark for _, held in named[ROWS - 1 :] for mark in held]
    return [*named[: ROWS - 1], (f"{len(named) - ROWS + 1} more kinds × {len(rest)}", rest)]


def _draw_row(row: _Row, scale: Scale, gutter: int) -> Line:
    label, marks = row
    signs = RECEIVED if marks[0].form == "received" else MATCHED
    cells = [" "] * scale.columns
    counts: dict[int, int] = {}
    for mark in marks:
        start = scale.column(scale.first if mark.start is None else mark.start)
        end = scale.column(scale.last if mark.end is None else mark.end)
        if start < end:
            cells[start : end + 1] = [signs.left, *[signs.line] * (end - start - 1), signs.right]
        else:
            counts[end] = counts.get(end, 0) + 1
    for column, count in counts.items():
        cells[column] = signs.instant if count == 1 else str(count) if count < 10 else "+"
    return Line(signs.kind, f"{_fit(label, gutter)} │ {''.join(cells)}".rstrip())


def _fit(label: str, width: int) -> str:
    """Return a label of exactly `width` cells, set right, cut with an ellipsis."""
    if cell_len(label) > width:
        label = chop_cells(label, width - 1)[0] + "…"
    return " " * (width - cell_len(label)) + label


def _axis(scale: Scale, unit: str, gutter: int) -> list[Line]:
    labels, ruler = [" "] * scale.columns, ["─"] * scale.columns
    free = 0
    for time, text in find_ticks(scale):
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
