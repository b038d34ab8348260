"""Boxes of diagrams: how large they are with their text set, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etalis.pictures.paint.layout import Point, Size
from etalis.pictures.paint.lettering import LETTER, cells, escape, letter, wrap
from etalis.pictures.paint.sheet import dashed
from etalis.pictures.palette import class_of, look_of
from etalis.pictures.scene import Box

PORT = 16  # between arrows that arrive at one box
_TITLE, _LINE = 13, 11  # sizes of letters
_TITLE_STEP, _LINE_STEP = 18, 15
_PAD = 10
_WRAP, _MOST_LINES = 46, 14


@dataclass(frozen=True, slots=True)
class SetText:
    """A box's text as it is set: lines of the title, then of the details."""

    title: tuple[str, ...]
    lines: tuple[str, ...]

    def size(self, arrivals: int = 0) -> Size:
        """Return the size of the box, with room for arrows that arrive."""
        letters = [_TITLE * LETTER * 1.04 * cells(line) for line in self.title]
        letters += [_LINE * LETTER * cells(line) for line in self.lines]
        height = _PAD * 1.6 + _TITLE_STEP * len(self.title) + _LINE_STEP * len(self.lines)
        return Size(round(max(letters) + 2 * _PAD), round(max(height, PORT * (arrivals + 1))))


def set_text(box: Box) -> SetText:
    """Break a box's text into lines."""
    lines = [line for text in box.lines if text for line in wrap(text, _WRAP)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "..."]
    title = wrap(box.title, _WRAP - 8)
    return SetText(tuple(title[:3]) if len(title) <= 3 else (*title[:2], "..."), tuple(lines))


def draw_boxes(
    boxes: Sequence[Box], corners: Sequence[Point], sizes: Sequence[Size], texts: Sequence[SetText]
) -> Iterator[str]:
    """Yield the elements of boxes; the whole text is in the tooltip."""
    for number, (box, (x, y), size, text) in enumerate(zip(boxes, corners, sizes, texts, strict=True)):
        look = look_of(box.form)
        tooltip = " | ".join(filter(None, (box.title, *box.lines, *box.details)))
        yield f'<g data-box="{number}"><title>{escape(tooltip)}</title>'
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{size.width}" height="{size.height}" rx="{look.round}"'
            f' class="f-{class_of(look.paper)} s-{class_of(look.colour)}" stroke-width="{look.width}"'
            f"{dashed(look.dash)}/>"
        )
        height = _TITLE_STEP * len(text.title) + _LINE_STEP * len(text.lines)
        top = y + (size.height - height) / 2
        for line in text.title:
            top += _TITLE_STEP
            yield letter(x + _PAD, top - 5, line, size=_TITLE, more=' font-weight="bold"')
        for line in text.lines:
            top += _LINE_STEP
            yield letter(x + _PAD, top - 4, line, size=_LINE)
        yield "</g>"
