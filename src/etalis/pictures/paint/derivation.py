"""A derivation as a proof is written: the premises of a box in a row, a line under them, the box below (003, 3.5).

Blocks are made from the premises downwards: a block is a box with all that stands above it, and blocks stand as close
as what is drawn in them allows. The word of a link stands before its premise, so that the premises of `a seq b` read
as the rule does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from etalis.pictures.paint.boxes import draw_boxes, set_text
from etalis.pictures.paint.layout import Point, Size
from etalis.pictures.paint.lettering import LETTER, cells, letter
from etalis.pictures.paint.sheet import MARGIN, set_notes, stroke, write_sheet
from etalis.pictures.scene import Diagram, SceneLink

_GAP = 18.0  # between premises
_OVER = 9.0  # between a box and the line over it
_WORD = 12  # size of letters
_SPREAD = 8.0  # how far a line goes beyond what it parts
Area = tuple[float, float, float, float]  # from and to in height, from and to in width


@dataclass(slots=True)
class _Block:
    """A box and all above it; places count from the lower left corner of the box, upwards and to the right."""

    areas: list[Area]  # that are drawn on
    premises: list[tuple[int, float]] = field(default_factory=list)  # link, and where its box begins
    words: list[tuple[str, float]] = field(default_factory=list)
    line: tuple[float, float] | None = None

    @property
    def height(self) -> float:
        return max(high for _, high, _, _ in self.areas)


def paint_derivation(diagram: Diagram) -> str:
    """Paint a diagram in which every box is a premise of at most one other."""
    texts = [set_text(box) for box in diagram.boxes]
    sizes = [text.size() for text in texts]
    above: list[list[int]] = [[] for _ in diagram.boxes]
    for number, link in enumerate(diagram.links):
        above[link.target].append(number)
    blocks: dict[int, _Block] = {}
    for box in _premises_first(diagram, above):
        blocks[box] = _make_block(box, above[box], diagram.links, sizes, blocks)
    roots = sorted({*range(len(diagram.boxes))} - {link.source for link in diagram.links})
    corners: list[Point] = [(0.0, 0.0)] * len(diagram.boxes)
    body: list[str] = []
    width = height = 0.0
    for root in roots:
        left = min(low for _, _, low, _ in blocks[root].areas)
        right = max(high for _, _, _, high in blocks[root].areas)
        bottom = height + blocks[root].height + (2 * MARGIN if height else 0)
        body += _place(root, (-left, bottom), diagram, blocks, sizes, corners)
        width, height = max(width, right - left), bottom
    notes = set_notes(diagram.notes, width, height)
    body += [*draw_boxes(diagram.boxes, corners, sizes, texts), *notes.elements]
    size = (max(width, notes.width) + 2 * MARGIN, notes.bottom + 2 * MARGIN)
    return write_sheet(diagram.title, (-MARGIN, -MARGIN), *size, body)


def _premises_first(diagram: Diagram, above: Sequence[Sequence[int]]) -> list[int]:
    order = sorted({*range(len(diagram.boxes))} - {link.source for link in diagram.links})
    for box in order:  # which grows
        order.extend(diagram.links[number].source for number in above[box])
    return order[::-1]


def _make_block(
    box: int, premises: Sequence[int], links: Sequence[SceneLink], sizes: Sequence[Size], blocks: dict[int, _Block]
) -> _Block:
    own = sizes[box]
    block = _Block([(0.0, own.height, 0.0, own.width)])
    if not premises:
        return block
    placed: list[Area] = []  # from the line upwards, and from the first premise to the right
    left, right = 0.0, 0.0
    for place, number in enumerate(premises):
        link = links[number]
        inner = blocks[link.source].areas
        if link.label:
            word = (0.0, 2.0 * _WORD, 0.0, cells(link.label) * _WORD * LETTER)
            x = _beside(placed, [word])
            block.words.append((link.label, x))
            placed += _moved([word], 0.0, x)
            left = x if place == 0 else left
        x = _beside(placed, inner)
        block.premises.append((number, x))
        placed += _moved(inner, 0.0, x)
        left = x if place == 0 and not link.label else left
        right = x + sizes[link.source].width
    begin = (left + right - own.width) / 2  # under its premises, not under all above these
    block.premises = [(number, x - begin) for number, x in block.premises]
    block.words = [(word, x - begin) for word, x in block.words]
    low, high = min(left - begin, 0.0), max(right - begin, own.width)
    block.line = (low, high)
    block.areas.append((own.height, own.height + 2 * _OVER, low - _SPREAD, high + _SPREAD))
    block.areas += _moved(placed, own.height + 2 * _OVER, -begin)
    return block


def _beside(placed: Iterable[Area], areas: Sequence[Area]) -> float:
    """Return how far to the right areas must go to stand beside those that are placed."""
    needed = [
        right + _GAP - left
        for bottom, top, _, right in placed
        for low, high, left, _ in areas
        if low < top and bottom < high
    ]
    return max(needed, default=0.0)


def _moved(areas: Iterable[Area], up: float, right: float) -> list[Area]:
    return [(low + up, high + up, first + right, last + right) for low, high, first, last in areas]


def _place(
    root: int, corner: Point, diagram: Diagram, blocks: dict[int, _Block], sizes: Sequence[Size], corners: list[Point]
) -> Iterator[str]:
    """Give all boxes of a block their corners; yield lines and words."""
    waiting = [(root, *corner)]
    while waiting:
        box, x, y = waiting.pop()
        block = blocks[box]
        corners[box] = (x, y - sizes[box].height)
        if block.line is None:
            continue
        at = y - sizes[box].height - _OVER
        low, high = block.line
        yield f'<path d="M{x + low - _SPREAD:.1f} {at:.1f} H{x + high + _SPREAD:.1f}" {stroke("match")}/>'
        deepest = min(sizes[diagram.links[n].source].height for n, _ in block.premises)
        for word, place in block.words:
            yield letter(x + place, at - _OVER - deepest / 2 + 4, word, size=_WORD, colour="faint")
        waiting.extend((diagram.links[n].source, x + place, at - _OVER) for n, place in block.premises)
