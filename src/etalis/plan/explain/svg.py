"""An explanation as an SVG picture, drawn by ourselves: no other program is needed to make it.

Texts are set in a font of fixed width, so that boxes fit them without measuring; long ones are wrapped, very long ones
cut, with the whole in the tooltip. Law: text of a program is only ever character data, never markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import MappingProxyType
from unicodedata import combining, east_asian_width

from etalis.plan.explain.layout import PlanLayout, Point, Size, arrange
from etalis.plan.explain.picture import Box, Picture, draw_picture
from etalis.plan.explain.text import Explanation

_FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
_TITLE, _LINE = 13, 11  # sizes of letters
_LETTER = 0.61  # width of a letter, as a part of its size
_TITLE_STEP, _LINE_STEP = 18, 15
_PAD = 10
_MARGIN = 24
_PORT = 16  # between arrows that arrive at one box
_WRAP, _MOST_LINES = 46, 14


@dataclass(frozen=True, slots=True)
class Look:
    """How the boxes of one form look."""

    fill: str
    border: str
    round: int


_LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "event": Look("#e8f1fb", "#5b8fc7", 12),
        "time": Look("#f0ecfa", "#8a74c4", 12),
        "operator": Look("#fdf6e3", "#c9a648", 3),
        "head": Look("#e6f4ea", "#4c9a63", 3),
        "kind": Look("#f3f4f6", "#8b929c", 18),
    }
)
_STROKES: Mapping[str, str] = MappingProxyType(
    {
        "match": 'stroke="#4b5563"',
        "absent": 'stroke="#c0392b" stroke-dasharray="5 3"',
        "event": 'stroke="#4c9a63" stroke-dasharray="1.5 3"',
    }
)
_COLOURS: Mapping[str, str] = MappingProxyType({"match": "#4b5563", "absent": "#c0392b", "event": "#4c9a63"})


@dataclass(frozen=True, slots=True)
class _Text:
    """A box's text as it is set: lines of the title, then of the details."""

    title: tuple[str, ...]
    lines: tuple[str, ...]

    def size(self, arrivals: int) -> Size:
        letters = [_TITLE * _LETTER * 1.04 * cells(line) for line in self.title]
        letters += [_LINE * _LETTER * cells(line) for line in self.lines]
        height = _PAD * 1.6 + _TITLE_STEP * len(self.title) + _LINE_STEP * len(self.lines)
        return Size(round(max(letters) + 2 * _PAD), round(max(height, _PORT * (arrivals + 1))))


def write_svg(explanation: Explanation) -> str:
    """Draw an explanation."""
    picture = draw_picture(explanation)
    arrivals = [0] * len(picture.boxes)
    for arrow in picture.arrows:
        arrivals[arrow.target] += 1
    texts = [_set(box) for box in picture.boxes]
    sizes = [text.size(count) for text, count in zip(texts, arrivals, strict=True)]
    layout = arrange(sizes, [(arrow.source, arrow.target) for arrow in picture.arrows])
    # arrows that run back leave on the right and arrive on the left of everything
    side = _MARGIN + (34 if layout.back else 0)
    width, height = layout.width + 2 * side, layout.height + 2 * _MARGIN
    body = [*_arrows(picture, layout, sizes), *_boxes(picture, layout, sizes, texts)]
    view = f'width="{width:.0f}" height="{height:.0f}" viewBox="{-side} {-_MARGIN} {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="img" font-family="{_FONT}">',
            "<title>plan</title>",
            f'<rect x="{-side}" y="{-_MARGIN}" width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *(_marker(form) for form in _COLOURS),
            *body,
            "</svg>",
            "",
        ]
    )


def _marker(form: str) -> str:
    return (
        f'<marker id="{form}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0.5 L8 4 L0 7.5 z" fill="{_COLOURS[form]}"/></marker>'
    )


