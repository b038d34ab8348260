"""A diagram as an SVG picture, drawn by ourselves: no other program is needed to make it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from etalis.pictures.paint.boxes import draw_boxes, set_text
from etalis.pictures.paint.derivation import paint_derivation
from etalis.pictures.paint.layout import PlanLayout, Point, Size, arrange
from etalis.pictures.paint.lettering import letter
from etalis.pictures.paint.sheet import MARGIN, set_notes, stroke, write_sheet
from etalis.pictures.palette import LINKS, class_of
from etalis.pictures.scene import Diagram


def paint_diagram(diagram: Diagram) -> str:
    """Paint a diagram: a derivation as a proof, everything else from left to right."""
    return paint_derivation(diagram) if diagram.is_derivation else _paint_flow(diagram)


def _paint_flow(diagram: Diagram) -> str:
    arrivals = [0] * len(diagram.boxes)
    for link in diagram.links:
        arrivals[link.target] += 1
    texts = [set_text(box) for box in diagram.boxes]
    sizes = [text.size(count) for text, count in zip(texts, arrivals, strict=True)]
    layout = arrange(sizes, [(link.source, link.target) for link in diagram.links])
    # arrows that run back leave on the right and arrive on the left of everything
    side = MARGIN + (34 if layout.back else 0)
    notes = set_notes(diagram.notes, layout.width, layout.height)
    body = [*_arrows(diagram, layout, sizes), *draw_boxes(diagram.boxes, layout.corners, sizes, texts), *notes.elements]
    size = (max(layout.width, notes.width) + 2 * side, notes.bottom + 2 * MARGIN)
    return write_sheet(diagram.title, (-side, -MARGIN), *size, body)


def _arrows(diagram: Diagram, layout: PlanLayout, sizes: Sequence[Size]) -> Iterator[str]:
    ports = _ports(diagram, layout, sizes)
    for number, link in enumerate(diagram.links):
        x, y = layout.corners[link.source]
        start = (x + sizes[link.source].width, y + sizes[link.source].height / 2)
        end = (layout.corners[link.target][0], ports[number])
        way = layout.ways[number]
        exit_ = (layout.exits[link.source], start[1])
        path = _loop(start, way, end) if number in layout.back else _curve([start, exit_, *way, end])
        yield (
            f'<path d="{path}" {stroke(link.form)} marker-end="url(#etalis-{link.form})"'
            f' data-from="{link.source}" data-to="{link.target}"/>'
        )
        if link.label:
            # where the arrow does not pass: below its end if it comes from above
            aside = 11 if (way[-1] if way else start)[1] < end[1] - 6 else -4
            colour = class_of(LINKS[link.form].colour)
            yield letter(end[0] - 11, end[1] + aside, link.label, size=10, colour=colour, more=' text-anchor="end"')


def _ports(diagram: Diagram, layout: PlanLayout, sizes: Sequence[Size]) -> dict[int, float]:
    """Return at which height each arrow arrives: those of one box spread over its side, in the order they come from."""

    def target(number: int) -> int:
        return diagram.links[number].target

    def comes_from(number: int) -> tuple[int, bool, float]:
        link = diagram.links[number]
        way = layout.ways[number]
        height = way[-1][1] if way else layout.corners[link.source][1] + sizes[link.source].height / 2
        return link.target, number in layout.back, height

    ports: dict[int, float] = {}
    for box, arriving in groupby(sorted(range(len(diagram.links)), key=comes_from), key=target):
        numbers = list(arriving)
        y, height = layout.corners[box][1], sizes[box].height
        ports.update({n: y + height * (i + 1) / (len(numbers) + 1) for i, n in enumerate(numbers)})
    return ports


def _curve(points: Sequence[Point]) -> str:
    """Return a smooth way through points, flat at each of them."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (x0 + x1) / 2
        bent = f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
        parts.append(bent if abs(y0 - y1) > 0.5 else f"L{x1:.1f} {y1:.1f}")
    return " ".join(parts)


def _loop(start: Point, way: Sequence[Point], end: Point) -> str:
    """Return the way of an arrow that runs back: out, down, under everything, and up to its box."""
    (x0, y0), (x1, y1) = start, end
    (out, under), (back, _) = way
    bend = 8
    return (
        f"M{x0:.1f} {y0:.1f} H{out - bend:.1f} Q{out:.1f} {y0:.1f} {out:.1f} {y0 + bend:.1f}"
        f" V{under - bend:.1f} Q{out:.1f} {under:.1f} {out - bend:.1f} {under:.1f} H{back + bend:.1f}"
        f" Q{back:.1f} {under:.1f} {back:.1f} {under - bend:.1f} V{y1 + bend:.1f}"
        f" Q{back:.1f} {y1:.1f} {back + bend:.1f} {y1:.1f} H{x1:.1f}"
    )
