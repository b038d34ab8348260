"""A time line as an SVG picture: an axis, a lane for each kind, marks with their labels where there is room.

A crowded lane does not draw its marks one by one: it counts them by where they end, in columns, so that a picture is as
large as its lanes are wide, whatever the stream.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etalis.pictures.paint.axis import Scale, find_ticks
from etalis.pictures.paint.lanes import (
    LABEL_CELLS,
    LABEL_SIZE,
    LanePlan,
    find_span,
    label_width,
    plan_lanes,
    sections_of,
)
from etalis.pictures.paint.lettering import LETTER, cells, escape, letter, shorten, wrap
from etalis.pictures.paint.sheet import MARGIN, dashed, stroke, write_sheet
from etalis.pictures.palette import class_of, look_of
from etalis.pictures.scene import LaneMark, Timeline

CROWDED = 10  # pixels: a lane with less for each of its marks counts them
WIDTH = 980
ROW = 24
_BAR = 14
_AXIS = 30
_HEADING = 17
_BETWEEN = 12  # above a heading
GUTTER_CELLS = 30
_COLUMN = 3  # pixels of one column of a crowded lane
_GLYPHS = {
    "circle": "M{x0} {y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "ring": "M{x0} {y}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "diamond": "M{x} {t}l6 6l-6 6l-6 -6z",
    "square": "M{x0} {y0}h10v10h-10z",
    "triangle": "M{x} {t}l6 11h-12z",
    "wedge": "M{x} {b}l6 -11h-12z",
    "cross": "M{x0} {y0}l10 10m0 -10l-10 10",
}


@dataclass(frozen=True, slots=True)
class Plot:
    """The area of marks: times and where they fall, the top of each lane."""

    left: float
    width: float
    first: int
    last: int
    tops: Sequence[float]
    heights: Sequence[int]  # in rows
    crowded: frozenset[int]
    bottom: float

    def x(self, time: int | None, otherwise: float) -> float:
        """Return where a time falls; one that is None, at a border."""
        if time is None:
            return self.left + otherwise * self.width
        return self.left + self.width * (time - self.first) / (self.last - self.first)


def paint_timeline(timeline: Timeline) -> str:
    """Paint a time line."""
    unit = Scale(*find_span(timeline), 1, timeline.dates).unit
    gutter = max([cells(unit), *(cells(shorten(lane.label, GUTTER_CELLS)) for lane in timeline.lanes)])
    left = gutter * LABEL_SIZE * LETTER + 16
    width = WIDTH - 2 * MARGIN - left
    plan = plan_lanes(timeline, width)
    plot = _plot(timeline, plan, left, width)
    body = [*_lanes(timeline, plot), *_axis(timeline, plot), *_marks(timeline, plan, plot), *_columns(timeline, plot)]
    body += _links(timeline, plan, plot)
    bottom = plot.bottom
    for element, height in _below(timeline, plot.bottom + 26, WIDTH - 2 * MARGIN):
        body.append(element)
        bottom = height
    return write_sheet(timeline.title, (-MARGIN, -MARGIN), WIDTH, bottom + 2 * MARGIN, body)


def _plot(timeline: Timeline, plan: LanePlan, left: float, width: float) -> Plot:
    counts = Counter(mark.lane for mark in timeline.marks)
    crowded = frozenset(lane for lane, count in counts.items() if count * CROWDED > width)
    heights = [min(rows, 2) if lane in crowded else rows for lane, rows in enumerate(plan.heights)]
    tops = []
    y = float(_AXIS)
    for lane, rows in zip(timeline.lanes, heights, strict=True):
        if lane.heading:
            y += _BETWEEN * (y > _AXIS) + _HEADING * len(heading_lines(lane.heading, left + width)) + 4
        tops.append(y)
        y += ROW * rows + 2
    return Plot(left, width, plan.first, plan.last, tops, heights, crowded, y)


def heading_lines(heading: Sequence[str], width: float) -> list[str]:
    """Break the lines of a heading so that they fit."""
    return [line for text in heading for line in wrap(text, int(width / (LABEL_SIZE * LETTER)))]


def _lanes(timeline: Timeline, plot: Plot) -> Iterator[str]:
    for lane, rows, top in zip(timeline.lanes, plot.heights, plot.tops, strict=True):
        if lane.heading:
            lines = heading_lines(lane.heading, plot.left + plot.width)
            for number, line in enumerate(lines):
                weight = ' font-weight="bold"' if number == 0 else ""
                yield letter(0, top - 9 - _HEADING * (len(lines) - 1 - number), line, colour="faint", more=weight)
        yield (
            f'<rect x="{plot.left:.1f}" y="{top:.1f}" width="{plot.width:.1f}" height="{ROW * rows}" class="f-band"/>'
        )
        shown = shorten(lane.label, GUTTER_CELLS)
        label = letter(plot.left - 10, top + ROW * rows / 2 + 4, shown, more=' text-anchor="end"')
        yield f"<g><title>{escape(lane.label)}</title>{label}</g>"


def _axis(timeline: Timeline, plot: Plot) -> Iterator[str]:
    scale = Scale(plot.first, plot.last, int(plot.width / (LABEL_SIZE * LETTER)), timeline.dates)
    yield letter(plot.left - 10, 14, scale.unit, colour="faint", more=' text-anchor="end"')
    free = plot.left - 1
    spans = "".join(
        f"M{{x:.1f}} {plot.tops[lanes[0]]:.1f}V{plot.tops[lanes[-1]] + ROW * plot.heights[lanes[-1]]:.1f}"
        for lanes in sections_of(timeline)
    )
    for time, text in find_ticks(scale):
        x = plot.x(time, 0)
        yield f'<path d="{spans.format(x=x)}" class="s-grid" stroke-width="1"/>'
        half = cells(text) * LABEL_SIZE * LETTER / 2
        centre = min(max(x, plot.left + half), plot.left + plot.width - half + 8)
        if centre - half > free:
            yield letter(centre, 14, text, colour="faint", more=' text-anchor="middle"')
            free = centre + half + 6


def _marks(timeline: Timeline, plan: LanePlan, plot: Plot) -> Iterator[str]:
    by_row: dict[tuple[int, int], list[int]] = {}
    for number, mark in enumerate(timeline.marks):
        if mark.lane not in plot.crowded:
            by_row.setdefault((mark.lane, plan.rows[number]), []).append(number)
    for (lane, row), numbers in by_row.items():
        y = plot.tops[lane] + ROW * row + ROW / 2
        ordered = sorted(numbers, key=lambda n: plot.x(timeline.marks[n].start, 0))
        starts = [plot.x(timeline.marks[n].start, 0) for n in ordered] + [plot.left + plot.width + 12]
        free = plot.left - 4
        for place, number in enumerate(ordered):
            mark = timeline.marks[number]
            tooltip = escape(" | ".join((mark.label, *mark.details)))
            shape, x0, x1 = _shape(mark, plot, y)
            text, free = _label(mark, x0, x1, y, free, starts[place + 1])
            yield f'<g data-mark="{number}"><title>{tooltip}</title>{shape}{text}</g>'


def _shape(mark: LaneMark, plot: Plot, y: float) -> tuple[str, float, float]:
    """Draw a mark; return also from where to where it is."""
    look = look_of(mark.form)
    x0, x1 = plot.x(mark.start, 0), plot.x(mark.end, 1)
    colour = class_of(look.colour)
    drawn = ""
    if x1 - x0 >= 3:
        drawn = _draw_bar(mark.form, x0, x1, y, _BAR, (mark.start is not None, mark.end is not None))
        drawn += _open_end(x0, y, -1, colour) if mark.start is None else ""
        drawn += _open_end(x1, y, 1, colour) if mark.end is None else ""
    if mark.end is not None and (look.shape != "ring" or x1 - x0 < 3):
        drawn += draw_glyph(mark.form, x1, y)
    return drawn, x0, x1


def _draw_bar(form: str, x0: float, x1: float, y: float, height: int, closed: tuple[bool, bool] = (True, True)) -> str:
    """Draw a bar; an end that is not closed has no edge."""
    look = look_of(form)
    colour = class_of(look.colour)
    edges = f"M{x0:.1f} {y - height / 2:.1f}H{x1:.1f}m0 {height}H{x0:.1f}"
    edges += "".join(
        f"M{x:.1f} {y - height / 2:.1f}v{height}" for x, is_closed in zip((x0, x1), closed, strict=True) if is_closed
    )
    inside = ""
    if look.shape != "ring":
        area = f'x="{x0:.1f}" y="{y - height / 2:.1f}" width="{x1 - x0:.1f}" height="{height}"'
        inside = f'<rect {area} class="f-{colour}" fill-opacity="0.18"/>'
    return f'{inside}<path d="{edges}" class="s-{colour}" fill="none" stroke-width="{look.width}"{dashed(look.dash)}/>'


def _open_end(x: float, y: float, way: int, colour: str) -> str:
    """Draw the head of an arrow where a bar goes on."""
    return (
        f'<path d="M{x - way * 7:.1f} {y - 4:.1f}l{way * 7} 4l{-way * 7} 4" class="s-{colour}" fill="none"'
        ' stroke-width="1.6"/>'
    )


def draw_glyph(form: str, x: float, y: float) -> str:
    """Draw the shape of an instant."""
    look = look_of(form)
    colour = class_of(look.colour)
    places = {"x": x, "x0": x - 5, "y": y, "y0": y - 5, "t": y - 6, "b": y + 6}
    path = _GLYPHS[look.shape].format(**{name: f"{value:.1f}" for name, value in places.items()})
    if look.shape in ("ring", "cross"):
        fill = ' fill="none"' if look.shape == "cross" else ""
        paper = "" if look.shape == "cross" else "f-paper "
        return f'<path d="{path}" class="{paper}s-{colour}"{fill} stroke-width="{max(look.width, 1.8)}"/>'
    return f'<path d="{path}" class="f-{colour} s-paper" stroke-width="1"/>'


def draw_swatch(form: str, x: float, y: float) -> str:
    """Draw what a legend shows of a form, 16 wide."""
    return _draw_bar(form, x, x + 16, y, 9) if look_of(form).is_bar else draw_glyph(form, x + 8, y)


def _label(mark: LaneMark, x0: float, x1: float, y: float, free: float, following: float) -> tuple[str, float]:
    """Write a mark's label inside, behind or before it, where there is room; return how far the row is used."""
    text, width = shorten(mark.label, LABEL_CELLS), label_width(mark.label)
    if width + 20 <= x1 - x0:
        return letter(x0 + (7 if mark.start is not None else 14), y + 4, text), x1 + 8
    if x1 + 10 + width <= following - 6:
        return letter(x1 + 10, y + 4, text), x1 + 10 + width
    if x0 - 10 - width >= free:
        return letter(x0 - 10, y + 4, text, more=' text-anchor="end"'), x1 + 8
    return "", x1 + 8