def _set(box: Box) -> _Text:
    """Break a box's text into lines."""
    lines = [line for text in box.lines if text for line in wrap(text, _WRAP)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "..."]
    title = wrap(box.title, _WRAP - 8)
    return _Text(tuple(title[:3]) if len(title) <= 3 else (*title[:2], "..."), tuple(lines))


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, at spaces where there are any, later lines indented.

    >>> wrap("one two three", 8)
    ['one two', '  three']
    """
    lines, line = [], ""
    for word in show(text).split(" "):
        if line.strip() and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line.strip() else line + word
        while cells(line) > width:
            head = _cut(line, width)
            lines.append(head)
            line = "  " + line[len(head) :]
    return [*lines, line]


def _cut(line: str, width: int) -> str:
    """Return the beginning of a line that fits; at least three characters, so that wrapping comes to an end."""
    used = 0
    for place, character in enumerate(line):
        used += cells(character)
        if used > width and place >= 3:
            return line[:place]
    return line


def cells(text: str) -> int:
    """Return how many letters wide a text is: East Asian wide ones count twice, marks on a letter not at all.

    >>> cells("ab"), cells("語")
    (2, 2)
    """
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def show(text: str) -> str:
    r"""Write out the characters that XML does not know or nobody sees.

    >>> show("a\x00b\tc")
    'a\\x0b\\x9c'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):x}" for c in text)


def _boxes(picture: Picture, layout: PlanLayout, sizes: Sequence[Size], texts: Sequence[_Text]) -> Iterator[str]:
    for box, (x, y), size, text in zip(picture.boxes, layout.corners, sizes, texts, strict=True):
        look = _LOOKS[box.form]
        tooltip = _escape(show(" | ".join((box.title, *filter(None, box.lines)))))
        yield f"<g><title>{tooltip}</title>"
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width}" height="{size.height}" rx="{look.round}"'
            f' fill="{look.fill}" stroke="{look.border}" stroke-width="{2 if box.form == "head" else 1.2}"/>'
        )
        height = _TITLE_STEP * len(text.title) + _LINE_STEP * len(text.lines)
        top = y + (size.height - height) / 2
        for line in text.title:
            top += _TITLE_STEP
            yield _line(x + _PAD, top - 5, _TITLE, ' font-weight="bold"', line)
        for line in text.lines:
            top += _LINE_STEP
            yield _line(x + _PAD, top - 4, _LINE, "", line)
        yield "</g>"


def _escape(text: str) -> str:
    """Return text as character data; `xml.sax.saxutils` would bring half of the network along."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(x: float, y: float, size: int, more: str, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more} fill="#1f2937" xml:space="preserve">'
        f"{_escape(text)}</text>"
    )


def _arrows(picture: Picture, layout: PlanLayout, sizes: Sequence[Size]) -> Iterator[str]:
    ports = _ports(picture, layout, sizes)
    for number, arrow in enumerate(picture.arrows):
        x, y = layout.corners[arrow.source]
        start = (x + sizes[arrow.source].width, y + sizes[arrow.source].height / 2)
        end = (layout.corners[arrow.target][0], ports[number])
        way = layout.ways[number]
        exit_ = (layout.exits[arrow.source], start[1])
        path = _loop(start, way, end) if number in layout.back else _curve([start, exit_, *way, end])
        stroke = f'fill="none" {_STROKES[arrow.form]} stroke-width="1.3"'
        yield f'<path d="{path}" {stroke} marker-end="url(#{arrow.form})"/>'
        if arrow.label:
            # where the arrow does not pass: below its end if it comes from above
            aside = 11 if (way[-1] if way else start)[1] < end[1] - 6 else -4
            yield (
                f'<text x="{end[0] - 11:.1f}" y="{end[1] + aside:.1f}" font-size="10" text-anchor="end"'
                f' fill="{_COLOURS[arrow.form]}">{_escape(arrow.label)}</text>'
            )


def _ports(picture: Picture, layout: PlanLayout, sizes: Sequence[Size]) -> dict[int, float]:
    """Return at which height each arrow arrives: those of one box spread over its side, in the order they come from."""

    def target(number: int) -> int:
        return picture.arrows[number].target

    def comes_from(number: int) -> tuple[int, bool, float]:
        arrow = picture.arrows[number]
        way = layout.ways[number]
        height = way[-1][1] if way else layout.corners[arrow.source][1] + sizes[arrow.source].height / 2
        return arrow.target, number in layout.back, height

    ports: dict[int, float] = {}
    for box, arriving in groupby(sorted(range(len(picture.arrows)), key=comes_from), key=target):
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