def _columns(timeline: Timeline, plot: Plot) -> Iterator[str]:
    """Draw the crowded lanes: columns as high as marks end there, those of several forms on each other."""
    counts: dict[int, dict[str, Counter[int]]] = {}
    for mark in timeline.marks:
        if mark.lane in plot.crowded:
            column = int((plot.x(mark.end, 1) - plot.left) // _COLUMN)
            counts.setdefault(mark.lane, {}).setdefault(mark.form, Counter())[column] += 1
    for lane, forms in counts.items():
        base, room = plot.tops[lane] + ROW * plot.heights[lane] - 2, ROW * plot.heights[lane] - 6
        tallest = max(sum(forms.values(), Counter()).values())
        below: Counter[int] = Counter()
        for form, held in forms.items():
            path = ""
            for column, count in sorted(held.items()):
                low, high = (_height(n, tallest, room) for n in (below[column], below[column] + count))
                x = plot.left + column * _COLUMN
                path += f"M{x:.1f} {base - low:.1f}v{low - high:.1f}h{_COLUMN - 0.5}v{high - low:.1f}z"
            below += held
            yield f'<path d="{path}" class="f-{class_of(look_of(form).colour)}"/>'


def _height(count: int, tallest: int, room: float) -> float:
    """Return how high a column is: less than in proportion, so that one mark can be seen beside a thousand."""
    return room * math.sqrt(count / tallest)


def _links(timeline: Timeline, plan: LanePlan, plot: Plot) -> Iterator[str]:
    for link in timeline.links:
        (x0, y0), (x1, y1) = (
            (plot.x(mark.end, 1), plot.tops[mark.lane] + ROW * plan.rows[number] + ROW / 2)
            for number, mark in ((link.source, timeline.marks[link.source]), (link.target, timeline.marks[link.target]))
        )
        yield (
            f'<path d="M{x0:.1f} {y0 + 7:.1f}L{x1:.1f} {y1 - 8:.1f}" {stroke(link.form)}'
            f' marker-end="url(#etalis-{link.form})"/>'
        )


def _below(timeline: Timeline, top: float, width: float) -> Iterator[tuple[str, float]]:
    """Yield the legend and the notes, each with where it ends."""
    x = 0.0
    most = int((width - 30) / (LABEL_SIZE * LETTER))
    for form, text in timeline.legend:
        shown = shorten(text, most)
        needed = 24 + cells(shown) * LABEL_SIZE * LETTER + 22
        if x and x + needed > width:
            x, top = 0.0, top + 19
        yield draw_swatch(form, x, top - 4) + letter(x + 24, top, shown, colour="faint"), top
        x += needed
    top += 22 if timeline.legend else 0
    for note in timeline.notes:
        for line in wrap(note, most):
            yield letter(0, top, line), top
            top += 16
